"""References: numbered places and dates that a question names ("clause 10.4", "page 7")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from localcrag.records.passages import Passage
from localcrag.records.protocols import ChunkStore
from localcrag.tables.choose import chunk_of
from localcrag.tables.values import Moment, moment_at
from localcrag.text.quantities import MONTHS, comparable_moments
from localcrag.text.sentences import Span
from localcrag.text.titles import is_heading
from localcrag.text.words import content_words, overlap


class PlaceKind(Enum):
    """The kind of a numbered place.

    Words of the same kind are interchangeable: what one person calls a section, another calls a clause.
    """

    PAGE = "page"
    PART = "part"
    ITEM = "item"
    NOTE = "note"
    TABLE = "table"


_WORDS = {
    PlaceKind.PAGE: "page|slide|Seite|Folie",
    PlaceKind.PART: "section|clause|article|paragraph|chapter|rule|schedule|annex|appendix|§§?|Absatz|Abs\\.|Artikel|"
    "Art\\.|Abschnitt|Kapitel|Paragraph|Anhang|Anlage|Ziffer",
    PlaceKind.ITEM: "item|step|line|exercise|question|point|task|Schritt|Zeile|Aufgabe|Übung|Frage|Punkt|TOP",
    PlaceKind.NOTE: "footnote|endnote|note|Fußnote|Anmerkung",
    PlaceKind.TABLE: "table|figure|box|Tabelle|Abbildung",
}
_NUMBER = r"\d{1,4}(?:\.\d{1,3})*[a-z]?(?!\w| ?[%€$£])|\([a-z]{1,3}\)|[A-HJ-Z](?![\w-])|[IVX]{2,5}(?![\w-])|[†‡]"
_REFERENCE = re.compile(
    r"(?<!\w)(?:" + "|".join(f"(?P<{kind.value}>(?i:{words}))" for kind, words in _WORDS.items()) + r")"
    rf"[ \u00a0]*(?:(?i:no\.?|number|Nr\.|Nummer)[ \u00a0]+)?(?P<number>{_NUMBER})(?![.,]\d)"
    rf"|(?P<mark>[†‡])[ \u00a0]*(?i:foot)?(?i:note|Fußnote)\b"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A numbered place named in a question: its kind, its number without brackets, and its words' place in the text."""

    kind: PlaceKind
    number: str
    start: int
    end: int


def find_references(text: str) -> list[Reference]:
    """Return the numbered places that a text names, in order."""
    found = []
    for match in _REFERENCE.finditer(text):
        kind = next((kind for kind in PlaceKind if match[kind.value]), PlaceKind.NOTE)
        number = (match["number"] or match["mark"]).strip("()")
        found.append(Reference(kind, number, match.start(), match.end()))
    return found


def begins(line: str, reference: Reference) -> int:
    """Return how clearly a line begins a place: 2 with its word ("Step 3"), 1 with its number alone, otherwise 0."""
    number = re.escape(reference.number)
    start = r"\W{0,4}"
    words = _WORDS[reference.kind]
    if re.match(rf"{start}(?:{words})[ \u00a0]*(?:no\.? )?{number}(?![\w]|[.-]\d)", line, re.IGNORECASE):
        return 2
    if reference.kind in (PlaceKind.TABLE, PlaceKind.PAGE):
        return 0
    # A letter alone is a word; a number alone may be the beginning of any sentence or amount.
    bare = number if reference.number[0].isdigit() or not reference.number.isalnum() else rf"\({number}\)"
    return int(re.match(rf"{start}{bare}(?:[.):\]|]*[ \u00a0\t|]+)(?=\S)", line) is not None)


_SUBDIVISION = re.compile(r"[-*•–]|\(?(?:[a-z]{1,3}|\d{1,2})[.)]|\d+(?:\.\d+)+")
"""Beginning of a part of a clause."""


def end_of_place(lines: Sequence[str], first: int, reference: Reference) -> int:
    """Return the number of the line after a place: where the next one of its form, or a section, begins.

    A line is given with the line breaks before it.
    """
    number, words = re.escape(reference.number), rf"(?:{_WORDS[reference.kind]})[ \u00a0]*"
    begin = re.compile(rf"(?P<before>\W{{0,4}})(?P<word>{words})?{number}(?P<behind>[.):\]]?)", re.IGNORECASE)
    mark = begin.match(lines[first].lstrip())
    before, word, behind = (mark["before"], mark["word"], mark["behind"]) if mark else ("", None, "")
    form = re.sub(r"\d+", r"\\d+", number) if number[0].isdigit() else "[a-z]{1,3}" if number.isalpha() else r"[†‡§¶*]+"
    sibling = re.compile(rf"{re.escape(before)}{words if word else ''}{form}{re.escape(behind)}(?!\w)", re.IGNORECASE)
    # A note, or a clause that is a paragraph, ends with it; a heading's text has several.
    line = lines[first].strip()
    heads = is_heading(line.rstrip(".")) if word else is_heading(line) and not line.endswith(":")
    one_paragraph = reference.kind is PlaceKind.NOTE or not heads
    for at in range(first + 1, len(lines)):
        line = lines[at].lstrip()
        breaks = "\f" in lines[at] or "\n\n" in lines[at]
        ended = one_paragraph and breaks and (reference.kind is PlaceKind.NOTE or not _SUBDIVISION.match(line))
        if ended or line.startswith("#") or sibling.match(line):
            return at
    return len(lines)


_WORD_START = re.compile(r"(?<!\w)(?=\w)")
LONGEST_TEXT = 2_000_000
"""Maximum number of characters of a document in which a place is searched."""
MOST_DOCUMENTS = 3
"""Maximum number of documents in which a place is searched: those of the passages that were found."""
NEAR = 400
"""Number of characters after a line that may have the other words of the question."""
ABOVE = 1_500
"""Number of characters above a place that may name what it belongs to."""


@dataclass(frozen=True, slots=True)
class Place:
    """A numbered place of a document: its reference and its text, whose offsets count in the document's text.

    `chunk_id` is a chunk of the document. `words` are those of the document's name, its title, the section,
    and the text above.
    """

    reference: Reference
    text: Span
    chunk_id: int
    words: frozenset[str]


def find_place(question: str, found: Sequence[Passage], store: ChunkStore) -> Place | None:
    """Return the place that a question names, in the documents of the passages found; None if there is none.

    Documents whose name or title has most of the question's words come first. Raises StoreError.
    """
    references = [one for one in find_references(question) if one.kind is not PlaceKind.PAGE]
    if not references:
        return None
    for passage in _documents(question, found):
        chunk_id = chunk_of(passage)
        text = store.excerpt(chunk_id, 0, LONGEST_TEXT)
        if place := _place_in(text, references, question):
            within = store.chunks(store.chunks_within(chunk_id, place.start, place.start + 1))
            section = " ".join(chunk.section or "" for _name, chunk in within.values())
            above = text[max(0, place.start - ABOVE) : place.start]
            words = content_words(re.sub(r"[-_]", " ", f"{passage.document} {passage.title} {section} {above}"))
            return Place(references[0], place, chunk_id, frozenset(words))
    return None


def _place_in(text: str, references: Sequence[Reference], question: str) -> Span | None:
    """Return the text of the place in a document's text that fits the question best; None if there is none.

    A second reference right after the first ("§ 37 Absatz 4") is searched in the text of the first one.
    """
    first, *others = references
    best = max(_candidates(text, first, question), key=lambda one: one[0], default=None)
    if best is None:
        return None
    span = best[1]
    for other in others:
        if question[first.end : other.start].strip(" ,("):
            continue
        within = max(_candidates(span.text, other, question), key=lambda one: one[0], default=None)
        if within is None:
            return None
        start = span.start + within[1].start
        span = Span(start, start + len(within[1].text), within[1].text)
    return span


def _candidates(text: str, reference: Reference, question: str) -> Iterator[tuple[float, Span]]:
    """Yield the places of a text that a reference may mean, each with a score."""
    lines = list(_lines(text))
    # With the line breaks before each line, which tell where a paragraph or page ends.
    texts = [text[before.end if before else 0 : line.end] for before, line in zip([None, *lines], lines, strict=False)]
    for at, line in enumerate(lines):
        if clear := begins(line.text, reference):
            last = lines[end_of_place(texts, at, reference) - 1]
            span = Span(line.start, last.end, text[line.start : last.end])
            yield clear + overlap(question, span.text[:NEAR]) - ("...." in line.text or ". . ." in line.text), span


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.splitlines(keepends=True):
        if shown := line.strip():
            yield Span(start, start + len(line.rstrip()), shown)
        start += len(line)


def chunks_at_reference(question: str, found: Sequence[Passage], store: ChunkStore, most: int) -> list[int]:
    """Return the ids of up to `most` chunks at the place, page or date that a question names. Raises StoreError.

    A page is that of the document whose name or title has most of the question's words.
    """
    if not found:
        return []
    if place := find_place(question, found, store):
        return store.chunks_within(place.chunk_id, place.text.start, place.text.end)[:most]
    named = (one.number for one in find_references(question) if one.kind is PlaceKind.PAGE and one.number.isdigit())
    page = next(map(int, named), None)
    if page is None:
        return chunks_at_dates(question, found, store, most)
    best = max(found, key=lambda one: _naming(question, one))
    documents = store.documents_of([chunk_of(best)])
    chunks = store.chunks(store.chunk_ids(frozenset(documents.values())))
    return [chunk_id for chunk_id, (_name, chunk) in chunks.items() if chunk.page == page][:most]


def chunks_at_dates(question: str, found: Sequence[Passage], store: ChunkStore, most: int) -> list[int]:
    """Return the ids of up to `most` chunks with a line of a date that a question names, however it is written.

    The lines with most of the question's words come first, of the documents of the passages found. Raises StoreError.
    """
    dates = dates_in(question)
    if not dates:
        return []
    pattern = re.compile("|".join(map(date_pattern, dates)), re.IGNORECASE)
    lines: list[tuple[float, int, int]] = []
    for passage in _documents(question, found):
        chunk_id = chunk_of(passage)
        text = store.excerpt(chunk_id, 0, LONGEST_TEXT)
        for match in pattern.finditer(text):
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            line = text[start : end if end >= 0 else len(text)]
            lines.append((overlap(question, f"{passage.document} {line}"), chunk_id, match.start()))
    best = sorted(lines, key=lambda one: -one[0])[: 2 * most]
    chunks = (chunk for _score, chunk_id, at in best for chunk in store.chunks_within(chunk_id, at, at + 1))
    return list(dict.fromkeys(chunks))[:most]


def dates_in(text: str) -> list[Moment]:
    """Return the days and months of a year that a text names, in order; a year or a month alone is none."""
    found: list[Moment] = []
    end = 0
    for begin in _WORD_START.finditer(text):
        known = moment_at(text, begin.start()) if begin.start() >= end else None
        if known and known[0].month and (known[0].year or known[0].day):
            found.append(known[0])
            end = known[1]
    return found


def date_pattern(date: Moment) -> str:
    """Return a regular expression for a day or a month in every usual form; both orders of day and month match."""
    month = date.month or 1
    name = rf"(?:{MONTHS[month - 1]}|{MONTHS[month - 1][:3]}\.?)"
    day = rf"0?{date.day}" if date.day else r"\d{1,2}"
    year = str(date.year or r"\d{4}")
    forms = [rf"{year}-0?{month}-{day}", rf"{day}(?:st|nd|rd|th)?\.? (?:of )?{name}", rf"{name} {day}(?:st|nd|rd|th)?"]
    forms += [rf"{day}[./]0?{month}[./]{year}", rf"0?{month}/{day}/{year}"]
    if date.year:
        forms[1:3] = [rf"{forms[1]},? {year}", rf"{forms[2]},? {year}"]
    if not date.day:
        forms += [rf"{year}-0?{month}", rf"{name} (?:of )?{year}"]
    return rf"(?<![\w.-])(?:{'|'.join(forms)})(?!\d)"


def _documents(question: str, found: Sequence[Passage]) -> list[Passage]:
    """Return a passage of each of the MOST_DOCUMENTS documents that the question is likeliest to be about.

    Documents whose name or title has most of the question's words come first.
    """
    named: dict[str, Passage] = {}
    for passage in found:
        named.setdefault(passage.document or "", passage)
    return sorted(named.values(), key=lambda one: -_naming(question, one))[:MOST_DOCUMENTS]


def _naming(question: str, passage: Passage) -> float:
    """Return the share of the question's words in the name and title of a passage's document."""
    name, asked = (comparable_moments(text) for text in (f"{passage.document} {passage.title}", question))
    return overlap(re.sub(r"[-_]", " ", asked), re.sub(r"[-_]", " ", name))
