"""`localcrag eval` as a person uses it: real models, a set of documents and questions on disk; interrupted, too."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from localcrag.app import samples
from localcrag.evaluation import calibration_scores, plan, results
from localcrag.evaluation.plan import Configuration
from localcrag.records import evaluation_set
from localcrag.records.enums import Origin
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.passages import Passage
from localcrag.records.thresholds import UNCALIBRATED
from localcrag.settings import load
from tests.support.command_line import as_json, as_process, localcrag, start

pytestmark = pytest.mark.process

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "ferry",
        "question": "When does the ferry to Brackwater leave?",
        "answers": ["7:45"],
        "documents": ["ferry.md"],
    },
    {
        "id": "everest",
        "question": "How high is Mount Everest?",
        "answers": [],
        "web_answers": ["8,849"],
        "web": [
            {
                "title": "Mount Everest",
                "url": "https://example.org/everest",
                "content": "Mount Everest is Earth's highest mountain. Its height is 8,849 metres above sea level.",
            },
            {"title": "K2", "url": "https://example.org/k2", "content": "K2, at 8,611 metres, is the second-highest."},
        ],
    },
    {"id": "telescope", "question": "Who invented the telescope?", "answers": []},
    {
        "id": "mill",
        "question": "And who keeps the mill?",
        "answers": ["Ada Thorne"],
        "all_of": ["Ada Thorne"],
        "follows": "ferry",
    },
]
DOCUMENTS = {
    "ferry.md": "# Timetable of the island\n\nThe ferry to Brackwater leaves at 7:45 every morning from the old quay.",
    "mill.md": "# The mill\n\nThe mill above the harbour is kept by Ada Thorne. It grinds on Tuesdays and Fridays.",
}


@pytest.fixture(scope="module")
def island(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation set of four questions."""
    folder = tmp_path_factory.mktemp("sets") / "island"
    (folder / "documents").mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (folder / "documents" / name).write_text(text)
    write_questions(folder, QUESTIONS)
    return folder


def write_questions(folder: Path, questions: list[dict[str, Any]]) -> None:
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, island: Path) -> Path:
    """A data folder with one finished evaluation in it."""
    folder = tmp_path_factory.mktemp("eval")
    done = as_process(folder, "eval", str(island))
    assert done.returncode == 0, done.stderr
    assert "answer match" in done.stdout
    assert "sure without" in done.stdout
    assert "8 of 8 runs" in done.stderr
    assert "Report:" in done.stderr
    return folder


def made(data: Path) -> Path:
    """Return the folder of the newest evaluation."""
    return data / "evaluations" / results.ids(data / "evaluations")[0]


def test_documents_web_and_nowhere_are_told_apart_and_answered_so(data: Path) -> None:
    evaluation = results.read(made(data))
    held = {question.id: question.held_by for question in evaluation.questions}
    assert held == {
        "ferry": AnswerLocation.DOCUMENTS, "everest": AnswerLocation.WEB, "telescope": AnswerLocation.NOWHERE, "mill":
        AnswerLocation.DOCUMENTS,
    }  # fmt: skip
    runs = evaluation.runs["localcrag"]
    assert "7:45" in runs["ferry"].answer
    assert runs["everest"].web.used
    assert "8,849" in runs["everest"].answer
    assert runs["telescope"].abstained
    (before,) = runs["mill"].history
    assert (before.question, before.answer) == (runs["ferry"].question, runs["ferry"].answer)


def test_plain_rag_checks_nothing_and_sends_every_passage(data: Path) -> None:
    for run in results.read(made(data)).runs["plain RAG"].values():
        assert run.action is None
        assert not run.support
        assert not run.web.used
        assert [step.name for step in run.steps if step.name not in {"condense", "evaluate", "refine"}] == [
            "retrieve", "generate",
        ]  # fmt: skip
        assert len(run.evidence) == len(run.passages)
        # Also a small model reads all of them, which otherwise gets the best sentences alone.
        (sent,) = (step.prompt_tokens for step in run.steps if step.name == "generate")
        assert sent >= 0.9 * (run.plain_prompt_tokens or 0)


def test_the_users_own_questions_and_collections_are_left_alone(data: Path) -> None:
    assert as_json(localcrag(data, "runs", "list", "--json")) == []
    assert as_json(localcrag(data, "documents", "--json")) == []


def test_the_same_command_asks_nothing_again_and_says_so(data: Path, island: Path) -> None:
    before = (made(data) / evaluation_set.RUNS).read_bytes()
    done = localcrag(data, "eval", str(island), "--json")
    assert "0 of 8 runs are missing" in done.stderr
    assert as_json(done)
    assert (made(data) / evaluation_set.RUNS).read_bytes() == before


def test_an_evaluation_is_listed_shown_and_compared_with_another(data: Path, island: Path) -> None:
    done = localcrag(data, "eval", str(island), "--no-plain", "--sweep", "k=1,2", "--questions", "2")
    assert done.returncode == 0, done.stderr
    listed = as_json(localcrag(data, "eval", "--list", "--json"))
    assert [list(one["configurations"]) for one in listed] == [["k=1", "k=2"], ["plain RAG", "localcrag"]]
    assert "answer match" in localcrag(data, "eval", "--show", listed[1]["id"]).stdout
    compared = localcrag(data, "eval", "--compare", f"{listed[1]['id']}:plain RAG", f"{listed[0]['id']}:k=2")
    assert compared.returncode == 0, compared.stderr
    assert "answer match" in compared.stdout
    for wrong, why in ((f"{listed[0]['id']}:k=9", "has no “k=9”"), ("nosuch", "There is no evaluation “nosuch”")):
        assert why in localcrag(data, "eval", "--compare", wrong, listed[0]["id"]).stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_evaluation_goes_on_where_it_stopped(tmp_path: Path, island: Path, how: signal.Signals) -> None:
    reading, writing = os.pipe()
    process = start(tmp_path, "eval", str(island), "--no-plain", stderr=writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as said:
        for line in said:
            if line.startswith("2 of 4 runs"):
                process.send_signal(how)
                break
        said.read()
    assert process.wait() == (130 if how is signal.SIGINT else -how)
    there = results.read(made(tmp_path)).runs["localcrag"]
    assert len(there) >= 2
    with (made(tmp_path) / evaluation_set.RUNS).open("ab") as file:
        file.write(b'{"configuration": "localcrag", "question": "mi')  # what a kill leaves of a line
    done = localcrag(tmp_path, "eval", str(island), "--no-plain")
    assert done.returncode == 0, done.stderr
    assert "runs are missing" in done.stderr
    finished = results.read(made(tmp_path))
    assert finished.missing == 0
    assert all(finished.runs["localcrag"][name] == run for name, run in there.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name evaluation sets, or give one of"),
        (("--sweep", "colour=1,2"), "“colour” cannot be varied in a sweep"),
        (("--sweep", "upper=0.9:0.1:0.1"), "has no steps"),
        (("--sweep", "upper=1.5,2"), "cannot be used"),
    ],
)
def test_wrong_usage_says_what_is_right(tmp_path: Path, island: Path, arguments: tuple[str, ...], message: str) -> None:
    done = localcrag(tmp_path, "eval", *((str(island), *arguments) if arguments else ()))
    assert done.returncode in {1, 2}
    assert message in done.stderr


def test_a_document_that_cannot_be_read_is_an_error_and_not_a_gap(tmp_path: Path, island: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "documents").mkdir(parents=True)
    (broken / "documents" / "ferry.md").write_text(DOCUMENTS["ferry.md"])
    (broken / "documents" / "torn.pdf").write_bytes(b"%PDF-1.4 and nothing else")
    write_questions(broken, QUESTIONS[:1])
    done = localcrag(tmp_path / "data", "eval", str(broken))
    assert done.returncode == 1
    assert "1 documents of the set" in done.stderr
    assert "torn.pdf" in done.stderr


def test_a_set_of_another_language_is_asked_with_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "hafen"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "hafen.md").write_text("Die Fähre nach Brackwater legt jeden Morgen um 7:45 Uhr ab.")
    write_questions(folder, [{"question": "Wann legt die Fähre nach Brackwater ab?", "answers": ["7:45"]}])
    done = localcrag(tmp_path / "data", "eval", str(folder), "--no-plain")
    assert done.returncode == 0, done.stderr
    assert "do not look English" in done.stderr
    assert results.read(made(tmp_path / "data")).about.warnings


def test_a_damaged_line_in_the_middle_is_named(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (results.ABOUT, evaluation_set.RUNS):
        (copy / name).write_bytes((made(data) / name).read_bytes())
    lines = (copy / evaluation_set.RUNS).read_bytes().split(b"\n")
    (copy / evaluation_set.RUNS).write_bytes(b"\n".join([lines[0], lines[1][:50], *lines[2:]]))
    done = localcrag(data, "eval", "--show", str(copy))
    assert done.returncode == 1
    assert "Line 2 of" in done.stderr


def test_the_set_that_ships_with_localcrag_is_asked(tmp_path: Path) -> None:
    # Of the forty those of its fixed seed; all of them take three minutes.
    done = localcrag(tmp_path, "eval", str(samples.FOLDER), "--no-plain", "--json", "--questions", "16")
    found = as_json(done)
    evaluation = results.read(made(tmp_path))
    assert evaluation.missing == 0
    assert len(evaluation.runs["localcrag"]) == 16
    figures = found["estimates"]["localcrag"]
    # Far from what is to be reached (docs/lab/evaluation.md has 0.6 and 0.4); below it something is broken.
    assert figures["only the web holds it"]["answer_match"]["mean"] >= 0.3
    assert figures["neither holds it"]["invention"]["mean"] <= 0.8
    assert figures["documents hold the answer"]["hit_document"]["mean"] >= 0.8
    assert figures["all questions"]["citation_precision"]["mean"] >= 0.9
    for name in ("report.html", "report.md", "report.json"):
        assert (made(tmp_path) / name).stat().st_size > 1000


def test_documents_cut_otherwise_are_others_and_make_another_evaluation(tmp_path: Path, island: Path) -> None:
    sets = [evaluation_set.read(island)]
    made_of = []
    for tokens in (180, 90):
        settings = load(data_dir=tmp_path, chunk_tokens=tokens)
        planned = plan.plan_for_sets(sets, settings)
        evaluation, _ = plan.open_evaluation(
            planned, [Configuration("localcrag")], settings, tmp_path, calibration=UNCALIBRATED, again=False
        )
        made_of.append((evaluation.about.id, *set(planned.collections.values())))
    assert len({name for names in made_of for name in names}) == 4


def test_a_document_in_a_folder_of_the_set_is_known_by_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "nested"
    (folder / "documents" / "island").mkdir(parents=True)
    (folder / "documents" / "island" / "ferry.md").write_text(DOCUMENTS["ferry.md"])
    write_questions(folder, [{**QUESTIONS[0], "documents": ["island/ferry.md"]}])
    (question,) = evaluation_set.read(folder).questions
    passage = Passage(
        id="chunk-1", origin=Origin.LOCAL, text=DOCUMENTS["ferry.md"], document="island/ferry.md", cosine=0.5
    )
    assert calibration_scores.label(passage, question) is True
    assert calibration_scores.label(dataclasses.replace(passage, document="ferry.md"), question) is None
