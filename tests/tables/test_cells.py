"""Cells of tables: which are amounts and which are dates, read exactly or not at all."""

from __future__ import annotations

from decimal import Decimal

import pytest

from localcrag.tables.parse import Table, Tables
from localcrag.tables.values import Amount, DecimalMark, Moment, decimal_mark, format_amount, moments_in, parse_amount
from localcrag.tables.vocabulary import ColumnKind, columns_of, has_header, rows_of


@pytest.mark.parametrize(
    ("text", "mark", "value", "unit"),
    [
        pytest.param("12", DecimalMark.POINT, "12", "", id="a plain number"),
        pytest.param("1,234.50 €", DecimalMark.POINT, "1234.50", "euro", id="thousands and cents"),
        pytest.param("€1,140", DecimalMark.POINT, "1140", "euro", id="a currency in front"),
        pytest.param("EUR 12.00", DecimalMark.POINT, "12.00", "euro", id="a code in front"),
        pytest.param("1.234,50 €", DecimalMark.COMMA, "1234.50", "euro", id="a decimal comma"),
        pytest.param("1 234,5", DecimalMark.COMMA, "1234.5", "", id="a space between thousands"),
        pytest.param("1'234.50", DecimalMark.POINT, "1234.50", "", id="an apostrophe between thousands"),
        pytest.param("-3.5", DecimalMark.POINT, "-3.5", "", id="below zero"),
        pytest.param("−3.5 °C", DecimalMark.POINT, "-3.5", "°c", id="a real minus"),
        pytest.param("(12.00)", DecimalMark.POINT, "-12.00", "", id="in brackets, as accountants write it"),
        pytest.param("5.5%", DecimalMark.POINT, "5.5", "percent", id="percent"),
        pytest.param("2.5 kg", DecimalMark.POINT, "2.5", "kilogram", id="a unit"),
        pytest.param("0.1", DecimalMark.POINT, "0.1", "", id="what no float is"),
    ],
)
def test_amounts_are_read_exactly(text: str, mark: DecimalMark, value: str, unit: str) -> None:
    amount = parse_amount(text, mark)
    assert amount is not None
    assert (amount.value, amount.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "text",
    ["", "about 12", "12–15", "10, within eight weeks", "12*", "1,2,3", "12,34.5", "n/a",
     "3 of 4", "A4", "€", "1.2.3", "(12"],
)  # fmt: skip
def test_whatever_is_not_a_number_as_a_whole_is_none(text: str) -> None:
    assert parse_amount(text, DecimalMark.POINT) is None


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        pytest.param(["1,234", "12.5"], DecimalMark.POINT, id="one has a decimal point"),
        pytest.param(["1.234", "12,5"], DecimalMark.COMMA, id="one has a decimal comma"),
        pytest.param(["1,234", "15"], DecimalMark.POINT, id="English thousands"),
        pytest.param(["1.234", "15"], DecimalMark.UNKNOWN, id="a little more than one, or more than a thousand"),
        pytest.param(["12.5", "12,5"], DecimalMark.UNKNOWN, id="both"),
        pytest.param(["0.125"], DecimalMark.POINT, id="no thousands begin with zero"),
        pytest.param(["1.234.567"], DecimalMark.COMMA, id="millions with points"),
    ],
)
def test_what_a_point_means_is_told_by_the_other_numbers(cells: list[str], mark: DecimalMark) -> None:
    assert decimal_mark(cells) is mark


@pytest.mark.parametrize(
    ("value", "cells", "mark", "text"),
    [
        ("1234.5", ["1,000.00 €"], DecimalMark.POINT, "1,234.50 €"),
        ("1234.5", ["€999"], DecimalMark.POINT, "€1,234.5"),
        ("1234.5", ["1.000,00 €"], DecimalMark.COMMA, "1.234,50 €"),
        ("-7", ["5 kg"], DecimalMark.POINT, "-7 kg"),
        ("12", ["5%"], DecimalMark.POINT, "12%"),
        ("20000", ["15000"], DecimalMark.POINT, "20000"),
    ],
)
def test_a_result_is_written_like_the_cells(value: str, cells: list[str], mark: DecimalMark, text: str) -> None:
    like = [amount for cell in cells if (amount := parse_amount(cell, mark))]
    assert format_amount(Decimal(value), like, mark) == text


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2026-03-01", Moment(2026, 3, 1)),
        ("2026-03-01 14:30", Moment(2026, 3, 1)),
        ("1 March 2026", Moment(2026, 3, 1)),
        ("March 1st, 2026", Moment(2026, 3, 1)),
        ("Mon 2 Mar 2026", Moment(2026, 3, 2)),
        ("01.03.2026", Moment(2026, 3, 1)),
        ("March 2026", Moment(2026, 3)),
        ("3 March", Moment(None, 3, 3)),
        ("2026-02-30", None),
        ("soon", None),
        ("12", None),
    ],
)
def test_days_and_months_are_read(cell: str, moment: Moment | None) -> None:
    assert moments_in([cell]) == [moment]


def test_days_with_slashes_are_read_by_those_that_tell() -> None:
    assert moments_in(["03/01/2026", "25/01/2026"]) == [Moment(2026, 1, 3), Moment(2026, 1, 25)]
    assert moments_in(["03/01/2026", "01/25/2026"]) == [Moment(2026, 3, 1), Moment(2026, 1, 25)]
    assert moments_in(["03/01/2026"]) is None
    assert moments_in(["25/01/2026", "01/25/2026"]) is None


def tables(text: str, *, paged: bool = False) -> list[Table]:
    return list(Tables(text, paged=paged).on_page(0))


ROWS = "Lamp | 12.00 €\nChair | 49.90 €\nDesk | 120.00 €"
MORE = "Sofa | 300.00 €\nBed | 250.00 €"


def test_a_table_is_read_whole_with_what_stands_over_it() -> None:
    text = f"# Shop\n\n## Prices\n\nAll prices of 2026:\n\nName | Price\n{ROWS}\nTotal | 181.90 €\n\nEnd."
    (table,) = tables(text)
    assert (table.header, table.section, table.caption) == (("Name", "Price"), "Shop › Prices", "All prices of 2026")
    assert [row.cells[0] for row in table.rows] == ["Lamp", "Chair", "Desk", "Total"]
    assert [row.is_total for row in table.rows] == [False, False, False, True]
    assert text[table.rows[1].start : table.rows[1].end] == "Chair | 49.90 €"


@pytest.mark.parametrize(
    "behind",
    [f"Name | Price\n{MORE}", MORE, f"2\n\nName | Price\n{MORE}"],
    ids=["with its header again", "without", "below a page number"],
)  # fmt: skip
def test_a_table_that_goes_on_on_the_next_page_is_one(behind: str) -> None:
    text = f"Name | Price\n{ROWS}\f{behind}\n\nWhat follows is a paragraph of text that is no row of any table at all."
    (table,) = tables(text, paged=True)
    assert [(row.cells[0], row.page) for row in table.rows][2:] == [("Desk", 1), ("Sofa", 2), ("Bed", 2)]
    (same,) = Tables(text, paged=True).on_page(text.index("Bed"))
    assert same == table


def test_of_rows_of_words_on_two_pages_it_is_not_known_whether_they_are_one_table() -> None:
    words = "Name | Town\nAnn | Bath\nBob | York\nCid | Hull"
    assert tables(f"{words}\fDora | Ely\nEve | Kent\nFinn | Ross", paged=True) == []


def test_a_table_whose_rows_do_not_fit_its_header_is_none() -> None:
    assert tables("Name | Price\nLamp | 12 | 4\nChair | 5\nDesk | 6") == []


@pytest.mark.parametrize(
    "text",
    [
        "Name | Town | Price\nA | x | 3 €\nB | y | 4 €\nC | z | 5 €\nD |\nE | x | 6 €\nF | y | 7 €\nG | z | 8 €",
        "Name | Price\nA | 3 €\nB | 4 €\nC | 5 €\nNot for sale: D",
    ],
)
def test_a_table_that_a_line_parts_is_none(text: str) -> None:
    assert tables(text) == []


def test_columns_know_their_kind_and_unit() -> None:
    (table,) = tables(
        "Invoice no | Since | Price | Weight (kg) | Town\n"
        "101 | 2019 | 12 € | 3.5 | Bath\n102 | 2020 | 14 € | 2 | York\n103 | 2021 | | 1.25 | Hull"
    )
    kinds = {column.name: (column.kind, column.unit) for column in columns_of(table, rows_of(table))}
    assert kinds == {
        "Invoice no": (ColumnKind.NAME, ""),
        "Since": (ColumnKind.DATE, ""),
        "Price": (ColumnKind.AMOUNT, "euro"),
        "Weight (kg)": (ColumnKind.AMOUNT, "kilogram"),
        "Town": (ColumnKind.TEXT, ""),
    }
    assert columns_of(table, rows_of(table))[2].values[2] is None


def test_whole_numbers_that_name_things_are_names() -> None:
    (table,) = tables(
        "Run | Orders | Order | Key | Price\n7 | 3 | 4711 | 007 | 12\n8 | 5 | 4699 | 041 | 14\n9 | 4 | 4802 | 113 | 11"
    )
    kinds = [column.kind for column in columns_of(table, rows_of(table))]
    assert kinds == [ColumnKind.NAME, ColumnKind.AMOUNT, ColumnKind.NAME, ColumnKind.NAME, ColumnKind.AMOUNT]


def test_what_speaks_against_computing_is_said() -> None:
    (table,) = tables(
        "Item | Price | Day | Size\nA | 3 € | 01/02/2026 | 1.250\nB | 4 $ | 03/02/2026 | 2.500\n"
        "C | 5 € | 04/02/2026 | 1.750"
    )
    _, price, day, size = columns_of(table, rows_of(table))
    assert price.problem == "Price has several units: €, $"
    assert "the day or the month first" in day.problem
    assert "decimal point or a decimal comma" in size.problem


def test_a_first_row_of_values_is_no_header() -> None:
    (table,) = tables("1 | 2\n3 | 4\n5 | 6\n7 | 8")
    assert not has_header(table)
    assert Amount(Decimal(1)) == parse_amount("1", DecimalMark.POINT)
