"""The sample collection and evaluation set: ten documents about a made-up town.

FOLDER contains `documents/` and `questions.jsonl` with 40 questions: 20 that the documents answer, 10 that only the
recorded web results answer, and 10 without an answer. Everything was written for localcrag. scripts/make_samples.py
generates the Word and PDF documents from the texts in scripts/samples.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FIRST_QUESTIONS = ("kx30-first", "rent", "dog")
"""Ids of the first suggested questions, which the documents answer by a procedure, a table and a condition."""
WEB_ONLY_QUESTION, UNANSWERABLE_QUESTION = "lighthouse", "wifi"
"""Ids of suggested questions: one that only the web answers, and one that nothing answers."""
COLLECTION = "samples"
"""Name of the collection that the page adds the samples to."""
DOCUMENTS = FOLDER / "documents"


def questions() -> list[str]:
    """Return all questions."""
    return list(_by_id().values())


def first_questions(*, web: bool) -> list[str]:
    """Return the suggested questions. The last one is not in the documents, but with `web` it may be on the web."""
    found = _by_id()
    return [found[name] for name in (*FIRST_QUESTIONS, WEB_ONLY_QUESTION if web else UNANSWERABLE_QUESTION)]


def _by_id() -> dict[str, str]:
    lines = map(json.loads, (FOLDER / "questions.jsonl").read_text("utf-8").splitlines())
    return {line["id"]: str(line["question"]) for line in lines}
