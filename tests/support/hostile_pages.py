"""Functions that make PDFs and pictures which are to break or overrun their readers: loops, depths and huge claims."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

from PIL import Image

from tests.support.hostile_files import DEEP, Make, spaces, written
from tests.support.odd_pdfs import write_objects

SIDE = 60_000
"""Pixels of a side of a huge picture."""
_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] %b >>"
_CATALOG = b"<< /Type /Catalog /Pages 2 0 R %b >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"


# PDF


def _stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (entries, len(data), data)


def _pdf(*objects: bytes) -> Make:
    return lambda path: write_objects(path, objects)


_FONT = b"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> /Contents 4 0 R"
_HELLO = _stream(b"BT /F 12 Tf 72 700 Td (Berth seven is free.) Tj ET")


def _picture_page(side: int) -> tuple[bytes, ...]:
    form = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8"
    drawn = _stream(b"q 595 0 0 842 0 0 cm /X Do Q")
    page = _PAGE % b"/Resources << /XObject << /X 5 0 R >> >> /Contents 4 0 R"
    return _CATALOG % b"", _PAGES, page, drawn, _stream(spaces(3_600), form % (side, side) + b" /Filter /FlateDecode")


_OUTLINE = (
    b"<< /Type /Outlines /First 6 0 R /Last 6 0 R /Count 1 >>",
    b"<< /Title (Again) /Parent 5 0 R /First 6 0 R /Next 7 0 R /Dest [3 0 R /Fit] >>",
    b"<< /Title (And again) /Parent 5 0 R /First 5 0 R /Next 6 0 R /Prev 7 0 R /Dest [3 0 R /Fit] >>",
)
PDFS: dict[str, Make] = {
    "pages that are their own": _pdf(
        _CATALOG % b"", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 4 >>", _PAGE % b"", b"null"
    ),
    "pages in a circle": _pdf(
        _CATALOG % b"",
        b"<< /Type /Pages /Kids [3 0 R] /Count 100 >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [4 0 R] /Count 100 >>",
        b"<< /Type /Pages /Parent 3 0 R /Kids [2 0 R] /Count 100 >>",
    ),
    "an outline in a circle": _pdf(_CATALOG % b"/Outlines 5 0 R", _PAGES, _PAGE % _FONT, _HELLO, *_OUTLINE),
    "streams of objects that go on in each other": _pdf(
        _CATALOG % b"",
        _PAGES,
        _PAGE % b"/Contents 4 0 R",
        _stream(b"9 0 << >>", b"/Type /ObjStm /N 1 /First 4 /Extends 5 0 R"),
        _stream(b"4 0 5 2 << >>", b"/Type /ObjStm /N 99999999 /First 4 /Extends 4 0 R"),
    ),
    "a form that draws itself": _pdf(
        _CATALOG % b"",
        _PAGES,
        _PAGE % b"/Resources << /XObject << /X 5 0 R >> >> /Contents 4 0 R",
        _stream(b"/X Do"),
        _stream(b"/X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>"),
    ),
    "a length that is its own": _pdf(
        _CATALOG % b"",
        _PAGES,
        _PAGE % b"/Contents 4 0 R",
        b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream",
    ),
    "lists within lists": _pdf(_CATALOG % b"/X 4 0 R", _PAGES, _PAGE % b"", b"[" * DEEP + b"]" * DEEP),
    "operands within operands": _pdf(
        _CATALOG % b"", _PAGES, _PAGE % b"/Contents 4 0 R", _stream(b"[" * DEEP + b"]" * DEEP + b" TJ")
    ),
    "states within states": _pdf(_CATALOG % b"", _PAGES, _PAGE % b"/Contents 4 0 R", _stream(b"q " * 10 * DEEP)),
    "a thousand million pages": _pdf(
        _CATALOG % b"", b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", _PAGE % _FONT, _HELLO
    ),
    "the same page a million times": _pdf(
        _CATALOG % b"", b"<< /Type /Pages /Kids [%b] /Count 1000000 >>" % (b"3 0 R " * 1_000_000), _PAGE % _FONT, _HELLO
    ),
    "a page as large as a town": _pdf(_CATALOG % b"", _PAGES, _PAGE.replace(b"595 842", b"1e12 1e12") % _FONT, _HELLO),
    "a picture of 60,000 by 60,000": _pdf(*_picture_page(SIDE)),
    "1 GB of spaces, packed twice": _pdf(
        _CATALOG % b"",
        _PAGES,
        _PAGE % b"/Contents 4 0 R",
        _stream(zlib.compress(spaces(1_000), 9), b"/Filter [/FlateDecode /FlateDecode]"),
    ),
}
"""By what is odd in each."""


# Pictures


def _png(side: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(side))) + chunk(b"IEND", b"")
    )


def _resized(kind: str, side: int) -> bytes:
    """Return a small picture that says of itself that it is large."""
    file = io.BytesIO()
    Image.new("L", (16, 16)).save(file, kind)
    data = bytearray(file.getvalue())
    if kind == "JPEG":
        at = data.index(b"\xff\xc0") + 5
        data[at : at + 4] = struct.pack(">HH", side, side)
    elif kind == "BMP":
        data[18:26] = struct.pack("<ii", side, side)
    elif kind == "GIF":
        data[6:10] = struct.pack("<HH", side, side)
    elif kind == "TIFF":
        for tag in (b"\x00\x01", b"\x01\x01"):
            at = data.index(tag + b"\x03\x00" if tag + b"\x03\x00" in data else tag + b"\x04\x00", 8)
            data[at : at + 12] = tag + struct.pack("<HII", 4, 1, side)
    else:  # WebP: 14 bits each
        at = data.index(b"\x9d\x01\x2a") + 3 if b"\x9d\x01\x2a" in data else data.index(b"VP8 ") + 14
        data[at : at + 4] = struct.pack("<HH", 16383, 16383)
    return bytes(data)


def circling_fax(path: Path) -> Path:
    """Write a fax in TIFF whose last page is followed by its first."""
    file = io.BytesIO()
    Image.new("1", (16, 16)).save(file, "TIFF")
    data = bytearray(file.getvalue())
    (first,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, first)
    struct.pack_into("<I", data, first + 2 + 12 * count, first)
    path.write_bytes(data)
    return path


PICTURES: dict[str, Make] = {
    "a.png": written(_png(SIDE)),
    "a.jpg": written(_resized("JPEG", SIDE)),
    "a.tiff": written(_resized("TIFF", SIDE)),
    "a.bmp": written(_resized("BMP", SIDE)),
    "a.gif": written(_resized("GIF", SIDE)),
    "a.webp": written(_resized("WEBP", SIDE)),
}
