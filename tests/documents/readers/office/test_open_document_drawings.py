"""What OpenDocument files say in shapes, charts and comments."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import open_document
from localcrag.records.errors import DocumentError
from tests.support.documents import replace_part
from tests.support.office_files import make_odp, make_ods, make_odt

ODF = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(f'xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "chart", "text", "table"))
CELL = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
ROW = f"<table:table-row>{CELL}{CELL}</table:table-row>"
OBJECT = '<draw:frame><draw:object xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"/></draw:frame>'
COMMENT = (
    '<office:annotation><dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Bo</dc:creator>'
    "<text:p>Only in winter</text:p></office:annotation>"
)
SHAPE = "<draw:custom-shape><text:p>In a {}</text:p></draw:custom-shape>"
TABLE = "Chart: Berths let\n\n| | Summer |\nNorth | 41"


def chart(rows: str) -> bytes:
    inner = f"<chart:title><text:p>Berths let</text:p></chart:title><table:table>{rows}</table:table>"
    body = f"<office:body><office:chart><chart:chart>{inner}</chart:chart></office:chart></office:body>"
    return f"<office:document-content {NAMES}>{body}</office:document-content>".encode()


CHART = chart(ROW.format("", "Summer") + ROW.format("North", "41"))


def texts(path: Path, name: str, part: bytes = CHART) -> list[str]:
    replace_part(path, "Object 1/content.xml", part)
    return [page.text for page in open_document(path, name).pages]


def test_a_text_has_its_shapes_and_charts_behind_their_paragraphs_and_comments_below(tmp_path: Path) -> None:
    group = f"<draw:g>{SHAPE.format('group')}</draw:g>"
    body = f"<text:p>Here{COMMENT}, too.{SHAPE.format('shape')}{group}{OBJECT}</text:p><text:p>The end.</text:p>"
    assert texts(make_odt(tmp_path / "a", body), "a.odt") == [
        f"Here, too.\n\nIn a shape\n\nIn a group\n\n{TABLE}\n\nThe end.\n\nComment by Bo: Only in winter"
    ]


def test_shapes_on_the_page_itself_are_said_below_the_text_and_lists_in_them_too(tmp_path: Path) -> None:
    points = "<text:list><text:list-item><text:p>One</text:p></text:list-item></text:list>"
    body = f"<draw:g>{SHAPE.format('shape')}</draw:g><draw:rect>{points}</draw:rect>{OBJECT}<text:p>The end.</text:p>"
    assert texts(make_odt(tmp_path / "a", body), "a.odt") == [f"The end.\n\nIn a shape\n\n* One\n\n{TABLE}"]


def test_words_are_apart_where_lines_and_paragraphs_are_and_notes_of_the_markup_are_no_words(tmp_path: Path) -> None:
    apart = "Of<text:line-break/>the<text:tab/>year<text:s/>2026"
    rows = ROW.format("", "Sum<!-- no word -->mer") + ROW.format("North</text:p><text:p>Sea", apart)
    comment = COMMENT.replace("in winter", apart)
    (text,) = texts(make_odt(tmp_path / "a", f"<text:p>Here{comment}{OBJECT}</text:p>"), "a.odt", chart(rows))
    assert text == (
        "Here\n\nChart: Berths let\n\n| | Summer |\nNorth Sea | Of the year 2026\n\n"
        "Comment by Bo: Only Of the year 2026"
    )


def test_a_text_whose_root_is_a_paragraph_is_no_harm(tmp_path: Path) -> None:
    drawing = f'xmlns:draw="{ODF}:drawing:1.0" xmlns:text="{ODF}:text:1.0"'
    content = f"<text:p {drawing}><draw:rect><text:p>x</text:p></draw:rect></text:p>".encode()
    path = replace_part(make_odt(tmp_path / "a", ""), "content.xml", content)
    with pytest.raises(DocumentError, match=r"a\.odt"):
        texts(path, "a.odt")


@pytest.mark.parametrize(
    ("many", "said"),
    [
        (SHAPE.format("shape") * 2_001, "The document has more than 2,000 drawings; the others are not read."),
        (COMMENT * 2_001, "The document has more than 2,000 comments; the others are not read."),
    ],
)
def test_what_is_too_much_is_said(tmp_path: Path, many: str, said: str) -> None:
    (text,) = texts(make_odt(tmp_path / "a", f"<text:p>Here.{many}</text:p>"), "a.odt")
    assert text.endswith(f"\n\n{said}")
    assert text.count("\n\n") == 2_001


def test_a_slide_has_its_charts_and_comments(tmp_path: Path) -> None:
    path = make_odp(tmp_path / "a", [("Berths", "In 2026", "Be short"), ("Winter", "All", "")])
    with zipfile.ZipFile(path) as archive:
        content = archive.read("content.xml").decode()
    replace_part(path, "content.xml", content.replace("</draw:page>", f"{COMMENT}{OBJECT}</draw:page>", 1).encode())
    first, second = texts(path, "a.odp")
    assert first == f"## Berths\n\nIn 2026\n\nComment by Bo: Only in winter\n\n{TABLE}\n\nNotes: Be short"
    assert "Comment" not in second


def test_a_sheet_has_what_stands_beside_its_cells_below_them(tmp_path: Path) -> None:
    rows = ROW.format("Berth", "Fee") + ROW.format("A", f"3</text:p>{COMMENT}<text:p>")
    shapes = f"<table:shapes>{SHAPE.format('shape')}{OBJECT}</table:shapes>"
    body = f'<table:table table:name="Fees">{shapes}{rows}</table:table>'
    (text,) = texts(make_ods(tmp_path / "a", body), "a.ods")
    assert text.endswith("A | 3\n\nIn a shape\n\nChart: Berths let. Summer\n\nComment by Bo: Only in winter")


def test_a_sheet_without_cells_has_its_name_over_what_stands_on_it(tmp_path: Path) -> None:
    table = '<table:table table:name="{}">{}</table:table>'
    shapes = f"<table:shapes>{SHAPE.format('shape')}</table:shapes>"
    rows = ROW.format("Berth", "Fee") + ROW.format("A", "3")
    body = table.format("One", rows) + table.format("Dash", shapes) + table.format("No", "") + table.format("Two", rows)
    (text,) = texts(make_ods(tmp_path / "a", body), "a.ods")
    assert text.endswith("## Two\n\nBerth | Fee\nA | 3\n\n## Dash\n\nIn a shape")
    assert "## No" not in text


@pytest.mark.parametrize(
    ("part", "said"),
    [
        pytest.param(b"<!DOCTYPE x [<!ENTITY a 'x'>]><x>&a;", "A chart stands here that could not", id="damaged"),
        pytest.param(chart(ROW.format("x", "1") * 5_000), "Chart: Berths let", id="very many rows"),
        pytest.param(b"<math/>", "", id="a formula"),
    ],
)
def test_other_objects_and_charts_without_end_are_no_harm(tmp_path: Path, part: bytes, said: str) -> None:
    (text,) = texts(make_odt(tmp_path / "a", f"<text:p>Here.{OBJECT}</text:p>"), "a.odt", part)
    assert text.startswith("Here.")
    assert said in text
    assert text.count("\n") < 220
