"""Passages, strips and evidence: what a question is answered from, as frozen records.

Offsets are in characters, end exclusive. Relevances are calibrated probabilities in 0..1, logits the scorer's raw
output. Pages count from 1; `None` where the kind of file has no pages.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from localcrag.records.enums import Grade, Origin, StripReason
from localcrag.text.places import SheetRow
from localcrag.text.titles import SEPARATOR, in_context


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`upper` and `lower` grade passages, `strip` keeps or drops strips; all calibrated probabilities."""

    upper: float
    lower: float
    strip: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk or a web result retrieved for a question. `id` is unique within its run.

    `title` is that of the document or web page; `section` is the path of headings that the passage stands under and
    `lead` what leads into a list or table that begins before it, where there are any; `dated` is the document's day,
    YYYY-MM-DD, where one is known; `confidence` is that of text recognition, where it read the passage; `rows` are its
    lines that are rows of a sheet. `cosine` and `overlap` are those of question and passage `in_context`: of their
    embeddings, and the share of the question's content words that the passage holds.
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
        """The text as models read it to judge it: with title, section and lead in front."""
        return in_context(self.title, self.text, section=self.section, lead=self.lead)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPassage(Passage):
    """A passage after evaluation. `reason` is the language model's, if it graded.

    If no model could score the passage, `scored` is False, and relevance and grade say nothing about it.
    """

    logit: float
    relevance: float
    grade: Grade
    reason: str | None = None
    scored: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a language model says of a passage that it grades; `confidence` is its own, in 0..1."""

    reasoning: str
    grade: Grade
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


Judgements = MutableMapping[tuple[str, str, str], Judgement]
"""What was judged before, by the model's name, question and text."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A sentence or so of a passage (`passage` is its id), scored and kept or dropped; offsets count in the passage.

    `points` are the language model's key points that
    the strip carries, in the model's words.
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
    """Where evidence comes from: a page of a document, or a web page. `dated` is its day, where one is known.

    `also` are the other names of the document, see Document.also.
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
    """Kept strips of one passage that belong together, numbered as the answer cites them. `source` is a Source's id.

    `section` is the passage's path of headings, `confidence` that of text recognition, where it read the passage.
    `rows` are the rows of a sheet that it is, without a table's header; their places count in the passage.
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
        """The path of headings without the sheet's name, which its rows say; may be empty."""
        sheets = {row.sheet for row in self.rows}
        return SEPARATOR.join(name for name in (self.section or "").split(SEPARATOR) if name not in sheets)
