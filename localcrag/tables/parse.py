"""Rows of a table: their cells and places, and which of them are totals or labels of others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from localcrag.text.blocks import Block, BlockKind, blocks_of, cells_of
from localcrag.text.titles import SEPARATOR, heading_text
from localcrag.text.words import one_line

_TOTAL = re.compile(
    r"(?:grand |sub-?|over-?all |sum )?(?:totals?|sums?|overall|summe|gesamt(?:summe)?|zwischensumme)\b|"
    r"(?:(?:all )?together|altogether)\b|"
    r"(?:average|mean|median|carried (?:forward|over))\b",
    re.IGNORECASE,
)
_OF_TOTAL = re.compile(
    r"(?: ?[(,]?(?:of|for|in|per|all|net|gross|amount|costs?|price|sum|due|year|month|incl|excl|including|excluding|"
    r"with|without|vat|tax|eur|usd|gbp|the|items?|rows?|entries|(?:19|20)\d\d)\b[).]?)*[ :.]*\Z",
    re.IGNORECASE,
)
"""What may stand behind the word in a row's label; with others it is a total where the row has no other words."""
_DUE = re.compile(
    r"(?:(?:net|gross) (?:amount|sum)|(?:amount|balance|sum) (?:due|payable|to pay)|(?:gesamt|rechnungs|end)betrag)\W*",
    re.IGNORECASE,
)
"""Whole labels of what is to be paid in the end."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells, as many as the header has, and its place in the document's text."""

    cells: tuple[str, ...]
    start: int
    end: int
    page: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether it sums up the rows above it. "Total Care Shampoo" is none."""
        first = next(filter(None, self.cells), "")
        found = _TOTAL.match(first)
        if found is None:
            # Behind a number or a day, as of any row, it is a total only where nothing else is said.
            label = next(filter(_has_letter, self.cells), "")
            found = _TOTAL.match(label) if not _has_letter(first) else None
            of_total = found is not None and _OF_TOTAL.match(label, found.end()) is not None
            return of_total or _DUE.fullmatch(label) is not None
        others = [cell for cell in self.cells if cell][1:]
        figures_alone = len(self.cells) > 2 and all(has_digit(cell) or not _has_letter(cell) for cell in others)
        return figures_alone or _OF_TOTAL.match(first, found.end()) is not None

    @property
    def is_label(self) -> bool:
        """Whether it has nothing but its first cell, as what stands over a group of rows."""
        return len(self.cells) > 2 and bool(self.cells[0]) and not any(self.cells[1:])


def has_digit(text: str) -> bool:
    """Whether a cell has a digit."""
    return any(map(str.isdigit, text))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


PAGE_BREAK = "\f"
LEAST_ROWS = 3
"""Of a table that is worth computing with."""
LONGEST_CAPTION = 120
"""Characters; what is longer is a paragraph."""
MOST_BETWEEN, LONGEST_BETWEEN = 2, 60
"""Lines, and characters of each, that may stand between the parts of a table on two pages: a page's number, a note."""
MOST_PAGES = 200
"""That one table may go on over."""

_SENTENCES = re.compile(r"(?:\S+ ){5,}\S*[.!?]\Z")
"""What is a whole sentence, or several, is no name."""
_EMPHASIS = re.compile(r"\*\*|__|`|<br ?/?>")
_TABLE = (BlockKind.HEADER, BlockKind.ROW)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with all its rows. `section` is the path of headings over it, `caption` the line above it, if any.

    `start` and `end` are the places of its first and behind its last row, its header among them.
    """

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    start: int
    end: int
    section: str = ""
    caption: str = ""

    @property
    def name(self) -> str:
        """What it is called: its caption, else the heading that it stands under; may be empty."""
        return self.caption or self.section.rpartition(SEPARATOR)[2]


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a table that stands on one page; `first` and `last`: hardly anything is before or behind it there."""

    table: Table
    first: bool
    last: bool
    ruled: bool


class Tables:
    """The tables of a document's text, read page by page, each page once."""

    def __init__(self, text: str, *, paged: bool) -> None:
        self.text = text
        self._pages = list(_pages(text))
        self._paged = paged
        self._known: dict[int, list[_Piece]] = {}

    def on_page_of(self, place: int) -> Iterator[Table]:
        """Yield the tables of the page that has a `place`, whole where they go on on other pages."""
        here = max((at for at, (start, _) in enumerate(self._pages) if start <= place), default=0)
        for piece in self._on(here):
            whole = [piece]
            behind, above = here + 1, here - 1
            while behind - here < MOST_PAGES and _meet(whole[-1:], self._on(behind)[:1]):
                whole.append(self._on(behind)[0])
                behind += 1
            while here - above < MOST_PAGES and _meet(self._on(above)[-1:], whole[:1]):
                whole.insert(0, self._on(above)[-1])
                above -= 1
            table = _joined(whole)
            if len(table.rows) >= LEAST_ROWS and _are_one(whole):
                yield table

    def _on(self, at: int) -> list[_Piece]:
        if at not in self._known:
            in_range = 0 <= at < len(self._pages)
            number = at + 1 if self._paged else None
            self._known[at] = list(_pieces(*self._pages[at], number)) if in_range else []
        return self._known[at]


def tables_in(text: str, place: int, *, paged: bool) -> Iterator[Table]:
    """Yield the tables of the page of a document's text that has a `place`, whole where they go on on other pages."""
    yield from Tables(text, paged=paged).on_page_of(place)


def places_of(text: str, names: Sequence[str]) -> Iterator[int]:
    """Yield the place of each page of a document's text that has all these names of columns."""
    for start, page in _pages(text):
        folded = page.casefold()
        if all(name in folded for name in names):
            yield start


def _pages(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for page in text.split(PAGE_BREAK):
        yield start, page
        start += len(page) + len(PAGE_BREAK)


def _meet(piece: Sequence[_Piece], behind: Sequence[_Piece]) -> bool:
    """Whether the last piece of a page and the first one of the next are of one table, as far as their form tells.

    A ruled header of its own begins another table.
    """
    if not piece or not behind or not piece[0].last or not behind[0].first:
        return False
    one, other = piece[0].table, behind[0].table
    return one.header == other.header or (not behind[0].ruled and len(one.header) == len(other.header))


def _are_one(pieces: Sequence[_Piece]) -> bool:
    """Whether what begins each further page is the header again, or has figures where the first page has them.

    Words alone may be a row or another table's header: what belongs to the table is not known then.
    """
    first = pieces[0].table
    if len(pieces) == 1:
        return True
    figures = [
        column
        for column in range(len(first.header))
        if 2 * sum(has_digit(row.cells[column]) for row in first.rows) > len(first.rows)
    ]
    return all(
        piece.table.header == first.header or any(has_digit(piece.table.header[column]) for column in figures)
        for piece in pieces[1:]
    )


def _joined(pieces: Sequence[_Piece]) -> Table:
    first = pieces[0].table
    if len(pieces) == 1:
        return first
    rows = list(first.rows)
    for piece in pieces[1:]:
        if piece.table.header != first.header:
            # What looks like a header, being the first row of its page, is none.
            begin = piece.table.start
            end = piece.table.rows[0].start if piece.table.rows else piece.table.end
            page = piece.table.rows[0].page if piece.table.rows else None
            rows.append(Row(piece.table.header, begin, end, page))
        rows += piece.table.rows
    return replace(first, rows=tuple(rows), end=pieces[-1].table.end)


def _pieces(start: int, page: str, number: int | None) -> Iterator[_Piece]:
    blocks = blocks_of(page)
    path: list[tuple[int, str]] = []
    before: Block | None = None
    at = 0
    for is_table, some in groupby(blocks, key=lambda block: block.kind in _TABLE):
        run = list(some)
        if not is_table:
            _follow(path, run, page)
            before = run[-1]
            at += len(run)
            continue
        for place, part in _parts(run):
            table = _table(part, page, start, number)
            if table is not None and not _is_cut(part, blocks, page):
                own = before if place == 0 else None
                section = SEPARATOR.join(name for _, name in path if name)
                yield _Piece(
                    replace(table, section=section, caption=_caption(own, page)),
                    _is_small(blocks[: at + place], page),
                    _is_small(blocks[at + place + len(part) :], page),
                    "\n" in page[part[0].start : part[0].end],
                )
        at += len(run)


def _is_cut(part: Sequence[Block], blocks: Sequence[Block], page: str) -> bool:
    """Whether a line that is no row to its reader stands right above or below the rows, and may be one of them."""
    above = next((block for block in reversed(blocks) if block.end <= part[0].start), None)
    below = next((block for block in blocks if block.start >= part[-1].end), None)
    if above and "|" in page[above.start : above.end] and above.kind not in _TABLE:
        return page[above.end : part[0].start].count("\n") == 1
    if below is None or below.kind in (BlockKind.HEADING, *_TABLE):
        return False
    return page[part[-1].end : below.start].count("\n") == 1


def _parts(run: Sequence[Block]) -> Iterator[tuple[int, list[Block]]]:
    """Yield the tables of blocks that are all rows and headers, each with its place: a header begins another one."""
    heads = [at for at, block in enumerate(run) if block.kind is BlockKind.HEADER] or [len(run)]
    for at, end in zip(heads, [*heads[1:], len(run)], strict=True):
        if at < end:
            yield at, list(run[at:end])


def _follow(path: list[tuple[int, str]], blocks: Sequence[Block], page: str) -> None:
    """Bring the path of open headings up to behind these blocks."""
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, heading_text(page[block.start : block.end])))


def _caption(before: Block | None, page: str) -> str:
    if before is None or before.kind not in (BlockKind.PARAGRAPH, BlockKind.LINE):
        return ""
    text = one_line(page[before.start : before.end])
    return text.rstrip(":") if len(text) <= LONGEST_CAPTION and not _SENTENCES.search(text) else ""


def _is_small(blocks: Sequence[Block], page: str) -> bool:
    """Whether these blocks are at most a page's number or the like."""
    return len(blocks) <= MOST_BETWEEN and all(
        block.kind in (BlockKind.LINE, BlockKind.PARAGRAPH) and block.end - block.start <= LONGEST_BETWEEN
        for block in blocks
    )


def _table(blocks: Sequence[Block], page: str, offset: int, number: int | None) -> Table | None:
    """Return a table, None for one whose rows do not fit under its header: a cell may be missing anywhere."""
    header_line = page[blocks[0].start : blocks[0].end].split("\n", 1)[0]
    header = tuple(map(_bare, cells_of(header_line)))
    barred = "|" in header_line
    bare = cache(_bare)  # Most cells of a long table are those of other rows again.
    rows = []
    for block in blocks[1:]:
        line = page[block.start : block.end].split("\n", 1)[0]
        cells = list(map(bare, cells_of(line, header=header_line)))
        if len(cells) > len(header) or (len(cells) < len(header) and not barred):
            return None
        cells += [""] * (len(header) - len(cells))
        if any(cells):
            rows.append(Row(tuple(cells), offset + block.start, offset + block.end, number))
    if len(header) < 2 or not all(any(map(str.isalnum, name)) for name in header[1:]):
        return None
    return Table(header, tuple(rows), offset + blocks[0].start, offset + blocks[-1].end)


def _bare(cell: str) -> str:
    return one_line(_EMPHASIS.sub(" ", cell).replace(r"\|", "|"))
