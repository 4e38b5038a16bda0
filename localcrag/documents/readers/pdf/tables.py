"""Tables on PDF pages, found by geometry: with and without rules around their cells.

A table without empty cells can be recognised by the gaps between its cells. If cells are empty, if the header has
several lines, or if single lines interrupt the rows, the rows are written with bars, as in Markdown. Without bars,
values would end up under another header.

A cell may have several lines, and its neighbour may be closer to it than one word to the next. In such tables, the
rules between the cells show where the cells end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from localcrag.documents.readers.pdf.paragraphs import PROSE, Line, LineCell, parallel
from localcrag.text.blocks import LONGEST_CELL, markdown_row

LEAST_FULL, LEAST_SHARE = 2, 0.3
"""Minimum number and share of rows with a cell in every column; these rows determine the columns."""
MOST_BETWEEN = 3
"""Maximum number of lines with a single cell (group names, labels over two lines) between two rows."""
ROW_DISTANCE, LINE_DISTANCE = 3.5, 1.5
"""Multiples of the type size: maximum distance between the rows of a table, and between the lines of a cell."""
MOST_HEADER_LINES = 60
HEADER_GAP, HIGHEST_HEADER = 2.2, 5
"""Multiples of the type size: maximum distance between the lines of a header, and of its top from the first row."""
LONGEST_HEADING = 40
"""Maximum characters of a part of a header that ends like a sentence."""
WIDEST = 2.5 * PROSE
"""Maximum width, as a multiple of the type size, of a single line within a table; a line of text is wider."""
LARGER = 1.1
"""Multiple of the type size of a table's rows; a line of larger type is not part of the table."""
SAME_HEIGHT = 0.5

_FIGURE = re.compile(r"(?=.*\d)[^A-Za-z]*\Z|[-–—]\Z|.*\d[.,]\d")
_VALUE_LAST = re.compile(r"\d\W*\Z")
_YEAR = re.compile(r"(?:.*\D)?(?:19|20)\d\d\Z")

Columns = Sequence[tuple[float, float]]


@dataclass(slots=True)
class _Row:
    """A row being built: the text in each column."""

    line: Line
    cells: list[str]

    @property
    def alone(self) -> int | None:
        """Return the index of the only column with text, or None."""
        filled = [column for column, text in enumerate(self.cells) if text]
        return filled[0] if len(filled) == 1 else None


def mark_tables(rows: Sequence[Line]) -> list[Line]:
    """Return a page's rows, with bars in tables that have empty cells, several header lines or single lines."""
    done: list[Line] = []
    at = 0
    while at < len(rows):
        behind = _end(rows, at)
        columns = _columns(rows[at:behind])
        while columns and behind < len(rows) and _continues_cell(rows[behind - 1], rows[behind], columns):
            behind += 1
        # The label of the first row may begin on a line above it.
        has_label = columns and done and _overlapped(rows[at].cells[0], columns) == [0]
        if has_label and _continues_cell(done[-1], rows[at], columns):
            at -= 1
            done.pop()
        region = rows[at:behind]
        above, lines = _table(region, done, columns) if columns else (0, region)
        done[len(done) - above :] = lines
        at = behind
    return done


def _end(rows: Sequence[Line], first: int) -> int:
    """Return the index after the table that begins at row `first`: after its last row with several cells."""
    last = first
    for at in range(first + 1, len(rows) if rows[first].tabular else first):
        above, row = rows[at - 1], rows[at]
        down = above.baseline - row.baseline
        near = SAME_HEIGHT * row.size < down < ROW_DISTANCE * row.size and parallel(above, row)
        if not near or at - last > MOST_BETWEEN + 1 or (row.right - row.left > WIDEST * row.size and not row.tabular):
            break
        if row.tabular and all(one.size <= LARGER * row.size for one in rows[last + 1 : at]):
            last = at
        elif row.tabular:
            break
    return last + 1


def _continues_cell(above: Line, line: Line, columns: Columns) -> bool:
    """Return whether a line continues a cell of the line above: one of the two lines must be a single cell."""
    near = 0 < above.baseline - line.baseline < LINE_DISTANCE * line.size and parallel(above, line)
    cells = above.cells if line.tabular else line.cells
    places = _overlapped(cells[0], columns) if len(cells) == 1 else []
    alone = len(places) == 1 and (not line.tabular or not places[0])
    return near and alone and line.text[0].islower()


def _columns(region: Sequence[Line]) -> Columns:
    """Return the positions where the columns of a table begin and end; empty if they cannot be determined."""
    counts = Counter(len(row.cells) for row in region if row.tabular)
    least = max(LEAST_FULL, LEAST_SHARE * counts.total())
    width = max(counts, default=0)
    if width < 2 or counts[width] < least:
        return []
    full = [row.cells for row in region if len(row.cells) == width]
    # Long texts, except labels, are columns of prose.
    if any(len(cell.text) > LONGEST_CELL for cells in full for cell in cells[1:]):
        return []
    by_column = zip(*full, strict=True)
    columns = [(min(cell.left for cell in cells), max(cell.right for cell in cells)) for cells in by_column]
    # If columns overlap, it is unclear which of them a cell belongs to.
    return columns if all(a[1] < b[0] for a, b in pairwise(columns)) else []


def _table(region: Sequence[Line], done: Sequence[Line], columns: Columns) -> tuple[int, Sequence[Line]]:
    """Return how many of the lines above belong to the header, and the table's rows.

    They are unchanged if the table needs no bars, or if a row does not fit its columns.
    """
    above = _header_lines_above(region[0], done, columns)
    parts = list(done[len(done) - above :]) if above else []
    body = list(region)
    while body and _is_header_row(body[0], parts, columns):
        parts.append(body.pop(0))
    rows: list[_Row] = []
    for line in body:
        row = _to_row(line, columns)
        if row is None:
            return 0, region
        if not _merge_row(rows, row):
            rows.append(row)
    if len(parts) <= 1 and all(len(line.cells) == len(columns) for line in region):
        return 0, region
    header = [_header(parts, columns)] if parts else []
    left, right = columns[0][0], columns[-1][1]
    return above, [
        replace(row.line, text=markdown_row(row.cells), left=left, right=right, tabular=True, cells=())
        for row in (*header, *rows)
    ]


def _header_lines_above(top: Line, done: Sequence[Line], columns: Columns) -> int:
    """Return the number of lines above a table that belong to its header, because they are over its columns."""
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
    # A line above the labels belongs to the header only if it is level with another part of the header.
    for line in taken:
        over_labels = all(_overlapped(cell, columns) == [0] for cell in line.cells)
        if over_labels and not any(abs(line.baseline - height) < SAME_HEIGHT * line.size for height in heights[1:]):
            return 0
    # A higher header means that this is a table whose cells are texts of several lines.
    return found if max(heights) - top.baseline < HIGHEST_HEADER * top.size else 0


def _may_head(line: Line, places: Sequence[list[int]], size: float) -> bool:
    if any(len(cell.text) > LONGEST_HEADING and cell.text.endswith((".", ":")) for cell in line.cells):
        return False  # This is a sentence before the table.
    if line.size > LARGER * size or line.text.startswith("|") or any(0 in place and len(place) > 1 for place in places):
        return False
    values = [cell.text for cell, place in zip(line.cells, places, strict=True) if place != [0]]
    is_unit_note = len(values) == 1 and values[0].startswith("(")
    return not is_unit_note and not any(map(_is_figure, values))


def _is_figure(text: str) -> bool:
    return _FIGURE.match(text) is not None and not _YEAR.match(text)


def _is_header_row(line: Line, parts: Sequence[Line], columns: Columns) -> bool:
    """Return whether a row continues the header of a table: words or years over its columns."""
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
    """Return a header as one row; a cell over several columns is repeated in each of them."""
    cells: list[list[str]] = [[] for _ in columns]
    ordered = sorted(parts, key=lambda line: -line.baseline)
    while ordered:
        first = ordered[0]
        level = [line for line in ordered if first.baseline - line.baseline < SAME_HEIGHT * first.size]
        level_cells = [cell for line in level for cell in line.cells]
        spans = [_spans(cell, columns, first.size) for cell in level_cells]
        claimed = Counter(column for wide, _ in spans for column in wide)
        # If two cells claim the same column, each cell gets only the columns that it overlaps.
        apart = max(claimed.values()) == 1
        for cell, (wide, near) in zip(level_cells, spans, strict=True):
            for column in wide if apart else near:
                cells[column].append(cell.text)
        ordered = ordered[len(level) :]
    lowest = min(parts, key=lambda line: line.baseline)
    return _Row(lowest, [" ".join(texts) for texts in cells])


def _spans(cell: LineCell, columns: Columns, size: float) -> tuple[Sequence[int], Sequence[int]]:
    """Return the widest range of columns that a header cell is centred over, and the columns that it overlaps."""
    own = _overlapped(cell, columns)
    left, right = columns[own[0]][0], columns[own[-1]][1]
    if own[0] == 0 or (len(own) == 1 and (cell.left > left - size / 2 or cell.right < right + size / 2)):
        return own, own
    # Figures are right-aligned, so a column extends from the right edge of the previous column to its own.
    ends = [end for _, end in columns]
    begins = [ends[0], max(ends[0], 2 * ends[1] - ends[2]) if len(ends) > 2 else ends[0], *ends[1:]]
    spans = [range(a, b + 1) for a in range(1, own[0] + 1) for b in range(own[-1], len(columns))]
    centred = [span for span in spans if abs(begins[span[0]] + ends[span[-1]] - cell.left - cell.right) < 2 * size]
    return max(centred, key=len, default=own), own


def _to_row(line: Line, columns: Columns) -> _Row | None:
    """Return a line as a row of a table; None if it is unclear which column a cell belongs to."""
    cells = [""] * len(columns)
    for cell in line.cells:
        places = _overlapped(cell, columns)
        # A long label may extend over empty columns on its right; a value is in a single column.
        if not places or (len(places) > 1 and (places[0] or (line.tabular and _VALUE_LAST.search(cell.text)))):
            return None
        cells[places[0]] = f"{cells[places[0]]} {cell.text}".strip()
    return _Row(line, cells)


def _overlapped(cell: LineCell, columns: Columns) -> list[int]:
    """Return the columns that a cell overlaps, or the nearest column if the cell is between two."""
    found = [number for number, (left, right) in enumerate(columns) if cell.left < right and left < cell.right]
    if found or cell.right < columns[0][0] or cell.left > columns[-1][1]:
        return found
    return [min(range(len(columns)), key=lambda one: max(columns[one][0] - cell.right, cell.left - columns[one][1]))]


def _merge_row(rows: Sequence[_Row], row: _Row) -> bool:
    """Merge a row with the row above if it continues a cell or label there; return whether it did."""
    if not rows or rows[-1].line.baseline - row.line.baseline > LINE_DISTANCE * row.line.size:
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


NEAR = 2.5
"""Maximum distance in points between two rules that count as one, or as meeting."""
MOST_RULES = 600
"""Maximum number of rules on a page from which tables are built; with more, none are."""
MOST_COLUMNS, MOST_ROWS = 40, 300
MOST_WORDS = 25
"""Maximum number of words in the median cell; with more, the page is laid out in boxes."""
LEAST_FILLED = 0.4
"""Minimum share of cells with text; with less, it is a form or a chart."""
LEAST_PAIRED = 0.5
"""Minimum share of rows with more than one cell; with less, these are boxes of text below each other."""
MOST_STACKED = 0.3
"""Maximum share of ruled rows that contain several rows; with more, the rules only separate groups of rows."""
SHORT_CELLS, SHORT_WORDS, SAME_LEVEL = 3, 3, 0.5
"""For rows that no rule separates: minimum number of cells in a row, maximum number of words in a cell, and maximum
difference in height between its cells, as a multiple of the type size."""
MOST_UNSEPARATED = 0.1
"""Maximum share of cells that no rule separates from the next one; with more, the rules separate only some rows."""
MIDDLE_HEIGHT = 0.3
"""Height of a line's middle above its baseline, as a share of the type size."""
LEVEL = 0.02
"""Maximum slope, in radians, of a line in a table."""


@dataclass(frozen=True, slots=True)
class RuledLine:
    """A straight line: its position across its direction, and its start and end along it, in points."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PageRules:
    """The rules of a page: `level` rules from left to right, `upright` rules from bottom to top."""

    level: tuple[RuledLine, ...]
    upright: tuple[RuledLine, ...]

    def parts(self, left: float, right: float, height: float) -> bool:
        """Return whether an upright rule separates `left` from `right` at this height."""
        return any(left - NEAR < rule.at < right + NEAR and rule.start < height < rule.end for rule in self.upright)


NO_RULES = PageRules((), ())


@dataclass(frozen=True, slots=True)
class Grid:
    """The rules of a table: the borders of its columns from the left, and of its rows from the top."""

    across: tuple[float, ...]
    down: tuple[float, ...]
    rules: PageRules

    def cell_at(self, across: float, height: float) -> tuple[int, int] | None:
        """Return the row and column of a point, or None if it is outside."""
        column = next((n for n, (a, b) in enumerate(pairwise(self.across)) if a <= across < b), None)
        row = next((n for n, (a, b) in enumerate(pairwise(self.down)) if b <= height < a), None)
        return None if column is None or row is None else (row, column)

    def origins(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return for each cell the one that it is part of: itself, or the first cell without a rule in between."""
        rows, columns = len(self.down) - 1, len(self.across) - 1
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for row in range(rows):
            middle = (self.down[row] + self.down[row + 1]) / 2
            for column in range(columns):
                centre = (self.across[column] + self.across[column + 1]) / 2
                origin = (row, column)
                if column and not _covers(self.rules.upright, self.across[column], middle):
                    origin = found[row, column - 1]
                elif row and not _covers(self.rules.level, self.down[row], centre):
                    origin = found[row - 1, column]
                found[row, column] = origin
        return found


def mark_ruled_tables(lines: Sequence[Line], rules: PageRules) -> list[Line]:
    """Return a page's lines, in which ruled tables become rows with bars between the cells, as in Markdown.

    In `lines`, rules already separate the cells (`PageRules.parts`). A table stays unchanged if hardly any of its cells
    have text, or if its cells contain long texts.
    """
    done = list(lines)
    for grid in find_grids(rules):
        inside = [n for n, line in enumerate(done) if _is_inside(line, grid)]
        rows = _rows([done[n] for n in inside], grid) if inside else []
        if rows:
            first, taken = inside[0], set(inside)
            done = [*done[:first], *rows, *(line for n, line in enumerate(done) if n > first and n not in taken)]
    return done


def find_grids(rules: PageRules) -> Iterator[Grid]:
    """Yield the tables of a page from the top: rules that meet, with at least two rows and two columns."""
    level, upright = (_merged_rules(some) for some in (rules.level, rules.upright))
    if len(level) + len(upright) > MOST_RULES:
        return
    own = PageRules(tuple(level), tuple(upright))
    grids = []
    for levels, uprights in _connected_rules(level, upright):
        if not levels or not uprights:
            continue
        # A table may be open at its sides; it then ends where the horizontal rules end.
        sides = (min(rule.start for rule in levels), max(rule.end for rule in levels))
        ends = (min(rule.start for rule in uprights), max(rule.end for rule in uprights))
        across = tuple(_merge_positions([*(rule.at for rule in uprights), *sides]))
        down = tuple(reversed(_merge_positions([*(rule.at for rule in levels), *ends])))
        if 3 <= len(across) <= MOST_COLUMNS + 1 and 3 <= len(down) <= MOST_ROWS + 1:
            grids.append(Grid(across, down, own))
    yield from sorted(grids, key=lambda grid: -grid.down[0])


def _merged_rules(rules: Sequence[RuledLine]) -> list[RuledLine]:
    """Return the rules, merging rules that overlap or continue each other."""
    found: list[RuledLine] = []
    for rule in sorted(rules, key=lambda one: (round(one.at / NEAR), one.start)):
        last = found[-1] if found else None
        if last and abs(last.at - rule.at) <= NEAR and rule.start <= last.end + NEAR:
            found[-1] = RuledLine(last.at, min(last.start, rule.start), max(last.end, rule.end))
        else:
            found.append(rule)
    return found


def _connected_rules(
    level: Sequence[RuledLine], upright: Sequence[RuledLine]
) -> Iterator[tuple[list[RuledLine], list[RuledLine]]]:
    """Yield groups of rules that meet each other, directly or through other rules."""
    # Union-find puts rules that meet into one group.
    group = list(range(len(level) + len(upright)))

    def root(n: int) -> int:
        while group[n] != n:
            group[n] = group[group[n]]
            n = group[n]
        return n

    for a, across in enumerate(level):
        for b, up in enumerate(upright, start=len(level)):
            reaches = across.start - NEAR <= up.at <= across.end + NEAR
            if reaches and up.start - NEAR <= across.at <= up.end + NEAR:
                group[root(b)] = root(a)
    for one in sorted({root(n) for n in range(len(group))}):
        yield (
            [rule for n, rule in enumerate(level) if root(n) == one],
            [rule for n, rule in enumerate(upright, start=len(level)) if root(n) == one],
        )


def _merge_positions(places: Iterable[float]) -> list[float]:
    """Return positions in ascending order, merging those that are near each other."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > NEAR:
            found.append(place)
    return found


def _covers(rules: Sequence[RuledLine], at: float, along: float) -> bool:
    return any(abs(rule.at - at) <= NEAR and rule.start <= along <= rule.end for rule in rules)


def _is_inside(line: Line, grid: Grid) -> bool:
    height = line.baseline + MIDDLE_HEIGHT * line.size
    inside = grid.down[-1] <= height < grid.down[0] and abs(line.angle) < LEVEL
    return inside and line.left >= grid.across[0] - NEAR and line.right <= grid.across[-1] + NEAR


def _rows(lines: Sequence[Line], grid: Grid) -> list[Line]:
    """Return the rows of a ruled table, with bars between the cells; nothing if it does not look like a table."""
    origins = grid.origins()
    texts: dict[tuple[int, int], list[str]] = {}
    row_lines: dict[int, list[Line]] = {}
    unseparated = 0
    for line in lines:
        taken: set[tuple[int, int]] = set()
        for cell in line.cells or (LineCell(line.text, line.left, line.right),):
            place = grid.cell_at((cell.left + cell.right) / 2, line.baseline + MIDDLE_HEIGHT * line.size)
            if place is None:
                return []
            origin = origins[place]
            unseparated += origin in taken
            taken.add(origin)
            hyphen = "-" if line.hyphen and cell is (line.cells or (cell,))[-1] else ""
            texts.setdefault(origin, []).append(cell.text + hyphen)
            row_lines.setdefault(origin[0], []).append(line)
    if unseparated > MOST_UNSEPARATED * len(texts) or _count_stacked(row_lines) > MOST_STACKED * len(row_lines):
        return []
    cells = {place: _text(parts) for place, parts in texts.items()}
    lengths = [len(text.split()) for text in cells.values()]
    if not lengths or median(lengths) > MOST_WORDS or len(cells) < LEAST_FILLED * len(set(origins.values())):
        return []
    used = [n for n in range(len(grid.across) - 1) if any(place[1] == n for place in cells)]
    in_row = Counter(row for row, _ in cells)
    if sum(number > 1 for number in in_row.values()) < LEAST_PAIRED * len(in_row):
        return []
    rows = []
    for row in range(len(grid.down) - 1):
        # A merged cell is repeated in each of its rows, but only in its first column.
        own = [cells.get(origins[row, n], "") if origins[row, n][1] == n else "" for n in used]
        if any(own):
            like = row_lines.get(row) or lines
            rows.append(
                replace(
                    like[0], text=markdown_row(own), left=grid.across[0], right=grid.across[-1], hyphen=False,
                    tabular=True, baseline=min(line.baseline for line in like), cells=(),
                )
            )  # fmt: skip
    return rows


def _count_stacked(row_lines: Mapping[int, Sequence[Line]]) -> int:
    """Return how many ruled rows contain several rows of short cells below each other."""
    number = 0
    for lines in row_lines.values():
        levels: dict[int, list[LineCell]] = {}
        for line in dict.fromkeys(lines):
            level = levels.setdefault(round(line.baseline / (SAME_LEVEL * line.size)), [])
            level += line.cells or (LineCell(line.text, line.left, line.right),)
        rows = [
            cells for cells in levels.values()
            if len(cells) >= SHORT_CELLS and all(len(cell.text.split()) <= SHORT_WORDS for cell in cells)
        ]  # fmt: skip
        number += len(rows) > 1
    return number


def _text(parts: Sequence[str]) -> str:
    """Return the lines of a cell as one line, without hyphens that divide a word at a line end."""
    text = parts[0]
    for part in parts[1:]:
        goes_on = text.endswith("-") and part[:1].islower()
        text = text[:-1] + part if goes_on else f"{text} {part}"
    return text
