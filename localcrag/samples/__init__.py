"""A small collection to begin with, and an evaluation set: ten documents of a town that does not exist.

FOLDER has `documents/` and `questions.jsonl`, 40 questions: 20 that the documents answer, 10 that only the web results
recorded with them do, and 10 that nobody does. Everything was written for localcrag. scripts/make_samples.py makes the
Word and PDF documents from the texts in scripts/samples.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FIRST_QUESTIONS = ("tank", "lighthouse", "kx50")
"""Ids of questions to begin with: one for the documents, one for the web, and one that reads as if it were answered."""
