"""Parse the tables of a document's text: their rows, totals, labels and captions, across pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from localcrag.text.blocks import Block, BlockKind, split_blocks, split_cells
from localcrag.text.titles import SEPARATOR, heading_text
from localcrag.text.words import one_line

_TOTAL = re.compile(
    r"(?i)(?:grand |sub-?|over-?all |sum )?(?:totals?|sums?|overall|summe|gesamt(?:summe)?|zwischensumme)\b|"
    r"(?:(?:all )?together|altogether)\b|"
    r"(?:average|mean|median|carried (?:forward|over))\b"
)
"""Words that the label of a total begins with."""
_TOTAL_SUFFIX = re.compile(
    r"(?i)(?: ?[(,]?(?:of|for|in|per|all|net|gross|amount|costs?|price|sum|due|year|month|incl|excl|including|"
    r"excluding|with|without|vat|tax|eur|usd|gbp|the|items?|rows?|entries|(?:19|20)\d\d)\b[).]?)*[ :.]*\Z"
)
"""Words that may follow the word for a total in a label. After other words, the row is a total only if its other
cells are numbers."""
_AMOUNT_DUE = re.compile(
    r"(?i)(?:(?:net|gross) (?:amount|sum)|(?:amount|balance|sum) (?:due|payable|to pay)|"
    r"(?:gesamt|rechnungs|end)betrag)\W*"
)
"""Complete labels of the final amount to be paid."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells, as many as the header has, and its place in the document's text."""

    cells: tuple[str, ...]
    start: int
    end: int
    page: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether the row sums up rows above it. "Total Care Shampoo" does not."""
        first = next(filter(None, self.cells), "")
        found = _TOTAL.match(first)
        if found is None:
            # After a number or a date, which any row can have, the label must consist only of the words for a total.
            label = next(filter(_has_letter, self.cells), "")
            found = _TOTAL.match(label) if not _has_letter(first) else None
            has_total_suffix = found is not None and _TOTAL_SUFFIX.match(label, found.end()) is not None
            return has_total_suffix or _AMOUNT_DUE.fullmatch(label) is not None
        others = [cell for cell in self.cells if cell][1:]
        figures_alone = len(self.cells) > 2 and all(has_digit(cell) or not _has_letter(cell) for cell in others)
        return figures_alone or _TOTAL_SUFFIX.match(first, found.end()) is not None

    @property
    def is_label(self) -> bool:
        """Whether only the first cell is filled, as in the heading of a group of rows."""
        return len(self.cells) > 2 and bool(self.cells[0]) and not any(self.cells[1:])


def has_digit(text: str) -> bool:
    """Return whether a cell contains a digit."""
    return any(map(str.isdigit, text))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


PAGE_BREAK = "\f"
MIN_ROWS = 3
"""Minimum number of rows for a table to be worth computing with."""
LONGEST_CAPTION = 120
"""Maximum number of characters of a caption; longer text is a paragraph."""
MOST_BETWEEN, LONGEST_LINE_BETWEEN = 2, 60
"""Maximum number of lines, and of characters in each, between the parts of a table on two pages, such as a page
number."""
MOST_PAGES = 200
"""Maximum number of pages that one table may span in either direction."""

_SENTENCES = re.compile(r"(?:\S+ ){5,}\S*[.!?]\Z")
"""One or more whole sentences, which cannot be a caption."""
_EMPHASIS = re.compile(r"\*\*|__|`|<br ?/?>")
"""Markup in a cell that is not part of its text."""
_TABLE = (BlockKind.HEADER, BlockKind.ROW)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with all its rows.

    `section` is the path of headings above it, `caption` the line directly above it, if any. `start` and `end` are its
    place in the document's text, header included.
    """

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    start: int
    end: int
    section: str = ""
    caption: str = ""

    @property
    def name(self) -> str:
        """Its caption, or else the heading above it; may be empty."""
        return self.caption or self.section.rpartition(SEPARATOR)[2]


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a table on one page.

    `first` and `last` tell whether hardly anything precedes or follows it on the page, and `ruled` whether a rule
    follows its header.
    """

    table: Table
    first: bool
    last: bool
    ruled: bool


class Tables:
    """The tables of a document's text; each page is parsed once."""

    def __init__(self, text: str, *, paged: bool) -> None:
        self.text = text
        self._pages = list(_pages(text))
        self._paged = paged
        self._known: dict[int, list[_Piece]] = {}

    def on_page(self, place: int) -> Iterator[Table]:
        """Yield the tables on the page that contains `place`, including their rows on other pages."""
        here = max((at for at, (start, _) in enumerate(self._pages) if start <= place), default=0)
        for piece in self._on(here):
            whole = [piece]
            behind, above = here + 1, here - 1
            while behind - here < MOST_PAGES and _may_continue(whole[-1:], self._on(behind)[:1]):
                whole.append(self._on(behind)[0])
                behind += 1
            while here - above < MOST_PAGES and _may_continue(self._on(above)[-1:], whole[:1]):
                whole.insert(0, self._on(above)[-1])
                above -= 1
            table = _join(whole)
            if len(table.rows) >= MIN_ROWS and _is_one_table(whole):
                yield table

    def _on(self, at: int) -> list[_Piece]:
        if at not in self._known:
            in_range = 0 <= at < len(self._pages)
            number = at + 1 if self._paged else None
            self._known[at] = list(_pieces(*self._pages[at], number)) if in_range else []
        return self._known[at]


def pages_with_columns(text: str, names: Sequence[str]) -> Iterator[int]:
    """Yield the start of each page of a document's text that contains all column names, which are in lower case."""
    for start, page in _pages(text):
        folded = page.casefold()
        if all(name in folded for name in names):
            yield start


def _pages(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for page in text.split(PAGE_BREAK):
        yield start, page
        start += len(page) + len(PAGE_BREAK)


def _may_continue(piece: Sequence[_Piece], behind: Sequence[_Piece]) -> bool:
    """Return whether, by their form, the last piece of a page and the first piece of the next can be one table.

    A ruled header that differs begins another table.
    """
    if not piece or not behind or not piece[0].last or not behind[0].first:
        return False
    one, other = piece[0].table, behind[0].table
    return one.header == other.header or (not behind[0].ruled and len(one.header) == len(other.header))


def _is_one_table(pieces: Sequence[_Piece]) -> bool:
    """Return whether each further page repeats the header, or has numbers in columns where the first page has them.

    Words alone may be a row or the header of another table, and it is then unknown where the table ends.
    """
    first = pieces[0].table
    if len(pieces) == 1:
        return True
    digits = [sum(has_digit(row.cells[column]) for row in first.rows) for column in range(len(first.header))]
    figures = [column for column, number in enumerate(digits) if 2 * number > len(first.rows)]
    headers = [piece.table.header for piece in pieces[1:]]
    return all(header == first.header or any(has_digit(header[column]) for column in figures) for header in headers)


def _join(pieces: Sequence[_Piece]) -> Table:
    """Return the table that consists of these pieces."""
    first = pieces[0].table
    if len(pieces) == 1:
        return first
    rows = list(first.rows)
    for table in (piece.table for piece in pieces[1:]):
        if table.header != first.header:
            # The first row of the page was parsed as a header, but it is a row of the table.
            end, page = (table.rows[0].start, table.rows[0].page) if table.rows else (table.end, None)
            rows.append(Row(table.header, table.start, end, page))
        rows += table.rows
    return replace(first, rows=tuple(rows), end=pieces[-1].table.end)


def _pieces(start: int, page: str, number: int | None) -> Iterator[_Piece]:
    """Yield the tables of a page, each with the headings above it and its caption; `number` is the page number."""
    blocks = split_blocks(page)
    path: list[tuple[int, str]] = []
    before: Block | None = None
    at = 0
    for is_table, some in groupby(blocks, key=lambda block: block.kind in _TABLE):
        run = list(some)
        if not is_table:
            _update_headings(path, run, page)
            before = run[-1]
            at += len(run)
            continue
        for place, part in _parts(run):
            table = _table(part, page, start, number)
            if table is not None and not _may_lack_a_row(part, blocks, page):
                caption = _caption(before if place == 0 else None, page)
                section = SEPARATOR.join(name for _, name in path if name)
                first, last = _is_small(blocks[: at + place]), _is_small(blocks[at + place + len(part) :])
                ruled = "\n" in page[part[0].start : part[0].end]
                yield _Piece(replace(table, section=section, caption=caption), first, last, ruled)
        at += len(run)


def _may_lack_a_row(part: Sequence[Block], blocks: Sequence[Block], page: str) -> bool:
    """Return whether a line right above or below the table, which was not parsed as a row, may belong to it."""
    above = next((block for block in reversed(blocks) if block.end <= part[0].start), None)
    below = next((block for block in blocks if block.start >= part[-1].end), None)
    if above and "|" in page[above.start : above.end] and above.kind not in _TABLE:
        return page[above.end : part[0].start].count("\n") == 1
    if below is None or below.kind in (BlockKind.HEADING, *_TABLE):
        return False
    return page[part[-1].end : below.start].count("\n") == 1


def _parts(run: Sequence[Block]) -> Iterator[tuple[int, list[Block]]]:
    """Yield the tables in a run of rows and headers, each with its index; a header begins another table."""
    heads = [at for at, block in enumerate(run) if block.kind is BlockKind.HEADER] or [len(run)]
    for at, end in zip(heads, [*heads[1:], len(run)], strict=True):
        if at < end:
            yield at, list(run[at:end])


def _update_headings(path: list[tuple[int, str]], blocks: Sequence[Block], page: str) -> None:
    """Update the path of open headings with the headings among these blocks."""
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, heading_text(page[block.start : block.end])))


def _caption(before: Block | None, page: str) -> str:
    """Return the line above a table as its caption; empty if that is a sentence or a paragraph."""
    if before is None or before.kind not in (BlockKind.PARAGRAPH, BlockKind.LINE):
        return ""
    text = one_line(page[before.start : before.end])
    return text.rstrip(":") if len(text) <= LONGEST_CAPTION and not _SENTENCES.search(text) else ""


def _is_small(blocks: Sequence[Block]) -> bool:
    """Return whether the blocks are no more than a page number or the like."""
    return len(blocks) <= MOST_BETWEEN and all(
        block.kind in (BlockKind.LINE, BlockKind.PARAGRAPH) and block.end - block.start <= LONGEST_LINE_BETWEEN
        for block in blocks
    )


def _table(blocks: Sequence[Block], page: str, offset: int, number: int | None) -> Table | None:
    """Return the table of these blocks; None if a row has missing cells and it is unclear which ones."""
    header_line = page[blocks[0].start : blocks[0].end].split("\n", 1)[0]
    header = tuple(map(_bare, split_cells(header_line)))
    # With bars, only cells at the end of a row can be missing.
    barred = "|" in header_line
    bare = cache(_bare)  # Most cells of a long table occur in several rows.
    rows = []
    for block in blocks[1:]:
        line = page[block.start : block.end].split("\n", 1)[0]
        cells = list(map(bare, split_cells(line, header=header_line)))
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
