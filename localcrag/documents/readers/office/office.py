"""Office files, converted to HTML by anydoc and then read like other documents."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anydoc
from markupsafe import escape

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.html import WORD_TABLE_CLASS, render
from localcrag.documents.readers.office import encrypted, slides
from localcrag.documents.readers.office import sheets as _sheet_numbers
from localcrag.documents.readers.office.drawings import read_content, table_annotations, text_with_drawings
from localcrag.documents.readers.office.sheets import BLANK_LINE, SPANNED, GridRow, Sheets, find_tables, table_html
from localcrag.documents.readers.text import decode
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import DEEPEST_MARKED, Heading
from localcrag.text.places import SheetRow, rows_between, shift_rows
from localcrag.text.words import one_line

if TYPE_CHECKING:
    from anydoc import Block, Cell, CellSlot, Document, Format, Inline, List, Table


NOTES = "Notes: "
"""Label in front of the speaker's notes below a slide."""
PICTURE = "<img>"
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_EMPTY_TAGS = {"line_break": "<br>", "image": PICTURE}
_CHECKED = {True: "[x] ", False: "[ ] "}


class _Markup:
    """A document as HTML, with its notes below it."""

    def __init__(self, slides: bool, sheets: Sheets | None, extra_html: Mapping[str, str]) -> None:
        """On `slides`, block quotes are the speaker's notes. In `sheets`, each grid may contain several tables.

        `extra_html` is additional HTML by the names of sheets, or under an empty name for a slide. For a sheet without
        cells, that HTML follows below the sheet's name.
        """
        self._slides, self._sheets, self._extra_html = slides, sheets, dict(extra_html)
        self._sheet: str | None = None
        self._notes: dict[str, int] = {}

    def pieces(self, document: Document) -> Iterator[str]:
        self._notes = {note.id: number for number, note in enumerate(document.notes, start=1)}
        for block in document.blocks:
            if self._sheets is not None and block.kind == "heading":
                yield self._extra_html.pop(self._sheet or "", "")
                self._sheet = "".join(piece.text or "" for piece in block.content or ())
            elif self._slides and block.kind == "block_quote":
                yield self._extra_html.pop("", "")
            yield from self._block(block)
        yield self._extra_html.pop(self._sheet or "", "")
        for name, markup in self._extra_html.items():
            yield f"<h2>{escape(name)}</h2>{markup}" if markup and self._sheet is not None else markup
        if document.notes:
            yield "<ol>"
            for note in document.notes:
                yield from ("<li>", *self._blocks(note.blocks), "</li>")
            yield "</ol>"

    def _blocks(self, blocks: Iterable[Block] | None) -> Iterator[str]:
        for block in blocks or ():
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[str]:
        match block.kind:
            case "heading":
                yield f"<h{block.level}>{self._inline(block.content)}</h{block.level}>"
            case "paragraph":
                yield f"<p>{self._inline(block.content)}</p>"
            case "list" if block.list:
                yield from self._list(block.list)
            case "table" if block.table:
                yield from self._table(block.table)
            case "block_quote":
                content = "".join(self._blocks(block.blocks))
                yield f"<blockquote>{content.replace('<p>', f'<p>{NOTES}', self._slides)}</blockquote>"
            case "code_block":
                yield f"<pre>{escape(block.text or '')}</pre>"
            case "math":
                yield f"<p>{escape(block.text or '')}</p>"
            case _:
                yield "<hr>"

    def _list(self, items: List) -> Iterator[str]:
        ordered = items.marker == "decimal" and not any(item.marker_label for item in items.items)
        yield f'<ol start="{items.start}">' if ordered else "<ul>"
        for number, item in enumerate(items.items, start=items.start):
            # Kinds of numbers that HTML does not support are written as text.
            label = item.marker_label or ("" if items.marker == "bullet" or ordered else marker(items.marker, number))
            yield from ("<li>", f"{escape(label)} " if label else "", *self._blocks(item.blocks), "</li>")
        yield "</ol>" if ordered else "</ul>"

    def _table(self, table: Table) -> Iterator[str]:
        if table.kind == "layout":
            for row in table.grid:
                for slot in row:
                    yield from self._blocks(slot.cell.blocks if slot.cell else ())
            return
        if self._sheets is not None:
            name, numbers = self._sheets.numbered(self._sheet, len(table.grid))
            lines = zip(numbers, _grid(table), table.grid, strict=True)
            for found in find_tables(GridRow(number, cells) for number, cells, row in lines if not _is_blank_line(row)):
                yield from table_html(found, name)
            return
        yield f'<table class="{WORD_TABLE_CLASS}">'
        for number, row in enumerate(table.grid):
            tag = "th" if number < table.header_rows else "td"
            yield "<tr>"
            for cell in (slot.cell for slot in row if slot.cell):
                spans = f' colspan="{cell.col_span}" rowspan="{cell.row_span}"'
                yield from (f"<{tag}{spans}>", *self._blocks(_cell_blocks(cell.blocks)), f"</{tag}>")
            yield "</tr>"
        yield "</table>"

    def _inline(self, pieces: Sequence[Inline] | None) -> str:
        return "".join(map(self._piece, pieces or ()))

    def _piece(self, piece: Inline) -> str:
        match piece.kind:
            case "text" | "math":
                text = str(escape(piece.text or ""))
                return f"<b>{text}</b>" if piece.style and piece.style.bold else text
            case "link":
                return self._inline(piece.content)
            case "note_ref":
                return f"[{self._notes.get(piece.note_id or '', '')}]"
            case "checkbox":
                return _CHECKED[bool(piece.checked)]
            case _:
                return _EMPTY_TAGS.get(piece.kind, "")


def _grid(table: Table) -> list[list[str]]:
    """Return the texts of a sheet's cells.

    A cell that spans rows is repeated in each row; a cell that spans columns is marked (SPANNED).
    """
    texts = [[" ".join(_cell_text(slot.cell).split()) for slot in row] for row in table.grid]
    for number, row in enumerate(table.grid):
        for column, slot in enumerate(row):
            if slot.kind == "covered" and slot.origin_row is not None and slot.origin_col is not None:
                below = slot.origin_col == column and slot.origin_row < number
                texts[number][column] = texts[slot.origin_row][column] if below else SPANNED
    return texts


def _cell_text(cell: Cell | None) -> str:
    return " ".join(piece.text or "" for block in (cell.blocks if cell else ()) for piece in block.content or ())


def _is_blank_line(row: Sequence[CellSlot]) -> bool:
    return len(row) == 1 and _cell_text(row[0].cell) == BLANK_LINE


def _cell_blocks(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the blocks of a cell; if it is a list of one item, as on slides, the blocks of the item."""
    alone = blocks[0].list if len(blocks) == 1 else None
    return alone.items[0].blocks if alone and len(alone.items) == 1 else blocks


def marker(kind: str, number: int) -> str:
    """Return the marker of an item, such as "c." or "iv."; letters continue with aa after z."""
    if number < 1:
        return f"{number}."
    if "roman" in kind:
        text = ""
        for value, letters in _ROMAN:
            text, number = text + letters * (number // value), number % value
    else:
        text = chr(ord("a") + (number - 1) % 26) * (1 + (number - 1) // 26)
    return (text.upper() if kind.startswith("upper") else text) + "."


FORMATS: dict[str, tuple[Format, str]] = {
    kinds.DOC: ("doc", "a Word document of the kind before 2007"),
    kinds.ODT: ("odt", "an OpenDocument text"),
    kinds.RTF: ("rtf", "an RTF document"),
    kinds.EPUB: ("epub", "an e-book (EPUB)"),
    kinds.PPT: ("ppt", "a PowerPoint file of the kind before 2007"),
    kinds.PPTX: ("pptx", "a PowerPoint file"),
    kinds.ODP: ("odp", "an OpenDocument presentation"),
    kinds.XLSX: ("xlsx", "an Excel workbook"),
    kinds.XLS: ("xlsx", "an Excel workbook of the kind before 2007"),
    kinds.ODS: ("ods", "an OpenDocument spreadsheet"),
    **dict.fromkeys(kinds.SEPARATED, ("csv", "a table of values with commas or tabs between them (CSV)")),
}
"""The name of each format for anydoc and its description for people, by media type."""
LISTINGS = {kinds.PPTX: slides.POWERPOINT, kinds.ODP: slides.OPEN_DOCUMENT}
SLIDES = frozenset((kinds.PPT, kinds.PPTX, kinds.ODP))
_SLIDES_DAMAGED = (*kinds.ZIP_ERRORS, KeyError, slides.XML_ERROR)
WORKBOOKS = frozenset((kinds.XLSX, kinds.XLS))


def open_pages(
    path: Path, name: str, head: bytes, media_type: str, *, recognised: bool
) -> tuple[int | None, Generator[Page, None, None]]:
    """Check the file; return its number of slides (None if it has none) and a generator of its pages.

    `recognised` tells whether the content itself shows that the file is of this kind. Raises EncryptedDocument and
    UnreadableDocument, both here and while pages are read.
    """
    _, what = FORMATS[media_type]
    if media_type in kinds.SEPARATED:
        kinds.expect_text(path, name, what, head)
        return None, _whole(path, name, media_type)
    packages.check(path, name, what, head)
    if not recognised and kinds.identify(head) == kinds.OLE:
        raise packages.damaged(name, what, ValueError("its directory cannot be read"))
    if not recognised:
        raise kinds.mismatch(path, name, what, head)
    if media_type == kinds.PPT and (found := slides.old_slides(path)):
        return found[0], _numbered(((slide, "") for slide in found[1]), name, media_type)
    if media_type not in LISTINGS:
        return None, _whole(path, name, media_type)
    try:
        count, files = slides.split_slides(path, LISTINGS[media_type])
    except _SLIDES_DAMAGED as error:
        raise packages.damaged(name, what, error) from error
    return count, _numbered(files, name, media_type)


def _whole(path: Path, name: str, media_type: str) -> Generator[Page, None, None]:
    data, sheets = text_with_drawings(path) if media_type == kinds.ODT else path.read_bytes(), None
    extra_html: Mapping[str, str] = {}
    if media_type in kinds.SEPARATED:
        text, sheets = _sheet_numbers.csv_sheets(decode(data, name))
        data = text.encode()
    elif media_type in WORKBOOKS:
        sheets = _sheet_numbers.workbook_sheets(path, media_type)
        extra_html = (slides.sheet_annotations if media_type == kinds.XLSX else slides.old_sheet_annotations)(path)
    elif media_type == kinds.ODS:
        content = read_content(path)
        sheets, extra_html = _sheet_numbers.open_document_sheets(content), table_annotations(path, content)
    yield page(data, name, media_type, sheets, extra_html)


def _numbered(files: Iterator[tuple[bytes, str]], name: str, media_type: str) -> Generator[Page, None, None]:
    try:
        for number, (slide, extra_html) in enumerate(files, start=1):
            yield replace(page(slide, name, media_type, extra_html={"": extra_html}), number=number)
    except _SLIDES_DAMAGED as error:
        raise packages.damaged(name, FORMATS[media_type][1], error) from error


def page(
    data: bytes, name: str, media_type: str, sheets: Sheets | None = None, extra_html: Mapping[str, str] | None = None
) -> Page:
    """Return the page of a file, or of one of its slides, without its number.

    `sheets` are those of a spreadsheet, `extra_html` is additional HTML (_Markup). Raises EncryptedDocument and
    UnreadableDocument.
    """
    kind, what = FORMATS[media_type]
    try:
        document = anydoc.to_document(data, kind)
    except anydoc.EncryptedError as error:
        raise encrypted.office_refusal(data, name) from error
    except anydoc.ResourceLimitError as error:
        why = f"{name} was not read: unpacking it takes more than any document of its kind needs ({error})."
        raise UnreadableDocument(f"{why} If it is genuine, save it as PDF and add that.") from error
    except anydoc.ConvertError as error:
        raise packages.damaged(name, what, error) from error
    markup = "".join(_Markup(media_type in SLIDES, sheets, extra_html or {}).pieces(document))
    marked = _mark_headings(render(markup, name))
    return replace(marked, unread=not marked.text.strip() and PICTURE in markup)


def _mark_headings(page: Page) -> Page:
    """Return a page with Markdown's marks at its headings, which mark them if a part of the text is parsed again.

    `headings` then contains only those that are too deep for Markdown.
    """
    parts: list[str] = []
    others: list[Heading] = []
    rows: list[SheetRow] = []
    done = length = 0
    for heading in page.headings:
        rows += shift_rows(rows_between(page.rows, done, heading.start), length - done)
        between = page.text[done : heading.start]
        named = one_line(page.text[heading.start : heading.end])
        mark = f"{'#' * heading.level} " if heading.level <= DEEPEST_MARKED else ""
        length += len(between)
        if not mark:
            others.append(Heading(length, length + len(named), heading.level))
        parts += [between, mark, named]
        length += len(mark) + len(named)
        done = heading.end
    rows += shift_rows(rows_between(page.rows, done, len(page.text)), length - done)
    return replace(page, text="".join([*parts, page.text[done:]]), headings=tuple(others), rows=tuple(rows))
