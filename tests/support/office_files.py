"""Office files made from scratch: OpenDocument, PowerPoint, RTF, e-books."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tests.support.compound_files import SMALLER_THAN, compound
from tests.support.documents import make_zip

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_NAMESPACES = " ".join(
    f'xmlns:{short}="{_ODF}:{name}:1.0"'
    for short, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("meta", "meta"),
        ("presentation", "presentation"), ("style", "style"),
    )
)  # fmt: skip
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_PICTURE = (
    '<p:pic><p:nvPicPr><p:cNvPr id="3" name="y"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed="rId2"/>'
    "</p:blipFill><p:spPr/></p:pic>"
)
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def make_odt(path: Path, body: str, *, title: str = "", day: str = "") -> Path:
    """Write an OpenDocument text; `body` is what stands within `office:text`."""
    return _open_document(path, "text", f"<office:text>{body}</office:text>", title, day)


def make_ods(path: Path, tables: str) -> Path:
    """Write an OpenDocument spreadsheet of these tables."""
    return _open_document(path, "spreadsheet", f"<office:spreadsheet>{tables}</office:spreadsheet>", "", "")


def make_odp(path: Path, slides: Sequence[tuple[str, str, str]]) -> Path:
    """Write an OpenDocument presentation; of each slide its title, its text and its notes."""
    pages = "".join(
        f'<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{escape(title)}</text:p>'
        f'</draw:text-box></draw:frame><draw:frame presentation:class="outline"><draw:text-box><text:p>{escape(text)}'
        f"</text:p></draw:text-box></draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>{escape(notes)}"
        "</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
        for title, text, notes in slides
    )
    return _open_document(path, "presentation", f"<office:presentation>{pages}</office:presentation>", "", "")


def _open_document(path: Path, kind: str, body: str, title: str, day: str) -> Path:
    content = f"<office:document-content {_NAMESPACES}><office:body>{body}</office:body></office:document-content>"
    meta = f"<dc:title>{escape(title)}</dc:title><dc:date>{day}</dc:date>"
    return make_zip(
        path,
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
            "content.xml": content.encode(),
            "meta.xml": f"<office:document-meta {_NAMESPACES} {_DC}><office:meta>{meta}</office:meta>"
            "</office:document-meta>".encode(),
        },
    )


def make_pptx(
    path: Path, slides: Sequence[tuple[str, Sequence[str], str]], *, order: Sequence[int] = (), picture_on: int = 0
) -> Path:
    """Write a PowerPoint file; of each slide its title, its bullets and its notes.

    `order` are the slides' numbers as they are shown, where that is not the order of their files. The slide
    `picture_on` has a picture as well.
    """
    numbers = list(order) or list(range(1, len(slides) + 1))
    listed = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in numbers)
    parts = {
        "ppt/presentation.xml": f"<p:presentation {_P} {_R}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations(
            {f"rId{number}": ("slide", f"slides/slide{number}.xml") for number in numbers}
        ),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "ppt/presentation.xml")}),
    }
    for number, (title, bullets, notes) in enumerate(slides, start=1):
        shapes = _shape("title", [title]) + _shape("body", bullets) + (_PICTURE if number == picture_on else "")
        parts[f"ppt/slides/slide{number}.xml"] = _slide("sld", shapes)
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = _relations(
            {"rId1": ("notesSlide", f"../notesSlides/notesSlide{number}.xml"), "rId2": ("image", "../media/image1.png")}
        )
        parts[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide("notes", _shape("body", [notes]))
    types = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.presentationml.'
        f'{kind}+xml"/>'
        for kind, beginning in (
            ("presentation.main", "ppt/presentation"), ("slide", "ppt/slides/slide"),
            ("notesSlide", "ppt/notesSlides/"),
        )
        for name in parts
        if name.startswith(beginning)
    )  # fmt: skip
    defaults = "".join(
        f'<Default Extension="{ending}" ContentType="{kind}"/>'
        for ending, kind in (("png", "image/png"), ("rels", "application/vnd.openxmlformats-package.relationships+xml"))
    )
    namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
    parts["[Content_Types].xml"] = f'<Types xmlns="{namespace}">{defaults}{types}</Types>'
    picture = {"ppt/media/image1.png": bytes.fromhex("89504e470d0a1a0a")}
    return make_zip(path, {**{name: text.encode() for name, text in parts.items()}, **picture})


def _slide(kind: str, shapes: str) -> str:
    return f"<p:{kind} {_P} {_A} {_R}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>"


def _shape(kind: str, paragraphs: Sequence[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{escape(one)}</a:t></a:r></a:p>" for one in paragraphs)
    place = f'<p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
    return f"<p:sp>{place}<p:spPr/><p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    lines = "".join(
        f'<Relationship Id="{name}" Type="{_RELATION}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'
    )


def make_epub(path: Path, chapters: Sequence[str], *, title: str = "", day: str = "") -> Path:
    """Write an e-book; its chapters are what stands within `body`."""
    items = "".join(
        f'<item id="c{number}" href="c{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf" {_DC} version="3.0"><metadata><dc:title>{escape(title)}'
        f"</dc:title><dc:date>{day}</dc:date></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile '
        'full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    texts = {
        f"book/c{number}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{chapter}</body></html>'.encode()
        for number, chapter in enumerate(chapters)
    }
    return make_zip(
        path,
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "book/package.opf": package.encode(),
            **texts,
        },
    )


Cell = str | float | tuple[float, str]
"""A text, a number, or a number with the format that it is shown in."""


def make_xlsx(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    *,
    merged: Sequence[str] = (),
    hidden: Sequence[str] = (),
    hidden_rows: Sequence[int] = (),
) -> Path:
    """Write an Excel workbook; `merged` are ranges of its first sheet ("A1:C1"), `hidden` names of sheets.

    Empty rows are not in it, as Excel leaves them out; `hidden_rows` are of all sheets.
    """
    formats = sorted({cell[1] for rows in sheets.values() for row in rows for cell in row if isinstance(cell, tuple)})
    numbers = "".join(
        f'<numFmt numFmtId="{164 + at}" formatCode="{escape(one, {chr(34): "&quot;"})}"/>'
        for at, one in enumerate(formats)
    )
    styles = "".join(f'<xf numFmtId="{164 + at}" applyNumberFormat="1"/>' for at in range(len(formats)))
    states = {name: "hidden" if name in hidden else "visible" for name in sheets}
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}" state="{states[name]}"/>'
        for at, name in enumerate(sheets, start=1)
    )
    reached = "".join(f'<mergeCell ref="{one}"/>' for one in merged)
    parts = {
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f"<workbook {_X} {_R}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {
                **{f"rId{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1)},
                "rId99": ("styles", "styles.xml"),
            }
        ),
        "xl/styles.xml": f'<styleSheet {_X}><numFmts>{numbers}</numFmts><cellXfs><xf numFmtId="0"/>{styles}</cellXfs>'
        "</styleSheet>",
    }
    for at, rows in enumerate(sheets.values(), start=1):
        cells = [[_cell(cell, number, column, formats) for column, cell in enumerate(row)]
                 for number, row in enumerate(rows, start=1)]  # fmt: skip
        written = "".join(
            f'<row r="{number}" hidden="{int(number in hidden_rows)}">{"".join(row)}</row>'
            for number, row in enumerate(cells, start=1)
            if row
        )
        joined = f"<mergeCells>{reached}</mergeCells>" if reached and at == 1 else ""
        parts[f"xl/worksheets/sheet{at}.xml"] = f"<worksheet {_X}><sheetData>{written}</sheetData>{joined}</worksheet>"
    kinds = {"xl/workbook.xml": "sheet.main", "xl/styles.xml": "styles"}
    types = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.'
        f'{kinds.get(name, "worksheet")}+xml"/>'
        for name in parts
        if name.startswith("xl/") and name.endswith(".xml")
    )
    of_relations = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
    parts["[Content_Types].xml"] = f'<Types xmlns="{namespace}">{of_relations}{types}</Types>'
    return make_zip(path, {name: text.encode() for name, text in parts.items()})


def _cell(cell: Cell, row: int, column: int, formats: Sequence[str]) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>' if cell else ""
    value, style = (cell[0], 1 + formats.index(cell[1])) if isinstance(cell, tuple) else (cell, 0)
    return f'<c r="{place}" s="{style}"><v>{value}</v></c>'


def make_doc(path: Path, text: str) -> Path:
    """Write a Word document of the kind before 2007; its lines are its paragraphs.

    As [MS-DOC] has it: a file information block, the text in 8-bit characters, and a table of one piece.
    """
    written = text.replace("\n", "\r").encode("cp1252") + b"\r"
    begins = 1536
    piece = struct.pack("<HIH", 0, (begins * 2) | 1 << 30, 0)
    pieces = struct.pack("<II", 0, len(written)) + piece
    clx = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    words = struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, 1 << 9).ljust(32, b"\0")  # its table is called 1Table
    longs = struct.pack("<IIII", begins + len(written), 0, 0, len(written)).ljust(22 * 4, b"\0")
    offsets = bytearray(0x5D * 8)
    struct.pack_into("<II", offsets, 33 * 8, 0, len(clx))
    block = words + struct.pack("<H", 14) + bytes(28) + struct.pack("<H", 22) + longs
    block += struct.pack("<H", 0x5D) + bytes(offsets) + struct.pack("<H", 0)
    return make_compound(path, {"WordDocument": block.ljust(begins, b"\0") + written, "1Table": clx})


def make_compound(path: Path, streams: Mapping[str, bytes]) -> Path:
    """Write a compound file of streams, which are filled up to 4,096 bytes at least, as old Office programs do."""
    path.write_bytes(compound({name: data.ljust(SMALLER_THAN, b"\0") for name, data in streams.items()}))
    return path


def make_ppt(
    path: Path, slides: Sequence[tuple[str, str, str]], *, earlier: Sequence[tuple[str, str, str]] = ()
) -> Path:
    """Write a PowerPoint file of the kind before 2007; of each slide its title, its text and its notes.

    As [MS-PPT] has it: records, a directory of where they begin, and what was saved last. `earlier` are the slides that
    it had when it was saved before.
    """
    stream, edit = b"", 0
    for saved in (earlier, slides) if earlier else (slides,):
        places: list[int] = []
        listed = listed_notes = b""
        for number, (title, text, notes) in enumerate(saved):
            own, its_notes = 256 + number, 512 + number
            listed += _persist(2 + 2 * number, own) + _ppt_text(0, title) + _ppt_text(1, text)
            listed_notes += _persist(3 + 2 * number, its_notes) if notes else b""
            places.append(len(stream))
            about = struct.pack("<I8sIIHH", 1, bytes(8), 0, its_notes if notes else 0, 7, 0)
            stream += _ppt(0x03EE, _ppt(0x03EF, about))
            places.append(len(stream))
            boxed = _ppt(0xF004, _ppt(0xF00D, _ppt_text(2, notes)))
            drawing = _ppt(0x040C, _ppt(0xF002, _ppt(0xF003, boxed)))
            stream += _ppt(0x03F0, _ppt(0x03F1, struct.pack("<IHH", own, 0, 0)) + drawing)
        places.insert(0, len(stream))
        lists = _ppt(0x0FF0, listed) + _ppt(0x0FF0, listed_notes, instance=2)
        stream += _ppt(0x03E8, _ppt(0x03E9, bytes(40), instance=-1) + lists)
        directory = len(stream)
        packed = struct.pack(f"<I{len(places)}I", 1 | len(places) << 20, *places)
        stream += _ppt(0x1772, packed, instance=-1)
        before, edit = edit, len(stream)
        about = struct.pack("<IIIIIIHH", 0, 0x03000000, before, directory, 1, len(places) + 1, 1, 0)
        stream += _ppt(0x0FF5, about, instance=-1)
    user = _ppt(0x0FF6, struct.pack("<IIIHHBBHI", 20, 0xE391C05F, edit, 0, 0x03F4, 3, 0, 0, 8), instance=-1)
    path.write_bytes(compound({"PowerPoint Document": stream + _ppt(0, bytes(SMALLER_THAN)), "Current User": user}))
    return path


def _ppt(kind: int, content: bytes, *, instance: int = 0) -> bytes:
    """Return a record; one of the instance -1 has no records within it."""
    version = 0 if instance < 0 else 0xF | instance << 4
    return struct.pack("<HHI", version, kind, len(content)) + content


def _persist(number: int, of_slide: int) -> bytes:
    return _ppt(0x03F3, struct.pack("<IIIII", number, 4, 2, of_slide, 0), instance=-1)


def _ppt_text(kind: int, text: str) -> bytes:
    return _ppt(0x0F9F, struct.pack("<I", kind), instance=-1) + _ppt(0x0FA0, text.encode("utf-16-le"), instance=-1)
