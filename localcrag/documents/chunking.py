"""Chunking: cut the sections of a document into chunks, with their headings and vectors.

A unit is never split if it fits into a chunk: a sentence of a paragraph, a list item, a row of a table. Units of one
group (a list with the sentence that introduces it, a table with its header) stay in one chunk if they fit.

A chunk never crosses a page, and contains more than one section only if the sections are too short to be found. It
stores the path of headings above it. If a list or a table had to be cut, the chunk also stores its introduction,
because the meaning of a sentence depends on its heading, its table's header or its list (docs/lab/evaluation.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, takewhile

import numpy as np

from localcrag.records.documents import Chunk, Page, mean_confidence
from localcrag.records.ingest import IngestEvent
from localcrag.records.protocols import Embedder, Vectors
from localcrag.text.blocks import Block, BlockKind, iter_blocks
from localcrag.text.places import rows_within
from localcrag.text.sentences import split_sentences
from localcrag.text.titles import SEPARATOR, heading_text, with_context
from localcrag.text.words import one_line

CountTokens = Callable[[Sequence[str]], list[int]]

PORTION_UNITS = 2_000
"""Number of units in one portion; finding all units of a long text without pages at once would take minutes."""
PORTION_CHARACTERS = 200_000
"""Maximum characters of one portion; half a megabyte without a sentence end takes as long as thousands of short
units."""
LONGEST_PIECE = 100_000
"""Maximum characters of a block that is measured as a whole; a longer block has more tokens than any chunk, so it is
cut first."""
LONGEST_LEAD = 200
"""Maximum characters of the introduction in front of the rest of a list or table."""

_INTRODUCES = re.compile(r":[*_\"'”’)]*\s*\Z")
_CAPTION = re.compile(r"(?:table|tab\.|figure)\s+[\dIVX]+\b", re.IGNORECASE)
_NO_SPACE = re.compile(r"\S")
_SENTENCE_BEFORE = re.compile(r"[.!?]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A piece of a page; `start` and `end` are offsets in the page's text.

    `tokens` counts the embedding model's tokens. `section` is the path of headings above the unit, from the outermost;
    a heading's own path includes the heading. `lead` is the context that a reader of this unit alone needs: the header
    of its table, or the sentence that introduces its list.
    """

    page: int
    start: int
    end: int
    tokens: int
    section: tuple[str, ...]
    group: int
    heading: bool = False
    lead: str = ""


Cut = Callable[[str, TextUnit], Sequence[TextUnit]]
"""Function that cuts a unit, given the text of its page."""


def find_units(
    pages: Iterable[Page], count_tokens: CountTokens, *, title: str, target: int, limit: int
) -> Iterator[list[TextUnit]]:
    """Yield the units of a document in order, in portions that take about a second each; some may be empty.

    No unit has more than `limit` tokens. A paragraph of more than `target` tokens is cut into sentences. The path of
    headings continues from page to page; it leaves out a heading that repeats the `title`.
    """
    outline = _Outline(title)
    for number, page in enumerate(pages):
        blocks = iter_blocks(page.text, page.headings)
        found = (unit for one in blocks for unit in outline.units(number, one, page.text[one.start : one.end]))
        for drafts in _portions(piece for unit in found for piece in _pieces(page.text, unit)):
            yield _count_and_split(page.text, drafts, count_tokens, target=target, limit=limit)


def _portions(units: Iterable[TextUnit]) -> Iterator[list[TextUnit]]:
    portion: list[TextUnit] = []
    letters = 0
    for unit in units:
        portion.append(unit)
        letters += unit.end - unit.start
        if len(portion) >= PORTION_UNITS or letters >= PORTION_CHARACTERS:
            yield portion
            portion, letters = [], 0
    if portion:
        yield portion


def _pieces(text: str, unit: TextUnit) -> Iterator[TextUnit]:
    """Yield a unit; a huge unit is cut into sentences, or, if it has none, into pieces that end with a word."""
    start = unit.start
    while unit.end - start > LONGEST_PIECE:
        end = start + LONGEST_PIECE
        sentences = split_sentences(text[start:end])[:-1]  # The last sentence may be cut off.
        if sentences:
            yield from (replace(unit, start=start + one.start, end=start + one.end) for one in sentences)
            start += sentences[-1].end
        else:
            end = next((at for at in (text.rfind(space, start + 1, end) for space in "\n ") if at > 0), end)
            yield replace(unit, start=start, end=end)
            start = end
        start = behind.start() if (behind := _NO_SPACE.search(text, start, unit.end)) else unit.end
    yield replace(unit, start=start)


class _Outline:
    """Tracks the headings, group and introduction of each block in a document."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._open: list[tuple[int, str]] = []
        self._group = 0
        self._lead = ""
        self._before: BlockKind | None = None

    def units(self, page: int, block: Block, text: str) -> Iterator[TextUnit]:
        if is_heading := block.kind is BlockKind.HEADING:
            self._enter(block.level, heading_text(text))
        continues = self._continues_group(block)
        if not continues:
            self._group += 1
            self._lead = ""
        path = tuple(name for _, name in self._open if name)
        yield TextUnit(page, block.start, block.end, 0, path, self._group, heading=is_heading, lead=self._lead)
        if block.kind is BlockKind.HEADER:
            self._lead = _cut(text.split("\n", 1)[0])
        elif not continues and block.kind in (BlockKind.PARAGRAPH, BlockKind.LINE, BlockKind.ITEM):
            self._lead = _introduction(text)
        self._before = block.kind

    def _enter(self, level: int, name: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        repeats_title = not self._open and name.casefold() == self._title.casefold()
        self._open.append((level, "" if repeats_title else name))

    def _continues_group(self, block: Block) -> bool:
        """Return whether a block is in the same group as the block before it."""
        if block.kind is BlockKind.ROW:
            return self._before in (BlockKind.HEADER, BlockKind.ROW)
        if block.kind is BlockKind.ITEM and self._before is BlockKind.ITEM:
            return True
        is_led = bool(self._lead) and block.kind in (BlockKind.ITEM, BlockKind.HEADER, BlockKind.CODE)
        return is_led and not (block.kind is BlockKind.HEADER and self._before is BlockKind.ROW)


def _introduction(text: str) -> str:
    """Return the text that introduces the list, table or code after a paragraph; empty if there is no introduction."""
    if not _INTRODUCES.search(text) and not _CAPTION.match(text):
        return ""
    return _cut(_SENTENCE_BEFORE.split(text)[-1])


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_LEAD else line[:LONGEST_LEAD].rsplit(" ", 1)[0]


def _count_and_split(
    text: str, units: Sequence[TextUnit], count_tokens: CountTokens, *, target: int, limit: int
) -> list[TextUnit]:
    """Return the units with their token counts; cut long units into sentences, and long sentences into pieces.

    A piece may have no tokens: for example, an embedding model ignores private-use characters.
    """
    tokens = count_tokens([text[unit.start : unit.end] for unit in units])
    drafts = [replace(unit, tokens=count) for unit, count in zip(units, tokens, strict=True)]
    drafts = _split_long_units(text, drafts, count_tokens, _sentences, min(target, limit))
    while any(_is_too_long(unit, limit) for unit in drafts):
        drafts = _split_long_units(text, drafts, count_tokens, _halves, limit)
    return drafts


def _split_long_units(
    text: str, units: Sequence[TextUnit], count_tokens: CountTokens, cut: Cut, limit: int
) -> list[TextUnit]:
    """Return the units, replacing each unit of more than `limit` tokens by its pieces, whose tokens are counted."""
    drafts = [piece for unit in units for piece in (cut(text, unit) if _is_too_long(unit, limit) else (unit,))]
    known = set(units)
    new = [unit for unit in drafts if unit not in known]
    tokens = iter(count_tokens([text[unit.start : unit.end] for unit in new]))
    return [unit if unit in known else replace(unit, tokens=next(tokens)) for unit in drafts]


def _is_too_long(unit: TextUnit, limit: int) -> bool:
    return unit.tokens > limit and unit.end - unit.start > 1


def _sentences(text: str, unit: TextUnit) -> list[TextUnit]:
    spans = split_sentences(text[unit.start : unit.end])
    return [replace(unit, start=unit.start + span.start, end=unit.start + span.end) for span in spans]


def _halves(text: str, unit: TextUnit) -> tuple[TextUnit, TextUnit]:
    """Cut at the white space nearest to the middle, or in the middle if there is none (a long string, CJK)."""
    piece = text[unit.start : unit.end]
    middle = len(piece) // 2
    spaces = [place for place in (piece.rfind(" ", 1, middle), piece.find(" ", middle, -1)) if place > 0]
    cut = min(spaces, key=lambda place: abs(place - middle), default=middle)
    return replace(unit, end=unit.start + cut), replace(unit, start=unit.end - len(piece[cut:].lstrip()))


PAGE_BREAK = "\f"
"""Separator of two pages in a document's text, as in the output of pdftotext."""

_LEAST_SHARE = 1 / 3
"""Minimum share of the target length for a chunk that is followed by another section on the same page."""
_PATH_HEADINGS = 3
"""Number of headings of a path to keep, the innermost ones; with more, the passage itself would get lost among them."""


def join_pages(pages: Iterable[Page]) -> str:
    """Return a document's text; the offsets of chunks refer to it."""
    return PAGE_BREAK.join(page.text for page in pages)


def chunks_from_units(pages: Sequence[Page], units: Sequence[TextUnit], *, target: int, limit: int) -> list[Chunk]:
    """Return the chunks made from the units of a document (see find_units), in order.

    `target` and `limit` count the embedding model's tokens: a chunk has about `target`, and none has more than `limit`.
    Every character of the pages that is not white space is in exactly one chunk, except on pages without any token,
    which no question would find.
    """
    chunks: list[Chunk] = []
    offset, page_units = 0, {number: list(some) for number, some in groupby(units, key=lambda unit: unit.page)}
    for number, page in enumerate(pages):
        on_page = page_units.get(number, [])
        # No question would find a page without tokens.
        parts = _parts(_sections(on_page), target * _LEAST_SHARE, limit) if _tokens(on_page) else ()
        chunks += [_chunk(page, group, offset) for part in parts for group in _distribute(part, target, limit)]
        offset += len(page.text) + len(PAGE_BREAK)
    return chunks


def _chunk(page: Page, units: Sequence[TextUnit], offset: int) -> Chunk:
    start, end = units[0].start, units[-1].end
    path = _common_path([unit.section for unit in units if not unit.heading] or [units[-1].section])
    text, section = page.text[start:end], SEPARATOR.join(path[-_PATH_HEADINGS:]) or None
    lead = units[0].lead if units[0].lead and units[0].lead not in text else None
    confidence, rows = _confidence(page, start, end), rows_within(page.rows, page.text, start, end)
    return Chunk(page.number, offset + start, offset + end, text, section, lead, confidence, rows)


def _confidence(page: Page, start: int, end: int) -> float | None:
    """Return the confidence of text recognition in a part of a page; None if none of it was recognised."""
    parts = [(min(part.end, end) - max(part.start, start), part.confidence) for part in page.recognised]
    return mean_confidence([(length, confidence) for length, confidence in parts if length > 0])


def _sections(units: Sequence[TextUnit]) -> list[list[TextUnit]]:
    """Split units before each heading; consecutive headings stay with the text that follows them."""
    sections: list[list[TextUnit]] = []
    for unit in units:
        if not sections or (unit.heading and not sections[-1][-1].heading):
            sections.append([])
        sections[-1].append(unit)
    return sections


def _parts(sections: Sequence[list[TextUnit]], least: float, limit: int) -> list[list[TextUnit]]:
    """Join sections that are too short with the following ones, if both fit into a chunk."""
    parts: list[list[TextUnit]] = []
    size = 0
    for section in sections:
        more = _tokens(section)
        if parts and min(size, more) < least and size + more <= limit:
            parts[-1] += section
            size += more
        else:
            parts.append([*section])
            size = more
    return parts


def _common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings with which all paths begin."""
    # What the first and the last path in order have in common, all paths between them have, too.
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(paths), max(paths), strict=False))
    return tuple(heading for heading, _ in shared)


def _tokens(units: Iterable[TextUnit]) -> int:
    return sum(unit.tokens for unit in units)


def _distribute(units: list[TextUnit], target: int, limit: int) -> Iterable[list[TextUnit]]:
    """Distribute units evenly over chunks of about `target` tokens, keeping groups whole if they fit."""
    total = _tokens(units)
    goal = total / max(1, round(total / target))
    chunk: list[TextUnit] = []
    # A running total is enough: units without tokens never fill a chunk.
    size, only_headings = 0, True
    for group in _groups(units, limit):
        more = _tokens(group)
        # Closing the chunk before a group that lies mostly beyond the goal keeps the mean chunk length at the goal.
        beyond = size + more / 2 > goal and not only_headings
        if chunk and (beyond or size + more > limit):
            yield chunk
            chunk, size, only_headings = [], 0, True
        chunk += group
        size += more
        only_headings = only_headings and all(unit.heading for unit in group)
    if chunk:
        yield chunk


def _groups(units: Sequence[TextUnit], limit: int) -> list[list[TextUnit]]:
    """Return the units by group; a group that is longer than a chunk is split into its units."""
    groups: list[list[TextUnit]] = []
    for _, some in groupby(units, key=lambda unit: unit.group):
        group = list(some)
        groups += [group] if _tokens(group) <= limit else [[unit] for unit in group]
    return groups


EMBED_BATCH = 64
"""Chunks embedded between two progress reports; they are sorted by length, so that batches need little padding."""
SECTION_TOKENS = 24
"""Tokens reserved in front of a chunk for the headings above it."""


MakeProgress = Callable[[str, int, int], IngestEvent]
"""Creates a progress event from the phase of an ingest, the amount done and the total."""


def cut_pages(
    pages: Sequence[Page], title: str, embedder: Embedder, target: int, event: MakeProgress
) -> Generator[IngestEvent, None, list[Chunk]]:
    """Return the pages cut into chunks that the embedding model can read together with their context.

    Yields the progress in characters if there is much to cut.
    """
    (title_tokens,) = embedder.count_tokens([title])
    # If the context window is small, long headings may push out the end of a passage, but never half of it.
    limit = max(embedder.max_tokens - title_tokens - SECTION_TOKENS, embedder.max_tokens // 2)
    ends = [0, *accumulate(len(page.text) for page in pages)]
    units: list[TextUnit] = []
    reported_units = reported_end = 0
    target = min(target, limit)
    for some in find_units(pages, embedder.count_tokens, title=title, target=target, limit=limit):
        units += some
        done = ends[units[-1].page] + units[-1].end if units else 0
        if len(units) - reported_units >= PORTION_UNITS or done - reported_end >= PORTION_CHARACTERS:
            reported_units, reported_end = len(units), done
            yield event("cutting", done, ends[-1])
    return chunks_from_units(pages, units, target=target, limit=limit)


def embedding_texts(chunks: Sequence[Chunk], title: str) -> list[str]:
    """Return the texts to embed: each chunk with its title, headings and introduction in front."""
    return [with_context(title, chunk.text, section=chunk.section, lead=chunk.lead) for chunk in chunks]


def embed_chunks(
    chunks: Sequence[Chunk], title: str, embedder: Embedder, event: MakeProgress, known: Mapping[str, Vectors]
) -> Generator[IngestEvent, None, Vectors]:
    """Return a vector for each chunk, shape (chunks, dimension); yield the progress events that `event` creates.

    Vectors in `known`, keyed by their text, are reused.
    """
    texts = embedding_texts(chunks, title)
    new = [text for text in texts if text not in known]
    (made,) = yield from embed_documents([(new, event)], embedder)
    yield event("embedding", len(new), len(new))
    embedded = dict(zip(new, made, strict=True))
    vectors = [known[text] if text in known else embedded[text] for text in texts]
    return np.array(vectors, np.float32).reshape(-1, embedder.dimension)


def embed_documents(
    documents: Sequence[tuple[Sequence[str], MakeProgress]], embedder: Embedder
) -> Generator[IngestEvent, None, list[Vectors]]:
    """Return the vectors of each document's texts; yield the start of each, then the progress of the longest one.

    Texts of similar length are embedded together, even from different documents, so that they need little padding.
    """
    for texts, event in documents:
        yield event("embedding", 0, len(texts))
    owners = [number for number, (texts, _) in enumerate(documents) for _ in texts]
    every = [text for texts, _ in documents for text in texts]
    vectors = np.zeros((len(every), embedder.dimension), dtype=np.float32)
    by_length = sorted(range(len(every)), key=lambda place: -len(every[place]))
    longest = max(range(len(documents)), key=lambda number: len(documents[number][0]), default=0)
    done = 0
    for start in range(0, len(every), EMBED_BATCH):
        if start:
            texts, event = documents[longest]
            yield event("embedding", done, len(texts))
        some = by_length[start : start + EMBED_BATCH]
        vectors[some] = embedder.embed([every[place] for place in some])
        done += sum(owners[place] == longest for place in some)
    ends = list(accumulate(len(texts) for texts, _ in documents))
    return [vectors[end - len(texts) : end] for end, (texts, _) in zip(ends, documents, strict=True)]
