"""Sheets: which cells are a table of their own, which row is its header, and its title."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, zip_longest
from typing import NamedTuple

from markupsafe import escape

from localcrag.backends.readers._markup_tables import OF_SHEET

Row = Sequence[str]
ACROSS = "\0"
"""In the place of a cell that the one before reaches over."""
MOST_HEADER_ROWS = 3
MOST_CELLS = 2_000_000
"""Of a table whose rows are filled up to the same length; of a larger one they are as long as they are."""
SPACE = 2
"""Columns; a table has no more of them empty between two of its own."""
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s:/%-]*\W*(?:[a-z%€$£]{1,4}\.?)?\W*", re.IGNORECASE)
"""An amount, a date or a time, with its unit: what a header's cell hardly ever is, but for a year."""
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d")


class Line(NamedTuple):
    """A row of a sheet, with its number; 0 where that is not known."""

    number: int
    cells: Row


@dataclass(frozen=True, slots=True)
class SheetTable:
    """A table of a sheet: lines that stand over it, its header (may be empty), its rows.

    `numbers` are those of the rows: of each line over it, of the header, where there is one, and of each row.
    """

    captions: tuple[str, ...]
    header: Row
    rows: tuple[Row, ...]
    numbers: tuple[int, ...]


def tables_of(grid: Iterable[Line]) -> Iterator[SheetTable]:
    """Yield the tables of a sheet: set apart by empty rows, and within those by empty columns."""
    captions: list[str] = []
    over: list[int] = []
    for band in _bands(grid):
        for table in _side_by_side(band):
            found = _table(table)
            if not found.rows and not found.header:
                captions += found.captions  # They stand over what comes next.
                over += found.numbers
                continue
            yield SheetTable((*captions, *found.captions), found.header, found.rows, (*over, *found.numbers))
            captions, over = [], []
    if captions:
        yield SheetTable(tuple(captions), (), (), tuple(over))


def markup_of_table(table: SheetTable, sheet: str) -> Iterator[str]:
    """Yield a table as HTML, with what stands over it in front; its rows say which of the sheet they are."""
    of_sheet = (f' {OF_SHEET}="{number} {escape(sheet)}"' if number else "" for number in table.numbers)
    for caption in table.captions:
        yield f"<p{next(of_sheet)}>{escape(caption)}</p>"
    if not table.header and not table.rows:
        return
    yield "<table>"
    if table.header:
        yield f"<thead><tr{next(of_sheet)}>{_cells('th', table.header)}</tr></thead>"
    for row in table.rows:
        yield f"<tr{next(of_sheet)}>{_cells('td', row)}</tr>"
    yield "</table>"


def _cells(tag: str, row: Row) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def _bands(grid: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the rows between empty ones; a header by itself goes with the rows below the empty one."""
    band: list[Line] = []
    gap = False
    for line in grid:
        if not _texts(line.cells):
            gap = True
            continue
        if band and gap and not (_are_header(band) and not _is_header(line.cells)):
            yield band
            band = []
        gap = False
        band.append(line)
    if band:
        yield band


def _are_header(band: Sequence[Line]) -> bool:
    rows = [line.cells for line in band if len(_texts(line.cells)) > 1]
    return 0 < len(rows) <= MOST_HEADER_ROWS and all(map(_is_header, rows))


def _side_by_side(band: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the parts of a band that empty columns part; all of it as one where they only leave room in a table."""
    used = sorted({at for line in band for at, cell in enumerate(line.cells) if cell not in ("", ACROSS)})
    if len(used) * len(band) > MOST_CELLS:
        # Filled up, a line of a thousand cells would widen all others.
        yield [Line(line.number, _without_end(line.cells)) for line in band]
        return
    rows = [Line(number, [row[at] if at < len(row) else "" for at in used]) for number, row in band]
    starts = [0, *(at for at in range(1, len(used)) if used[at] - used[at - 1] > 1), len(used)]
    if len(starts) > 2:  # There are gaps.
        runs = [used[start:end] for start, end in pairwise(starts)]
        parts = [[Line(number, row[start:end]) for number, row in rows] for start, end in pairwise(starts)]
        if _stand_alone(runs, parts):
            yield from ([line for line in part if _texts(line.cells)] for part in parts)
            return
    yield rows


def _without_end(row: Row) -> Row:
    """Return a row up to its last cell that says something."""
    length = len(row)
    while length and row[length - 1] in ("", ACROSS):
        length -= 1
    return row[:length]


def _stand_alone(runs: Sequence[Sequence[int]], parts: Sequence[Sequence[Line]]) -> bool:
    """Whether parts are tables of their own: far apart, or of different lengths, each without a gap."""
    if any(len(run) == 1 for run in runs):
        return False
    filled = [[bool(_texts(line.cells)) for line in part] for part in parts]
    lengths = [sum(part) for part in filled]
    from_top = all(all(part[:length]) for part, length in zip(filled, lengths, strict=True))
    apart = all(right[0] - left[-1] > SPACE for left, right in pairwise(runs))
    return min(lengths) > 1 and (apart or (from_top and len(set(lengths)) > 1))


def _table(lines: Sequence[Line]) -> SheetTable:
    captions: list[str] = []
    rows = [line.cells for line in lines]
    width = max(map(len, rows))
    first = 0
    # A line by itself above a table is its title; of a table of one column, the first is none.
    while first < len(rows) and len(texts := _texts(rows[first])) == 1 and (width > 1 or len(rows) - first == 1):
        captions += texts
        first += 1
    header: list[str] = []
    over = len(captions)
    while len(rows) - first > 1 and width > 1 and _is_header(rows[first]):
        over_others = ACROSS in rows[first]
        header = _joined(header, rows[first])
        first += 1
        if not over_others:
            break
    cells = tuple([cell.replace(ACROSS, "") for cell in row] for row in islice(rows, first, None))
    numbers = [line.number for line in lines]
    del numbers[over : max(over, first - 1)]  # Of a header of several rows, the last one is right above its table.
    return SheetTable(tuple(captions), header, cells, tuple(numbers))


def _joined(above: Row, row: Row) -> list[str]:
    """Return a header's row with the one above it: “2024 Q1”."""
    filled: list[str] = []
    for cell in row:
        filled.append(filled[-1] if cell == ACROSS and filled else cell.replace(ACROSS, ""))
    return [" ".join(dict.fromkeys(filter(None, both))) for both in zip_longest(above, filled, fillvalue="")]


def _texts(row: Row) -> list[str]:
    return [cell for cell in row if cell and cell != ACROSS]


def _is_header(row: Row) -> bool:
    """Whether a row holds no amounts; years alone are a header where the first cell is empty, or one reaches over."""
    cells = _texts(row)
    years = [cell for cell in cells if _YEAR.fullmatch(cell)]
    words = all(cell in years or not _NUMBER.fullmatch(cell) for cell in cells)
    return words and (len(years) < len(cells) or not row[0] or ACROSS in row)
