"""Spreadsheets made from scratch, other than Excel's usual ones: OpenDocument, Excel before 2007, and XLSB."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from tests.support.documents import make_zip
from tests.support.office_files import make_compound

Grid = Sequence[Sequence[str | float]]
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_NAMESPACES = " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "text", "table"))


def make_ods(path: Path, sheets: Mapping[str, Grid]) -> Path:
    """Write an OpenDocument spreadsheet; rows that say the same are written once, with how often they come."""
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>{_ods_rows(rows)}</table:table>" for name, rows in sheets.items()
    )
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    content = f"<office:document-content {_NAMESPACES}>{body}</office:document-content>"
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    return make_zip(path, {"mimetype": kind, "content.xml": content.encode()})


def _ods_rows(rows: Grid) -> str:
    written: list[tuple[str, int]] = []
    for row in rows:
        cells = "".join(_ods_cell(cell) for cell in row) or _ods_cell("")
        times = written.pop()[1] if written and written[-1][0] == cells else 0
        written.append((cells, times + 1))
    return "".join(
        f'<table:table-row table:number-rows-repeated="{times}">{cells}</table:table-row>' for cells, times in written
    )


def _ods_cell(cell: str | float) -> str:
    return (
        f"<table:table-cell><text:p>{escape(str(cell))}</text:p></table:table-cell>" if cell else "<table:table-cell/>"
    )


Note = tuple[int, int, str, str]
"""A comment: its row and column from 0, its author, and what it says."""


def make_xls(
    path: Path,
    sheets: Mapping[str, Grid],
    *,
    hidden_rows: Collection[int] = (),
    notes: Sequence[Note] = (),
    box: str = "",
) -> Path:
    """Write a workbook of Excel before 2007: [MS-XLS], with rows and their texts and numbers.

    On the first sheet are `notes`, and a text `box`.
    """
    drawn = [(6, 99, box)] if box else []
    drawn += [(0x19, number, text) for number, (*_, text) in enumerate(notes, start=1)]
    beside = b"".join(_xls_drawn(*one) for one in drawn) + b"".join(
        _record(0x1C, struct.pack("<HHHHHB", row, column, 0, number, len(author), 0) + author.encode("latin-1") + b"\0")
        for number, (row, column, author, _) in enumerate(notes, start=1)
    )
    parts = [_xls_sheet(rows, hidden_rows, b"" if at else beside) for at, rows in enumerate(sheets.values())]
    begin = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    at = len(begin) + sum(len(_record(0x85, bytes(8 + len(name)))) for name in sheets) + len(_record(0x0A))
    listed = b""
    for name, part in zip(sheets, parts, strict=True):
        listed += _record(0x85, struct.pack("<IBBBB", at, 0, 0, len(name), 0) + name.encode("latin-1"))
        at += len(part)
    return make_compound(path, {"Workbook": b"".join([begin, listed, _record(0x0A), *parts])})


def _xls_drawn(kind: int, number: int, text: str) -> bytes:
    """Return what is drawn on a sheet; its text is in two records, the first in one byte a letter."""
    own = _record(0x5D, struct.pack("<HHHHH", 0x15, 18, kind, number, 0) + bytes(16))
    told = _record(0x1B6, struct.pack("<HH6xHH4x", 0, 0, len(text), 16))
    rest = b"\1" + text[1:].encode("utf-16-le")
    return (
        own + told + _record(0x3C, b"\0" + text[:1].encode("latin-1")) + _record(0x3C, rest) + _record(0x3C, bytes(16))
    )


def _xls_sheet(rows: Grid, hidden_rows: Collection[int], beside: bytes) -> bytes:
    written = [_record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))]
    for at, row in enumerate(rows):
        flags = 0x100 | (0x20 if at + 1 in hidden_rows else 0)
        written.append(_record(0x208, struct.pack("<HHHHHHI", at, 0, len(row), 255, 0, 0, flags)))
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            place = struct.pack("<HHH", at, column, 0)
            if isinstance(cell, str):
                text = struct.pack("<HB", len(cell), 0) + cell.encode("latin-1")
                written.append(_record(0x204, place + text) if cell else _record(0x201, place))
            else:
                written.append(_record(0x203, place + struct.pack("<d", cell)))
    return b"".join([*written, beside, _record(0x0A)])


def make_xlsb(
    path: Path, sheets: Mapping[str, Grid], *, hidden_rows: Collection[int] = (), hidden: Collection[str] = (),
    notes: Sequence[Note] = (),
) -> Path:  # fmt: skip
    """Write a workbook in Excel's own format: [MS-XLSB]; `notes` are on its first sheet, `hidden` are sheets.

    Empty rows are not in it, as Excel leaves them out; `hidden_rows` are of all sheets.
    """
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    space = "http://schemas.openxmlformats.org/package/2006"
    listed = b"".join(
        _binary(156, struct.pack("<II", int(name in hidden), at) + _wide(f"r{at}") + _wide(name))
        for at, name in enumerate(sheets, start=1)
    )
    opened, closed = f'<Relationships xmlns="{space}/relationships">', "</Relationships>"
    related = "".join(
        f'<Relationship Id="r{at}" Type="{kind}/worksheet" Target="worksheets/sheet{at}.bin"/>'
        for at in range(1, len(sheets) + 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{space}/content-types"/>'.encode(),
        "xl/workbook.bin": _binary(131) + _binary(143) + listed + _binary(144) + _binary(132),
        "xl/_rels/workbook.bin.rels": f"{opened}{related}{closed}".encode(),
    }
    for at, rows in enumerate(sheets.values(), start=1):
        parts[f"xl/worksheets/sheet{at}.bin"] = _xlsb_sheet(rows, hidden_rows)
    if notes:
        to_notes = f'<Relationship Id="r1" Type="{kind}/comments" Target="../comments1.bin"/>'
        parts["xl/worksheets/_rels/sheet1.bin.rels"] = f"{opened}{to_notes}{closed}".encode()
        parts["xl/comments1.bin"] = _xlsb_notes(notes)
    return make_zip(path, parts)


def _xlsb_sheet(rows: Grid, hidden_rows: Collection[int]) -> bytes:
    across = max((len(row) for row in rows), default=1)
    written = [_binary(129), _binary(148, struct.pack("<IIII", 0, len(rows), 0, max(across - 1, 0))), _binary(145)]
    for at, row in enumerate(rows):
        if not row:
            continue
        written.append(_binary(0, struct.pack("<IIHBBBI", at, 0, 300, 0, 0x10 * (at + 1 in hidden_rows), 0, 0)))
        for column, cell in enumerate(row):
            place = struct.pack("<II", column, 0)
            is_text = isinstance(cell, str)
            if cell == "":
                written.append(_binary(1, place))
            else:
                written.append(
                    _binary(
                        6 if is_text else 5, place + (_wide(cell) if isinstance(cell, str) else struct.pack("<d", cell))
                    )
                )
    return b"".join([*written, _binary(146), _binary(130)])


def _xlsb_notes(notes: Sequence[Note]) -> bytes:
    authors = list(dict.fromkeys(author for _, _, author, _ in notes))
    written = [_binary(628), _binary(630), *(_binary(632, _wide(one)) for one in authors), _binary(631), _binary(633)]
    for row, column, author, text in notes:
        place = struct.pack("<IIIII", authors.index(author), row, row, column, column)
        written += [_binary(635, place + bytes(16)), _binary(637, b"\0" + _wide(text)), _binary(636)]
    return b"".join([*written, _binary(634), _binary(629)])


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _binary(kind: int, data: bytes = b"") -> bytes:
    return _sevens(kind) + _sevens(len(data)) + data


def _sevens(number: int) -> bytes:
    """Return a number in bytes of seven bits each, the last of which has its highest bit unset."""
    low = number & 0x7F
    return bytes([low | 0x80]) + _sevens(number >> 7) if number >> 7 else bytes([low])


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data
