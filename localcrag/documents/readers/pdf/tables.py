"""Tables of a printed page, by geometry: with and without rules around their cells.

A table in which no cell is missing is told by the gaps between its cells. Where some are, where the header has several
lines, or where something by itself stands between the rows, the rows are written with bars, as in Markdown: without
them values would move below another header.

A cell may have several lines, and its neighbour may begin closer to it than words to each other: the rules between them
tell what the gaps do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from localcrag.documents.readers.pdf.paragraphs import PROSE, Cell, Line, parallel
from localcrag.text.blocks import LONGEST_CELL, row_of

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
        if not _merged_row(rows, row):
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


def _merged_row(rows: Sequence[_Row], row: _Row) -> bool:
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


NEAR = 2.5
"""Points between two rules that are one, or meet."""
MOST_RULES = 600
"""Of a page, that are put together to tables."""
MOST_COLUMNS, MOST_ROWS = 40, 300
MOST_WORDS = 25
"""Of half of a table's cells; with more it is a page that is laid out in boxes."""
LEAST_FILLED = 0.4
"""Share of cells with text; with less it is a form or a chart."""
LEAST_PAIRED = 0.5
"""Share of rows with more than one cell; with less they are boxes with a text each, one below the other."""
MOST_STACKED = 0.3
"""Share of rows that are several; with more, only groups of rows have rules between."""
SHORT_CELLS, SHORT_WORDS, SAME_LEVEL = 3, 3, 0.5
"""Cells of a row among several between two rules, their words, and how far its cells stand apart, times the size."""
MOST_BESIDE = 0.1
"""Of a table's cells, those that stand beside others without a rule between: with more, rules part only some rows."""
ABOVE_BASE = 0.3
"""Of the type size: how far above its baseline the middle of a line is."""
LEVEL = 0.02
"""Radians that a line may lean to stand in a table."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A line at a place across, from where to where along itself; in points."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a page: level ones from left to right, upright ones from below."""

    level: tuple[Rule, ...]
    upright: tuple[Rule, ...]

    def parts(self, left: float, right: float, height: float) -> bool:
        """Whether an upright rule stands between two places at that height."""
        return any(left - NEAR < rule.at < right + NEAR and rule.start < height < rule.end for rule in self.upright)


NO_RULES = Rules((), ())


@dataclass(frozen=True, slots=True)
class Grid:
    """A table's rules: where its columns part, from the left, and its rows, from above."""

    across: tuple[float, ...]
    down: tuple[float, ...]
    rules: Rules

    def cell_at(self, across: float, height: float) -> tuple[int, int] | None:
        """Return row and column of a place; None outside."""
        column = next((n for n, (a, b) in enumerate(pairwise(self.across)) if a <= across < b), None)
        row = next((n for n, (a, b) in enumerate(pairwise(self.down)) if b <= height < a), None)
        return None if column is None or row is None else (row, column)

    def origins(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return for each cell the one that it is a part of: itself, or the first of those without a rule between."""
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


def in_grids(lines: Sequence[Line], rules: Rules) -> list[Line]:
    """Return a page's lines, those of ruled tables as their rows, with bars between the cells, as in Markdown.

    `lines` have a cell for what stands between two rules (`Rules.parts`). A table that holds hardly anything, or has
    long texts in its cells, stays as it is.
    """
    done = list(lines)
    for grid in grids_in(rules):
        inside = [n for n, line in enumerate(done) if _is_inside(line, grid)]
        rows = _rows([done[n] for n in inside], grid) if inside else []
        if rows:
            first, taken = inside[0], set(inside)
            done = [*done[:first], *rows, *(line for n, line in enumerate(done) if n > first and n not in taken)]
    return done


def grids_in(rules: Rules) -> Iterator[Grid]:
    """Yield the tables of a page, from above: rules that meet, with at least two rows and two columns between them."""
    level, upright = (_merged_rules(some) for some in (rules.level, rules.upright))
    if len(level) + len(upright) > MOST_RULES:
        return
    own = Rules(tuple(level), tuple(upright))
    grids = []
    for levels, uprights in _meeting(level, upright):
        if not levels or not uprights:
            continue
        # At its sides a table may be open: it ends where the rules across do.
        sides = (min(rule.start for rule in levels), max(rule.end for rule in levels))
        ends = (min(rule.start for rule in uprights), max(rule.end for rule in uprights))
        across = tuple(_places([*(rule.at for rule in uprights), *sides]))
        down = tuple(reversed(_places([*(rule.at for rule in levels), *ends])))
        if 3 <= len(across) <= MOST_COLUMNS + 1 and 3 <= len(down) <= MOST_ROWS + 1:
            grids.append(Grid(across, down, own))
    yield from sorted(grids, key=lambda grid: -grid.down[0])


def _merged_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules with those as one that lie on each other, or go on where the other ends."""
    found: list[Rule] = []
    for rule in sorted(rules, key=lambda one: (round(one.at / NEAR), one.start)):
        last = found[-1] if found else None
        if last and abs(last.at - rule.at) <= NEAR and rule.start <= last.end + NEAR:
            found[-1] = Rule(last.at, min(last.start, rule.start), max(last.end, rule.end))
        else:
            found.append(rule)
    return found


def _meeting(level: Sequence[Rule], upright: Sequence[Rule]) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Yield groups of rules that meet each other, directly or over others."""
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


def _places(places: Iterable[float]) -> list[float]:
    """Return places in order, those that are near each other as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > NEAR:
            found.append(place)
    return found


def _covers(rules: Sequence[Rule], at: float, along: float) -> bool:
    return any(abs(rule.at - at) <= NEAR and rule.start <= along <= rule.end for rule in rules)


def _is_inside(line: Line, grid: Grid) -> bool:
    height = line.baseline + ABOVE_BASE * line.size
    inside = grid.down[-1] <= height < grid.down[0] and abs(line.angle) < LEVEL
    return inside and line.left >= grid.across[0] - NEAR and line.right <= grid.across[-1] + NEAR


def _rows(lines: Sequence[Line], grid: Grid) -> list[Line]:
    """Return the rows of a table with their cells between bars; none where it is no table, or not of single cells."""
    origins = grid.origins()
    texts: dict[tuple[int, int], list[str]] = {}
    of_row: dict[int, list[Line]] = {}
    beside = 0
    for line in lines:
        taken: set[tuple[int, int]] = set()
        for cell in line.cells or (Cell(line.text, line.left, line.right),):
            place = grid.cell_at((cell.left + cell.right) / 2, line.baseline + ABOVE_BASE * line.size)
            if place is None:
                return []
            origin = origins[place]
            beside += origin in taken
            taken.add(origin)
            hyphen = "-" if line.hyphen and cell is (line.cells or (cell,))[-1] else ""
            texts.setdefault(origin, []).append(cell.text + hyphen)
            of_row.setdefault(origin[0], []).append(line)
    if beside > MOST_BESIDE * len(texts) or _stacked(of_row) > MOST_STACKED * len(of_row):
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
        own = [text for n, text in enumerate(_cells(row, grid, origins, cells)) if n in used]
        if any(own):
            like = of_row.get(row) or lines
            rows.append(
                replace(
                    like[0], text=row_of(own), left=grid.across[0], right=grid.across[-1], hyphen=False, tabular=True,
                    baseline=min(line.baseline for line in like), cells=(),
                )
            )  # fmt: skip
    return rows


def _stacked(of_row: Mapping[int, Sequence[Line]]) -> int:
    """Return how many rows between rules are several rows: lines of short cells, one below the other."""
    number = 0
    for lines in of_row.values():
        levels: dict[int, list[Cell]] = {}
        for line in dict.fromkeys(lines):
            level = levels.setdefault(round(line.baseline / (SAME_LEVEL * line.size)), [])
            level += line.cells or (Cell(line.text, line.left, line.right),)
        rows = [
            cells for cells in levels.values()
            if len(cells) >= SHORT_CELLS and all(len(cell.text.split()) <= SHORT_WORDS for cell in cells)
        ]  # fmt: skip
        number += len(rows) > 1
    return number


def _cells(
    row: int, grid: Grid, origins: dict[tuple[int, int], tuple[int, int]], cells: dict[tuple[int, int], str]
) -> list[str]:
    """Return a row's cells: what reaches over several rows is said in each, what over several columns in the first."""
    found = []
    for column in range(len(grid.across) - 1):
        origin = origins[row, column]
        found.append(cells.get(origin, "") if origin[1] == column else "")
    return found


def _text(parts: Sequence[str]) -> str:
    """Return the lines of a cell as one; a hyphen at a line's end goes where a word goes on."""
    text = parts[0]
    for part in parts[1:]:
        goes_on = text.endswith("-") and part[:1].islower()
        text = text[:-1] + part if goes_on else f"{text} {part}"
    return text
