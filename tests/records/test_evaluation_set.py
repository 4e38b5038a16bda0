from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcrag.records.errors import EvaluationSetError
from localcrag.records.evaluation_set import MOST_PROBLEMS, AnswerLocation, Question, dump, read
from localcrag.records.run import Turn, WebResult

WEB = {"title": "Gull Spit", "url": "https://example.org/gull", "content": "The tower is 31 metres tall."}


def line(**fields: Any) -> str:
    return json.dumps({"question": "How tall is the tower?", "answers": ["31 metres"], **fields}) + "\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Makes a set of these lines, with two documents, and returns its folder."""

    def make(*lines: str, encoding: str = "utf-8") -> Path:
        (tmp_path / "documents" / "old").mkdir(parents=True, exist_ok=True)
        (tmp_path / "documents" / "tower.md").write_text("The tower is 31 metres tall.")
        (tmp_path / "documents" / "old" / "tower.md").write_text("The tower was 12 metres tall.")
        (tmp_path / "questions.jsonl").write_bytes("".join(lines).encode(encoding))
        return tmp_path

    return make


def refusal(folder: Path) -> str:
    with pytest.raises(EvaluationSetError) as caught:
        read(folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "held_by", "answers"),
    [
        pytest.param({}, AnswerLocation.DOCUMENTS, ("31 metres",), id="documents"),
        pytest.param({"web": [WEB]}, AnswerLocation.DOCUMENTS, ("31 metres",), id="documents-and-web-results"),
        pytest.param({"answers": []}, AnswerLocation.NOWHERE, (), id="nowhere"),
        pytest.param({"answers": [], "web": [WEB]}, AnswerLocation.NOWHERE, (), id="nowhere-with-web-results"),
        pytest.param({"answers": [], "web": [WEB], "web_answers": ["31"]}, AnswerLocation.WEB, ("31",), id="web"),
        pytest.param(
            {"documents": [], "web": [WEB]}, AnswerLocation.WEB, ("31 metres",), id="no-document-but-web-results"
        ),
    ],
)
def test_who_holds_the_answer_is_known(
    write: Callable[..., Path], fields: dict[str, Any], held_by: AnswerLocation, answers: tuple[str, ...]
) -> None:
    (question,) = read(write(line(**fields))).questions
    assert (question.held_by, question.answers) == (held_by, answers)


def test_documents_are_told_apart_by_their_folder_and_hidden_files_are_none(write: Callable[..., Path]) -> None:
    folder = write(line(documents=["tower.md", "old/tower.md"]))
    (folder / "documents" / ".DS_Store").write_text("x")
    made = read(folder)
    assert made.questions[0].documents == ("tower.md", "old/tower.md")
    assert [path.relative_to(folder / "documents").as_posix() for path in made.files] == ["old/tower.md", "tower.md"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["\ufeff", line()], id="byte-order-mark"),
        pytest.param([line().replace("\n", "\r\n")], id="windows-newlines"),
        pytest.param(["\n", line(), "  \n"], id="empty-lines"),
        pytest.param([line().rstrip()], id="no-newline-at-the-end"),
        pytest.param([line(history=[{"question": "a\u2028b", "answer": ""}])], id="other-line-separators"),
        pytest.param([line(web=[{**WEB, "score": float("nan"), "content": "long " * 100_000}])], id="huge-line"),
    ],
)
def test_what_is_harmless_is_read(write: Callable[..., Path], lines: list[str]) -> None:
    assert len(read(write(*lines)).questions) == 1


def test_what_is_dumped_is_read_as_it_was(write: Callable[..., Path]) -> None:
    web = (
        WebResult("Gull Spit", "https://example.org/gull", "“31” metres", "2024-05-01"),
        WebResult("B", "http://b", "c"),
    )
    turns = (Turn("Which tower?", "The one at sea."),)
    questions = (
        Question(
            id="a",
            question="1?",
            held_by=AnswerLocation.DOCUMENTS,
            answers=("31",),
            documents=("tower.md",),
            history=turns,
        ),
        Question(id="b", question="2?", held_by=AnswerLocation.WEB, answers=("31", "thirty"), web=web),
        Question(id="c", question="3?", held_by=AnswerLocation.NOWHERE, web=web),
        Question(id="d", question="4?", held_by=AnswerLocation.NOWHERE),
    )
    assert read(write(*dump(questions))).questions == questions


def test_the_digest_changes_with_a_question_and_with_a_document(write: Callable[..., Path]) -> None:
    first = read(write(line())).digest
    assert read(write(line())).digest == first
    assert read(write(line(answers=["30"]))).digest != first
    folder = write(line())
    (folder / "documents" / "tower.md").write_text("Nothing.")
    assert read(folder).digest != first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "line 1: Invalid JSON", id="no-json"),
        pytest.param("3\n", "line 1: Input should be an object", id="no-object"),
        pytest.param('{"question": "?"}\n', "line 1: answers: Field required", id="no-answers"),
        pytest.param(line(question=" "), "line 1: question: String should have at least 1", id="empty-question"),
        pytest.param(line(answers="31"), "line 1: answers: Input should be a valid array", id="answers-no-list"),
        pytest.param(line(answers=["31", "?!"]), "answers.1: an accepted string needs a letter", id="answer-of-signs"),
        pytest.param(line(answers=[31]), "answers.0: Input should be a valid string", id="answer-a-number"),
        pytest.param(line(answers=[float("nan")]), "answers.0: Input should be a valid string", id="nan"),
        pytest.param(line(anwsers=[]), "line 1: anwsers: Extra inputs", id="misspelt-field"),
        pytest.param(line(documents=["tower.txt", "x.md"]), "in documents/: tower.txt, x.md", id="missing"),
        pytest.param(line(answers=[], documents=["tower.md"]), "but answers is empty", id="document-without-answer"),
        pytest.param(line(answers=[], web_answers=["31"]), "no web results that could", id="web-answer-without-web"),
        pytest.param(line(web=[WEB], web_answers=["31"]), "this one also has answers", id="both-answers"),
        pytest.param(line(web=[{**WEB, "url": "gull"}]), "web.0.url: an address begins with http", id="no-address"),
        pytest.param(line(web=[{**WEB, "url": "ftp://a/b"}]), "web.0.url: an address begins with", id="other-address"),
        pytest.param(line(web=[{"title": "a", "url": "http://a"}]), "web.0.content: Field required", id="no-content"),
        pytest.param(line(id="a") + line(question="B?", id="a"), "line 2: the id “a” is that of line 1", id="same-id"),
        pytest.param(line(id="2") + line(question="B?"), "line 2: the id “2” is that of line 1", id="id-of-a-line"),
        pytest.param("[\n" + line() + "]", "is a JSON list. Write each object on its own line", id="json-list"),
        pytest.param("\n", "has no questions", id="no-question"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_the_line_and_the_reason(
    write: Callable[..., Path], text: str, message: str
) -> None:
    assert message in refusal(write(text))


def test_a_question_may_come_twice_as_it_does_in_sets_made_of_use(write: Callable[..., Path]) -> None:
    assert len(read(write(line(), line(), line(answers=[]))).questions) == 3


def test_many_problems_are_counted_and_the_first_ones_shown(write: Callable[..., Path]) -> None:
    said = refusal(write(*(line(question="") for _ in range(MOST_PROBLEMS + 3))))
    assert f"line {MOST_PROBLEMS}:" in said
    assert f"line {MOST_PROBLEMS + 1}:" not in said
    assert said.endswith("… and 3 more")


def test_a_folder_that_is_none_is_called_so(write: Callable[..., Path]) -> None:
    folder = write(line())
    assert "does not exist" in refusal(folder / "elsewhere")
    assert "is not a folder" in refusal(folder / "questions.jsonl")
    assert "questions.jsonl is missing" in refusal(folder / "documents")


def test_a_set_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text(line())
    assert "There are no documents in" in refusal(tmp_path)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / ".hidden").write_text("x")
    assert "There are no documents in" in refusal(tmp_path)


def test_questions_in_another_encoding_are_refused(write: Callable[..., Path]) -> None:
    assert "UTF-8" in refusal(write('{"question": "Größe?", "answers": []}', encoding="latin-1"))


def test_a_whole_answer_is_labelled_with_alternatives_lines_and_tags(write: Callable[..., Path]) -> None:
    labels = {"all_of": ["31 | thirty-one", "metres"], "needed": ["The tower is 31 metres tall."], "tags": ["fact"]}
    folder = write(line(id="tall", **labels), line(follows="tall"))
    first, second = read(folder).questions
    assert first.all_of == (("31", "thirty-one"), ("metres",))
    assert (first.needed, first.tags, second.follows) == (("The tower is 31 metres tall.",), ("fact",), "tall")
    (folder / "questions.jsonl").write_text("".join(dump((first, second))))
    assert read(folder).questions == (first, second)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"follows": "later"}, "no earlier line has the id “later”", id="follows nothing"),
        pytest.param({"follows": "a", "history": [{"question": "?", "answer": ""}]}, "give one of them", id="twice"),
        pytest.param({"all_of": ["31|…"]}, "needs a letter or a digit", id="an alternative without letters"),
        pytest.param({"all_of": ["31"], "answers": []}, "answers is empty", id="a whole answer to nothing"),
    ],
)
def test_labels_that_contradict_each_other_are_refused(
    write: Callable[..., Path], fields: dict[str, Any], problem: str
) -> None:
    assert problem in refusal(write(line(**fields)))
