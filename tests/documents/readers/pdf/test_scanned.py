"""The pieces of lines that text recognition gives: in reading order, as rows, paragraphs and columns."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.documents.readers.pdf.scanned import composed_pages, printed_page, rows_in_order, scanned_lines
from localcrag.records.documents import Page, ScannedLine, ScannedPage

HEIGHT, LETTER = 30.0, 12.0
"""Pixels: of a line, and the width of a letter."""


def at(text: str, left: float, top: float, confidence: float = 1.0) -> ScannedLine:
    return ScannedLine(text, confidence, left, top, left + LETTER * len(text), top + HEIGHT)


def column(text: str, left: float, top: float = 100, lines: int = 6) -> list[ScannedLine]:
    return [at(f"{text} {number} runs on to the end", left, top + 40 * number) for number in range(lines)]


def page_of(*lines: ScannedLine) -> ScannedPage:
    return ScannedPage(1200, 1700, 0, 0.0, lines, 1.0)


def read(*lines: ScannedLine) -> Page:
    (page,) = composed_pages(1, lambda _: printed_page(scanned_lines(page_of(*lines)), shows=True), dict)
    return page


def texts(lines: Sequence[ScannedLine]) -> list[str]:
    return [" ".join(piece.text for piece in row) for row in rows_in_order(lines)]


def test_columns_are_read_one_after_the_other_between_what_crosses_them() -> None:
    left, right = column("left", 100), column("right", 640)
    head = at("A title that reaches over both of the columns of this page", 200, 20)
    foot = at("A note below both columns that reaches from the one to the other", 100, 400)
    mixed = [piece for pair in zip(right, left, strict=True) for piece in pair]
    assert texts([foot, *mixed, head]) == [piece.text for piece in (head, *left, *right, foot)]


def test_a_third_column_is_one_too() -> None:
    columns = [column(name, left) for name, left in (("one", 20), ("two", 420), ("three", 820))]
    assert texts([piece for row in zip(*columns, strict=True) for piece in row]) == [
        piece.text for one in columns for piece in one
    ]


def test_cells_beside_each_other_are_the_rows_of_a_table() -> None:
    rows = [("Article", "Price", "Weight"), ("Rope light", "79 euros", "1.2 kg"), ("Lamp", "12 euros", "0.4 kg")]
    # A recogniser does not find the cells of a row at exactly one height, nor in order.
    cells = [at(cell, left, 100 + 50 * y + shift) for y, row in enumerate(rows)
             for cell, left, shift in zip(row, (100, 500, 800), (3, -3, 0), strict=True)]  # fmt: skip
    assert read(*reversed(cells)).text.split("\n") == ["  ".join(row) for row in rows]


def test_lines_that_are_full_are_one_paragraph_and_a_word_that_was_parted_is_whole() -> None:
    lines = ("The landlord gives notice in writing, six months be-", "fore the end; the letter is kept with the agree-",
             "ment.")  # fmt: skip
    page = read(*(at(line, 100, 100 + 40 * number) for number, line in enumerate(lines)))
    assert page.text == (
        "The landlord gives notice in writing, six months before the end; the letter is kept with the agreement."
    )


def test_letters_that_go_up_or_down_make_no_other_size() -> None:
    low = ScannedLine("are in the sea near us, as an easy run once was seen on", 1.0, 100, 107, 760, 130)
    page = read(at("The quays behind the ferry buildings of Kilburn Quayside", 100, 60), low)
    assert page.text.count("\n") == 0


def test_the_confidence_of_a_part_of_a_page_is_that_of_its_lines() -> None:
    page = read(at("Read well.", 100, 100, 0.99), at("Read badly, it seems.", 100, 300, 0.71))
    assert [(page.text[part.start : part.end], round(part.confidence, 3)) for part in page.recognised] == [
        ("Read well.", 0.99),
        ("Read badly, it seems.", 0.71),
    ]


def test_a_page_without_lines_says_nothing() -> None:
    assert scanned_lines(page_of()) == []
    assert rows_in_order([]) == []


def test_a_page_is_the_same_after_it_was_written_down() -> None:
    page = ScannedPage(1200, 1700, 90, 0.02, (at("Kept “as it was”.", 100, 100, 0.875),), 0.875)
    assert ScannedPage.of(page.plain()) == page
