"""Of two manuals that differ in their title and a number, the one asked for is found, with the real models."""

from __future__ import annotations

from pathlib import Path

from localcrag.app.assemble import Assembly
from localcrag.app.files_to_add import uploads_from
from localcrag.records.ingest import IngestResult
from localcrag.settings import load
from localcrag.steps.evaluate.evaluate import evaluate
from localcrag.steps.retrieve.retrieve import retrieve
from tests.support.first_start import started_before

MANUAL = """# {name} dehumidifier: manual

Thank you for choosing the {name}. It takes water out of the air of cellars, bathrooms and laundry rooms, and is best
kept with the doors and windows closed. Please read these pages before you plug it in, and keep them where you find them
again. The pictures show the white model; the grey one differs in colour only.

## Before first use

Let the appliance stand upright for two hours. Push the tank in until it clicks; it holds {litres} litres. Plug the cord
into a socket with a protective conductor, and never into an extension lead. Keep a distance of half a metre to the
wall, so that the air can flow, and to curtains. When the tank is full, a red light comes on and the fan stops.
"""


def test_of_two_manuals_the_one_that_was_asked_for_is_found(tmp_path: Path) -> None:
    """Their passages about the tank are the same but for the number, and name neither appliance."""
    for name, litres in (("KX-30", "2.2"), ("KX-40", "3.5")):
        (tmp_path / f"{name}.md").write_text(MANUAL.format(name=name, litres=litres), encoding="utf-8")
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    done = [
        event for event in assembly.ingest(uploads_from([*tmp_path.glob("*.md")])) if isinstance(event, IngestResult)
    ]
    assert [one.chunks for one in done] == [2, 2]
    parts = assembly.parts(assembly.settings)
    for name, litres in (("KX-30", "2.2 litres"), ("KX-40", "3.5 litres")):
        question = f"How many litres does the tank of the {name} hold?"
        found = retrieve(
            question, question, k=6, candidates=30, embedder=parts.embedder, index=parts.index, store=parts.store
        )
        graded = evaluate(question, found, scorer=parts.scorer, thresholds=parts.scorer.calibration.thresholds)
        best = max(graded, key=lambda passage: passage.relevance)
        assert best.title == f"{name} dehumidifier: manual"
        assert litres in best.text
    assembly.close()
