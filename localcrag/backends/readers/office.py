"""Office reader: OpenDocument, PowerPoint, Excel, CSV, RTF, e-books; by way of HTML.

anydoc reads them (MIT, Rust: a millisecond a file, limits of its own against bombs). What of it would send a file to a
server is another function, for PDFs, and never called; a reader process could connect to nothing anyway.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import anydoc

from localcrag.backends.readers import _kinds, _old_slides, _packages, _sheet_numbers, _slides, locked_office
from localcrag.backends.readers._beside import beside_old_sheets, beside_sheets
from localcrag.backends.readers._document_markup import PICTURE, markup_of
from localcrag.backends.readers._open_drawings import beside_tables, content_of, text_with_drawings
from localcrag.backends.readers._sheet_numbers import Sheets
from localcrag.backends.readers.html import render
from localcrag.backends.readers.text import decode
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import DEEPEST_MARKED, Heading
from localcrag.text.sheet_rows import SheetRow, moved, rows_between
from localcrag.text.words import one_line

if TYPE_CHECKING:
    from anydoc import Format

FORMATS: dict[str, tuple[Format, str]] = {
    _kinds.DOC: ("doc", "a Word document of the kind before 2007"),
    _kinds.ODT: ("odt", "an OpenDocument text"),
    _kinds.RTF: ("rtf", "an RTF document"),
    _kinds.EPUB: ("epub", "an e-book (EPUB)"),
    _kinds.PPT: ("ppt", "a PowerPoint file of the kind before 2007"),
    _kinds.PPTX: ("pptx", "a PowerPoint file"),
    _kinds.ODP: ("odp", "an OpenDocument presentation"),
    _kinds.XLSX: ("xlsx", "an Excel workbook"),
    _kinds.XLS: ("xlsx", "an Excel workbook of the kind before 2007"),
    _kinds.ODS: ("ods", "an OpenDocument spreadsheet"),
    **dict.fromkeys(_kinds.SEPARATED, ("csv", "a table of values with commas or tabs between them (CSV)")),
}
"""By media type: what anydoc calls it, and people do."""
LISTINGS = {_kinds.PPTX: _slides.POWERPOINT, _kinds.ODP: _slides.OPEN_DOCUMENT}
SLIDES = frozenset((_kinds.PPT, _kinds.PPTX, _kinds.ODP))
_SLIDES_DAMAGED = (*_kinds.ZIP_ERRORS, KeyError, _slides.XML_ERROR)
WORKBOOKS = frozenset((_kinds.XLSX, _kinds.XLS))


def open_pages(
    path: Path, name: str, head: bytes, media_type: str, *, told: bool
) -> tuple[int | None, Generator[Page, None, None]]:
    """Check the file; return the number of its slides, None of what has none, and its pages, still to be read.

    `told`: the content says that it is of this kind. Raises EncryptedDocument and UnreadableDocument, here and while
    pages are read.
    """
    _, what = FORMATS[media_type]
    if media_type in _kinds.SEPARATED:
        _kinds.expect_text(path, name, what, head)
        return None, _whole(path, name, media_type)
    _packages.check(path, name, what, head)
    if not told and _kinds.identify(head) == _kinds.OLE:
        raise _packages.damaged(name, what, ValueError("its directory cannot be read"))
    if not told:
        raise _kinds.mismatch(path, name, what, head)
    if media_type == _kinds.PPT and (found := _old_slides.slides_of(path)):
        return found[0], _numbered(((slide, "") for slide in found[1]), name, media_type)
    if media_type not in LISTINGS:
        return None, _whole(path, name, media_type)
    try:
        count, slides = _slides.slides_of(path, LISTINGS[media_type])
    except _SLIDES_DAMAGED as error:
        raise _packages.damaged(name, what, error) from error
    return count, _numbered(slides, name, media_type)


def _whole(path: Path, name: str, media_type: str) -> Generator[Page, None, None]:
    data, sheets = text_with_drawings(path) if media_type == _kinds.ODT else path.read_bytes(), None
    beside: Mapping[str, str] = {}
    if media_type in _kinds.SEPARATED:
        text, sheets = _sheet_numbers.of_values(decode(data, name))
        data = text.encode()
    elif media_type in WORKBOOKS:
        sheets = _sheet_numbers.of_workbook(path, media_type)
        beside = (beside_sheets if media_type == _kinds.XLSX else beside_old_sheets)(path)
    elif media_type == _kinds.ODS:
        sheets, beside = _of_tables(path)
    yield page(None, data, name, media_type, sheets=sheets, beside=beside)


def _of_tables(path: Path) -> tuple[Sheets, Mapping[str, str]]:
    content = content_of(path)
    return _sheet_numbers.of_tables(content), beside_tables(path, content)


def _numbered(slides: Iterator[tuple[bytes, str]], name: str, media_type: str) -> Generator[Page, None, None]:
    try:
        for number, (slide, beside) in enumerate(slides, start=1):
            yield page(number, slide, name, media_type, beside={"": beside})
    except _SLIDES_DAMAGED as error:
        raise _packages.damaged(name, FORMATS[media_type][1], error) from error


def page(
    number: int | None,
    data: bytes,
    name: str,
    media_type: str,
    *,
    sheets: Sheets | None = None,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> Page:
    """Return what a file says, or a slide of it, with what stands `beside` that (markup_of).

    `sheets` are those of a spreadsheet.

    Raises EncryptedDocument and UnreadableDocument.
    """
    kind, what = FORMATS[media_type]
    try:
        document = anydoc.to_document(data, kind)
    except anydoc.EncryptedError as error:
        raise locked_office.refusal(data, name) from error
    except anydoc.ResourceLimitError as error:
        raise UnreadableDocument(
            f"{name} was left alone: to unpack it takes more than a document of its kind ever does ({error}). "
            "If it is genuine, save it as PDF and add that."
        ) from error
    except anydoc.ConvertError as error:
        raise _packages.damaged(name, what, error) from error
    markup = markup_of(document, slides=media_type in SLIDES, sheets=sheets, beside=beside)
    marked = _marked(render(markup, name))
    return replace(marked, number=number, unread=not marked.text.strip() and PICTURE in markup)


def _marked(page: Page) -> Page:
    """Return a page with Markdown's marks at its headings; what it knows of them are those that Markdown has none for.

    With marks they are known wherever a part of the text is read again.
    """
    parts: list[str] = []
    others: list[Heading] = []
    rows: list[SheetRow] = []
    done = length = 0
    for heading in page.headings:
        rows += moved(rows_between(page.rows, done, heading.start), length - done)
        between = page.text[done : heading.start]
        named = one_line(page.text[heading.start : heading.end])
        mark = f"{'#' * heading.level} " if heading.level <= DEEPEST_MARKED else ""
        length += len(between)
        if not mark:
            others.append(Heading(length, length + len(named), heading.level))
        parts += [between, mark, named]
        length += len(mark) + len(named)
        done = heading.end
    rows += moved(rows_between(page.rows, done, len(page.text)), length - done)
    return replace(page, text="".join([*parts, page.text[done:]]), headings=tuple(others), rows=tuple(rows))
