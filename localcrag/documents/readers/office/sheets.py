"""Sheets of workbooks: tables, headers, titles and row numbers, in current and older formats.

anydoc leaves out hidden rows, and the empty rows above a workbook's first cell. This module reads both from the file.
If the result does not match anydoc's number of rows, no row of the sheet gets a number, because a wrong number would be
worse.
"""

from __future__ import annotations

import posixpath
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import islice, pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import lxml.etree
from markupsafe import escape

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.html import SHEET_ROW_ATTRIBUTE

etree: Any = lxml.etree  # has no type hints
BINARY_WORKBOOK = "xl/workbook.bin"
"""Name of the part that lists the sheets of a binary workbook (.xlsb)."""
COMMENTS = re.compile(r"xl/comments\d*\.bin")
_BINARY_SHEET, _AUTHOR, _COMMENT, _COMMENT_TEXT = 156, 632, 635, 637
_VISIBLE = 0
_SEVEN_BITS = 0x7F
_NO_TEXT = 0xFFFFFFFF
"""Length that stands for a missing text."""
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def binary_records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, offset and length of each record in a part. Raises IndexError if the part is cut off."""
    at = 0
    while at < len(data):
        kind, at = _number(data, at, 2)
        length, at = _number(data, at, 4)
        yield kind, at, length
        at += length


def binary_sheets(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name of each visible sheet, and the relationship id of its part.

    Raises IndexError and struct.error if the part is damaged, like all functions in this module that parse records.
    """
    for kind, at, _ in binary_records(data):
        if kind == _BINARY_SHEET:
            # The record begins with the sheet's state and number, four bytes each.
            related, behind = _text(data, at + 8)
            if int.from_bytes(data[at : at + 4], "little") == _VISIBLE:
                yield _text(data, behind)[0], related


def comments(data: bytes) -> bytes:
    """Return the comments of a binary sheet as XML, in the form that .xlsx workbooks use."""
    root = etree.Element("comments")
    one: Any = None
    for kind, at, _ in binary_records(data):
        if kind == _AUTHOR:
            etree.SubElement(root, "author").text = _text(data, at)[0]
        elif kind == _COMMENT:
            # The author's number, then a range of cells: first and last row, first and last column.
            author, row, _, column, _ = struct.unpack_from("<IIIII", data, at)
            one = etree.SubElement(root, "comment", ref=cell_name(row, column), authorId=str(author))
        elif kind == _COMMENT_TEXT and one is not None:
            # A byte of flags comes before the text.
            etree.SubElement(one, "t").text = _text(data, at + 1)[0]
    return bytes(etree.tostring(root))


def cell_name(row: int, column: int) -> str:
    """Return the A1-style name of a cell; `row` and `column` count from 0."""
    letters, left = "", column + 1
    while left > 0:
        left, letter = divmod(left - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def _number(data: bytes, at: int, longest: int) -> tuple[int, int]:
    """Return a number stored in bytes of seven bits each, and the offset after it."""
    number = 0
    for place in range(longest):
        byte = data[at + place]
        number |= (byte & _SEVEN_BITS) << 7 * place
        if byte <= _SEVEN_BITS:
            return number, at + place + 1
    return number, at + longest


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + 2 * (0 if length == _NO_TEXT else length)
    return _NOT_IN_XML.sub("", data[at + 4 : end].decode("utf-16-le", "replace")), end


_BIFF8 = 0x600
_BEGIN, _END, _SHEET = 0x809, 0x0A, 0x85
_NOTE, _OBJECT, _TEXT, _CONTINUE = 0x1C, 0x5D, 0x1B6, 0x3C
_BOXES = frozenset((2, 3, 6, 30))
"""Kinds of objects that can contain text: rectangle, oval, text box, and the shapes of Office since 1997."""


def old_sheets(path: Path) -> Iterator[tuple[str, bytes, int]]:
    """Yield the name of each visible sheet, the workbook's records, and the offset of the sheet's first record.

    Raises DamagedCompound, struct.error, and ValueError if the workbook is older than Excel 97.
    """
    with kinds.open_compound(path) as folder:
        data = folder.stream("Workbook") or b""
    if struct.unpack_from("<HHH", data)[::2] != (_BEGIN, _BIFF8):
        raise ValueError("an older workbook")
    for kind, at, _ in old_records(data, 0):
        if kind == _SHEET:
            # Offset, state and kind of the sheet, then its name: a length and its characters.
            begins, state = struct.unpack_from("<IB", data, at)
            if state == 0:
                yield _characters(data, at + 7, data[at + 6]), data, begins


def old_records(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, offset and length of each record in a part of a workbook, without embedded charts."""
    depth = 0
    while at < len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        depth += (kind == _BEGIN) - (kind == _END)
        if depth == 0:
            return
        if depth == 1:
            yield kind, at + 4, length
        at += 4 + length


def cell_annotations(data: bytes, begins: int) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Return the texts of a sheet's text boxes, and its comments, each with its cell and author.

    Raises struct.error and IndexError if the records are damaged.
    """
    boxes: dict[int, list[str]] = {}
    others: dict[int, list[str]] = {}
    notes: list[tuple[str, str, int]] = []
    number = left = 0
    texts = others
    for kind, at, length in old_records(data, begins):
        if kind == _OBJECT:
            of, number = struct.unpack_from("<4xHH", data, at)
            texts = boxes if of in _BOXES else others
        elif kind == _TEXT:
            left = int.from_bytes(data[at + 10 : at + 12], "little")
            texts[number] = []
        elif kind == _CONTINUE and left > 0:
            part = data[at : at + length]
            texts[number].append(_characters(part, 0, left))
            # The first byte of a part gives the width of its characters.
            left -= (length - 1) // (1 + part[0] % 2)
        elif kind == _NOTE:
            row, column, _, of, characters = struct.unpack_from("<HHHHH", data, at)
            notes.append((cell_name(row, column), _characters(data, at + 10, characters), of))
    notes_with_text = [(cell, author, "".join(others.get(of, ()))) for cell, author, of in notes]
    return ["".join(one) for one in boxes.values()], notes_with_text


def _characters(data: bytes, at: int, length: int) -> str:
    """Return `length` characters; the byte before them tells whether they are UTF-16 or Latin-1."""
    wide = data[at] % 2
    return data[at + 1 : at + 1 + length * (1 + wide)].decode("utf-16-le" if wide else "latin-1", "replace")


Element = Any
WORKBOOK = "xl/workbook.xml"
"""Name of the part that lists a workbook's sheets."""


def relationships_part(part: str) -> str:
    """Return the name of the part that lists the relationships of `part`."""
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"


def relationships(part: str, parts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the relationship id and the name of each part that `part` refers to."""
    written = parts.get(relationships_part(part))
    if written is None:
        return
    for one in etree.fromstring(written, etree.XMLParser(resolve_entities=False)):
        target = one.get("Target") or ""
        folder = "" if target.startswith("/") else posixpath.dirname(part)
        yield one.get("Id") or "", posixpath.normpath(posixpath.join(folder, target.lstrip("/")))


def relationship_id(element: Element, ending: str = "}id") -> str:
    """Return the relationship id of an element: the first attribute whose name has this ending."""
    return next((str(value) for name, value in element.attrib.items() if name.endswith(ending)), "")


def visible_sheets(parts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the name and the part of each visible sheet; the part is empty if the workbook does not name it.

    `parts` contains WORKBOOK or BINARY_WORKBOOK, and its relationships. Raises LookupError if they are missing,
    struct.error and etree.LxmlError.
    """
    if binary := parts.get(BINARY_WORKBOOK):
        binary_targets = dict(relationships(BINARY_WORKBOOK, parts))
        for name, named in binary_sheets(binary):
            yield name, binary_targets.get(named, "")
        return
    targets = dict(relationships(WORKBOOK, parts))
    listed = etree.fromstring(parts[WORKBOOK], etree.XMLParser(resolve_entities=False, huge_tree=True))
    for sheet in listed.iter("{*}sheet"):
        if sheet.get("state", "visible") == "visible":
            yield sheet.get("name") or "", targets.get(relationship_id(sheet), "")


Row = Sequence[str]
SPANNED = "\0"
"""Placeholder for a cell that the merged cell on its left covers."""
MOST_HEADER_ROWS = 3
MOST_CELLS = 2_000_000
"""Maximum cells of a table whose rows are padded to the same length; the rows of a larger table are not padded."""
MOST_COLUMN_DISTANCE = 2
"""Maximum distance, in columns, between neighbouring columns of one table; a wider gap separates two tables."""
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s:/%-]*\W*(?:[a-z%€$£]{1,4}\.?)?\W*", re.IGNORECASE)
"""An amount, a date or a time, with its unit; header cells rarely contain one, except for years."""
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d")


class GridRow(NamedTuple):
    """A row of a sheet and its number, or 0 if the number is unknown."""

    number: int
    cells: Row


@dataclass(frozen=True, slots=True)
class SheetTable:
    """A table of a sheet: the captions above it, its header (may be empty) and its rows.

    `numbers` are row numbers in the sheet: one for each caption, one for the header if there is one, and one for each
    row.
    """

    captions: tuple[str, ...]
    header: Row
    rows: tuple[Row, ...]
    numbers: tuple[int, ...]


def find_tables(grid: Iterable[GridRow]) -> Iterator[SheetTable]:
    """Yield the tables of a sheet, separated by empty rows, and within these parts by empty columns."""
    captions: list[str] = []
    over: list[int] = []
    for band in _bands(grid):
        for table in _side_by_side(band):
            found = _table(table)
            if not found.rows and not found.header:
                captions += found.captions  # The captions belong to the table that follows.
                over += found.numbers
                continue
            yield SheetTable((*captions, *found.captions), found.header, found.rows, (*over, *found.numbers))
            captions, over = [], []
    if captions:
        yield SheetTable(tuple(captions), (), (), tuple(over))


def table_html(table: SheetTable, sheet: str) -> Iterator[str]:
    """Yield a table as HTML, its captions first; each row carries its sheet and row number (SHEET_ROW_ATTRIBUTE)."""
    attributes = (f' {SHEET_ROW_ATTRIBUTE}="{number} {escape(sheet)}"' if number else "" for number in table.numbers)
    for caption in table.captions:
        yield f"<p{next(attributes)}>{escape(caption)}</p>"
    if not table.header and not table.rows:
        return
    yield "<table>"
    if table.header:
        yield f"<thead><tr{next(attributes)}>{_cells('th', table.header)}</tr></thead>"
    for row in table.rows:
        yield f"<tr{next(attributes)}>{_cells('td', row)}</tr>"
    yield "</table>"


def _cells(tag: str, row: Row) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def _bands(grid: Iterable[GridRow]) -> Iterator[list[GridRow]]:
    """Yield the groups of rows between empty rows; a lone header joins the rows below the gap."""
    band: list[GridRow] = []
    gap = False
    for line in grid:
        if not _texts(line.cells):
            gap = True
            continue
        if band and gap and not (_is_header_band(band) and not _is_header(line.cells)):
            yield band
            band = []
        gap = False
        band.append(line)
    if band:
        yield band


def _is_header_band(band: Sequence[GridRow]) -> bool:
    rows = [line.cells for line in band if len(_texts(line.cells)) > 1]
    return 0 < len(rows) <= MOST_HEADER_ROWS and all(map(_is_header, rows))


def _side_by_side(band: Sequence[GridRow]) -> Iterator[Sequence[GridRow]]:
    """Yield the parts of a band between empty columns, or the whole band if the gaps are within one table."""
    used = sorted({at for line in band for at, cell in enumerate(line.cells) if cell not in ("", SPANNED)})
    if len(used) * len(band) > MOST_CELLS:
        # Padding would make every row as wide as a single row of a thousand cells.
        yield [GridRow(line.number, _trimmed(line.cells)) for line in band]
        return
    rows = [GridRow(number, [row[at] if at < len(row) else "" for at in used]) for number, row in band]
    starts = [0, *(at for at in range(1, len(used)) if used[at] - used[at - 1] > 1), len(used)]
    if len(starts) > 2:  # There are gaps.
        runs = [used[start:end] for start, end in pairwise(starts)]
        parts = [[GridRow(number, row[start:end]) for number, row in rows] for start, end in pairwise(starts)]
        if _are_separate(runs, parts):
            yield from ([line for line in part if _texts(line.cells)] for part in parts)
            return
    yield rows


def _trimmed(row: Row) -> Row:
    """Return a row up to its last cell with text."""
    return row[: max((at for at, cell in enumerate(row, start=1) if cell not in ("", SPANNED)), default=0)]


def _are_separate(runs: Sequence[Sequence[int]], parts: Sequence[Sequence[GridRow]]) -> bool:
    """Return whether the parts are separate tables: far apart, or of different lengths and without gaps."""
    if any(len(run) == 1 for run in runs):
        return False
    filled = [[bool(_texts(line.cells)) for line in part] for part in parts]
    lengths = [sum(part) for part in filled]
    from_top = all(all(part[:length]) for part, length in zip(filled, lengths, strict=True))
    apart = all(right[0] - left[-1] > MOST_COLUMN_DISTANCE for left, right in pairwise(runs))
    return min(lengths) > 1 and (apart or (from_top and len(set(lengths)) > 1))


def _table(lines: Sequence[GridRow]) -> SheetTable:
    captions: list[str] = []
    rows = [line.cells for line in lines]
    width = max(map(len, rows))
    first = 0
    # A single cell above a table is its title. A table of one column has no title: its first cell is data.
    while first < len(rows) and len(texts := _texts(rows[first])) == 1 and (width > 1 or len(rows) - first == 1):
        captions += texts
        first += 1
    header: list[str] = []
    over = len(captions)
    while len(rows) - first > 1 and width > 1 and _is_header(rows[first]):
        over_others = SPANNED in rows[first]
        header = _combine_headers(header, rows[first])
        first += 1
        if not over_others:
            break
    cells = tuple([cell.replace(SPANNED, "") for cell in row] for row in islice(rows, first, None))
    numbers = [line.number for line in lines]
    del numbers[over : max(over, first - 1)]  # a header of several rows gets the number of its last row
    return SheetTable(tuple(captions), header, cells, tuple(numbers))


def _combine_headers(above: Row, row: Row) -> list[str]:
    """Return a header row combined with the row above it: “2024 Q1”."""
    filled: list[str] = []
    for cell in row:
        filled.append(filled[-1] if cell == SPANNED and filled else cell.replace(SPANNED, ""))
    return [" ".join(dict.fromkeys(filter(None, both))) for both in zip_longest(above, filled, fillvalue="")]


def _texts(row: Row) -> list[str]:
    return [cell for cell in row if cell and cell != SPANNED]


def _is_header(row: Row) -> bool:
    """Return whether a row has no amounts and can be a header.

    A row of nothing but years is a header only if its first cell is empty or a merged cell spans several columns.
    """
    cells = _texts(row)
    years = [cell for cell in cells if _YEAR.fullmatch(cell)]
    words = all(cell in years or not _NUMBER.fullmatch(cell) for cell in cells)
    return words and (len(years) < len(cells) or not row[0] or SPANNED in row)


BLANK_LINE = "\u2028"
"""Placeholder for an empty line of a CSV, which anydoc would leave out; it counts as white space, even within a
cell."""
_BLANK_LINES = re.compile(r"(?:\A|(?<=\n)|(?<=\r)(?!\n))(?=[\r\n])")
# XML attributes cannot contain "<". Excluding it keeps these patterns linear on data that opens tags and never closes
# them.
_ROW = re.compile(rb"<(?:\w+:)?row(?:\s([^<>]*))?>")
_ROW_NUMBER = re.compile(rb"(?:^|\s)r\s*=\s*[\"'](\d{1,7})[\"']")
_HIDDEN = re.compile(rb"(?:^|\s)hidden\s*=\s*[\"'](?:1|true)[\"']")
_VALUE = re.compile(rb"<(?:\w+:)?[vt](?:\s[^<>/]*)?>[^<]")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^<>]*?ref\s*=\s*[\"'][A-Z]+\d+:[A-Z]+(\d{1,7})[\"']")
_TABLE = re.compile(rb"<table:table\s[^<>]*?table:name=\"([^<\"]*)\"")
_ERRORS = (*kinds.ZIP_ERRORS, kinds.DamagedCompound, LookupError, etree.LxmlError, OSError)


@dataclass(slots=True)
class _SheetRows:
    """The rows of a sheet with content, its hidden rows, and the last row that a merged cell covers."""

    used: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    reached: int = 0

    def numbers(self, rows: int) -> Sequence[int]:
        """Return the numbers of `rows` rows from the first visible one; nothing if they do not match the sheet."""
        shown = self.used - self.hidden
        if not shown:
            return ()
        last, longest = max(shown), min(shown) + rows + len(self.hidden)  # a limit for crafted files
        numbers = [
            one for one in range(min(shown), min(max(last, self.reached), longest) + 1) if one not in self.hidden
        ]
        # anydoc must have returned at least the rows up to the last one with content, and at most those that cells
        # cover.
        fits = last <= longest and sum(one <= last for one in numbers) <= rows <= len(numbers)
        return numbers[:rows] if fits else ()


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of a file: their names and their rows; `first` is the number of the file's first row.

    `rows` is set only for kinds of file in which anydoc leaves out rows.
    """

    names: Sequence[str] = ("",)
    first: int = 1
    rows: Mapping[str, _SheetRows] | None = None

    def numbered(self, heading: str | None, rows: int) -> tuple[str, Sequence[int]]:
        """Return a sheet's name and the numbers of its rows, which are 0 if unknown.

        The only sheet of a file has no heading.
        """
        name = heading if heading is not None else next(iter(self.names), "")
        if self.rows is None:
            return name, range(self.first, self.first + rows)
        return name, (self.rows[name].numbers(rows) if name in self.rows else ()) or [0] * rows


def csv_sheets(text: str) -> tuple[str, Sheets]:
    """Return a CSV's text with its empty lines marked, and its only sheet."""
    # A first line "sep=;" is an instruction to the spreadsheet program, which shows the next line as the first row.
    return _BLANK_LINES.sub(BLANK_LINE, text), Sheets(first=0 if text[:4].lower() == "sep=" else 1)


def open_document_sheets(content: bytes) -> Sheets:
    """Return the sheets of an OpenDocument spreadsheet from its content as XML; no sheets if that is empty."""
    names = [unescape(name.decode("utf-8", "replace")) for name in _TABLE.findall(content)]
    return Sheets(names) if content else Sheets((), rows={})


def workbook_sheets(path: Path, media_type: str) -> Sheets:
    """Return the sheets of an Excel workbook; no sheets if the file cannot be parsed."""
    try:
        if media_type == kinds.XLS:
            found = {name: _record_rows(data, old_records(data, begins)) for name, data, begins in old_sheets(path)}
        else:
            found = dict(_zip_workbook_rows(path))
    except _ERRORS:
        return Sheets((), rows={})
    return Sheets([name for name, rows in found.items() if rows.used], rows=found)


def _zip_workbook_rows(path: Path) -> Iterator[tuple[str, _SheetRows]]:
    with zipfile.ZipFile(path) as archive:

        def part(name: str) -> bytes:
            return packages.read_part(archive, archive.getinfo(name))

        is_binary = BINARY_WORKBOOK in archive.namelist()
        workbook = BINARY_WORKBOOK if is_binary else WORKBOOK
        for name, sheet in visible_sheets({one: part(one) for one in (workbook, relationships_part(workbook))}):
            yield name, (_binary_rows if is_binary else _xml_rows)(part(sheet))


def _xml_rows(xml: bytes) -> _SheetRows:
    found, number = _SheetRows(), 0
    rows = list(_ROW.finditer(xml))
    # A row ends where the next one begins, the last row at the end of the sheet's data.
    ends = [*(row.start() for row in rows[1:]), max(xml.rfind(b"sheetData>"), 0)]
    for row, end in zip(rows, ends, strict=False):
        attributes = row[1] or b""
        given = _ROW_NUMBER.search(attributes)
        # A row without a number follows the row before it.
        number = int(given[1]) if given else number + 1
        if _HIDDEN.search(attributes):
            found.hidden.add(number)
        if _VALUE.search(xml, row.end(), end):
            found.used.add(number)
    found.reached = max((int(last) for last in _MERGED.findall(xml)), default=0)
    return found


_ROW_RECORD, _MERGED_RECORD = 0x208, 0xE5
_CELLS = frozenset((0x06, 0xBD, 0xD6, 0xFD, 0x203, 0x204, 0x205, 0x27E))
"""[MS-XLS] record types of cells with content: formulas, numbers, texts, booleans and errors."""
_ROW_HIDDEN = 0x20


def _record_rows(data: bytes, records: Iterable[tuple[int, int, int]]) -> _SheetRows:
    found = _SheetRows()
    for kind, at, length in records:
        if kind in _CELLS:
            found.used.add(int.from_bytes(data[at : at + 2], "little") + 1)
        elif kind == _ROW_RECORD and data[at + 12] & _ROW_HIDDEN:
            found.hidden.add(int.from_bytes(data[at : at + 2], "little") + 1)
        elif kind == _MERGED_RECORD:
            lasts = (last for _, last, _, _ in struct.iter_unpack("<HHHH", data[at + 2 : at + length]))
            found.reached = max(found.reached, 1 + max(lasts, default=-1))
    return found


_BINARY_ROW, _BINARY_MERGED = 0, 176
_BINARY_CELLS = frozenset((*range(2, 12), 62))
"""[MS-XLSB] record types of cells with content."""
_BINARY_HIDDEN = 0x10


def _binary_rows(data: bytes) -> _SheetRows:
    found, number = _SheetRows(), 0
    for kind, at, _ in binary_records(data):
        if kind in _BINARY_CELLS:
            found.used.add(number)
        elif kind == _BINARY_ROW:
            number = int.from_bytes(data[at : at + 4], "little") + 1
            if data[at + 11] & _BINARY_HIDDEN:
                found.hidden.add(number)
        elif kind == _BINARY_MERGED:
            found.reached = max(found.reached, int.from_bytes(data[at + 4 : at + 8], "little") + 1)
    return found
