"""`localcrag calibrate` on a small real set with the real models: fit, apply, ask, undo; and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.health import examine
from localcrag.app.uploads import uploads_from
from localcrag.interfaces.cli.main import main
from localcrag.models.files import weights_digest
from localcrag.records.enums import ScorerKind
from localcrag.records.evaluation_set import read
from localcrag.records.events import RunFinished
from localcrag.records.models import ModelRole
from localcrag.records.run import Run
from localcrag.records.thresholds import CalibrationOrigin
from localcrag.runs.labels import LabelKind
from localcrag.settings import load
from tests.support.first_start import started_before
from tests.support.model_servers import ModelServer, overlap, serving
from tests.support.scored_runs import scored_run
from tests.support.town_set import write_town_set

pytestmark = [pytest.mark.models, pytest.mark.slow]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_town_set(tmp_path_factory.mktemp("sets") / "towns")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, towns: Path) -> Path:
    """A data folder with one town's document in the default collection and another's in `other`."""
    data = started_before(tmp_path_factory.mktemp("data"))
    for collection, town in (("default", "arvik"), ("other", "bolmen")):
        assembly = Assembly(load(data_dir=data, collection=collection))
        for _ in assembly.ingest(uploads_from([towns / "documents" / f"{town}.md"])):
            pass
        assembly.close()
    return data


def ask(data: Path, question: str, **settings: Any) -> Run:
    assembly = Assembly(load(data_dir=data, web="never", **settings))
    (run,) = (event.run for event in assembly.ask(question) if isinstance(event, RunFinished))
    assembly.close()
    return run


@pytest.fixture
def localcrag(data: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, status: int = 0) -> tuple[str, str]:
        assert main([*arguments, "--data-dir", str(data)]) == status
        told = capsys.readouterr()
        return told.out, told.err

    return run


def test_a_calibration_is_fitted_applied_to_its_collection_alone_and_undone(
    localcrag: Any, data: Path, towns: Path
) -> None:
    question = "In which year was Arvik founded?"
    own = Assembly(load(data_dir=data)).calibrations.default
    before = ask(data, question)
    assert before.thresholds == own.thresholds

    arguments = ("calibrate", str(towns), "--criterion", "web-rate", "--target", "0.6")
    out, progress = localcrag(*arguments, "--json")
    told = json.loads(out)
    assert "48 of 48 questions scored" in progress
    (kept,) = (data / "cache" / "calibrate").rglob("scores-*.jsonl")
    lines = kept.read_text("utf-8")
    assert len(lines.splitlines()) == 48 + 1
    # As if it had been interrupted: what is whole counts, the rest is scored again.
    kept.write_text(lines[: len(lines) // 2], "utf-8")
    assert localcrag(*arguments, "--json")[0] == out
    assert (told["questions"], told["answered"], told["applied"]) == (48, 24, False)
    assert told["passages"] >= 288
    assert told["strips"] >= 96
    figures = {figure["name"]: figure for figure in told["figures"]}
    assert figures["AUC"]["after"] > 0.9
    assert ask(data, question).thresholds == own.thresholds, "nothing is applied unasked"

    text, _ = localcrag(*arguments, "--apply", "--force")
    assert "Applied to the collection “default”" in text
    assert "log loss" in text
    fitted = told["after"]["thresholds"]
    after = ask(data, question)
    assert dataclasses.asdict(after.thresholds) == fitted != dataclasses.asdict(own.thresholds)
    assert after.max_relevance != before.max_relevance
    assert [passage.logit for passage in after.passages] == [passage.logit for passage in before.passages]
    assert ask(data, question, collection="other").thresholds == own.thresholds
    assert ask(data, question, upper=0.99).thresholds.upper == 0.99, "what is set by hand wins"

    assembly = Assembly(load(data_dir=data))
    (doctor,) = (finding.detail for finding in examine(assembly) if finding.name == "relevance")
    assert "calibrated for the collection “default”" in doctor
    assert f"upper {fitted['upper']:g}, lower {fitted['lower']:g}" in doctor

    # A second one on top: undo goes back one at a time, to the model's own.
    localcrag("calibrate", str(towns), "--apply", "--force")
    shown = json.loads(localcrag("calibrate", "show", "--json")[0])
    assert (shown["own"], shown["how"]["criterion"], shown["how"]["from_set"]) == (False, "f1", "towns")
    assert [one["undone_at"] for one in shown["history"]] == [None, None]
    assert "replaced: " in localcrag("calibrate", "show")[0]
    localcrag("calibrate", "undo")
    assert dataclasses.asdict(ask(data, question).thresholds) == fitted
    assert "relevance-v3 has its own calibration" in localcrag("calibrate", "undo")[0]
    assert ask(data, question).thresholds == own.thresholds
    assert ask(data, question).max_relevance == before.max_relevance
    assert "nothing to undo" in localcrag("calibrate", "undo", status=1)[1]
    shown = json.loads(localcrag("calibrate", "show", "--json")[0])
    assert shown["own"]
    assert all(one["undone_at"] for one in shown["history"])


def test_a_calibration_is_for_one_model_and_its_weights(tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    folder = assembly.library.path("relevance-v3", ModelRole.RELEVANCE)
    copied = shutil.copytree(folder, tmp_path / "mine")
    mine = Assembly(load(data_dir=tmp_path / "data", relevance=str(copied)))
    how = CalibrationOrigin(criterion="f1", passages=60, relevant=20, questions=12, strips=0, from_use=60, figures={})
    other = dataclasses.replace(
        assembly.calibrations.default,
        thresholds=dataclasses.replace(assembly.calibrations.default.thresholds, upper=0.9),
    )
    assembly.calibrations.apply(other, how)
    assert assembly.calibrations.active().thresholds.upper == 0.9
    assert mine.calibrations.active() == assembly.calibrations.default, "another name"
    mine.calibrations.apply(other, how)
    weights = copied / "model.safetensors"
    with weights.open("ab") as file:
        file.write(b" ")
    swapped = Assembly(load(data_dir=tmp_path / "data", relevance=str(copied)))
    assert weights_digest(copied) != weights_digest(folder)
    assert swapped.calibrations.active() == assembly.calibrations.default, "other weights of the same name"


def test_a_reranker_behind_a_server_is_warned_of_until_it_is_calibrated(
    towns: Path, data: Path, localcrag: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "In which year was Arvik founded?"
    answers = {one.question: one.answers for one in read(towns).questions}

    def score(asked: str, text: str) -> float:
        return overlap(asked, text) - 5.0 + 4.0 * any(answer in text for answer in answers.get(asked, ()))

    server = ModelServer(rerank="documents", score=score)
    with serving(server) as url:
        monkeypatch.setenv("LOCALCRAG_RELEVANCE", f"{url}/rerank")

        def warned() -> list[str]:
            return [said for said in ask(data, question).warnings if "no calibration" in said]

        assert warned()
        localcrag("calibrate", str(towns), "--apply", "--force")
        assert not warned()
        server.finished = lambda score: 1 / (1 + math.exp(-score))
        assert warned(), "the same server with numbers of another scale"


def test_labels_from_use_are_fitted_to_and_those_of_another_scorer_are_left_out(
    localcrag: Any, data: Path, towns: Path
) -> None:
    assembly = Assembly(load(data_dir=data))
    own = assembly.calibrations.default.passage
    for number in range(24):
        relevances = [0.9, 0.3, 0.02] if number % 2 else [0.3, 0.1, 0.02]
        run = scored_run(number, relevances, own, collection="default")
        passages = tuple(
            dataclasses.replace(passage, text=f"{passage.text} {at}") for at, passage in enumerate(run.passages)
        )
        run = dataclasses.replace(run, passages=passages)
        assembly.runs.save(run)
        for at, passage in enumerate(run.passages):
            assembly.learning.label(run.run_id, LabelKind.PASSAGE, passage.id, good=bool(number % 2) and at == 0)
    foreign = scored_run(90, [0.5], own, scorer=ScorerKind.LLM)
    assembly.runs.save(foreign)
    assembly.learning.label(foreign.run_id, LabelKind.PASSAGE, foreign.passages[0].id, good=True)
    assembly.close()

    out, notes = localcrag("calibrate", "--from-use", "--json")
    told = json.loads(out)
    assert (told["passages"], told["relevant"], told["questions"], told["from_use"]) == (72, 12, 24, 72)
    assert told["left_out"] == 1
    assert "1 label left out: another model than relevance-v3 scored their passages" in notes
    assert told["notes"][0] == "What is in force for strips stays: there are too few labelled ones."
    out, _ = localcrag("calibrate", str(towns), "--from-use", "--json")
    assert json.loads(out)["passages"] > 72 + 288
    # In another collection nothing was labelled.
    _, refusal = localcrag("calibrate", "--from-use", "--collection", "other", status=1)
    assert "50 more labelled passages (0 relevant and 0 not relevant ones are there, 50 are the least)" in refusal


def test_a_worse_calibration_is_applied_only_by_force(localcrag: Any, towns: Path) -> None:
    localcrag("calibrate", str(towns), "--apply", "--force")
    # What was fitted to these very questions cannot be beaten on them by a fit to others.
    out, refusal = localcrag("calibrate", str(towns), "--apply", "--json", status=1)
    told = json.loads(out)
    assert (told["worse"], told["applied"]) == (True, False)
    assert "apply it anyway with --force" in told["error"]
    assert told["error"] in refusal
    text, _ = localcrag("calibrate", str(towns))
    assert "It is worse than the active calibration" in text
    assert "Nothing was changed." in text
    localcrag("calibrate", "undo")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        pytest.param([], 2, "Name the folder of an evaluation set, or give --from-use", id="nothing named"),
        pytest.param(["nowhere"], 1, "An evaluation set is a folder with documents/ and questions.jsonl", id="no set"),
        pytest.param(["x", "--target", "0.2"], 2, "--target needs --criterion web-rate", id="not of this criterion"),
        pytest.param(
            ["x", "--criterion", "web-rate", "--target", "20"], 2, "must be within 0..1", id="a share above 1"
        ),
        pytest.param(["x", "--criterion", "cost", "--cost", "0"], 2, "must be a number above 0", id="no cost"),
        pytest.param(["x", "--apply", "--collection", "nothing"], 1, "nothing", id="a collection that is not there"),
        pytest.param(["show", "--apply"], 2, "fits nothing", id="show with what is for a fit"),
    ],
)
def test_what_cannot_be_done_is_said(localcrag: Any, arguments: list[str], status: int, says: str) -> None:
    _, error = localcrag("calibrate", *arguments, status=status)
    assert says in error


def test_too_small_a_set_is_refused_with_what_is_missing(localcrag: Any, tmp_path: Path) -> None:
    small = write_town_set(tmp_path / "small", towns=2)
    assert len(read(small).questions) == 8
    _, error = localcrag("calibrate", str(small), status=1)
    assert "Too few labels to calibrate on. Needed: " in error
    assert "1 more questions with a passage that is labelled relevant" in error


def test_a_document_that_cannot_be_read_ends_it(localcrag: Any, tmp_path: Path) -> None:
    broken = write_town_set(tmp_path / "broken", towns=2)
    (broken / "documents" / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    _, error = localcrag("calibrate", str(broken), status=1)
    assert "1 documents of the set could not be added" in error
    assert "torn.pdf" in error
