"""Pictures that a document shows in place of text: pasted scans and screenshots, each a document of its own."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pytest
from PIL import Image

from localcrag.documents.readers.open_document import open_document
from localcrag.records.documents import ARCHIVE
from localcrag.records.errors import EmptyDocument
from tests.support import scans
from tests.support.documents import replace_part
from tests.support.office_files import make_epub, make_odt, make_pptx, make_xlsx

SCAN = scans.png(scans.picture(scans.LEASE, size=(1240, 500)))
LOGO = scans.png(Image.new("RGB", (120, 90), "red"))
LONG = "The tenant pays the rent on the first of the month, and keeps the stairs clean. " * 3
FRAME = (
    '<draw:frame><draw:image xlink:href="Pictures/scan.png" xmlns:xlink="http://www.w3.org/1999/xlink"/></draw:frame>'
)


def pasted(path: Path, text: str, *pictures: bytes) -> Path:
    document = docx.Document()
    if text:
        document.add_paragraph(text)
    for picture in pictures:
        document.add_picture(io.BytesIO(picture))
    document.save(str(path))
    return path


def test_a_document_of_nothing_but_scans_is_an_archive_of_them(tmp_path: Path) -> None:
    other = scans.png(scans.picture(["Another page"], size=(1240, 500)))
    document = open_document(pasted(tmp_path / "a", "", SCAN, other), "lease.docx")
    assert (document.media_type, list(document.pages)) == (ARCHIVE, [])
    assert [(member.name, member.data) for member in document.members] == [("image1.png", SCAN), ("image2.png", other)]


def test_a_scan_below_a_few_words_is_read_beside_them(tmp_path: Path) -> None:
    document = open_document(pasted(tmp_path / "a", "The lease, scanned.", SCAN), "lease.docx")
    assert [page.text for page in document.pages] == ["The lease, scanned."]
    assert [member.name for member in document.members] == ["image1.png"]


@pytest.mark.parametrize(
    ("text", "picture"),
    [pytest.param(LONG, SCAN, id="text enough"), pytest.param("Berth 7", LOGO, id="a small picture")],
)
def test_other_pictures_are_left_alone(tmp_path: Path, text: str, picture: bytes) -> None:
    document = open_document(pasted(tmp_path / "a", text, picture), "lease.docx")
    assert [page.text for page in document.pages] == [text.strip()]
    assert list(document.members) == []


def test_slides_with_a_screenshot_are_not_said_to_be_lost(tmp_path: Path) -> None:
    path = make_pptx(tmp_path / "a", [("", [], ""), ("Keys", ["At berth 7"], "")], picture_on=1)
    document = open_document(replace_part(path, "ppt/media/image1.png", SCAN), "talk.pptx")
    assert [(page.number, page.unread) for page in document.pages] == [(1, False), (2, False)]
    assert [member.name for member in document.members] == ["image1.png"]


@pytest.mark.parametrize("kind", ["odt", "epub", "xlsx"])
def test_other_kinds_have_such_pictures_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "odt":
        replace_part(make_odt(path, f"<text:p>{FRAME}</text:p>"), "Pictures/scan.png", SCAN)
    elif kind == "epub":
        replace_part(make_epub(path, ['<img src="../images/my%20scan.png"/>']), "book/images/my scan.png", SCAN)
    else:
        replace_part(make_xlsx(path, {"Fees": [["Berth"]]}), "xl/media/scan.png", SCAN)
        replace_part(path, "xl/drawings/_rels/drawing1.xml.rels", b'<r Target="../media/scan.png"/>')
    named = "my scan.png" if kind == "epub" else "scan.png"
    assert [member.name for member in open_document(path, f"a.{kind}").members] == [named]


def test_pictures_of_headers_and_damaged_ones_are_left_alone(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Berth 7")
    document.sections[0].header.paragraphs[0].add_run().add_picture(io.BytesIO(SCAN))
    document.save(str(tmp_path / "a"))
    assert list(open_document(tmp_path / "a", "a.docx").members) == []
    path = replace_part(pasted(tmp_path / "b", "", SCAN), "word/media/image1.png", b"\x89PNG\r\n\x1a\n")
    with pytest.raises(EmptyDocument):
        list(open_document(path, "b.docx").pages)
