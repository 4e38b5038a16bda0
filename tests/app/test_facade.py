"""`from localcrag import Localcrag`: the five lines of the package's docstring, with the real models."""

from __future__ import annotations

import dataclasses
import doctest
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import localcrag
from localcrag import Action, AnswerPiece, IngestError, IngestResult, Localcrag, LocalcragError, Run
from localcrag.app import facade
from localcrag.records.enums import Grade, IngestStatus
from localcrag.records.errors import DocumentError, QuestionError, SettingsError, UnreadableDocument
from tests.support.first_start import started_before

pytestmark = pytest.mark.models

QUESTION = "How long is the warranty on a bicycle?"
DOCUMENT = "Sales handbook.\n\nThe warranty on a bicycle is seven years. Tyres are not part of it.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("front door")
    (made / "handbook.md").write_text(DOCUMENT, "utf-8")
    (made / "empty").mkdir()
    return made


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[Localcrag]:
    with Localcrag(folder / "data", web="never") as made:
        made.add(folder / "handbook.md")
        yield made


@pytest.mark.parametrize(
    "example", doctest.DocTestFinder().find(facade, "front_door"), ids=lambda example: example.name
)
def test_the_examples_of_the_docstrings_are_true(app: Localcrag, folder: Path, example: doctest.DocTest) -> None:
    said: list[str] = []
    example.globs |= {"app": app, "folder": folder}
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(example, out=said.append).failed == 0, "".join(said)


def test_the_lines_of_the_docstring_run(
    handbook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.search(r"^    from localcrag .*?(?=^\S)", localcrag.__doc__ or "", re.DOTALL | re.MULTILINE)
    assert lines is not None
    shutil.copy(handbook, tmp_path / "handbook.pdf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALCRAG_DATA_DIR", str(started_before(tmp_path / "data")))
    there: dict[str, Any] = {}
    exec(dedent(lines[0]), there)  # noqa: S102 - our own docstring
    assert isinstance(there["run"], Run)
    assert there["run"].action is not None
    assert there["run"].answer in capsys.readouterr().out


def test_what_is_added_says_what_became_of_it(app: Localcrag, folder: Path) -> None:
    (again,) = app.add(str(folder / "handbook.md"))
    assert isinstance(again, IngestResult)
    assert (again.document, again.status) == ("handbook.md", IngestStatus.UNCHANGED)
    assert app.documents() == ["handbook.md"]


def test_a_question_is_answered_with_its_sources(app: Localcrag) -> None:
    run = app.ask(QUESTION)
    assert run.action is Action.CORRECT
    assert "seven years" in run.answer
    assert [source.document for source in run.sources] == ["handbook.md"]


def test_an_answer_can_be_followed_as_it_is_written(app: Localcrag) -> None:
    recording = app.stream(QUESTION)
    pieces = [event.text for event in recording if isinstance(event, AnswerPiece)]
    assert "".join(pieces).strip()
    assert "seven years" in recording.run.answer


def test_what_cannot_be_added_is_named_and_the_rest_is_in(app: Localcrag, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of one")
    (folder / "other.txt").write_text("The shop is closed on Mondays.", "utf-8")
    files = ("broken.pdf", "handbook.md", "missing.txt", "other.txt")
    with pytest.raises(IngestError, match=r"(?s)broken\.pdf.*missing") as raised:
        app.add(*(folder / name for name in files))
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):  # noqa: S301 - what was made a line above
        assert [(one.document, one.status) for one in error.added] == [
            ("handbook.md", IngestStatus.UNCHANGED),
            ("other.txt", IngestStatus.ADDED),
        ]
        assert [(one.document, one.status) for one in error.failed] == [
            ("broken.pdf", IngestStatus.FAILED),
            ("missing.txt", IngestStatus.FAILED),
        ]
        assert str(error) == "\n".join(str(one.error) for one in error.failed)
    assert isinstance(raised.value, DocumentError)
    assert app.documents() == ["handbook.md", "other.txt"]
    with pytest.raises(UnreadableDocument, match="contains no files"):
        app.add(folder / "empty")


def test_errors_are_those_of_the_error_tree(app: Localcrag, folder: Path) -> None:
    with pytest.raises(QuestionError):
        app.ask(" ")
    with pytest.raises(SettingsError, match="unknown setting"):
        Localcrag(folder / "data", colour="blue")
    assert issubclass(SettingsError, LocalcragError)


def test_a_run_shows_itself_in_a_notebook(app: Localcrag) -> None:
    run = app.ask(QUESTION)
    shown = run._repr_html_()
    for said in ("seven years [1]", "handbook.md: “", f"CORRECT: {run.rule}", "retrieved</summary>", "width: "):
        assert said in shown
    assert not re.search(r"<script|<style|<link|<img|src=|href=|url\(|\bon\w+=", shown)


def test_nothing_in_a_run_becomes_html_in_a_notebook(app: Localcrag, folder: Path) -> None:
    attack = "<img src=x onerror=alert(1)>"
    run = app.ask(QUESTION)
    passages = [dataclasses.replace(one, text=attack, document=f"{attack}.md") for one in run.passages]
    evidence = [dataclasses.replace(one, text=attack) for one in run.evidence]
    sources = [dataclasses.replace(one, document=f"{attack}.md") for one in run.sources]
    planted = dataclasses.replace(
        run, question=attack, answer=f"{attack} [1]", rule=attack, warnings=(attack,), passages=tuple(passages),
        evidence=tuple(evidence), sources=tuple(sources),
    )  # fmt: skip
    shown = planted._repr_html_()
    assert "<img" not in shown
    assert shown.count("&lt;img src=x onerror=alert(1)&gt;") >= 7


def test_passages_are_found_without_an_answer(app: Localcrag) -> None:
    (best, *_) = app.search(QUESTION, most=1)
    assert (best.document, best.grade) == ("handbook.md", Grade.CORRECT)
