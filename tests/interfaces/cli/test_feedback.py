"""`localcrag labels`, `pins` and `gaps` as scripts use them, over stored runs; no model is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.records import evaluation_set
from localcrag.records.documents import Chunk
from localcrag.records.run import Run
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from localcrag.storage.schema import DATABASE_NAME
from tests.support.command_line import as_json, localcrag
from tests.support.desk import ANSWERABLE, DOCUMENT, UNANSWERABLE, WEB, Desk, with_web
from tests.support.fakes import FakeEmbedder, FakeLanguageModel, FakeWeb

pytestmark = pytest.mark.models

TEXT = " ".join(DOCUMENT)


@pytest.fixture
def answered(tmp_path: Path) -> Run:
    return Desk(tmp_path / "desk", *DOCUMENT).ask(ANSWERABLE)[1]


@pytest.fixture
def by_web(tmp_path: Path) -> Run:
    desk = with_web(Desk(tmp_path / "web", *DOCUMENT), FakeWeb(WEB))
    desk.llm = FakeLanguageModel("", "orbits moon", "The moon orbits the earth [1].")
    return desk.ask(UNANSWERABLE)[1]


@pytest.fixture
def data(tmp_path: Path, answered: Run, by_web: Run) -> Path:
    """A data folder with the documents and both runs, and nothing labelled."""
    folder = tmp_path / "data"
    folder.mkdir()
    database, embedder = Database(folder / DATABASE_NAME), FakeEmbedder()
    store = DocumentStore(database, "default", embedder=embedder.name, dimension=embedder.dimension)
    store.put(
        "rules.txt", sha256="x", media_type="text/plain", pages=None, text=TEXT, chunks=[Chunk(None, 0, 5, TEXT[:5])],
        vectors=embedder.embed([TEXT]),
    )  # fmt: skip
    for run in (answered, by_web):
        RunStore(database).save(run)
    database.close()
    return folder


def test_labels_are_added_listed_exported_and_removed(data: Path, answered: Run, tmp_path: Path) -> None:
    best, *others = (passage.id for passage in answered.passages)
    said = ["--good", "--relevant", best, "--not-relevant", *others, "--right", "1"]
    added = as_json(localcrag(data, "labels", "add", answered.run_id, *said, "--json"))
    assert [(one["kind"], one["verdict"]) for one in added] == [
        ("answer", "good"), ("passage", "relevant"), ("passage", "not relevant"), ("passage", "not relevant"),
        ("sentence", "right"),
    ]  # fmt: skip
    assert added[1]["logit"] == answered.passages[0].logit
    listed = localcrag(data, "labels")
    assert f"{added[0]['id']}  {answered.run_id}  answer good: “The limit is 195 euros" in listed.stdout
    assert as_json(localcrag(data, "labels", "list", "--run", answered.run_id, "--json")) == added

    made = as_json(localcrag(data, "labels", "export", "--as", "set", str(tmp_path / "set"), "--json"))
    assert (made["questions"], made["documents"], made["left_out"]) == (1, 1, [])
    (question,) = evaluation_set.read(tmp_path / "set").questions
    assert (question.question, question.answers) == (
        ANSWERABLE,
        ("The limit is 195 euros.", "The hotel limit in London is 195 euros."),
    )
    again = localcrag(data, "labels", "export", "--as", "set", str(tmp_path / "set"))
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    pairs = as_json(localcrag(data, "labels", "export", "--as", "training", str(tmp_path / "pairs.jsonl"), "--json"))
    assert (pairs["pairs"], pairs["relevant"]) == (4, 2)
    lines = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert {line["label"] for line in lines} == {0, 1}

    assert as_json(localcrag(data, "labels", "remove", str(added[0]["id"]), "--json")) == {"removed": 1}
    assert as_json(localcrag(data, "labels", "remove", "--document", "rules.txt", "--json")) == {"removed": 4}
    assert localcrag(data, "labels", "list").stdout == "No labels yet.\n"


def test_every_passage_can_be_refused_at_once(data: Path, answered: Run) -> None:
    run = answered.run_id
    added = as_json(localcrag(data, "labels", "add", run, "--bad", "--not-relevant", "all", "--json"))
    assert [one["verdict"] for one in added] == ["bad", *["not relevant"] * len(answered.passages)]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        pytest.param(["add", "RUN"], 2, "Give at least one label", id="nothing said"),
        pytest.param(["add", "RUN", "--relevant", "1", "--not-relevant", "1"], 2, "both ways: 1", id="both ways"),
        pytest.param(["add", "RUN", "--good", "--wrong", "7"], 1, "no sentence 7", id="no such sentence"),
        pytest.param(["add", "none", "--good"], 1, "no stored run “none”", id="no such run"),
        pytest.param(["remove"], 2, "Choose labels either by", id="remove what?"),
        pytest.param(["remove", "99"], 1, "No label matches, so none was removed", id="remove none"),
        pytest.param(["remove", "--all"], 1, "No label matches, so none was removed", id="remove all of none"),
        pytest.param(["export", "--as", "training", "x.jsonl"], 1, "nothing to export", id="no pairs"),
        pytest.param(["export", "--as", "set", "x"], 1, "nothing to export", id="no questions"),
    ],
)
def test_labels_that_cannot_be_are_refused(
    data: Path, answered: Run, arguments: list[str], status: int, said: str
) -> None:
    named = [answered.run_id if argument == "RUN" else argument for argument in arguments]
    process = localcrag(data, "labels", *named)
    assert (process.returncode, said in process.stderr) == (status, True), process.stderr
    assert localcrag(data, "labels", "list").stdout == "No labels yet.\n"


def test_questions_are_pinned_listed_and_unpinned(data: Path, answered: Run, by_web: Run) -> None:
    pin = as_json(localcrag(data, "pins", "add", answered.run_id, "--answer", "195 euros", "195 EUR", "--json"))
    assert pin["question"]["answers"] == ["195 euros", "195 EUR"]
    proposed = as_json(localcrag(data, "pins", "add", by_web.run_id, "--json"))
    assert (proposed["question"]["answers"], proposed["question"]["held_by"]) == (["The moon orbits the earth."], "web")
    assert "→  “195 euros” or “195 EUR”" in localcrag(data, "pins", "list").stdout
    unanswerable = as_json(localcrag(data, "pins", "add", answered.run_id, "--unanswerable", "--json"))
    assert unanswerable["question"]["held_by"] == "nowhere"
    both = localcrag(data, "pins", "add", answered.run_id, "--answer", "x", "--unanswerable")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)
    assert as_json(localcrag(data, "pins", "remove", answered.run_id, "--json")) == {"removed": answered.run_id}
    assert [one["run_id"] for one in as_json(localcrag(data, "pins", "--json"))] == [by_web.run_id]
    assert localcrag(data, "pins", "remove", answered.run_id).returncode == 1


def test_gaps_are_listed_and_one_without_web_text_cannot_be_filled(data: Path, answered: Run, by_web: Run) -> None:
    (gap,) = as_json(localcrag(data, "gaps", "--json"))
    assert (gap["question"], gap["asked"], gap["answered_by"]) == (UNANSWERABLE, 1, by_web.run_id)
    assert f"localcrag gaps add {by_web.run_id}" in localcrag(data, "gaps", "list").stdout
    refused = localcrag(data, "gaps", "add", answered.run_id)
    assert (refused.returncode, "no web results" in refused.stderr) == (1, True)
    assert localcrag(data, "gaps", "add", by_web.run_id, "--result", "0").returncode == 2
