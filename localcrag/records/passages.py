"""Passages, strips and evidence, as frozen records, and which of them an answer cites.

Offsets are in characters, end exclusive. Relevances are calibrated probabilities in 0..1; logits are the scorer's raw
output. Pages count from 1 and are None for kinds of file without pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from localcrag.records.enums import Grade, Origin, StripReason
from localcrag.text.places import SheetRow, place_name
from localcrag.text.titles import SEPARATOR, with_context


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds as calibrated probabilities: `upper` and `lower` grade passages, `strip` keeps or drops strips."""

    upper: float
    lower: float
    strip: float


def grade(relevance: float, thresholds: Thresholds) -> Grade:
    """Return the grade of a relevance."""
    if relevance >= thresholds.upper:
        return Grade.CORRECT
    return Grade.INCORRECT if relevance < thresholds.lower else Grade.AMBIGUOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk or a web result retrieved for a question. `id` is unique within its run.

    `title` is that of the document or web page. `section` is the path of headings above the passage, and `lead` the
    text that introduces a list or table if that begins before the passage. `dated` is the document's date, YYYY-MM-DD,
    if known. `confidence` is that of text recognition, if the passage comes from it. `rows` are its lines that are
    sheet rows. `cosine` and `overlap` compare the question with the passage `in_context`: the cosine of their
    embeddings, and the share of the question's content words that the passage contains.
    """

    id: str
    origin: Origin
    text: str
    document: str | None = None
    page: int | None = None
    start: int | None = None
    end: int | None = None
    url: str | None = None
    title: str | None = None
    dated: str | None = None
    section: str | None = None
    lead: str | None = None
    confidence: float | None = None
    rows: tuple[SheetRow, ...] = ()
    cosine: float
    overlap: float | None = None

    @property
    def in_context(self) -> str:
        """The text as models score it, with title, section and lead before it."""
        return with_context(self.title, self.text, section=self.section, lead=self.lead)

    @property
    def place(self) -> str:
        """The place of the passage in words: the address of a web page, or the document with page or rows."""
        return self.url or place_name(self.document or "", self.page, self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPassage(Passage):
    """A passage after evaluation. `reason` is the language model's reason, if it graded the passage.

    If no model could score the passage, `scored` is False, and its relevance and grade mean nothing.
    """

    logit: float
    relevance: float
    grade: Grade
    reason: str | None = None
    scored: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """A language model's judgement of a passage; `confidence` is the model's own, in 0..1."""

    reasoning: str
    grade: Grade
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


Judgements = MutableMapping[tuple[str, str, str], Judgement]
"""Cache of judgements, by model name, question and text."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A small part of a passage, such as a sentence, that is scored and kept or dropped.

    `passage` is the passage's id; offsets count in the passage. `points` are the key points that the strip carries, in
    the language model's words.
    """

    passage: str
    start: int
    end: int
    text: str
    logit: float
    relevance: float
    kept: bool
    reason: StripReason | None = None
    points: tuple[str, ...] = ()


NEVER_KEPT = frozenset({StripReason.INSTRUCTION, StripReason.HIDDEN})
"""Reasons that no selection overrules: readers of the document do not see such a strip as a sentence."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Sentences (by passage and start) and whole passages (by id) that a person added (True) or removed (False).

    A choice about a sentence overrules the choice about its passage.
    """

    sentences: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    passages: Mapping[str, bool] = field(default_factory=dict)

    @property
    def puts_in(self) -> bool:
        """True if at least one sentence or passage was added."""
        return any([*self.sentences.values(), *self.passages.values()])

    def of(self, strip: Strip) -> bool | None:
        """Return the choice that applies to a strip, or None if there is none."""
        own = self.sentences.get((strip.passage, strip.start))
        return self.passages.get(strip.passage) if own is None else own


@dataclass(frozen=True, slots=True)
class Source:
    """The source of evidence: a page of a document, or a web page. `dated` is its date, if known.

    `also` are the other names of the document (see Document).
    """

    id: str
    origin: Origin
    document: str | None
    page: int | None
    url: str | None
    title: str | None
    dated: str | None = None
    also: tuple[str, ...] = ()

    def place(self, rows: Sequence[SheetRow] = ()) -> str:
        """Return the place in words: the address of a web page, or the document with page or rows."""
        return self.url or place_name(self.document or "", self.page, rows, self.also)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Kept strips of one passage that belong together; `n` is the number by which the answer cites them.

    `source` is a Source's id. `section` is the passage's path of headings, `confidence` that of text recognition, if
    the passage comes from it. `rows` are the sheet rows that the evidence consists of, without a table's header; their
    offsets count in the passage.
    """

    n: int
    text: str
    passage: str
    source: str
    relevance: float
    section: str | None = None
    confidence: float | None = None
    rows: tuple[SheetRow, ...] = ()

    @property
    def path(self) -> str:
        """The path of headings without the sheet's name, which is part of its rows; may be empty."""
        sheets = {row.sheet for row in self.rows}
        return SEPARATOR.join(name for name in (self.section or "").split(SEPARATOR) if name not in sheets)


def strips_by_piece(evidence: Sequence[Evidence], strips: Sequence[Strip]) -> dict[int, list[Strip]]:
    """Return the kept strips that each piece of evidence is made of, in order, by the number of the piece."""
    found: dict[int, list[Strip]] = {piece.n: [] for piece in evidence}
    for passage in {piece.passage for piece in evidence}:
        pieces = [piece for piece in evidence if piece.passage == passage]
        # Strips and pieces are both in reading order, so the search only moves forward.
        at = place = 0
        for strip in (strip for strip in strips if strip.kept and strip.passage == passage):
            for number in range(at, len(pieces)):
                here = pieces[number].text.find(strip.text, place if number == at else 0)
                if here >= 0:
                    at, place = number, here + len(strip.text)
                    found[pieces[number].n].append(strip)
                    break
    return found


_CITATION = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")


def citations(text: str) -> list[int]:
    """Return the numbers cited in a text, in order, each once."""
    found = [int(number) for group in _CITATION.findall(text) for number in group.split(",")]
    return list(dict.fromkeys(found))


def cited(answer: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the pieces of evidence that an answer cites, in their order."""
    numbers = set(citations(answer))
    return [piece for piece in evidence if piece.n in numbers]


def without_citations(text: str) -> str:
    """Return the text without any citation."""
    return _CITATION.sub("", text).strip()
