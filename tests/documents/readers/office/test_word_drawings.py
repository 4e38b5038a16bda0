"""What texts of Word say in text boxes, charts, diagrams and comments."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest

from localcrag.documents.readers.office.drawings import parse_xml
from localcrag.documents.readers.office.word import COMMENTS, DrawingText, add_comments
from localcrag.documents.readers.open_document import open_document
from tests.support import drawn_files as drawn

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CHART = '<c:chart r:id="charts/chart1.xml"/>'
SMART_ART = '<dgm:relIds r:dm="diagrams/data1.xml"/>'
BREAK = b"</a:t></a:r><a:br/><a:r><a:t>"
LET = drawn.chart("Berths let", {"Summer": [41, 17.5], "Winter": [3, 4]}, ["North", "South"])


def text_of(path: Path) -> str:
    (page,) = open_document(path, "a.docx").pages
    return page.text


def test_text_boxes_are_read_once_each_behind_their_paragraph(tmp_path: Path) -> None:
    boxes = [
        drawn.either(drawn.text_box("both"), drawn.old_text_box("both")),
        drawn.either(drawn.text_box("new, and a picture for old programs"), "<w:pict/>"),
        drawn.text_box("new"),
        drawn.old_text_box("old"),
        drawn.text_box("outer </w:t></w:r><w:r>" + drawn.text_box("inner") + "</w:r><w:r><w:t>outer"),
    ]
    lines = text_of(drawn.drawn_docx(tmp_path / "a", boxes)).split("\n\n")
    assert [line for line in lines if "Before" not in line] == [
        "both", "new, and a picture for old programs", "new", "old", "outer outer", "inner",
    ]  # fmt: skip
    assert lines[:3] == ["Before 1, behind.", "both", "Before 2, behind."]


def test_text_boxes_in_headers_and_footers_stand_below_the_text_each_once(tmp_path: Path) -> None:
    address = drawn.text_box("Quay 7, 5003 Bergen")
    path = drawn.drawn_docx(
        tmp_path / "a",
        [drawn.text_box("In the text")],
        {
            "header1.xml": drawn.margin("hdr", drawn.either(address, drawn.old_text_box("Quay 7, 5003 Bergen"))),
            "header2.xml": drawn.margin("hdr", address),
            "footer1.xml": drawn.margin("ftr", drawn.text_box("12") + drawn.old_text_box("Tenants &amp; Sons")),
            "footer2.xml": b"<w:ftr><w:txbxContent>",
        },
    )
    assert text_of(path) == (
        "Before 1, behind.\n\nIn the text\n\nA text box in a header or footer could not be read.\n\n"
        "Quay 7, 5003 Bergen\n\nTenants & Sons"
    )


def test_a_chart_is_a_small_table_where_it_stands(tmp_path: Path) -> None:
    path = drawn.drawn_docx(tmp_path / "a", [drawn.graphic(CHART), ""], {"charts/chart1.xml": LET})
    assert text_of(path) == (
        "Before 1, behind.\n\nChart: Berths let. Number of berths\n\n| | Summer | Winter |\nNorth | 41 | 3\n"
        "South | 17.5 | 4\n\nBefore 2, behind."
    )


@pytest.mark.parametrize(
    ("chart", "rows"),
    [
        pytest.param(drawn.chart("", {"": [0.41, 0.175]}, [45000, 45001.5], code="0.0%", of_categories="dd/mm/yyyy"),
                     "2023-03-15 | 41%\n2023-03-16 | 17.5%", id="shares and days"),
        pytest.param(drawn.chart("", {"y": [2, 3]}, [0.1, 0.30000000000000004], kind="scatter"),
                     "| | y |\n0.1 | 2\n0.3 | 3", id="scatter"),
        pytest.param(drawn.chart("", {"": [1, 2, 3]}, ["01067", "2.10", "1e5"]), "01067 | 1\n2.10 | 2\n1e5 | 3",
                     id="texts that look like numbers"),
        pytest.param(drawn.new_chart("", "Let", {"01067": 7}), "01067 | 7", id="such texts since 2016"),
        pytest.param(drawn.chart("", {"": [7]}, [43538], of_categories="dd/mm/yyyy", from_1904=True), "2023-03-15 | 7",
                     id="days that are counted from 1904"),
        pytest.param(drawn.chart("Let@in 2026", {"": [7]}, ["A"]).replace(b"@", BREAK), "Chart: Let in 2026",
                     id="two lines"),
        pytest.param(drawn.chart("", {"": [7]}, ["A"], code="[" * 300_000), "A | 7", id="a format without end"),
        pytest.param(drawn.new_chart("Money", "Euros", {"Rent": 840, "Food": -30}),
                     "Chart: Money\n\n| | Euros |\nRent | 840\nFood | -30", id="waterfall"),
        pytest.param(drawn.chart("", {"x": range(9_000)}, range(9_000)), "200 of each of 30 series at most", id="many"),
        pytest.param(b"<!DOCTYPE x [<!ENTITY a 'x'>]><c:chartSpace>&a;", "A chart stands here that could not be read.",
                     id="damaged"),
    ],
)  # fmt: skip
def test_values_read_as_the_chart_shows_them(tmp_path: Path, chart: bytes, rows: str) -> None:
    text = text_of(drawn.drawn_docx(tmp_path / "a", [drawn.graphic(CHART)], {"charts/chart1.xml": chart}))
    assert rows in text
    assert text.count("\n") < 220


def test_a_point_that_is_told_again_and_again_is_read_up_to_a_point(tmp_path: Path) -> None:
    point = b'<c:pt idx="0"><c:v>North</c:v></c:pt>'
    chart = drawn.chart("", {"": [41]}, ["North"]).replace(point, point * 9_000)
    text = text_of(drawn.drawn_docx(tmp_path / "a", [drawn.graphic(CHART)], {"charts/chart1.xml": chart}))
    assert 2_000 <= text.count("North") < 2_100


def test_a_chart_is_shown_once_whatever_a_text_says(tmp_path: Path) -> None:
    typed = "</w:r><w:r><w:t>\ue0f20\ue0f3</w:t></w:r><w:r>" * 50
    path = drawn.drawn_docx(tmp_path / "a", [drawn.graphic(CHART), typed], {"charts/chart1.xml": LET})
    assert text_of(path).count("Chart: Berths let") == 1


def test_a_diagram_is_lists_within_lists(tmp_path: Path) -> None:
    part = drawn.diagram(["Fire", "Ring", "Leave", "By the stairs"], [(0, 1), (1, 3), (1, 2), (3, 4)])
    path = drawn.drawn_docx(tmp_path / "a", [drawn.graphic(SMART_ART)], {"diagrams/data1.xml": part})
    assert text_of(path) == "Before 1, behind.\n\n* Fire\n  * Leave\n    * By the stairs\n  * Ring"


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(drawn.diagram(["a", "b"], [(0, 1), (1, 2), (2, 1)]), id="a circle"),
        pytest.param(drawn.diagram(["x"] * 9_000, [(at, at + 1) for at in range(9_000)]), id="very deep"),
        pytest.param(drawn.diagram(["x"] * 9_000, []), id="without lines"),
    ],
)
def test_a_diagram_without_end_is_read_up_to_a_point(tmp_path: Path, part: bytes) -> None:
    path = drawn.drawn_docx(tmp_path / "a", [drawn.graphic(SMART_ART)], {"diagrams/data1.xml": part})
    assert 2 <= text_of(path).count("* ") <= 2_000


def test_what_is_missing_or_too_much_is_said(tmp_path: Path) -> None:
    assert "A diagram stands here that could not be read." in text_of(
        drawn.drawn_docx(tmp_path / "a", [drawn.graphic(SMART_ART)])
    )
    path = drawn.drawn_docx(tmp_path / "b", ["<w:drawing/>" * 2_001])
    assert text_of(path).endswith("The document has more than 2,000 drawings; the others are not read.")


def test_comments_stand_below_the_text_with_what_they_are_on(tmp_path: Path) -> None:
    made = docx.Document()
    rent = made.add_paragraph("The rent\nis due on\tthe third.")
    made.add_comment(rent.runs, text="Is it\tthe\n<first>?", author="Bo")
    made.add_paragraph("It is paid by transfer.")
    made.save(str(tmp_path / "a"))
    assert text_of(tmp_path / "a") == (
        "The rent\nis due on the third.\n\nIt is paid by transfer.\n\n"
        "Comment by Bo on “The rent is due on the third.”: Is it the <first>?"
    )


def test_comments_without_end_on_texts_without_words_end() -> None:
    begun = "".join(f'<w:commentRangeStart w:id="{at}"/>' for at in range(5_000))
    drawings = DrawingText()
    root = parse_xml(f'<w:p xmlns:w="{WORD}">{begun}{"<w:t/>" * 300_000}<w:t>Rent</w:t></w:p>'.encode())
    one = f'<w:comment xmlns:w="{WORD}" w:id="7"><w:p><w:r><w:t>When?</w:t></w:r></w:p></w:comment>'
    add_comments(root, {COMMENTS: one.encode()}, drawings)
    assert drawings.below == ["<p>Comment on “Rent”: When?</p>"]
