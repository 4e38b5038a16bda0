"""Functions that make files which are to break or overrun their readers: bombs, loops, depths and huge claims."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.support import documents
from tests.support.office_files import make_epub, make_odt, make_pptx, make_xlsx

DEEP = 200_000
"""Levels of things within things."""
LARGE = 1_000_000_000
"""Bytes of a large file; those of text are nearly all a hole, so that it takes no room on the disk."""
BESIDE = "The combination of the safe is 4711."
"""What another file says, which none of these may show."""
Make = Callable[[Path], Path]

_LAUGHS = "".join(f"<!ENTITY l{level} '{f'&l{level - 1};' * 10}'>" for level in range(1, 12))
_ODF = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
ODT, ODP = (f"application/vnd.oasis.opendocument.{kind}" for kind in ("text", "presentation"))
_ALL_IN_A_SLIDE = {
    "mimetype": ODP.encode(),
    "content.xml": f'<draw:page xmlns:draw="{_ODF}"><draw:page/></draw:page>'.encode(),
}
_BILLION = f"<!DOCTYPE x [<!ENTITY l0 'ha ha ha'>{_LAUGHS}]>"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def written(content: bytes) -> Make:
    """Return what writes a file of these bytes."""

    def make(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return make


# Archives


def packed(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def nested_archive(path: Path, *, wide: int = 8, levels: int = 8) -> Path:
    """Write archives within archives, `wide` to the power of `levels` files in all."""
    data = b"One of very many files."
    for _ in range(levels):
        data = packed({f"{number}.zip" if data[:2] == b"PK" else f"{number}.txt": data for number in range(wide)})
    path.write_bytes(data)
    return path


def overlapping_archive(path: Path, *, entries: int = 15_000, size: int = 9_000_000) -> Path:
    """Write an archive whose directory names the same packed bytes again and again."""
    data = packed({"a.txt": b"a" * size})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        start = archive.start_dir
    entry = data[start : data.rindex(b"PK\x05\x06")]
    directory = b"".join(entry.replace(b"a.txt", b"%05d" % number) for number in range(entries))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, entries, entries, len(directory), start, 0)
    path.write_bytes(data[:start] + directory + end)
    return path


def claiming_archive(path: Path, claimed: int) -> Path:
    """Write an archive of a file that unpacks to 900 MB, of which its directory says `claimed`."""
    data = spaces(900, -zlib.MAX_WBITS)
    sizes = struct.pack("<HHHHLLL", 0, 8, 0, 33, 0, len(data), claimed)
    local = b"PK\x03\x04\x14\0" + sizes + struct.pack("<HH", 5, 0) + b"a.txt"
    central = b"PK\x01\x02\x14\0\x14\0" + sizes + struct.pack("<HHHHHLL", 5, 0, 0, 0, 0, 0, 0) + b"a.txt"
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    path.write_bytes(local + data + central + end)
    return path


def spaces(megabytes: int, bits: int = zlib.MAX_WBITS) -> bytes:
    """Return so many million spaces, packed; a million are packed once, and repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    first = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (megabytes - 1) + packer.flush()


def linking_archive(path: Path, target: Path) -> Path:
    """Write an archive with a symbolic link to a file outside, and names that lead out of it."""
    link = zipfile.ZipInfo("link.txt")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, str(target))
        archive.writestr("../../out.txt", "It stays within.")
        archive.writestr("/absolute.txt", "So does this.")
    return path


def encrypted_archive(path: Path) -> Path:
    """Write an OpenDocument text whose directory says that every part is encrypted, as no program encrypts them."""
    data = bytearray(make_odt(path, "<text:p>x</text:p>").read_bytes())
    for entry in re.finditer(rb"PK\x01\x02", bytes(data)):
        data[entry.start() + 8] |= 1
    path.write_bytes(data)
    return path


def broken_lzma(parts: dict[str, bytes]) -> Make:
    """Return what writes an archive packed by LZMA, in which what follows LZMA's own head is no such thing."""

    def make(path: Path) -> Path:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
            places = [entry.header_offset + 30 + len(entry.filename) + 9 for entry in archive.infolist()]
        data = bytearray(path.read_bytes())
        for place in places:
            data[place : place + 4] = b"\xff" * 4
        path.write_bytes(data)
        return path

    return make


_OF_POWERPOINT = {"[Content_Types].xml": b"<Types/>", "ppt/presentation.xml": b"<p:presentation/>"}
ARCHIVES: dict[str, tuple[str, Make]] = {
    "parts that are encrypted": ("a.odt", encrypted_archive),
    "broken LZMA, a text": ("a.odt", broken_lzma({"mimetype": ODT.encode(), "content.xml": b"<a/>"})),
    "broken LZMA, slides": ("a.pptx", broken_lzma(_OF_POWERPOINT)),
    "broken LZMA, any files": ("a.zip", broken_lzma({"a.txt": b"Berth seven."})),
    "a slide that all the others are in": ("a.odp", lambda path: documents.make_zip(path, _ALL_IN_A_SLIDE)),
}
"""By what is wrong in each."""


# XML


def _word(body: str, front: str = "") -> Make:
    content = f'<?xml version="1.0"?>{front}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    return lambda path: documents.replace_part(documents.make_docx(path, ["x"]), "word/document.xml", content.encode())


_SAYS_A_WORD: dict[str, tuple[Make, str]] = {
    "a.docx": (_word("<w:p><w:r><w:t>WORD</w:t></w:r></w:p>"), "word/document.xml"),
    "a.odt": (lambda path: make_odt(path, "<text:p>WORD</text:p>"), "content.xml"),
    "a.pptx": (lambda path: make_pptx(path, [("WORD", ["x"], "x")]), "ppt/slides/slide1.xml"),
    "a.xlsx": (lambda path: make_xlsx(path, {"Prices": [["WORD", "x"], ["x", 1.0]]}), "xl/worksheets/sheet1.xml"),
    "a.epub": (lambda path: make_epub(path, ["<p>WORD</p>"]), "book/c0.xhtml"),
}


def laughs(name: str) -> Make:
    """Return what writes a file of this kind in which a few entities come to 100 billion words."""
    make, part = _SAYS_A_WORD[name]
    return _declared(make, part, _BILLION, "&l11;")


def outside(name: str, secret: Path) -> Make:
    """Return what writes a file of this kind that wants to show another file."""
    make, part = _SAYS_A_WORD[name]
    front = f"<!DOCTYPE x [<!ENTITY secret SYSTEM '{secret.as_uri()}'>]>"
    return _declared(make, part, front, "&secret; is all.")


def _declared(make: Make, part: str, front: str, entity: str) -> Make:
    def changed(path: Path) -> Path:
        with zipfile.ZipFile(make(path)) as archive:
            content = archive.read(part).decode()
        content = content.removeprefix('<?xml version="1.0"?>').replace("WORD", entity)
        return documents.replace_part(path, part, f'<?xml version="1.0"?>{front}{content}'.encode())

    return changed


KINDS_WITH_XML = tuple(_SAYS_A_WORD)


def repeating_sheet(path: Path, *, across: int, down: int) -> Path:
    """Write an OpenDocument spreadsheet of one cell that is said to repeat."""
    spaces = "urn:oasis:names:tc:opendocument:xmlns"
    names = f'xmlns:office="{spaces}:office:1.0" xmlns:table="{spaces}:table:1.0" xmlns:text="{spaces}:text:1.0"'
    cell = f'<table:table-cell table:number-columns-repeated="{across}"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="{down}">{cell}</table:table-row>'
    body = f"<office:body><office:spreadsheet><table:table>{row}</table:table></office:spreadsheet></office:body>"
    content = f"<office:document-content {names}>{body}</office:document-content>"
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    return documents.make_zip(path, {"mimetype": kind, "content.xml": content.encode()})


def far_cell(path: Path) -> Path:
    """Write a workbook with a cell in its first place, one in the last that Excel has, and a range of all between."""
    make_xlsx(path, {"Far": [["x", 1.0]]}, merged=["C1:XFD1048576"])
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    last = '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
    return documents.replace_part(path, "xl/worksheets/sheet1.xml", sheet.replace("</sheetData>", last).encode())


# Text


def one_line(path: Path) -> Path:
    """Write a file of one line, a thousand million bytes long."""
    with path.open("wb") as file:
        file.write(b'Subject: x\n\n{"a": "One line ')
        file.truncate(LARGE)
    return path


def _attached_letters(levels: int) -> bytes:
    """Return a letter with another one attached, which has one attached …: fewer than a letter may have in all."""
    front = b'Subject: x\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\nText.\n--b\n'
    return front + b"Content-Type: message/rfc822\n\n" * levels + b"Subject: deep\n\nDeep.\n--b--\n"


OF_TEXT = ("a.txt", "a.csv", "a.json", "a.md", "a.html", "a.eml", "a.mbox", "a.rtf")
DEPTHS: dict[str, tuple[str, Make]] = {
    "lists in JSON": ("a.json", written(b"[" * DEEP + b"]" * DEEP)),
    "objects in JSON, as deep as Python reads": (
        "a.json",
        written(('{"a":' * 900 + "1" + "}" * 900).encode()),
    ),
    "lists in JSON, as deep as Python reads": ("a.json", written(b"[" * 960 + b"]" * 960)),
    "lists in lines of JSON": ("a.jsonl", written(b"[" * DEEP + b"]" * DEEP + b"\n" + b"{}\n")),
    "lists in a notebook": ("a.ipynb", written(b'{"cells": ' + b"[" * DEEP + b"]" * DEEP + b"}")),
    "a notebook's texts": (
        "a.ipynb",
        written(json.dumps({"cells": [{"source": [[["x"]]]}, {"cell_type": "code", "outputs": 5}, 7]}).encode()),
    ),
    "elements of a web page": ("a.html", written(b"<html><body>" + b"<div>" * DEEP + b"Deep.")),
    "bold in a web page": ("a.html", written(b"<html><body><p>" + b"<b>" * DEEP + b"Deep.")),
    "tables of a web page": ("a.html", written(b"<html><body>" + b"<table><tr><td>" * 5_000 + b"Deep.")),
    "groups of RTF": ("a.rtf", written(b"{\\rtf1 " + b"{" * DEEP + b"Deep." + b"}" * DEEP + b"}")),
    "lists of a text of Word": ("a.docx", _word("<w:p>" + "<w:ins>" * DEEP + "</w:ins>" * DEEP + "</w:p>")),
    "tables of a text of Word": (
        "a.docx",
        _word("<w:tbl><w:tr><w:tc>" * 20_000 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 20_000),
    ),
    "text boxes of a text of Word": (
        "a.docx",
        _word("<w:p><w:drawing><w:txbxContent>" * 20_000 + "</w:txbxContent></w:drawing></w:p>" * 20_000),
    ),
    "shapes of an OpenDocument text": (
        "a.odt",
        lambda path: make_odt(path, "<text:p><draw:rect>" * 20_000 + "x" + "</draw:rect></text:p>" * 20_000),
    ),
    "pictures written into a web page": (
        "a.html",
        written(b"<p>x<img src='data:image/png;base64," + b"iVBOR " * 2_000_000 + b"'data:image/png;base64,A" * 99_999),
    ),
    "parts of a letter": (
        "a.eml",
        written(b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 20_000 + b"Subject: deep\n\nDeep."),
    ),
    "letters within an attached letter": ("a.eml", written(_attached_letters(300))),
    "quotes of Markdown": ("a.md", written(b"> " * DEEP + b"Deep.\n")),
    "items of Markdown": ("a.md", written(b"".join(b" " * level + b"- x\n" for level in range(3_000)))),
    "commands of LaTeX": ("a.tex", written(b"\\emph{" * DEEP + b"Deep." + b"}" * DEEP)),
    "a span of cells": (
        "a.html",
        written(b"<table><tr><td colspan=999999 rowspan=999999>a<td>b</tr><tr><td>c<td>d</tr></table>"),
    ),
    "a number of an item": ("a.html", written(b"<ol start=" + b"9" * 9_000 + b"><li>One.</ol>")),
}
"""By what lies within itself: the name, and what writes the file."""

SHEETS: dict[str, tuple[str, Make]] = {
    "a cell in the last place": ("a.xlsx", far_cell),
    "a cell repeated across": ("a.ods", partial(repeating_sheet, across=2**31 - 1, down=1)),
    "a row repeated down": ("a.ods", partial(repeating_sheet, across=1, down=2**31 - 1)),
    "a cell repeated both ways": ("a.ods", partial(repeating_sheet, across=16_384, down=1_048_576)),
    "a row of very many values": ("a.csv", written(b"a," * 200_000 + b"b\n1,2\n")),
    "a row of very many values among short ones": (
        "a.csv",
        written(b"a\n" * 3_000 + b"a," * 3_000 + b"b\n" + b"a,b\n" * 3_000),
    ),
    "titles without end": ("a.csv", written(b"a\n" * 50_000 + b"a,b\n1,2\n")),
    "very many rows": ("a.csv", written(b"a,b\n" * 100_000)),
}
