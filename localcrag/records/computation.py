"""What was computed on a table: operation, rows that count and result, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import Operation


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its cells under the table's header, and its place in the document's text, in characters.

    `number` is that of a sheet's row, as in SheetRow; None elsewhere.
    """

    cells: tuple[str, ...]
    page: int | None
    start: int
    end: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were not computed with, how many, and why."""

    rows: int
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """What comes out for some of the rows, by the name of what they have in common; `rows` is how many they are."""

    name: str
    result: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """An operation on one table of a document, done exactly, or `refused` with the reason why it cannot be.

    `table` is what the table is called, empty where it has no name; `of_rows` is how many rows it has, without totals
    and labels, and `row_count` how many of them the operation is over. `rows` are those, but at most as many as a run
    keeps. `column` is what was computed with, None where rows are counted or listed; `filters` are the conditions in
    words. `values` are the different ones of a column that was asked for whole, or of which they were counted. `result`
    is a number with its unit, or empty. `few` is of how many rows the highest or lowest values were asked for.

    `groups` are the results for each value of the column `by`, or for each `period` ("month") of its dates; where
    `pick` asks for the highest or lowest of them, `result` is its name. Of a difference, `groups` are the two sides; of
    a share the part and the whole. A difference with a `pick` is the highest or lowest one of two columns of a row.
    `notes` are what else has to be said of the result.
    """

    document: str
    title: str | None
    table: str
    section: str
    pages: tuple[int, ...]
    header: tuple[str, ...]
    operation: Operation
    column: str | None
    filters: tuple[str, ...]
    of_rows: int
    row_count: int
    rows: tuple[TableRow, ...]
    result: str = ""
    values: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""
    few: int = 1
    by: str | None = None
    period: str = ""
    pick: Operation | None = None
    groups: tuple[Group, ...] = ()
