"""PDF reader: pages as text, by pdfium.

Its lines are made in `_page_lines.py`, and what becomes of them in `printed_pages.py`.

pdfium must not be entered by two threads at once, whatever the documents: every call is made under one lock, which is
held for a page at a time, so that two readers take turns. pypdfium2's objects are closed by hand under the lock too,
because the garbage collector would close them outside of it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pypdfium2

from localcrag.backends.readers import _kinds, _passwords
from localcrag.backends.readers._drawn_rules import rules_of
from localcrag.backends.readers._headings import Entry
from localcrag.backends.readers._page_lines import page_lines
from localcrag.backends.readers._pdf_outline import outline_of
from localcrag.backends.readers._ruled_tables import in_grids
from localcrag.backends.readers._scanned_lines import scanned_lines
from localcrag.backends.readers.printed_pages import PrintedPage, composed_pages, printed_page
from localcrag.records.documents import Page, ScannedPage
from localcrag.records.errors import (
    DocumentError,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
)

pdfium: Any = pypdfium2  # has no type hints
# Reentrant, because a forgotten generator may be collected, and so closed, in the midst of another's call.
LOCK = threading.RLock()
FIELDS = (3, 20)  # annotations of free text and of form fields: FPDF_ANNOT_FREETEXT, FPDF_ANNOT_WIDGET
FORM_DEPTH = 3  # forms within forms in which a scanner hides its picture
# Curves on a page. A frame has a dozen, lines to write on have none; lettering drawn as outlines has ten a letter.
OUTLINES = 200
FEW = 100
"""Letters of a page whose picture may say the rest: a scanner's name, a stamp, a page number."""
COVERED = 0.6
"""Share of a page that a scan covers."""
MORE = 1.5
"""Times the letters that a page has itself: what is recognised takes their place where it says so much more."""
MOST_PAGES = 50_000
"""A small file can name one page a million times; a printed book has a thousand."""
TAIL_BYTES = 1024  # ISO 32000: the end-of-file mark stands in the last 1,024 bytes


def open_pages(
    path: Path, name: str, head: bytes, scans: Mapping[int, ScannedPage]
) -> tuple[int, Generator[Page, None, None]]:
    """Check the file; return its number of pages and the pages, still to be read, numbered from 1.

    `scans` are pages that text recognition has read, by number: of those without text it is what they say.
    Raises EncryptedDocument and UnreadableDocument, here and while pages are read, and EmptyDocument after the last.
    """
    if b"%PDF-" not in head[: _kinds.PDF_HEADER_WITHIN]:
        raise _kinds.mismatch(path, name, "a PDF", head)
    _check_whole(path, name)
    with LOCK, closing(load(path, name)) as document:
        count = len(document)
    if count > MOST_PAGES:
        raise UnreadableDocument(
            f"{name} says that it has {count:,} pages, and at most {MOST_PAGES:,} are read. "
            "Split it, and add the parts."
        )
    # Opened anew when the first page is asked for: a generator that nobody starts has nothing to close.
    return count, _pages(path, name, count, scans)


def _pages(path: Path, name: str, count: int, scans: Mapping[int, ScannedPage]) -> Generator[Page, None, None]:
    with LOCK:
        document = load(path, name)

    def read(index: int) -> PrintedPage:
        with LOCK:
            return _read(document, index, name, scans.get(index + 1))

    def outline() -> Mapping[int, Sequence[Entry]]:
        with LOCK:
            return outline_of(document)

    shown = False
    try:
        for page in composed_pages(count, read, outline):
            shown = shown or page.unread or bool(page.text)
            yield page
    finally:
        with LOCK:
            document.close()
    if not shown:
        raise EmptyDocument(
            f"{name} holds no text: its pages ({count}) are empty or drawings. "
            "If they show text, save them as pictures (PNG), and add those."
        )


def load(source: Path | bytes, name: str, password: str | None = None) -> Any:
    """Open a file. Raises EncryptedDocument and UnreadableDocument. The caller locks, and closes it."""
    try:
        return pdfium.PdfDocument(source if isinstance(source, bytes) else source.absolute(), password)
    except (pypdfium2.PdfiumError, OSError) as error:
        raise _translated(error, name, password) from error


def unlocked(path: Path, name: str, password: str) -> bytes:
    """Return a file as it is without its password. Raises PasswordNeeded when it is another, and UnreadableDocument."""
    copy = BytesIO()
    with LOCK, closing(load(path, name, password)) as document:
        document.save(copy, flags=pdfium.raw.FPDF_REMOVE_SECURITY)
    return copy.getvalue()


def _translated(error: Exception, name: str, password: str | None) -> DocumentError:
    code = getattr(error, "err_code", None)
    if code == pdfium.raw.FPDF_ERR_PASSWORD:
        return _passwords.needed(name) if password is None else _passwords.another(name)
    if code == pdfium.raw.FPDF_ERR_SECURITY:
        return EncryptedDocument(
            f"{name} is protected in a way that is not known here. Open it, print a copy, and add that."
        )
    return _damaged(name, str(error))


def _damaged(name: str, reason: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name} cannot be read as a PDF: it is damaged or cut off ({reason.rstrip('.')}). "
        "Get a fresh copy, or open it in a PDF viewer and print it to a new PDF."
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


def _read(document: Any, index: int, name: str, scan: ScannedPage | None) -> PrintedPage:
    """Return what a page holds. The caller locks."""
    try:
        with closing(open_page(document, index)) as page, closing(page.get_textpage()) as textpage:
            rules = rules_of(page)
            lines = page_lines(textpage, rules)
            letters = sum(len(line.text) for line in lines)
            shows = _is_covered(page) if lines and letters < FEW else not lines and _may_show_text(page)
            if shows and scan and sum(len(line.text) for line in scan.lines) > MORE * letters:
                lines = scanned_lines(scan, page.get_size()[scan.turn // 90 % 2])
            return printed_page(in_grids(lines, rules), shows=shows)
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


def _is_covered(page: Any) -> bool:
    """Return whether one picture covers most of a page."""
    width, height = page.get_size()
    for part in page.get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_IMAGE], max_depth=FORM_DEPTH):
        left, bottom, right, top = part.get_bounds()
        if (right - left) * (top - bottom) >= COVERED * width * height:
            return True
    return False


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
