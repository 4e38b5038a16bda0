"""Labelled sets of the form that the relevance scripts read, small and of our own sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOWNS = "Arvik Bolmen Dalsa Elvik Fjordal Grimso Halden Jelsa Kolvik Lomvik Mosvik Nesna".split()
SUBJECTS = {
    "squad2": ("lighthouse", "It shows a red light.", "Ships pass it by night."),
    "nq_oracle": ("library", "It lends books and maps.", "Children read there after school."),
    "fairytaleqa": ("castle", "A giant slept in its cellar.", "Nobody dared to wake him."),
    "pubmedqa": ("hospital", "It has forty beds.", "Its doctors study fevers."),
}


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def write_sets(folder: Path) -> Path:
    """Write four sets of a passage and a question for each town, the first with questions that it does not answer."""
    for name, (thing, *rest) in SUBJECTS.items():
        rows = []
        for number, town in enumerate(TOWNS):
            year = str(1801 + 7 * number)
            passage = f"The {thing} of {town} was built in {year}. {' '.join(rest)}"
            question = f"When was the {thing} of {town} built?"
            # As in PubMedQA: an answer that stands in no sentence.
            answers = ["yes"] if name == "pubmedqa" else [year]
            if name == "squad2":
                unanswerable = {"question": f"Who built the {thing} of {town}?", "answers": [], "answerable": False}
                asked = {"question": question, "answers": answers, "answerable": True}
                rows.append({"passage": passage, "questions": [asked, unanswerable]})
            else:
                rows.append({"passage": passage, "question": question, "answers": answers})
        write_lines(folder / f"{name}.jsonl.gz", rows)
    return folder
