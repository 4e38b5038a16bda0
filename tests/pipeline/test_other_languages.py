"""Documents in other languages with the real models for them, which are brought from the package index once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import Action
from localcrag.records.run import Run
from localcrag.settings import load
from tests.support.first_start import started_before

pytestmark = [pytest.mark.models, pytest.mark.slow]

RULES = """# Hausordnung Lindenstraße 14

## Waschküche

Die Waschküche ist täglich von 7 bis 21 Uhr geöffnet. Die Waschmarken kosten 1,50 Euro und sind beim Hausmeister, Herrn
Okafor, erhältlich. Nach dem Waschen ist das Flusensieb zu reinigen.

## Fahrräder

Fahrräder gehören in den Keller, nicht in den Hausflur. Wer sein Rad länger als acht Wochen nicht bewegt, hängt einen
Zettel mit Namen daran; sonst wird es im März und im Oktober entfernt.
"""


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assembly]:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "hausordnung.md").write_text(RULES, "utf-8")
    made = Assembly(load(data_dir=started_before(folder / "data")))
    for name in made.library.named("multilingual"):
        made.library.get(name, lambda _progress: None)
    made.models.use_set("multilingual")
    for _event in made.ingest(uploads_from([folder / "hausordnung.md"])):
        pass
    yield made
    made.close()


def asked(assembly: Assembly, question: str) -> Run:
    recording = assembly.ask(question)
    for _event in recording:
        pass
    return recording.run


def test_a_german_question_is_answered_from_a_german_document(assembly: Assembly) -> None:
    run = asked(assembly, "Was kostet eine Waschmarke?")
    assert run.action is Action.CORRECT
    assert "1,50 Euro" in run.answer
    assert not [warning for warning in run.warnings if "calibration" in warning]


def test_what_the_document_does_not_answer_is_not_answered(assembly: Assembly) -> None:
    assert asked(assembly, "Darf ich einen Hund halten?").action is Action.INCORRECT


def test_the_english_relevance_model_is_calibrated_without_the_cosines_of_another_embedder(assembly: Assembly) -> None:
    assembly.models.use("relevance-v3")
    beside_another = assembly.calibrations.default
    assert beside_another.fitted
    assert beside_another.passage.cosine == 0
    assert assembly.models.scorer.calibration == beside_another
    assembly.models.use("all-minilm-l6-v2")
    assert assembly.models.scorer.calibration == assembly.calibrations.default != beside_another
    assert assembly.calibrations.default.passage.cosine > 0
