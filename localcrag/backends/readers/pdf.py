"""PDF reader: pages as text, by pdfium; lines in `_page_lines.py`, paragraphs in `_paragraphs.py`.

pdfium must not be entered by two threads at once, whatever the documents: every call is made under one lock, which is
held for a page at a time, so that two readers take turns. pypdfium2's objects are closed by hand under the lock too,
because the garbage collector would close them outside of it.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pypdfium2

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._heading_lines import Place
from localcrag.backends.readers._headings import Headings, typography_of
from localcrag.backends.readers._page_lines import page_lines
from localcrag.backends.readers._paragraphs import Printed, composed, rows_of
from localcrag.backends.readers._pdf_outline import outline_of
from localcrag.backends.readers._running_lines import RunningLines
from localcrag.backends.readers._tables import with_bars
from localcrag.backends.readers.text import normalise
from localcrag.records.documents import Page
from localcrag.records.errors import DocumentError, EmptyDocument, EncryptedDocument, UnreadableDocument
from localcrag.text.blocks import Heading

pdfium: Any = pypdfium2  # has no type hints
# Reentrant, because a forgotten generator may be collected, and so closed, in the midst of another's call.
LOCK = threading.RLock()
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
BULLETS = dict.fromkeys(map(ord, "\uf0a7\uf0b7\uf0d8\uf0fc"), "•")  # as Word writes them, in symbol fonts
TIDY = {**LIGATURES, **BULLETS, 0xAD: None}
FIELDS = (3, 20)  # annotations of free text and of form fields: FPDF_ANNOT_FREETEXT, FPDF_ANNOT_WIDGET
FORM_DEPTH = 3  # forms within forms in which a scanner hides its picture
# Curves on a page. A frame has a dozen, lines to write on have none; lettering drawn as outlines has ten a letter.
OUTLINES = 200
LOOKED_AT = 20  # pages, before the first is read
MOST_LOOKED_AT = 300_000  # characters of them: some pages are a book
TAIL_BYTES = 1024  # ISO 32000: the end-of-file mark stands in the last 1,024 bytes


@dataclass(frozen=True, slots=True)
class _Read:
    """A page's lines; `shows` says that there is something on it that may be text to the eye alone."""

    printed: list[Printed]
    shows: bool


def open_pages(path: Path, name: str, head: bytes) -> tuple[int, Generator[Page, None, None]]:
    """Check the file; return its number of pages and the pages, still to be read, numbered from 1.

    Raises EncryptedDocument and UnreadableDocument, here and while pages are read, and EmptyDocument after the last.
    """
    if b"%PDF-" not in head[: _kinds.PDF_HEADER_WITHIN]:
        raise _kinds.mismatch(path, name, "a PDF", head)
    _check_whole(path, name)
    with LOCK, closing(load(path, name)) as document:
        count = len(document)
    # Opened anew when the first page is asked for: a generator that nobody starts has nothing to close.
    return count, _pages(path, name, count)


def _pages(path: Path, name: str, count: int) -> Generator[Page, None, None]:
    unread, characters = 0, 0
    with LOCK:
        document = load(path, name)
    try:
        looked_at: dict[int, _Read] = {}
        for index in _spread(count):
            if sum(len(line.text) for read in looked_at.values() for line in read.printed) > MOST_LOOKED_AT:
                break
            with LOCK:
                looked_at[index] = _read(document, index, name)
        with LOCK:
            outline = outline_of(document)
        found = Headings(typography_of([(read.printed, outline.get(at, ())) for at, read in looked_at.items()]))
        running = RunningLines(found.typography.running)
        for index in range(count):
            read = looked_at.pop(index, None)
            if read is None:
                with LOCK:
                    read = _read(document, index, name)
            read = _Read(running.without_said(index, read.printed), read.shows)
            headings = found.of_page(read.printed, outline.get(index, ()))
            # What stands on many pages is no heading where it stands first, either.
            none = [((at, at + 1), 0) for at in running.first_said(read.printed)]
            page = _page(index, read, sorted(dict([*none, *headings]).items()))
            unread += page.unread
            characters += len(page.text)
            yield page
    finally:
        with LOCK:
            document.close()
    if not characters:
        raise _empty(name, count, unread)


def _spread(count: int) -> list[int]:
    """Return which pages are looked at for what is usual in the document: the first ones, and others up to the last."""
    step = max(1.0, count / LOOKED_AT)
    return sorted({*range(min(3, count)), *(int(number * step) for number in range(min(count, LOOKED_AT)))})


def _page(index: int, read: _Read, headings: Sequence[tuple[Place, int]]) -> Page:
    # Line by line, so that it is known where each begins; a newline is nothing that composes with its neighbours.
    lines = [normalise(printed.text.translate(TIDY)) for printed in read.printed]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    placed = []
    for (first, behind), level in headings:
        indent = len(lines[first]) - len(lines[first].lstrip())
        placed.append(Heading(starts[first] + indent, starts[behind] - 1, level))
    return Page(index + 1, "\n".join(lines), read.shows, tuple(placed))


def load(source: Path | bytes, name: str) -> Any:
    """Open a file. Raises EncryptedDocument and UnreadableDocument. The caller locks, and closes it."""
    try:
        return pdfium.PdfDocument(source if isinstance(source, bytes) else source.absolute())
    except (pypdfium2.PdfiumError, OSError) as error:
        raise _translated(error, name) from error


def _translated(error: Exception, name: str) -> DocumentError:
    code = getattr(error, "err_code", None)
    if code in (pdfium.raw.FPDF_ERR_PASSWORD, pdfium.raw.FPDF_ERR_SECURITY):
        return EncryptedDocument(
            f"{name} is protected with a password. Open it, save or print a copy without one, and add that."
        )
    return _damaged(name, str(error))


def _damaged(name: str, reason: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name} cannot be read as a PDF: it is damaged or cut off ({reason.rstrip('.')}). "
        "Get a fresh copy, or open it in a PDF viewer and print it to a new PDF."
    )


def _empty(name: str, count: int, unread: int) -> EmptyDocument:
    if not unread:
        return EmptyDocument(f"{name} holds no text: its pages ({count}) are empty or drawings. Nothing was added.")
    return EmptyDocument(
        f"{name} holds no text: its pages ({count}) are pictures or lettering without meaning, so it looks like a "
        "scan. Text recognition is not there yet: make the PDF searchable first (with OCRmyPDF or the scanner's own "
        "program), then add it again."
    )


def _check_whole(path: Path, name: str) -> None:
    """Raise UnreadableDocument when objects begin after the last end mark: pdfium would show what is there of them."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        if b"%%EOF" in file.read():
            return
        file.seek(0)
        data = file.read()
    end = max(data.rfind(b"%%EOF"), data.rfind(b"startxref"))
    if re.search(rb"\d\s+\d+\s+obj\b", data[max(end, 0) :]):
        raise _damaged(name, "it has no end mark")


def _read(document: Any, index: int, name: str) -> _Read:
    """Return what a page holds. The caller locks."""
    try:
        with closing(open_page(document, index)) as page, closing(page.get_textpage()) as textpage:
            lines = page_lines(textpage)
            return _Read(composed(with_bars(rows_of(lines))), not lines and _may_show_text(page))
    except pdfium.PdfiumError as error:
        raise _damaged(name, f"page {index + 1}: {error}") from error


def open_page(document: Any, index: int) -> Any:
    """Return page number `index`, from 0, as it looks with what was written onto it. The caller locks and closes."""
    page = document.get_page(index)
    if not _has_fields(page):
        return page
    # What was filled into forms or typed over the page lies above its text; flattened in memory, it becomes part of it.
    with closing(page):
        pdfium.raw.FPDFPage_Flatten(page.raw, pdfium.raw.FLAT_NORMALDISPLAY)
    return document.get_page(index)


def _has_fields(page: Any) -> bool:
    return any(
        _annotation_kind(page, number) in FIELDS for number in range(pdfium.raw.FPDFPage_GetAnnotCount(page.raw))
    )


def _annotation_kind(page: Any, number: int) -> int:
    annotation = pdfium.raw.FPDFPage_GetAnnot(page.raw, number)
    try:
        return int(pdfium.raw.FPDFAnnot_GetSubtype(annotation))
    finally:
        pdfium.raw.FPDFPage_CloseAnnot(annotation)


def _may_show_text(page: Any) -> bool:
    raw, curves = pdfium.raw, 0
    kinds = [raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_PATH]
    for part in page.get_objects(filter=kinds, max_depth=FORM_DEPTH):
        if part.type == raw.FPDF_PAGEOBJ_PATH:
            curves += _curves(part.raw)
        elif part.type == raw.FPDF_PAGEOBJ_IMAGE or _has_ink(part):
            return True
        if curves >= OUTLINES:
            return True
    return False


def _has_ink(text: Any) -> bool:
    """Return whether a piece of text is more than spaces, such as Word leaves on empty pages: those have no height."""
    left, bottom, right, top = text.get_bounds()
    return bool(left < right and bottom < top)


def _curves(path: Any) -> int:
    raw = pdfium.raw
    segments = (raw.FPDFPath_GetPathSegment(path, number) for number in range(raw.FPDFPath_CountSegments(path)))
    return sum(raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_BEZIERTO for segment in segments)
