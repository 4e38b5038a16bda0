"""Row numbers of spreadsheets, as the spreadsheet program counts them.

anydoc leaves out the empty rows above a workbook's first cell, and those that are hidden; both are read here from the
file. Where that does not come to as many rows as there are, none has a number: a wrong one would be worse.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from localcrag.backends.readers import _binary_workbooks, _compound, _kinds, _old_workbooks, _packages
from localcrag.backends.readers._relations import WORKBOOK, etree, relations_of, visible_sheets

BLANK_LINE = "\u2028"
"""In the place of an empty line of a CSV, which anydoc would leave out: white space, also within a cell."""
_BLANK_LINES = re.compile(r"(?:\A|(?<=\n)|(?<=\r)(?!\n))(?=[\r\n])")
# No attribute holds a "<": what begins a tag again and again, and never ends it, is gone through once.
_ROW = re.compile(rb"<(?:\w+:)?row(?:\s([^<>]*))?>")
_NUMBER = re.compile(rb"(?:^|\s)r\s*=\s*[\"'](\d{1,7})[\"']")
_HIDDEN = re.compile(rb"(?:^|\s)hidden\s*=\s*[\"'](?:1|true)[\"']")
_VALUE = re.compile(rb"<(?:\w+:)?[vt](?:\s[^<>/]*)?>[^<]")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^<>]*?ref\s*=\s*[\"'][A-Z]+\d+:[A-Z]+(\d{1,7})[\"']")
_TABLE = re.compile(rb"<table:table\s[^<>]*?table:name=\"([^<\"]*)\"")
_ERRORS = (
    *_kinds.ZIP_ERRORS,
    _compound.DamagedCompound,
    LookupError,
    ValueError,
    struct.error,
    etree.LxmlError,
    OSError,
)


@dataclass(slots=True)
class _Rows:
    """Of a sheet: the rows that say something, those that are hidden, and the last one that a cell reaches down to."""

    used: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    reached: int = 0

    def numbers(self, rows: int) -> Sequence[int]:
        """Return the numbers of so many rows from the first that is shown; nothing where they are others."""
        shown = self.used - self.hidden
        if not shown:
            return ()
        last, longest = max(shown), min(shown) + rows + len(self.hidden)  # No file makes this count for hours.
        numbers = [
            one for one in range(min(shown), min(max(last, self.reached), longest) + 1) if one not in self.hidden
        ]
        fits = last <= longest and sum(one <= last for one in numbers) <= rows <= len(numbers)
        return numbers[:rows] if fits else ()


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of a file: their names, and which rows of them there are; `first` is the number of a file's first row.

    `rows` are only of kinds of file of which anydoc leaves rows out.
    """

    names: Sequence[str] = ("",)
    first: int = 1
    rows: Mapping[str, _Rows] | None = None

    def numbered(self, heading: str | None, rows: int) -> tuple[str, Sequence[int]]:
        """Return a sheet's name and the numbers of its rows, 0 where they are not known.

        A sheet by itself has no heading.
        """
        name = heading if heading is not None else next(iter(self.names), "")
        if self.rows is None:
            return name, range(self.first, self.first + rows)
        return name, (self.rows[name].numbers(rows) if name in self.rows else ()) or [0] * rows


def of_values(text: str) -> tuple[str, Sheets]:
    """Return a CSV's text with its empty lines marked, and its only sheet."""
    # "sep=;" in the first line is for the spreadsheet program, which shows the next one as the first.
    return _BLANK_LINES.sub(BLANK_LINE, text), Sheets(first=0 if text[:4].lower() == "sep=" else 1)


def of_tables(content: bytes) -> Sheets:
    """Return the sheets of an OpenDocument spreadsheet by what it says, as XML; of one that says nothing, none."""
    names = [unescape(name.decode("utf-8", "replace")) for name in _TABLE.findall(content)]
    return Sheets(names) if content else Sheets((), rows={})


def of_workbook(path: Path, media_type: str) -> Sheets:
    """Return the sheets of a workbook of Excel; of one that cannot be understood, none."""
    try:
        found = dict(_of_before_2007(path) if media_type == _kinds.XLS else _of_today(path))
    except _ERRORS:
        return Sheets((), rows={})
    return Sheets([name for name, rows in found.items() if rows.used], rows=found)


def _of_today(path: Path) -> Iterator[tuple[str, _Rows]]:
    with zipfile.ZipFile(path) as archive:

        def part(name: str) -> bytes:
            return _packages.unpacked(archive, archive.getinfo(name))

        is_binary = _binary_workbooks.WORKBOOK in archive.namelist()
        workbook = _binary_workbooks.WORKBOOK if is_binary else WORKBOOK
        for name, sheet in visible_sheets({one: part(one) for one in (workbook, relations_of(workbook))}):
            yield name, (_of_binary_sheet if is_binary else _of_worksheet)(part(sheet))


def _of_worksheet(xml: bytes) -> _Rows:
    found, number = _Rows(), 0
    rows = list(_ROW.finditer(xml))
    ends = [*(row.start() for row in rows[1:]), max(xml.rfind(b"sheetData>"), 0)]
    for row, end in zip(rows, ends, strict=False):
        said = row[1] or b""
        given = _NUMBER.search(said)
        number = int(given[1]) if given else number + 1
        if _HIDDEN.search(said):
            found.hidden.add(number)
        if _VALUE.search(xml, row.end(), end):
            found.used.add(number)
    found.reached = max((int(last) for last in _MERGED.findall(xml)), default=0)
    return found


_OF_ROW, _OF_MERGED = 0x208, 0xE5
_CELLS = frozenset((0x06, 0xBD, 0xD6, 0xFD, 0x203, 0x204, 0x205, 0x27E))
"""Records of [MS-XLS]; those of cells that say something: formula, numbers, texts, truths and errors."""
_ROW_HIDDEN = 0x20


def _of_before_2007(path: Path) -> Iterator[tuple[str, _Rows]]:
    for name, data, begins in _old_workbooks.sheets(path):
        yield name, _of_records(data, _old_workbooks.records(data, begins))


def _of_records(data: bytes, records: Iterable[tuple[int, int, int]]) -> _Rows:
    found = _Rows()
    for kind, at, length in records:
        if kind in _CELLS:
            found.used.add(int.from_bytes(data[at : at + 2], "little") + 1)
        elif kind == _OF_ROW and data[at + 12] & _ROW_HIDDEN:
            found.hidden.add(int.from_bytes(data[at : at + 2], "little") + 1)
        elif kind == _OF_MERGED:
            lasts = (last for _, last, _, _ in struct.iter_unpack("<HHHH", data[at + 2 : at + length]))
            found.reached = max(found.reached, 1 + max(lasts, default=-1))
    return found


_BINARY_ROW, _BINARY_MERGED = 0, 176
_BINARY_CELLS = frozenset((*range(2, 12), 62))
"""Records of [MS-XLSB], as above."""
_BINARY_HIDDEN = 0x10


def _of_binary_sheet(data: bytes) -> _Rows:
    found, number = _Rows(), 0
    for kind, at, _ in _binary_workbooks.records(data):
        if kind in _BINARY_CELLS:
            found.used.add(number)
        elif kind == _BINARY_ROW:
            number = int.from_bytes(data[at : at + 4], "little") + 1
            if data[at + 11] & _BINARY_HIDDEN:
                found.hidden.add(number)
        elif kind == _BINARY_MERGED:
            found.reached = max(found.reached, int.from_bytes(data[at + 4 : at + 8], "little") + 1)
    return found
