"""Tables that are drawn with rules around their cells, by geometry. Uses no PDF library.

A cell may have several lines, and its neighbour may begin closer to it than words to each other: the rules between them
tell what the gaps do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from localcrag.backends.readers._paragraphs import Cell, Line
from localcrag.text.table_lines import row_of

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
    level, upright = (_joined(some) for some in (rules.level, rules.upright))
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


def _joined(rules: Sequence[Rule]) -> list[Rule]:
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
