"""The sample collection: that its questions, documents and recorded web results are what they say they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lab.evaluation_sets.files import table_rows
from lab.evaluation_sets.search import normalised
from make_samples import TEXTS, read_text

from localcrag.app import samples
from localcrag.documents.readers.open_document import SUPPORTED, open_document, read_properties
from localcrag.evaluation.recorded_search import ADDRESS, recorded_search
from localcrag.records.evaluation_set import AnswerLocation, Question, read
from localcrag.search import SearXNG

SET = read(samples.FOLDER)
QUESTIONS = {held: [one for one in SET.questions if one.held_by is held] for held in AnswerLocation}
MOST_BYTES = 300_000


def whole_text(path: Path) -> str:
    return " ".join(" ".join(page.text for page in open_document(path, path.name).pages).split())


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    """The text of each document, by its name, normalised."""
    return {path.name: normalised(whole_text(path)) for path in SET.files}


def holding(texts: list[str], question: Question) -> list[str]:
    return [text for text in texts if any(normalised(answer) in text for answer in question.answers)]


def named(kind: AnswerLocation) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("question", QUESTIONS[kind], ids=lambda question: question.id)


def test_there_are_forty_questions_of_all_kinds_and_follow_ups_among_each() -> None:
    assert {held: len(questions) for held, questions in QUESTIONS.items()} == {
        AnswerLocation.DOCUMENTS: 20, AnswerLocation.WEB: 10, AnswerLocation.NOWHERE: 10,
    }  # fmt: skip
    assert [sum(bool(one.history) for one in QUESTIONS[held]) for held in AnswerLocation] == [3, 1, 1]
    held = {question.id: question.held_by for question in SET.questions}
    assert {held[name] for name in samples.FIRST_QUESTIONS} == {AnswerLocation.DOCUMENTS}
    assert [held[samples.WEB_ONLY_QUESTION], held[samples.UNANSWERABLE_QUESTION]] == [
        AnswerLocation.WEB,
        AnswerLocation.NOWHERE,
    ]


def test_the_documents_are_of_every_form_dated_and_small() -> None:
    assert Counter(path.suffix for path in SET.files) == {".md": 3, ".html": 2, ".docx": 2, ".pdf": 2, ".txt": 1}
    assert sum(path.stat().st_size for path in samples.FOLDER.rglob("*") if path.is_file()) < MOST_BYTES
    assert all(300 <= len(whole_text(path).split()) <= 700 for path in SET.files)
    assert all(read_properties(path, SUPPORTED[path.suffix]).dated for path in SET.files if path.suffix != ".txt")


@named(AnswerLocation.DOCUMENTS)
def test_the_documents_named_hold_the_answer(question: Question, documents: dict[str, str]) -> None:
    assert question.documents
    texts = [documents[name] for name in question.documents]
    assert holding(texts, question) == texts
    assert not question.web


@named(AnswerLocation.WEB)
def test_the_recorded_web_alone_holds_the_answer_and_a_search_finds_it(
    question: Question, documents: dict[str, str]
) -> None:
    texts = [normalised(f"{web.title}. {web.content}") for web in question.web]
    assert len(texts) == 3
    assert len(holding(texts, question)) == 1
    assert not holding(list(documents.values()), question)
    spoken = " ".join([*(turn.question for turn in question.history), question.question])
    with recorded_search([web for one in SET.questions for web in one.web]) as recorded:
        search = SearXNG(ADDRESS, timeout=30, results=5, transport=recorded)
        found = [normalised(f"{web.title}. {web.content}") for web in search.search(spoken).results]
        search.close()
    assert holding(found, question)


def test_addresses_are_reserved_ones_and_come_once() -> None:
    urls = [web.url for question in SET.questions for web in question.web]
    assert len(set(urls)) == len(urls)
    assert all(".example.org/" in url for url in urls)


def test_what_reads_as_if_answered_names_what_a_document_is_about(documents: dict[str, str]) -> None:
    for name, near in {
        "kx50": "bruma kx40", "line-4": "fourth line", "grade-4": "grade", "third-floor": "18 quay street",
        "coopers-wharf": "coopers wharf",
    }.items():  # fmt: skip
        assert name in {question.id for question in QUESTIONS[AnswerLocation.NOWHERE]}
        assert any(f" {near} " in text for text in documents.values())


@pytest.mark.parametrize("source", sorted(TEXTS.glob("*.md")), ids=lambda path: path.stem)
def test_what_was_made_from_a_text_says_what_the_text_says(source: Path) -> None:
    document, form = read_text(source)
    path = samples.FOLDER / "documents" / f"{document.name}.{form}"
    text = whole_text(path)
    assert read_properties(path, SUPPORTED[path.suffix]).dated == str(document.dated)
    for paragraph in document.paragraphs:
        pieces = [cell for row in table_rows(paragraph) for cell in row] or [paragraph.removeprefix("## ")]
        for piece in pieces:
            assert " ".join(piece.split()) in text
