"""Lines of tables in plain texts: rows with bars, tabs or gaps, and the rules between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

LONGEST_CELL, MANY_CELLS = 40, 3
"""Characters, and cells, of a table's row without lines between them."""

_RULE = re.compile(r"(?=.*(?:--|==|\|))[|+]?[ \t]*:?[-=]+:?[ \t]*(?:[|+][ \t]*:?[-=]+:?[ \t]*)*[|+]?\Z")
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_CELL_END = re.compile(r"(?<!\\)\|")
_CELLS = re.compile(r"(?:\A|\|)((?:`[^`]*`|\\\||[^|])*)")
"""Each behind a bar, code whole."""
_DIGIT = re.compile(r"\d")


def is_rule(line: str) -> bool:
    """Whether a line is the rule below a table's header, as in Markdown, or one that is drawn: "+---+---+"."""
    return _RULE.match(line) is not None


def has_rule_below(line: str, below: str) -> bool:
    """Whether a line is a header by the rule below it, also without bars at its sides, or white space around them."""
    return "|" in line and "|" in below and is_rule(below)


def cells_in(line: str, *, header: bool = False) -> int:
    """Return the number of a row's cells; 1 where a line is none.

    Columns are apart by tabs or two spaces, as typed sentences may be: cells are short, and a row holds a number or
    many cells, but for a table's header.
    """
    if " | " in line:
        return line.strip("|").count(" | ") + 1
    cells = _GAP.split(line)
    short = all(len(cell) <= LONGEST_CELL for cell in cells)
    is_row = header or "\t" in line or len(cells) >= MANY_CELLS or _DIGIT.search(line)
    return len(cells) if short and is_row else 1


def cells_of(line: str, *, header: str = "") -> list[str]:
    """Return the cells of a row, without the marks of Markdown between them.

    The `header` of its table tells what a bar at the beginning means, and how many cells there are: in code, authors
    write bars as they are.
    """
    line = line.strip()
    if "|" not in line:
        return [cell.strip() for cell in _GAP.split(line)]
    closed = line.endswith("|") and not line.endswith(r"\|")
    if line.startswith("|") and (closed or not header or header.lstrip().startswith("|")):
        line = line[1:]
    if closed:
        line = line[:-1]
    # Hardly a line has a bar that is escaped, and there are as many lines as rows.
    cells = [cell.strip() for cell in (_CELL_END.split(line) if "\\" in line else line.split("|"))]
    if header and len(cells) > _number_of_cells(header):
        cells = [cell.strip() for cell in _CELLS.findall(line)]
    return cells


@lru_cache(maxsize=8)
def _number_of_cells(header: str) -> int:
    """Return how many cells a header has: each row of its table asks."""
    return len(cells_of(header))


def in_cell(text: str) -> str:
    """Return a text as it stands in a row with bars."""
    return _CELL_END.sub(r"\|", text)


def row_of(cells: Sequence[str]) -> str:
    """Return a row with bars, at its sides too: without them an empty first or last cell would not show."""
    written = (f" {in_cell(cell)}" if cell else "" for cell in cells)
    return f"|{' |'.join(written)} |"
