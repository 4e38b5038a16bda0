"""Labelled questions for rerankers: passages, sentences and unanswerable questions.

It reads the gzipped JSON lines of a data folder, one object a line: `passage`, and either `question` and `answers`, or
`questions` (each with `question`, `answers` and, in SQuAD 2.0, `answerable`). It knows no model: the caller hands in
vectors and scores.

Every question appears twice: with its own passage among the searched ones ("there"), and without it ("removed"), as if
the documents did not contain the answer.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localcrag.records.protocols import Vectors
from localcrag.text.sentences import Span, split_sentences

SETS = ("squad2", "nq_oracle", "fairytaleqa", "pubmedqa")
RANKED = 15
"""Passages ranked for a question, as in the figures of the first model (v0)."""
LONGEST_CHANCE = 2
"""Most characters of an answer that may occur in any text by chance, so that finding it means nothing."""


class DataError(Exception):
    """A file is missing in the data folder, or a line does not have the form in the module's docstring."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the index of its own passage, and the accepted answers (none if SQuAD's is unanswerable)."""

    text: str
    own: int
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """One set: all its distinct passages, its answerable questions, and its unanswerable ones."""

    name: str
    passages: tuple[str, ...]
    questions: tuple[Question, ...]
    unanswerable: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the indices and cosines of its RANKED + 1 nearest passages in the whole set, best first.

    There is one more than is ranked, so that RANKED are left without the question's own passage.
    """

    question: Question
    nearest: tuple[int, ...]
    cosines: tuple[float, ...]


def load_set(folder: Path, name: str) -> LabelledSet:
    """Read FOLDER/NAME.jsonl.gz. Raises DataError."""
    path = folder / f"{name}.jsonl.gz"
    passages: dict[str, int] = {}
    answerable: list[Question] = []
    unanswerable: list[Question] = []
    for row in read_lines(path):
        try:
            own = passages.setdefault(row["passage"], len(passages))
            for asked in row.get("questions", [row]):
                question = Question(asked["question"], own, tuple(filter(None, asked.get("answers", []))))
                (answerable if asked.get("answerable", True) else unanswerable).append(question)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} has a line that is no labelled question ({error!r}): {str(row)[:200]}") from error
    return LabelledSet(name, tuple(passages), tuple(answerable), tuple(unanswerable))


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the objects of a JSON lines file, gzipped where its name ends in .gz. Raises DataError."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}. Give the folder that holds the labelled sets.") from error


def shuffle(questions: Sequence[Question], seed: int) -> list[Question]:
    """Return the questions in an order that depends on `seed` alone."""
    return random.Random(seed).sample(questions, len(questions))


def retrieve(questions: Sequence[Question], asked: Vectors, passages: Vectors) -> list[Asked]:
    """Return each question with its nearest passages, from the unit vectors of questions and passages."""
    found = []
    for question, vector in zip(questions, asked, strict=True):
        cosines = passages @ vector
        nearest = np.argsort(-cosines, kind="stable")[: RANKED + 1]
        found.append(Asked(question, tuple(int(n) for n in nearest), tuple(float(c) for c in cosines[nearest])))
    return found


def holds(text: str, answers: Sequence[str]) -> bool:
    """Return whether the text contains an accepted answer of more than LONGEST_CHANCE characters."""
    lowered = text.lower()
    return any(len(answer) > LONGEST_CHANCE and answer.lower() in lowered for answer in answers)


def sentences(passage: str, answers: Sequence[str]) -> tuple[list[Span], list[bool]]:
    """Return the strips of a passage as the app cuts them, and which of them contain an accepted answer."""
    strips = split_sentences(passage)
    return strips, [holds(strip.text, answers) for strip in strips]


def pairs_on_same_passage(labelled: LabelledSet, most: int, *, seed: int) -> list[tuple[Question, Question]]:
    """Return up to `most` pairs of an answerable and an unanswerable question about one passage, one per passage."""
    chosen = random.Random(seed)
    asked: dict[int, tuple[list[Question], list[Question]]] = {}
    for place, questions in enumerate((labelled.questions, labelled.unanswerable)):
        for question in questions:
            asked.setdefault(question.own, ([], []))[place].append(question)
    both = [lists for lists in asked.values() if all(lists)]
    # All are shuffled before the list is cut, so that a smaller number gives the beginning of a larger sample.
    return [(chosen.choice(yes), chosen.choice(no)) for yes, no in chosen.sample(both, len(both))[:most]]
