"""Lines of tables in plain texts: rows with bars, tabs or gaps, and the rules between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST_CELL, MANY_CELLS = 40, 3
"""Characters, and cells, of a table's row without lines between them."""

_RULE = re.compile(r"(?=.*(?:--|==|\|))[|+]?[ \t]*:?[-=]+:?[ \t]*(?:[|+][ \t]*:?[-=]+:?[ \t]*)*[|+]?\Z")
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
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


def row_of(cells: Sequence[str]) -> str:
    """Return a row with bars, at its sides too: without them an empty first or last cell would not show."""
    written = (f" {text}" if (text := cell.replace("|", r"\|")) else "" for cell in cells)
    return f"|{' |'.join(written)} |"
