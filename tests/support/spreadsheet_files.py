"""Spreadsheets made from scratch, other than Excel's of today: OpenDocument, and Excel before 2007."""

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


def make_xls(path: Path, sheets: Mapping[str, Grid], *, hidden_rows: Collection[int] = ()) -> Path:
    """Write a workbook of Excel before 2007: [MS-XLS], with rows and their texts and numbers."""
    parts = [_xls_sheet(rows, hidden_rows) for rows in sheets.values()]
    begin = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    at = len(begin) + sum(len(_record(0x85, bytes(8 + len(name)))) for name in sheets) + len(_record(0x0A))
    listed = b""
    for name, part in zip(sheets, parts, strict=True):
        listed += _record(0x85, struct.pack("<IBBBB", at, 0, 0, len(name), 0) + name.encode("latin-1"))
        at += len(part)
    return make_compound(path, {"Workbook": b"".join([begin, listed, _record(0x0A), *parts])})


def _xls_sheet(rows: Grid, hidden_rows: Collection[int]) -> bytes:
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
    return b"".join([*written, _record(0x0A)])


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data
