"""Of two manuals that differ in their title and a number, the one asked for is found, with the real models."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.context import Parts
from localcrag.crag.grading import evaluate
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.ingest import IngestResult
from localcrag.records.passages import Passage
from localcrag.settings import load
from tests.support.first_start import started_before

pytestmark = pytest.mark.models

MANUAL = """# {name} dehumidifier: manual

Thank you for choosing the {name}. It takes water out of the air of cellars, bathrooms and laundry rooms, and is best
kept with the doors and windows closed. Please read these pages before you plug it in, and keep them where you find them
again. The pictures show the white model; the grey one differs in colour only.

## Before first use

Let the appliance stand upright for two hours. Push the tank in until it clicks; it holds {litres} litres. Plug the cord
into a socket with a protective conductor, and never into an extension lead. Keep a distance of half a metre to the
wall, so that the air can flow, and to curtains. When the tank is full, a red light comes on and the fan stops.
"""


def retrieved(parts: Parts, question: str) -> tuple[Passage, ...]:
    return hybrid_search(
        question, question, k=6, candidates=30, embedder=parts.embedder, index=parts.index, store=parts.store
    )


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
        found = retrieved(parts, question)
        graded = evaluate(question, found, scorer=parts.scorer, thresholds=parts.scorer.calibration.thresholds)
        best = max(graded, key=lambda passage: passage.relevance)
        assert best.title == f"{name} dehumidifier: manual"
        assert litres in best.text
    assembly.close()


RULES = """# Examination rules

These are the rules of the faculty of engineering at {name} university, in force since the first of October. They are
for everybody who began to study here in that year or later. Whoever began before may choose the rules of before, once,
by a letter to the office. The office is open from Monday to Thursday between nine and noon; in the weeks in which the
papers are written it is open on Fridays as well. Letters can be left in the box beside its door at any hour. Questions
about single papers are answered by those who set them, in the hour that they offer for it, and never by telephone.

## Registration

Students register for each examination in the portal, at the latest four weeks before it. Without a registration no
mark is given, even if the paper was written. Papers are kept for a year and can be looked at on two days, which are
announced with the marks. Whoever finds a mistake says so on the spot; the paper is then marked again by somebody else.
A mark can become better by that, and not worse. Of three failed attempts in the same course the last one is decided by
two examiners, who hear the student for half an hour. Calculators with a memory have to be left outside the room.

## Illness

Whoever is ill on the day withdraws in the portal before the examination begins, and sends a physician's note within
{days} working days. From the second illness in the same course the note must be of the university's own physician.
Who falls ill while writing tells the supervisor, who notes the time, and goes to a physician on the same day. What was
written until then is not marked. The next attempt is the next one that is offered; none is offered for one person.
"""


def test_a_document_is_found_by_a_name_that_stands_in_another_part_of_it(tmp_path: Path) -> None:
    for name, days in (("Holmgard", "three"), ("Vestergaard", "five")):
        (tmp_path / f"{days}.md").write_text(RULES.format(name=name, days=days), encoding="utf-8")
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    for event in assembly.ingest(uploads_from([*tmp_path.glob("*.md")])):
        assert not isinstance(event, IngestResult) or event.chunks >= 3
    parts = assembly.parts(assembly.settings)
    for name, days in (("Holmgard", "three"), ("Vestergaard", "five")):
        question = f"I am ill on the day of my examination at {name}, until when must the note be there?"
        found = retrieved(parts, question)
        of_illness, _ = (passage for passage in found if "within" in passage.text)
        assert days in of_illness.text
    assembly.close()
