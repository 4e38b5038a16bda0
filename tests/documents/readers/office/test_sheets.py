"""Spreadsheets and CSV: which cells are a table of their own, what is its header, and how its numbers read."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from localcrag.documents.readers.office.sheets import SPANNED, GridRow, SheetTable, find_tables
from localcrag.documents.readers.open_document import open_document
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import BlockKind, split_blocks
from tests.support.office_files import Cell, make_xlsx

PRICES: list[list[Cell]] = [
    ["Price list 2025"],
    [],
    ["Article", "Price", "Discount", "Weight", "Since"],
    ["Lamp", (1234.5, '#,##0.00 "€"'), (0.1, "0%"), (2.5, '0.0 "kg"'), (45717, "dd.mm.yyyy")],
    ["Rope", (7, '"$"#,##0.00'), (0.055, "0.0%"), 10, (45650, "dd.mm.yyyy")],
]


def read(path: Path, name: str) -> str:
    (page,) = open_document(path, name).pages
    return page.text


def test_a_workbook_shows_its_numbers_with_their_units_and_dates_as_dates(tmp_path: Path) -> None:
    path = make_xlsx(tmp_path / "a", {"Prices": PRICES}, merged=["A1:E1"])
    assert read(path, "prices.xlsx") == (
        "Price list 2025\n\nArticle | Price | Discount | Weight | Since\n"
        "Lamp | 1,234.50 € | 10% | 2.5 kg | 2025-03-01\nRope | $7.00 | 5.5% | 10 | 2024-12-24"
    )


def test_sheets_have_their_names_over_them_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    staff: list[list[Cell]] = [["Name", "Phone"], ["Ada", "0421 55"]]
    path = make_xlsx(tmp_path / "a", {"Prices": PRICES[2:], "Staff": staff, "Draft": [["secret", 5]]}, hidden=["Draft"])
    (page,) = open_document(path, "office.xlsx").pages
    assert [line for line in page.text.split("\n") if line.startswith("#")] == ["## Prices", "## Staff"]
    assert page.text.endswith("## Staff\n\nName | Phone\nAda | 0421 55")
    assert "secret" not in page.text


def test_rows_of_a_sheet_are_rows_of_a_table_with_its_header(tmp_path: Path) -> None:
    text = read(make_xlsx(tmp_path / "a", {"Prices": PRICES}), "prices.xlsx")
    kinds = [block.kind for block in split_blocks(text)]
    assert kinds[-3:] == [BlockKind.HEADER, BlockKind.ROW, BlockKind.ROW]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Name,Price\nLamp,5\n", "Name | Price\nLamp | 5", id="commas"),
        pytest.param('Name;Preis\nLampe;"1.234,50"\nSeil;"Haus\nNr. 5"\n',
                     "Name | Preis\nLampe | 1.234,50\nSeil | Haus Nr. 5", id="semicolons and lines within cells"),
        pytest.param("Name\tPrice\nLamp\t5\n", "Name | Price\nLamp | 5", id="tabs"),
        pytest.param("1,2\n3,4\n", "1 | 2\n3 | 4", id="numbers alone have no header"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_values_apart_by_any_mark_are_rows(tmp_path: Path, content: str, text: str, encoding: str) -> None:
    (tmp_path / "a").write_bytes(content.encode(encoding))
    assert read(tmp_path / "a", "prices.csv") == text


def test_an_archive_named_csv_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x1f\x8b\x08 packed")
    with pytest.raises(UnreadableDocument, match="a gzip archive"):
        open_document(tmp_path / "a", "a.csv")


def tables(*rows: str) -> list[tuple[tuple[str, ...], str, list[str]]]:
    """Return the tables of a grid that is written with bars; ">" is a cell that the one before reaches over."""
    grid = [[SPANNED if cell.strip() == ">" else cell.strip() for cell in row.split("|")] for row in rows]
    return [
        (one.captions, "|".join(one.header), ["|".join(row) for row in one.rows])
        for one in find_tables(GridRow(0, row) for row in grid)
    ]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        pytest.param(["Name|Phone", "Ada|55"], [((), "Name|Phone", ["Ada|55"])], id="one"),
        pytest.param(["Name|Phone", "Ada|55", "|", "Room|Rent", "Attic|310"],
                     [((), "Name|Phone", ["Ada|55"]), ((), "Room|Rent", ["Attic|310"])], id="an empty row parts two"),
        pytest.param(["List of May|", "|", "Name|Phone", "Ada|55"], [(("List of May",), "Name|Phone", ["Ada|55"])],
                     id="a title with an empty row below"),
        pytest.param(["|Name|Phone", "|Ada|55"], [((), "Name|Phone", ["Ada|55"])], id="an empty first column"),
        pytest.param(["Name|Phone||Room|Rent", "Ada|55||Attic|310", "Bo|66|||"],
                     [((), "Name|Phone", ["Ada|55", "Bo|66"]), ((), "Room|Rent", ["Attic|310"])],
                     id="side by side, of different lengths"),
        pytest.param(["Item||2024||2023", "Sales||5||4", "Costs||3||2"],
                     [((), "Item|2024|2023", ["Sales|5|4", "Costs|3|2"])], id="room between columns parts nothing"),
        pytest.param(["Item|Unit||Price|Stock", "Lamp|kg||5|4", "Rope|m||3|2"],
                     [((), "Item|Unit|Price|Stock", ["Lamp|kg|5|4", "Rope|m|3|2"])], id="nor between two and two"),
        pytest.param(["|2024|>|2023|>", "Item|Q1|Q2|Q1|Q2", "Sales|1|2|3|4"],
                     [((), "Item|2024 Q1|2024 Q2|2023 Q1|2023 Q2", ["Sales|1|2|3|4"])], id="a header of two rows"),
        pytest.param(["|2024|2023", "Sales|5|4"], [((), "|2024|2023", ["Sales|5|4"])], id="a header of years"),
        pytest.param(["Item|Sales|Costs", "||", "North|5|4"], [((), "Item|Sales|Costs", ["North|5|4"])],
                     id="an empty row below the header"),
        pytest.param(["North|5|4", "South|3|2"], [((), "", ["North|5|4", "South|3|2"])], id="no header"),
        pytest.param(["A note by itself."], [(("A note by itself.",), "", [])], id="one cell"),
        pytest.param(["||"], [], id="nothing"),
    ],
)  # fmt: skip
def test_tables_are_told_apart(rows: list[str], found: list[tuple[tuple[str, ...], str, list[str]]]) -> None:
    assert tables(*rows) == found


def test_what_stands_below_the_last_table_is_kept() -> None:
    rows: list[list[str]] = [["Name", "Phone"], ["Ada", "55"], [], ["As of May", ""]]
    (first, last) = find_tables(map(GridRow, count(1), rows))
    assert (first.header, last) == (["Name", "Phone"], SheetTable(("As of May",), (), (), (4,)))
