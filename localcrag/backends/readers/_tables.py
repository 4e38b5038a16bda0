"""Tables of a printed page, by geometry: the column of each cell, and empty ones. Uses no PDF library.

A table in which no cell is missing is told by the gaps between its cells. Where some are, where the header has several
lines, or where something by itself stands between the rows, the rows are written with bars, as in Markdown: without
them values would move below another header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from localcrag.backends.readers._paragraphs import PROSE, Cell, Line, parallel
from localcrag.text.table_lines import LONGEST_CELL, row_of

LEAST_FULL, LEAST_SHARE = 2, 0.3
"""Rows with a cell in every column, by which the columns are known: how many, and their share."""
MOST_BETWEEN = 3
"""Lines by themselves (names of groups, labels over two lines) between two rows."""
FURTHEST, TIGHT = 3.5, 1.5
"""Times the size: how far below each other the rows of a table may stand, and the lines of a cell."""
MOST_HEADER_LINES = 60
HEADER_GAP, HIGHEST_HEADER = 2.2, 5
"""Times the size: how far the lines of a header may stand above each other, and above the first row."""
LONGEST_HEADING = 40
"""Characters of a part of a header that ends like a sentence."""
WIDEST = 2.5 * PROSE
"""Times the size: what stands by itself in a table is shorter than a line of the text."""
LARGER = 1.1
"""Times the size: what is larger than a table's rows is not of the table."""
SAME_HEIGHT = 0.5

_FIGURE = re.compile(r"(?=.*\d)[^A-Za-z]*\Z|[-–—]\Z|.*\d[.,]\d")
_VALUE_LAST = re.compile(r"\d\W*\Z")
_YEAR = re.compile(r"(?:.*\D)?(?:19|20)\d\d\Z")

Columns = Sequence[tuple[float, float]]


@dataclass(slots=True)
class _Row:
    """A row that is being put together: what stands in each column."""

    line: Line
    cells: list[str]

    @property
    def alone(self) -> int | None:
        """Its only column with something in it."""
        filled = [column for column, text in enumerate(self.cells) if text]
        return filled[0] if len(filled) == 1 else None


def with_bars(rows: Sequence[Line]) -> list[Line]:
    """Return a page's rows; tables with empty cells, or more than rows of cells, are written with bars."""
    done: list[Line] = []
    at = 0
    while at < len(rows):
        behind = _end(rows, at)
        columns = _columns(rows[at:behind])
        while columns and behind < len(rows) and _hangs(rows[behind - 1], rows[behind], columns):
            behind += 1
        # The label of the first row may begin on a line above it.
        if columns and done and _overlapped(rows[at].cells[0], columns) == [0] and _hangs(done[-1], rows[at], columns):
            at -= 1
            done.pop()
        region = rows[at:behind]
        table = _table(region, done, columns) if columns else None
        if table is None:
            done += region
        else:
            above, lines = table
            done[len(done) - above :] = lines
        at = behind
    return done


def _end(rows: Sequence[Line], first: int) -> int:
    """Return where the table ends that a row begins: behind its last row of several cells."""
    last = first
    for at in range(first + 1, len(rows) if rows[first].tabular else first):
        above, row = rows[at - 1], rows[at]
        down = above.baseline - row.baseline
        near = SAME_HEIGHT * row.size < down < FURTHEST * row.size and parallel(above, row)
        if not near or at - last > MOST_BETWEEN + 1 or (row.right - row.left > WIDEST * row.size and not row.tabular):
            break
        if row.tabular and all(one.size <= LARGER * row.size for one in rows[last + 1 : at]):
            last = at
        elif row.tabular:
            break
    return last + 1


def _hangs(above: Line, line: Line, columns: Columns) -> bool:
    """Whether a line goes on with a cell of the line above: one of them is a cell by itself."""
    near = 0 < above.baseline - line.baseline < TIGHT * line.size and parallel(above, line)
    cells = above.cells if line.tabular else line.cells
    alone = (
        len(cells) == 1 and len(places := _overlapped(cells[0], columns)) == 1 and (not line.tabular or not places[0])
    )
    return near and alone and line.text[0].islower()


def _columns(region: Sequence[Line]) -> Columns:
    """Return where the columns of a table begin and end, nothing where that cannot be known."""
    counts = Counter(len(row.cells) for row in region if row.tabular)
    least = max(LEAST_FULL, LEAST_SHARE * counts.total())
    width = max(counts, default=0)
    if width < 2 or counts[width] < least:
        return []
    full = [row.cells for row in region if len(row.cells) == width]
    if any(len(cell.text) > LONGEST_CELL for cells in full for cell in cells[1:]):
        return []
    columns = [(min(cell.left for cell in of), max(cell.right for cell in of)) for of in zip(*full, strict=True)]
    return columns if all(a[1] < b[0] for a, b in pairwise(columns)) else []


def _table(region: Sequence[Line], done: Sequence[Line], columns: Columns) -> tuple[int, list[Line]] | None:
    """Return how many of the lines above are of a table's header, and its rows; None where it needs no bars."""
    above = _above(region[0], done, columns)
    parts = list(done[len(done) - above :]) if above else []
    body = list(region)
    while body and _is_of_header(body[0], parts, columns):
        parts.append(body.pop(0))
    rows: list[_Row] = []
    for line in body:
        row = _placed(line, columns)
        if row is None:
            return None
        if not _joined(rows, row):
            rows.append(row)
    if len(parts) <= 1 and all(len(line.cells) == len(columns) for line in region):
        return None
    header = [_header(parts, columns)] if parts else []
    left, right = columns[0][0], columns[-1][1]
    return above, [
        replace(row.line, text=row_of(row.cells), left=left, right=right, tabular=True, cells=())
        for row in (*header, *rows)
    ]


def _above(top: Line, done: Sequence[Line], columns: Columns) -> int:
    """Return how many of the lines above a table are of its header: they stand over its columns."""
    found, heights = 0, [top.baseline]
    for number, line in enumerate(reversed(done[-MOST_HEADER_LINES:]), start=1):
        places = [_overlapped(cell, columns) for cell in line.cells]
        high = line.baseline - top.baseline
        if high < SAME_HEIGHT * top.size or line.baseline - max(heights) > HEADER_GAP * top.size:
            break
        if not all(places) or not parallel(line, top) or not _may_head(line, places, top.size):
            break
        if any(place != [0] for place in places):
            found = number
            heights.append(line.baseline)
    taken = done[len(done) - found :]
    # What stands over the labels is of the header where it is as high as another part.
    for line in taken:
        of_labels = all(_overlapped(cell, columns) == [0] for cell in line.cells)
        if of_labels and not any(abs(line.baseline - height) < SAME_HEIGHT * line.size for height in heights[1:]):
            return 0
    # What is higher is a table of texts over several lines.
    return found if max(heights) - top.baseline < HIGHEST_HEADER * top.size else 0


def _may_head(line: Line, places: Sequence[list[int]], size: float) -> bool:
    if any(len(cell.text) > LONGEST_HEADING and cell.text.endswith((".", ":")) for cell in line.cells):
        return False  # A sentence before the table.
    if line.size > LARGER * size or line.text.startswith("|") or any(0 in place and len(place) > 1 for place in places):
        return False
    values = [cell.text for cell, place in zip(line.cells, places, strict=True) if place != [0]]
    said_of_all = len(values) == 1 and values[0].startswith("(")
    return not said_of_all and not any(map(_is_figure, values))


def _is_figure(text: str) -> bool:
    return _FIGURE.match(text) is not None and not _YEAR.match(text)


def _is_of_header(line: Line, parts: Sequence[Line], columns: Columns) -> bool:
    """Whether a row goes on with the header of a table: words or years over its columns."""
    places = [_overlapped(cell, columns) for cell in line.cells]
    values = [cell.text for cell, place in zip(line.cells, places, strict=True) if place and place[0]]
    if not values or not all(places):
        return False
    years = all(map(_YEAR.match, values))
    if any(map(_is_figure, values)):
        return False
    covered = {column for part in parts for cell in part.cells for column in _overlapped(cell, columns)}
    return years or [0] not in places or not covered.issuperset(range(1, len(columns)))


def _header(parts: Sequence[Line], columns: Columns) -> _Row:
    """Return a header in one row; what stands over several columns is said in each."""
    cells: list[list[str]] = [[] for _ in columns]
    ordered = sorted(parts, key=lambda line: -line.baseline)
    while ordered:
        first = ordered[0]
        level = [line for line in ordered if first.baseline - line.baseline < SAME_HEIGHT * first.size]
        beside = [cell for line in level for cell in line.cells]
        spans = [_spans(cell, columns, first.size) for cell in beside]
        claimed = Counter(column for wide, _ in spans for column in wide)
        apart = max(claimed.values()) == 1
        for cell, (wide, near) in zip(beside, spans, strict=True):
            for column in wide if apart else near:
                cells[column].append(cell.text)
        ordered = ordered[len(level) :]
    lowest = min(parts, key=lambda line: line.baseline)
    return _Row(lowest, [" ".join(texts) for texts in cells])


def _spans(cell: Cell, columns: Columns, size: float) -> tuple[Sequence[int], Sequence[int]]:
    """Return the columns that a cell of a header is in the middle of, as many as can be, and those that it is over."""
    own = _overlapped(cell, columns)
    left, right = columns[own[0]][0], columns[own[-1]][1]
    if own[0] == 0 or (len(own) == 1 and (cell.left > left - size / 2 or cell.right < right + size / 2)):
        return own, own
    # Figures stand at the right of their columns, and those are as wide as they are apart.
    ends = [end for _, end in columns]
    begins = [ends[0], max(ends[0], 2 * ends[1] - ends[2]) if len(ends) > 2 else ends[0], *ends[1:]]
    spans = [range(a, b + 1) for a in range(1, own[0] + 1) for b in range(own[-1], len(columns))]
    centred = [span for span in spans if abs(begins[span[0]] + ends[span[-1]] - cell.left - cell.right) < 2 * size]
    return max(centred, key=len, default=own), own


def _placed(line: Line, columns: Columns) -> _Row | None:
    """Return a line as a row of a table; None where it cannot be told which column a cell is of."""
    cells = [""] * len(columns)
    for cell in line.cells:
        places = _overlapped(cell, columns)
        # A long label reaches over columns that are empty beside it; a value is in one.
        if not places or (len(places) > 1 and (places[0] or (line.tabular and _VALUE_LAST.search(cell.text)))):
            return None
        cells[places[0]] = f"{cells[places[0]]} {cell.text}".strip()
    return _Row(line, cells)


def _overlapped(cell: Cell, columns: Columns) -> list[int]:
    """Return the columns that a cell stands in or over; where it is in none, the nearest one."""
    found = [number for number, (left, right) in enumerate(columns) if cell.left < right and left < cell.right]
    if found or cell.right < columns[0][0] or cell.left > columns[-1][1]:
        return found
    return [min(range(len(columns)), key=lambda one: max(columns[one][0] - cell.right, cell.left - columns[one][1]))]


def _joined(rows: Sequence[_Row], row: _Row) -> bool:
    """Put a row together with the one above where it goes on with a cell there, or that with a label here."""
    if not rows or rows[-1].line.baseline - row.line.baseline > TIGHT * row.line.size:
        return False
    above = rows[-1]
    column = row.alone
    if column is not None and row.cells[column][:1].islower() and above.cells[column]:
        above.cells[column] += f" {row.cells[column]}"
        above.line = replace(above.line, baseline=row.line.baseline)
        return True
    if above.alone == 0 and row.cells[0][:1].islower():
        row.cells[0] = f"{above.cells[0]} {row.cells[0]}"
        above.line, above.cells = row.line, row.cells
        return True
    return False
