"""Rows of spreadsheets: read with their numbers, kept with chunks, and named where an answer cites them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from localcrag.documents.chunking import join_pages
from localcrag.documents.readers import packages
from localcrag.documents.readers.kinds import XLS, XLSX
from localcrag.documents.readers.office.sheets import open_document_sheets, workbook_sheets
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.interfaces.cli import terminal
from localcrag.interfaces.page.chat.html import answer_html
from localcrag.interfaces.page.run_panel import panel
from localcrag.records.documents import Page
from localcrag.records.run import Chat, ChatTurn, TurnState
from localcrag.runs import export as report
from localcrag.runs import recording
from localcrag.runs.export import ExportForm, export
from localcrag.storage.collections.admin import move_documents
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.text.places import SheetRow, place_name, row_names, rows_within
from tests.support.chunks import split_into_chunks
from tests.support.desk import Desk
from tests.support.documents import replace_part
from tests.support.fakes import FakeEmbedder
from tests.support.office_files import Cell, make_xlsx
from tests.support.spreadsheet_files import make_ods, make_xls, make_xlsb

STOCK: list[list[str | float]] = [
    [],
    ["Stock of the harbour shop"],
    [],
    ["Article", "Price"],
    ["Rope", 12],
    ["Lamp", 31],
    [],
    [],
    ["Name", "Phone", "Room"],
    ["Ada", 5501, 4],
    ["Bo", 5502, 7],
]
READ = [
    ("Stock", 2, "Stock of the harbour shop"),
    ("Stock", 4, "Article | Price"),
    ("Stock", 5, "Rope | 12"),
    ("Stock", 6, "Lamp | 31"),
    ("Stock", 9, "Name | Phone | Room"),
    ("Stock", 10, "Ada | 5501 | 4"),
    ("Stock", 11, "Bo | 5502 | 7"),
]
"""A title above the table, empty rows, and a second table below."""


def page_of(path: Path, name: str) -> Page:
    (page,) = open_document(path, name).pages
    return page


def named_lines(text: str, rows: tuple[SheetRow, ...]) -> list[tuple[str, int, str]]:
    return [(row.sheet, row.number, text[row.start :].split("\n", 1)[0]) for row in rows]


def rows_of(path: Path, name: str) -> list[tuple[str, int, str]]:
    page = page_of(path, name)
    return named_lines(page.text, page.rows)


MAKE: dict[str, Callable[[Path, Mapping[str, Sequence[Sequence[str | float]]]], Path]] = {
    "xlsx": make_xlsx,
    "xls": make_xls,
    "xlsb": make_xlsb,
    "ods": make_ods,
}


@pytest.mark.parametrize("kind", MAKE)
def test_rows_have_the_numbers_that_the_spreadsheet_program_shows(tmp_path: Path, kind: str) -> None:
    assert rows_of(MAKE[kind](tmp_path / "a", {"Stock": STOCK}), f"stock.{kind}") == READ


def test_what_an_open_document_spreadsheet_says_is_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked, taken = packages.read_part, list[str]()

    def counted(archive: ZipFile, part: ZipInfo) -> bytes:
        taken.append(part.filename)
        return unpacked(archive, part)

    monkeypatch.setattr(packages, "read_part", counted)
    assert rows_of(make_ods(tmp_path / "a", {"Stock": STOCK}), "stock.ods") == READ
    assert taken == ["content.xml"]


@pytest.mark.parametrize("kind", MAKE)
def test_every_sheet_counts_its_own_rows(tmp_path: Path, kind: str) -> None:
    sheets: dict[str, list[list[str | float]]] = {
        "One & two": [["a", "b"], ["c", 1]],
        "Empty": [],
        "Last": [[], [], ["d", "e"], ["f", 2]],
    }
    found = rows_of(MAKE[kind](tmp_path / "a", sheets), f"a.{kind}")
    assert [row[:2] for row in found] == [("One & two", 1), ("One & two", 2), ("Last", 3), ("Last", 4)]


def test_hidden_rows_are_counted_though_they_are_not_read(tmp_path: Path) -> None:
    make_xlsx(tmp_path / "a", {"Stock": STOCK}, hidden_rows=[2, 5])
    make_xls(tmp_path / "b", {"Stock": [["Article", "Price"], ["Rope", 12.0], ["Lamp", 31.0]]}, hidden_rows=[2])
    make_xlsb(tmp_path / "c", {"None": [["a", "b"]], "Stock": STOCK}, hidden_rows=[2, 5], hidden=["None"])
    assert [row for row in READ if row[1] not in (2, 5)] == rows_of(tmp_path / "a", "stock.xlsx")
    assert rows_of(tmp_path / "c", "stock.xlsb") == rows_of(tmp_path / "a", "stock.xlsx")
    assert [row[1] for row in rows_of(tmp_path / "b", "stock.xls")] == [1, 3]


def test_a_cell_that_reaches_over_rows_is_in_each_of_them_and_shifts_none(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [[], ["Town", "Year", "Guests"], ["Bergen", 2023, 5], ["", 2024, 6], ["Oslo", 2024, 7]]
    path = make_xlsx(tmp_path / "a", {"Guests": rows}, merged=["A3:A4", "A5:A9"])
    assert rows_of(path, "guests.xlsx")[:4] == [
        ("Guests", 2, "Town | Year | Guests"), ("Guests", 3, "Bergen | 2023 | 5"), ("Guests", 4, "Bergen | 2024 | 6"),
        ("Guests", 5, "Oslo | 2024 | 7"),
    ]  # fmt: skip


def test_a_header_of_two_rows_has_the_number_of_the_lower_one(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [["", "2024", "", "2023", ""], ["", "Q1", "Q2", "Q1", "Q2"], ["Sales", 1, 2, 3, 4]]
    path = make_xlsx(tmp_path / "a", {"Quarters": rows}, merged=["B1:C1", "D1:E1"])
    assert [row[1:] for row in rows_of(path, "a.xlsx")] == [
        (2, "| | 2024 Q1 | 2024 Q2 | 2023 Q1 | 2023 Q2 |"), (3, "Sales | 1 | 2 | 3 | 4"),
    ]  # fmt: skip


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_empty_lines_and_lines_within_cells_of_a_csv_shift_no_row(tmp_path: Path, line_end: str) -> None:
    text = '\nName;Price\n\n\nLamp;"31\n\nnet"\nRope;12\n;\nBuoy;40\n\n'
    (tmp_path / "a").write_bytes(text.replace("\n", line_end).encode())
    assert rows_of(tmp_path / "a", "stock.csv") == [
        ("", 2, "Name | Price"), ("", 5, "Lamp | 31 net"), ("", 6, "Rope | 12"), ("", 8, "Buoy | 40"),
    ]  # fmt: skip


def test_the_line_that_tells_a_program_the_separator_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("sep=;\nName;Price\nLamp;31\n")
    assert [row[1] for row in rows_of(tmp_path / "a", "stock.csv")] == [1, 2]


def test_cells_that_are_read_as_paragraphs_keep_their_row(tmp_path: Path) -> None:
    words = "This remark goes on and on. " * 30
    path = make_xlsx(tmp_path / "a", {"Remarks": [[], [words, words], [7, words]]})
    assert {row[:2] for row in rows_of(path, "remarks.xlsx")} == {("Remarks", 2), ("Remarks", 3)}


def test_rows_that_the_file_does_not_bear_out_have_no_number(tmp_path: Path) -> None:
    sheets = workbook_sheets(make_xlsx(tmp_path / "a", {"Stock": STOCK}), XLSX)
    assert list(sheets.numbered(None, 10)[1]) == list(range(2, 12))
    assert set(sheets.numbered(None, 9)[1]) == set(sheets.numbered(None, 11)[1]) == {0}
    assert set(sheets.numbered("Another", 10)[1]) == {0}


def test_a_workbook_that_cannot_be_understood_has_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04")
    (tmp_path / "b").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2000))
    replace_part(make_xlsb(tmp_path / "c", {"Stock": STOCK}), "xl/worksheets/sheet1.bin", b"\xff" * 9)
    assert workbook_sheets(tmp_path / "c", XLSX).names == []
    for sheets in (
        workbook_sheets(tmp_path / "a", XLSX),
        workbook_sheets(tmp_path / "b", XLS),
        open_document_sheets(b""),
    ):
        assert set(sheets.numbered(None, 3)[1]) == {0}


@pytest.mark.parametrize(
    "repeated", ["<row ", "<x:row ", "<v ", "<row ><v ", "<mergeCell ", "<mergeCell ref=", '<row r="1" hidden=']
)
def test_markup_without_end_is_gone_through_once(tmp_path: Path, repeated: str) -> None:
    make_xlsx(tmp_path / "a", {"Stock": STOCK})
    replace_part(tmp_path / "a", "xl/worksheets/sheet1.xml", f"<sheetData>{repeated * 200_000}".encode())
    assert workbook_sheets(tmp_path / "a", XLSX).names == []
    assert open_document_sheets(b"<table:table table:name " * 100_000).names == []


@pytest.mark.parametrize("claimed", ["9" * 5000 + " x", "x", "5 Prices"])
def test_a_web_page_that_claims_rows_has_none(tmp_path: Path, claimed: str) -> None:
    (tmp_path / "a").write_text(f"<p row-of-a-sheet='{claimed}'>One</p>")
    assert page_of(tmp_path / "a", "a.html").rows == ()


def test_reader_processes_hand_rows_on(tmp_path: Path) -> None:
    path = make_xlsx(tmp_path / "a", {"Stock": STOCK})
    readers = ReaderProcesses()
    try:
        (page,) = readers.open_document(path, "stock.xlsx").pages
    finally:
        readers.close()
    assert named_lines(page.text, page.rows) == READ


TEXT = "# Stock\nArticle | Price\nRope | 12\n\nA note."
ROWS = (SheetRow(8, "Stock", 1), SheetRow(24, "Stock", 2), SheetRow(35, "Stock", 9))


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        pytest.param(0, 8, [], id="a heading is no row"),
        pytest.param(8, 24, [(0, 1)], id="a line"),
        pytest.param(10, 30, [(0, 1), (14, 2)], id="from within a line into the next"),
        pytest.param(33, 35, [], id="the gap between two"),
        pytest.param(31, len(TEXT), [(0, 2), (4, 9)], id="over a gap"),
        pytest.param(0, len(TEXT), [(8, 1), (24, 2), (35, 9)], id="all"),
    ],
)
def test_rows_are_cut_as_their_text_is(start: int, end: int, found: list[tuple[int, int]]) -> None:
    assert [(row.start, row.number) for row in rows_within(ROWS, TEXT, start, end)] == found
    assert rows_within((), TEXT, start, end) == ()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        pytest.param([14], "sheet Prices, row 14", id="one"),
        pytest.param([12, 13, 14, 20], "sheet Prices, rows 12–14, 20", id="several"),
        pytest.param(list(range(2, 30, 2)), "sheet Prices, rows from 2 to 28", id="many"),
    ],
)
def test_rows_are_named(numbers: list[int], said: str) -> None:
    rows = [SheetRow(0, "Prices", number) for number in numbers]
    assert place_name("prices.xlsx", None, rows) == f"prices.xlsx, {said}"


def test_rows_of_several_sheets_and_of_none_are_named() -> None:
    assert row_names([SheetRow(0, "", 3), SheetRow(9, "", 3)]) == "row 3"
    both = row_names([SheetRow(0, "May", 3), SheetRow(9, "June", 1), SheetRow(12, "June", 2)])
    assert both == "sheet May, row 3; sheet June, rows 1–2"
    assert place_name("a.pdf", 2) == "a.pdf, page 2"


def put(store: DocumentStore, path: Path, name: str) -> None:
    embedder = FakeEmbedder()
    pages = list(open_document(path, name).pages)
    chunks = split_into_chunks(pages, embedder.count_tokens, title=name, target=30, limit=60)
    store.put(
        name, sha256=name, media_type="text/csv", pages=None, text=join_pages(pages), chunks=chunks,
        vectors=embedder.embed([chunk.text for chunk in chunks]),
    )  # fmt: skip


ARTICLES: list[list[Cell]] = [[f"Article {number}", 100 + number, f"S{number}"] for number in range(40)]
PRICES: list[list[Cell]] = [
    ["Price list of the harbour shop"],
    [],
    ["Article", "Price", "Shelf"],
    *ARTICLES,
    [],
    ["Name", "Duty"],
    ["Ada", "opens the shop"],
    ["Bo", "counts the ropes"],
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    make_xlsx(tmp_path / "a", {"Prices": PRICES, "Staff": [["Name", "Holidays"], ["Cleo", "in the autumn"]]})
    put(made.store, tmp_path / "a", "prices.xlsx")
    return made


def test_chunks_keep_the_rows_that_they_show(desk: Desk) -> None:
    chunks = [chunk for _, chunk in desk.store.chunks(desk.store.chunk_ids()).values()]
    lines = [line for chunk in chunks for line in named_lines(chunk.text, chunk.rows)]
    assert len(chunks) > 4
    assert ("Prices", 4, "Article 0 | 100 | S0") in lines
    assert ("Prices", 43, "Article 39 | 139 | S39") in lines
    assert ("Prices", 47, "Bo | counts the ropes") in lines
    assert ("Staff", 2, "Cleo | in the autumn") in lines
    assert len(lines) == len(set(lines)) == 47


def test_chunks_keep_their_rows_in_another_collection(desk: Desk, tmp_path: Path) -> None:
    before = [chunk for _, chunk in desk.store.chunks(desk.store.chunk_ids()).values()]
    database = Database(tmp_path / "db.sqlite3")
    embedder = FakeEmbedder()
    other = DocumentStore(database, "other", embedder=embedder.name, dimension=embedder.dimension)
    move_documents(database, ["prices.xlsx"], "default", "other")
    assert [chunk for _, chunk in other.chunks(other.chunk_ids()).values()] == before


def test_an_answer_names_sheet_and_row_of_what_it_cites(desk: Desk) -> None:
    _, run = desk.ask("What is the price of Article 17 on shelf S17?")
    (piece,) = [piece for piece in run.evidence if "Article 17" in piece.text]
    assert piece.text == "Article | Price | Shelf\nArticle 17 | 117 | S17"
    assert [(row.sheet, row.number) for row in piece.rows] == [("Prices", 21)], "its header is another row"
    where = "prices.xlsx, sheet Prices, row 21"
    assert f"[{piece.n}] {where}: “" in terminal.answer_text(run)
    assert where in report.markdown(run)
    assert where in panel(run)
    assert where in answer_html(run.answer, run)
    assert "· Prices" not in answer_html(run.answer, run), "the sheet is named once"
    chat = Chat(id=1, title="Ropes", collection="default", created_at="2026-01-02T03:04", changed_at="x", turns=1)
    turn = ChatTurn(number=1, question="?", answer=run.answer, run_id=run.run_id, state=TurnState.ANSWERED)
    assert where in export(chat, [turn], {run.run_id: run}, ExportForm.MARKDOWN)
    plain = recording.to_json(run)
    rows = plain["evidence"][piece.n - 1]["rows"]
    assert [(row["sheet"], row["number"]) for row in rows] == [("Prices", 21)]
    assert recording.read(json.dumps(plain)) == run


def test_a_passage_names_the_rows_that_it_shows(desk: Desk) -> None:
    _, run = desk.ask("Who counts the ropes?")
    (passage,) = [passage for passage in run.passages if "counts the ropes" in passage.text]
    assert row_names(passage.rows).startswith("sheet Prices, rows ")
    assert f'<span class="lc-sheet-rows">{row_names(passage.rows)}</span>' in panel(run)


def test_rows_that_are_computed_with_have_their_numbers(desk: Desk) -> None:
    _, run = desk.ask("What is the highest price?")
    assert run.computation
    assert [row.number for row in run.computation.rows] == [43]
    assert '<th scope="col">Row</th>' in panel(run)
    assert "sheet Prices, row 43" in terminal.answer_text(run)


def test_a_list_that_is_made_whole_keeps_its_rows(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    steps = [
        [f"{number}. Turn the valve of pipe number {number} to the left, and wait a while."] for number in range(1, 9)
    ]
    make_xlsx(tmp_path / "a", {"Steps": [["How to empty the tank:"], [], *steps]})
    put(desk.store, tmp_path / "a", "tank.xlsx")
    _, run = desk.ask("How to empty the tank?")
    passage = max(run.passages, key=lambda passage: len(passage.text))
    chunks = [chunk.text for _, chunk in desk.store.chunks(desk.store.chunk_ids()).values()]
    assert passage.text not in chunks, "it is more than one of them"
    said = named_lines(passage.text, passage.rows)
    assert len(said) == len(passage.text.split("\n")) - passage.text.count("\n\n")
    assert all(line.startswith(f"{number - 2}. ") for _, number, line in said if number > 2)
