"""What OpenDocument files say in shapes, charts and comments."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from localcrag.backends.readers.open_document import open_document
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
