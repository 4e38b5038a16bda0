"""The sample collection and evaluation set: ten documents of an invented town.

FOLDER has `documents/` and `questions.jsonl`, 40 questions: 20 that the documents answer, 10 that only the web results
recorded with them do, and 10 that nobody does. Everything was written for localcrag. scripts/make_samples.py makes the
Word and PDF documents from the texts in scripts/samples.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FIRST_QUESTIONS = ("kx30-first", "rent", "dog")
"""Ids of questions to begin with that the documents answer: by a procedure, a table, a condition."""
FOR_THE_WEB, FOR_NOBODY = "lighthouse", "wifi"
"""Ids of questions to begin with that only the web answers, and that nobody does."""
COLLECTION = "samples"
"""The collection that the page puts them into."""
DOCUMENTS = FOLDER / "documents"


def questions() -> list[str]:
    """Return all questions."""
    return list(_by_id().values())


def first_questions(*, web: bool) -> list[str]:
    """Return the questions to begin with; the last is one that the documents do not answer, and perhaps the web."""
    found = _by_id()
    return [found[name] for name in (*FIRST_QUESTIONS, FOR_THE_WEB if web else FOR_NOBODY)]


def _by_id() -> dict[str, str]:
    lines = map(json.loads, (FOLDER / "questions.jsonl").read_text("utf-8").splitlines())
    return {line["id"]: str(line["question"]) for line in lines}
