"""Rows of spreadsheets: which row of which sheet a line of a text is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

_START = attrgetter("start")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A line of a text that is a row of a sheet, or a part of one; it begins at `start`.

    `number` is what the spreadsheet program shows beside the row: from 1, empty and hidden rows counted. `sheet` is
    empty where a file has none (CSV).
    """

    start: int
    sheet: str
    number: int


def rows_within(rows: Sequence[SheetRow], text: str, start: int, end: int) -> tuple[SheetRow, ...]:
    """Return the rows that have a part in `text[start:end]`, in order, their places in that part.

    `rows` are those of `text`, in order.
    """
    first = max(bisect_right(rows, start, key=_START) - 1, 0)
    if first < len(rows) and rows[first].start < start and text.find("\n", rows[first].start, start + 1) >= 0:
        first += 1  # That row has ended before.
    behind = bisect_left(rows, end, key=_START)
    return tuple(SheetRow(max(row.start - start, 0), row.sheet, row.number) for row in rows[first:behind])


def rows_between(rows: Sequence[SheetRow], start: int, end: int) -> Sequence[SheetRow]:
    """Return the rows that begin at places from `start` up to `end`, of rows in order."""
    return rows[bisect_left(rows, start, key=_START) : bisect_left(rows, end, key=_START)]


def moved(rows: Iterable[SheetRow], by: int) -> tuple[SheetRow, ...]:
    """Return rows of a text that has `by` characters more in front."""
    return tuple(SheetRow(row.start + by, row.sheet, row.number) for row in rows)
