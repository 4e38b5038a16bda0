"""What was written for training the relevance model: that it is what it says it is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from lab.relevance.data import read_lines
from lab.training import everyday

from tests.support import ROOT

FOLDER = ROOT / "scripts" / "lab" / "training" / "documents"
SHORT = list(read_lines(FOLDER / "short_documents.jsonl.gz"))
TWINS = list(read_lines(FOLDER / "twin_documents.jsonl.gz"))
DOCUMENTS = [*read_lines(FOLDER / "further_documents.jsonl.gz"), *SHORT, *TWINS]
PLAIN = list(read_lines(FOLDER / "plain_questions.jsonl.gz"))
OTHER_WORDINGS = list(read_lines(FOLDER / "other_wordings.jsonl.gz"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_every_needed_line_stands_in_its_document_and_every_near_miss_has_its_reason(document: dict[str, Any]) -> None:
    for asked in document["questions"]:
        assert all(line in document["text"] and "\n" not in line.strip() for line in asked["evidence"])
        assert bool(asked["evidence"]) != bool(asked.get("why"))


def test_documents_and_questions_come_once_and_are_of_both_kinds() -> None:
    assert max(Counter(document["id"] for document in DOCUMENTS).values()) == 1
    questions = [(document["id"], asked) for document in DOCUMENTS for asked in document["questions"]]
    questions += [(row["id"], row) for row in PLAIN]
    assert max(Counter((name, asked["question"]) for name, asked in questions).values()) == 1
    answered = Counter(bool(asked["evidence"]) for _, asked in questions)
    assert answered == {True: 8524, False: 7096}


def test_short_documents_are_short_and_have_more_direct_questions_than_near_misses() -> None:
    assert all(len(document["text"]) <= 1200 for document in SHORT)
    assert {(5, 8)} == {(sum(bool(one["evidence"]) for one in d["questions"]), len(d["questions"])) for d in SHORT}


def test_further_questions_are_read_with_their_documents_names() -> None:
    questions = everyday.plain_questions([FOLDER / "plain_questions.jsonl.gz"])
    assert len(questions) == len(PLAIN)
    assert all(one.document.endswith(".md") and one.also == one.text for one in questions)


def test_other_wordings_come_in_fours_and_each_once() -> None:
    assert len(OTHER_WORDINGS) == 6000
    assert max(Counter((row["id"], row["question"].casefold()) for row in OTHER_WORDINGS).values()) == 1
    of_needed = Counter((row["id"], row["type"], *row["evidence"]) for row in OTHER_WORDINGS)
    assert {number % 4 for number in of_needed.values()} == {0}
    assert len(everyday.plain_questions([FOLDER / "other_wordings.jsonl.gz"])) == 6000
