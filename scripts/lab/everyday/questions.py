"""Read everyday questions from their files, and assign them to two halves of their documents.

Half of the answerable questions are asked where their document is, half where it is not. Near misses are asked where
their document is.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from lab.everyday.lines import needed_lines

HALVES = ("one half", "the other half")
"""Names of the collections that the documents are split into."""


class UnreadableData(Exception):
    """A file is missing in the data folder, or a line does not have the expected form."""


class Kind(StrEnum):
    """The kind of a question, by what its collection contains about it."""

    ANSWERABLE = "answerable"
    NEAR_MISS = "near miss"
    REMOVED = "document taken out"


SHARES = {Kind.ANSWERABLE: 0.5, Kind.NEAR_MISS: 0.3, Kind.REMOVED: 0.2}
"""Shares of the kinds in a sample; most are answerable, since most figures are about those."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question; `lines` are needed for a complete answer, and a right one must contain the strings `short`.

    Without lines, the document does not answer it, and `why` describes what the document says instead.
    """

    text: str
    type: str
    lines: tuple[str, ...]
    answer: str
    short: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its questions; `name` is the name of its file."""

    name: str
    text: str
    questions: tuple[Labelled, ...]

    def write(self, folder: Path) -> Path:
        """Write the document's file, and return its path."""
        path = folder / self.name
        path.write_text(self.text, "utf-8", newline="\n")
        return path


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the collection that it is asked in."""

    document: str
    labelled: Labelled
    kind: Kind
    collection: str


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, gzipped or not. Raises UnreadableData."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
        yield from (json.loads(line) for line in text.split("\n") if line.strip())
    except (OSError, EOFError, ValueError) as error:
        raise UnreadableData(f"{path} cannot be read: {error}. Check the data folder that you gave.") from error


def read_documents(path: Path) -> list[Document]:
    """Return the documents of a file in the form of `everyday/`. Raises UnreadableData."""
    documents = []
    for row in rows(path):
        try:
            name = f"{row['id']}.{'txt' if row.get('plain') else 'md'}"
            questions = tuple(_labelled(one, row["text"]) for one in row["questions"])
        except (KeyError, TypeError) as error:
            raise UnreadableData(f"A document of {path} lacks {error}.") from error
        documents.append(Document(name, row["text"], questions))
    return documents


def _labelled(row: Mapping[str, Any], document: str) -> Labelled:
    lines = needed_lines(row["evidence"], document)
    return Labelled(
        row["question"], row["type"], lines, row.get("answer") or "", tuple(row.get("short") or ()),
        row.get("why") or "",
    )  # fmt: skip


def halves(documents: Sequence[Document], seed: int) -> dict[str, list[Document]]:
    """Split the documents randomly into two collections; the same seed gives the same split."""
    mixed = sorted(documents, key=lambda document: document.name)
    random.Random(seed).shuffle(mixed)
    return dict(zip(HALVES, (mixed[::2], mixed[1::2]), strict=True))


def laid_out(collections: Mapping[str, Sequence[Document]], seed: int) -> list[Case]:
    """Assign every question to a collection. The same arguments give the same result."""
    chance = random.Random(seed)
    cases = []
    for name, documents in collections.items():
        elsewhere = next(other for other in collections if other != name)
        for document in documents:
            answered = [one for one in document.questions if one.lines]
            chance.shuffle(answered)
            # If their number is odd, the last one goes randomly to either half.
            here = answered[: (len(answered) + chance.randrange(2)) // 2]
            for one in document.questions:
                if not one.lines:
                    cases.append(Case(document.name, one, Kind.NEAR_MISS, name))
                elif one in here:
                    cases.append(Case(document.name, one, Kind.ANSWERABLE, name))
                else:
                    cases.append(Case(document.name, one, Kind.REMOVED, elsewhere))
    return cases


def sample(cases: Sequence[Case], number: int | None, seed: int) -> list[Case]:
    """Return a shuffled sample with the SHARES of kinds; all questions if `number` is None."""
    chance = random.Random(seed)
    chosen = list(cases)
    if number is not None:
        of_kind = {kind: [case for case in cases if case.kind is kind] for kind in Kind}
        there = sum(SHARES[kind] for kind in Kind if of_kind[kind])
        wanted = {kind: round(number * SHARES[kind] / there) for kind in Kind if of_kind[kind]}
        chosen = [
            case for kind in wanted for case in chance.sample(of_kind[kind], min(wanted[kind], len(of_kind[kind])))
        ]
    chance.shuffle(chosen)
    return chosen


def answered_in(documents: Iterable[Document], collection: str) -> list[Case]:
    """Return every question that its document answers, asked in one collection."""
    return [
        Case(document.name, one, Kind.ANSWERABLE, collection)
        for document in documents
        for one in document.questions
        if one.lines
    ]
