"""What sheets and slides say beside cells and shapes: text boxes on sheets, charts, comments."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import open_document
from tests.support import drawn_files as drawn
from tests.support.documents import replace_part
from tests.support.spreadsheet_files import Note, make_xls, make_xlsb

SHARES = drawn.chart("Let", {"Summer": [0.41, 0.17]}, ["North", "South"], code="0%", kind="line")
IN_CELLS = drawn.chart("Fees", {"Fee": [3]}, ["A"], kind="pie", cells="<c:f>Fees!$B$2</c:f>")
ELSEWHERE = drawn.chart("Fees", {"Fee": [3]}, ["A"], kind="pie", cells="<c:f>[1]Fees!$B$2</c:f>")
TABLE = "## Fees\n\nBerth | Fee\nA | 3\n\nPrices of 2026\n\n"
OTHER = "\n\n## Other\n\nWho | What\nB | c"
LOST = "What is drawn or commented here could not be read."


def text_of(path: Path) -> str:
    (page,) = open_document(path, "a.xlsx").pages
    return page.text


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        pytest.param(IN_CELLS, "Chart: Fees. Fee", id="values that stand in cells"),
        pytest.param(ELSEWHERE, "Chart: Fees\n\n| | Fee |\nA | 3", id="values of another file"),
    ],
)
def test_what_stands_on_a_sheet_is_said_below_its_table(tmp_path: Path, chart: bytes, said: str) -> None:
    path = drawn.commented_xlsx(tmp_path / "a", chart, {"B2": "Only in winter"})
    assert text_of(path) == f"{TABLE}{said}\n\nComment on B2 by Bo: Only in winter{OTHER}"


def test_a_comment_of_the_newer_kind_takes_the_place_of_its_copy(tmp_path: Path) -> None:
    notes = {"B2": "[Threaded comment] Your version does not show it", "A1": "On the pier"}
    path = drawn.commented_xlsx(tmp_path / "a", IN_CELLS, notes, threaded="Is it due?")
    assert text_of(path).endswith(f"Comment on B2 by Ada: Is it due?\n\nComment on A1 by Bo: On the pier{OTHER}")


@pytest.mark.parametrize("author", ["²", "9" * 5000, "7", ""])
def test_a_comment_whose_author_is_not_listed_is_read_without_one(tmp_path: Path, author: str) -> None:
    path = drawn.commented_xlsx(tmp_path / "a", IN_CELLS, {"B2": "Only in winter"})
    with zipfile.ZipFile(path) as archive:
        written = archive.read("xl/comments1.xml").decode()
    replace_part(path, "xl/comments1.xml", written.replace('authorId="0"', f'authorId="{author}"').encode())
    assert "Comment on B2: Bo: Only in winter" in text_of(path)


def test_what_cannot_be_read_of_a_sheet_or_is_too_much_is_said(tmp_path: Path) -> None:
    path = drawn.commented_xlsx(tmp_path / "a", b"<c:chartSpace>", {"B2": "x"})
    assert text_of(path) == f"{TABLE}{LOST}\n\nComment on B2 by Bo: x{OTHER}"
    path = replace_part(path, "xl/comments1.xml", b"<comments>")
    assert text_of(path) == f"## Fees\n\nBerth | Fee\nA | 3\n\n{LOST}\n\nPrices of 2026\n\n{LOST}{OTHER}"
    path = drawn.commented_xlsx(tmp_path / "b", IN_CELLS, {f"A{at}": "x" for at in range(2_100)})
    assert "Of what is drawn and commented here, 2,000 pieces are read." in text_of(path)


NOTES: list[Note] = [(1, 1, "Bo", "Bo: Only in winter"), (0, 27, "Ada", "A")]
"""As programs write them: with the author in front."""
COMMENTS = "Comment on B2 by Bo: Only in winter\n\nComment on AB1 by Ada: A"


def test_comments_on_sheets_of_other_formats_of_excel_are_said_below_their_table(tmp_path: Path) -> None:
    make_xlsb(tmp_path / "a", drawn.FEES, notes=NOTES)
    assert text_of(tmp_path / "a") == f"## Fees\n\nBerth | Fee\nA | 3\n\n{COMMENTS}{OTHER}"
    make_xls(tmp_path / "b", drawn.FEES, notes=NOTES, box="Prices of 2026")
    assert text_of(tmp_path / "b") == f"{TABLE}{COMMENTS}{OTHER}"


def test_comments_of_such_formats_that_are_damaged_or_too_many_are_said_to_be(tmp_path: Path) -> None:
    make_xlsb(tmp_path / "a", drawn.FEES, notes=NOTES)
    for damaged in (b"\xfb\x04\xff", b"\xfb\x04\x09" + b"\xee" * 9):
        replace_part(tmp_path / "a", "xl/comments1.bin", damaged)
        assert text_of(tmp_path / "a") == f"## Fees\n\nBerth | Fee\nA | 3\n\n{LOST}{OTHER}"
    make_xls(tmp_path / "b", drawn.FEES, notes=NOTES * 1_001)
    assert "Of what is drawn and commented here, 2,000 pieces are read." in text_of(tmp_path / "b")


@pytest.mark.parametrize(
    ("modern", "comments"),
    [(False, "Comment by Bo: Say more"), (True, "Comment by Bo: Say more\n\nComment by Ada: I will")],
)
def test_a_slide_has_its_chart_and_its_comments_above_the_notes(tmp_path: Path, modern: bool, comments: str) -> None:
    path = drawn.commented_pptx(tmp_path / "a", SHARES, "Say more", modern=modern)
    first, second = open_document(path, "a.pptx").pages
    assert first.text == "## Berths\n\nLet in 2026\n\nNotes: Be short"
    assert second.text == (
        "## Winter\n\nAll of them\n\nChart: Let\n\n| | Summer |\nNorth | 41%\nSouth | 17%\n\n"
        f"{comments}\n\nNotes: Speak up"
    )


def test_a_slide_says_what_of_it_cannot_be_read(tmp_path: Path) -> None:
    laughs = b"<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><c:chartSpace>&b;"
    path = replace_part(drawn.commented_pptx(tmp_path / "a", SHARES, "x"), "ppt/charts/chart1.xml", laughs)
    _, second = open_document(path, "a.pptx").pages
    assert second.text == f"## Winter\n\nAll of them\n\n{LOST}\n\nComment by Bo: x\n\nNotes: Speak up"


def test_what_a_sheet_lists_twice_is_said_once_and_paragraphs_are_apart(tmp_path: Path) -> None:
    path = drawn.commented_xlsx(tmp_path / "a", IN_CELLS, {"B2": "Only in winter"})
    again = {"again": "xl/comments1.xml", "too": "xl/drawings/drawing1.xml"}
    drawn.put_parts(path, "xl/worksheets/_rels/sheet1.xml.rels", again)
    assert text_of(path) == f"{TABLE}Chart: Fees. Fee\n\nComment on B2 by Bo: Only in winter{OTHER}"
    said = "Say</a:t></a:r></a:p><a:p><a:r><a:t>more</a:t></a:r><a:br/><a:r><a:t>now"
    _, second = open_document(drawn.commented_pptx(tmp_path / "b", SHARES, said, modern=True), "b.pptx").pages
    assert "Comment by Bo: Say more now" in second.text


def test_a_sheet_without_cells_has_its_name_over_what_stands_on_it(tmp_path: Path) -> None:
    sheets = {"Fees": drawn.FEES["Fees"], "Dash": [], "Other": drawn.FEES["Other"]}
    path = drawn.commented_xlsx(tmp_path / "a", IN_CELLS, {"B2": "Only in winter"}, sheets=sheets, on=2)
    dash = "## Dash\n\nPrices of 2026\n\nChart: Fees. Fee\n\nComment on B2 by Bo: Only in winter"
    assert text_of(path) == f"## Fees\n\nBerth | Fee\nA | 3{OTHER}\n\n{dash}"
