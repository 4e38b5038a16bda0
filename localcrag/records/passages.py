"""Passages, strips and evidence: the text that a question is answered from, as frozen records.

Offsets are in characters, end exclusive. Relevances are calibrated probabilities in 0..1; logits are the scorer's raw
output. Pages count from 1 and are None for kinds of file without pages.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from localcrag.records.enums import Grade, Origin, StripReason
from localcrag.text.places import SheetRow
from localcrag.text.titles import SEPARATOR, with_context


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds as calibrated probabilities: `upper` and `lower` grade passages, `strip` keeps or drops strips."""

    upper: float
    lower: float
    strip: float


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
