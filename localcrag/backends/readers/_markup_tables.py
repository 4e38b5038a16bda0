"""Tables in markup: a line per row, its cells apart by bars, all lines of the header in one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from localcrag.backends.readers._markup_seen import seen
from localcrag.text.table_lines import in_cell, row_of

Element = Any  # lxml has no type hints
# A table with one of these in it arranges a page; its rows are not data.
PAGE_PARTS = ("table", "h1", "h2", "h3", "h4", "form", "pre", "article", "section", "nav")
LONG_CELL = 600
"""Characters: a table with such a cell arranges a page, too, unless it has a header and no lists, or is of Word."""
WORD_TABLE_CLASS = "table-of-a-word-document"
OF_SHEET = "row-of-a-sheet"
"""An attribute of what is a row of a spreadsheet: its number, and the sheet's name behind a space."""
LONG_SHARE = 0.5
"""Of the cells: with more long ones, paragraphs are easier to read than rows."""
CELL_SEPARATOR, NO_CELLS = " | ", " | |"
MAX_SPAN = 100  # columns or rows that one cell may reach over
MOST_HEADER_ROWS = 4


def data_rows(table: Element, flat: Callable[[Element], str]) -> list[tuple[str, str]] | None:
    """Return a line per row, cells set apart, or None for a table that arranges a page.

    With each line comes what its row says of its place in a spreadsheet, empty where it says nothing. `flat` returns
    the text of an element in a line.
    """
    if next(table.iterdescendants(*PAGE_PARTS), None) is not None:
        return None
    captions = [flat(caption) for caption in table.iterchildren("caption") if seen(caption)]
    elements = [row for row in table.iter("tr") if seen(row) and seen(row.getparent())]
    carried: dict[int, tuple[int, str]] = {}
    heads = _header_rows(elements)
    rows = [_cells(row, carried, flat, repeated=number < heads) for number, row in enumerate(elements)]
    if _arranges_page(table, rows):
        return None
    header = _in_one(rows[:heads])
    lines = [(caption, "") for caption in captions]
    in_table = False
    for at, cells in enumerate((*header, *rows[heads:])):
        line = _line(cells)
        # A row of one cell over all columns is within the table; above it, it is a caption.
        of_group = in_table and CELL_SEPARATOR not in line
        in_table = in_table or CELL_SEPARATOR in line
        row = elements[max(at - len(header) + heads, 0)]
        lines.append((f"{line}{NO_CELLS}" if line and of_group else line, row.get(OF_SHEET, "")))
    return [line for line in lines if line[0]]


def _arranges_page(table: Element, rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in rows for cell in row if cell]
    long = sum(len(cell) > LONG_CELL for cell in cells)
    headed = table.find(".//th") is not None and table.find(".//li") is None
    of_data = headed or table.get("class") == WORD_TABLE_CLASS
    return long > (LONG_SHARE * len(cells) if of_data and len(rows) > 1 else 0)


def _header_rows(rows: Sequence[Element]) -> int:
    """Return how many rows at the top are of the table's header."""
    heads = 0
    for row in rows:
        if row.getparent().tag != "thead" and (row.find("th") is None or row.find("td") is not None):
            break
        heads += 1
    return heads if heads < len(rows) and heads <= MOST_HEADER_ROWS else 0


def _in_one(header: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows of a header in one, below those that are a caption: one cell over all columns."""
    width = max(map(len, header), default=0)
    captions = [[row[0]] for row in header if len(row) == width > 1 and len(set(row)) == 1]
    rows = [[*row, *[""] * (width - len(row))] for row in header if len(set(row)) > 1 or width == 1 or len(row) < width]
    # A cell that reaches down is in each of its rows.
    columns = [" ".join(dict.fromkeys(filter(None, texts))) for texts in zip(*rows, strict=True)]
    return [*captions, columns] if rows else captions


def _line(cells: Sequence[str]) -> str:
    filled = [number for number, cell in enumerate(cells) if cell]
    if not filled:
        return ""
    # Without a bar in front, an empty first cell would not show.
    shown = cells[: filled[-1] + 1]
    return row_of(shown) if filled[0] else CELL_SEPARATOR.join(map(in_cell, shown))


def _cells(
    row: Element, carried: dict[int, tuple[int, str]], flat: Callable[[Element], str], *, repeated: bool
) -> list[str]:
    """Return a row's cells by column; `carried` holds, per column, a cell that reaches down and for how many rows.

    A header's cell that reaches across is `repeated` in each of its columns.
    """
    cells: list[str] = []
    for cell in row.iterchildren("td", "th"):
        _fill(cells, carried)
        text = flat(cell) if seen(cell) else ""
        rows_below = _span(cell, "rowspan") - 1
        for shown in (text, *[text if repeated else ""] * (_span(cell, "colspan") - 1)):
            if rows_below:
                carried[len(cells)] = (rows_below, shown)
            cells.append(shown)
    _fill(cells, carried)
    return cells


def _fill(cells: list[str], carried: dict[int, tuple[int, str]]) -> None:
    while len(cells) in carried:
        rows_below, text = carried.pop(len(cells))
        if rows_below > 1:
            carried[len(cells)] = (rows_below - 1, text)
        cells.append(text)


def _span(cell: Element, attribute: str) -> int:
    value = cell.get(attribute)
    return min(int(value), MAX_SPAN) if value and re.fullmatch("[1-9][0-9]{0,5}", value) else 1
