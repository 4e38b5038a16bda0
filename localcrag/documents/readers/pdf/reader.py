"""PDF reader: pages as text, and pages as pictures with the places of given texts, by pdfium.

`page_lines.py` reads the lines of a page, and `scanned.py` composes them into text.

pdfium must not be called by two threads at once, not even for different documents. So every call is made under one
lock, which is held for one page at a time: two readers take turns. pypdfium2's objects are also closed explicitly under
the lock, because the garbage collector would close them outside it.

`picture` draws a page of a PDF or of a picture file.
"""

from __future__ import annotations

import ctypes
import io
import re
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.pdf import scanned
from localcrag.documents.readers.pdf.headings import OutlineEntry, letters_only
from localcrag.documents.readers.pdf.page_lines import character, page_lines
from localcrag.documents.readers.pdf.tables import NO_RULES, PageRules, RuledLine, mark_ruled_tables
from localcrag.records.documents import Box, Page, PagePicture, ScannedPage, rotate_point
from localcrag.records.errors import DocumentError, EmptyDocument, EncryptedDocument, UnreadableDocument
from localcrag.text.blocks import split_cells

# Limits on the entries of an outline: in all, and for one page.
MOST_ENTRIES, MOST_PAGE_ENTRIES = 10_000, 100
LONGEST = 300  # characters of an entry; a longer one cannot be a line of a page


def read_outline(document: Any) -> Mapping[int, Sequence[OutlineEntry]]:
    """Return the outline's entries by the index of the page that they lead to; empty if the outline is damaged.

    `document` is a pypdfium2.PdfDocument; the caller must hold pdfium's lock.
    """
    found: dict[int, list[OutlineEntry]] = {}
    try:
        for bookmark in islice(document.get_toc(), MOST_ENTRIES):
            place, title = bookmark.get_dest(), _title(bookmark)
            index = place.get_index() if place else None
            page_entries = found.setdefault(index, []) if index is not None else []
            if title.strip() and len(title) <= LONGEST and len(page_entries) < MOST_PAGE_ENTRIES:
                page_entries.append(OutlineEntry(title, bookmark.level + 1))
    except (pypdfium2.PdfiumError, ValueError):
        return {}
    return found


def _title(bookmark: Any) -> str:
    """Return an entry's title; empty if it is not valid text (such as half a character)."""
    with suppress(UnicodeError):
        return str(bookmark.get_title())
    return ""


raw: Any = pypdfium2.raw  # made by a generator, without type hints
STRAIGHT = 0.7
"""Maximum points by which a line may lean and still count as horizontal or vertical."""
SHORTEST = 4.0
"""Minimum length of a rule in points; a shorter line is part of a letter or a dash."""
MOST_PATHS, MOST_SEGMENTS = 4_000, 20_000
"""Maximum number of paths and segments on a page; with more, the page is a drawing or a map."""
WHITE = 250
"""Minimum value (of 255) of a colour that counts as white; a box filled with it is invisible."""


def find_rules(page: Any) -> PageRules:
    """Return the rules on a page, in its own points; none if it is a drawing. The caller must hold pdfium's lock."""
    level: list[RuledLine] = []
    upright: list[RuledLine] = []
    left = MOST_SEGMENTS
    for number, part in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=1)):
        left -= raw.FPDFPath_CountSegments(part.raw)
        if number >= MOST_PATHS or left < 0:
            return NO_RULES
        if not _is_visible(part.raw):
            continue
        for x0, y0, x1, y1 in _straight_lines(part):
            if abs(y0 - y1) <= STRAIGHT and abs(x0 - x1) >= SHORTEST:
                level.append(RuledLine((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x0 - x1) <= STRAIGHT and abs(y0 - y1) >= SHORTEST:
                upright.append(RuledLine((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    return PageRules(tuple(level), tuple(upright))


def _is_visible(path: Any) -> bool:
    """Return whether a path is visible: it has an outline, or a fill colour that is not white."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if not raw.FPDFPath_GetDrawMode(path, fill, stroke):
        return False
    if stroke.value:
        return True
    colour = [ctypes.c_uint() for _ in range(4)]
    known = raw.FPDFPageObj_GetFillColor(path, *colour)
    return bool(fill.value) and not (known and all(one.value >= WHITE for one in colour[:3]))


def _straight_lines(part: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yield the start and end of each straight line in a path, in the page's points."""
    matrix = part.get_matrix()
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for number in range(raw.FPDFPath_CountSegments(part.raw)):
        segment = raw.FPDFPath_GetPathSegment(part.raw, number)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        here = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = here
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield (*before, *here)
        if raw.FPDFPathSegment_GetClose(segment):
            yield (*here, *start)
        before = here


pdfium: Any = pypdfium2  # has no type hints
# Reentrant, because an abandoned generator may be collected, and so closed, during another generator's call.
LOCK = threading.RLock()
FIELDS = (3, 20)  # annotations of free text and of form fields: FPDF_ANNOT_FREETEXT, FPDF_ANNOT_WIDGET
FORM_DEPTH = 3  # levels of nested forms in which a scanner hides its picture
# Number of curves on a page that may be lettering drawn as outlines, which has ten per letter. A frame has a dozen,
# ruled lines none.
OUTLINES = 200
FEW_LETTERS = 100
"""Number of letters below which a page's text may be in a picture: its letters may be a scanner's name, a stamp or a
page number."""
COVERED_SHARE = 0.6
"""Minimum share of a page that a scan covers."""
RECOGNISED_FACTOR = 1.5
"""Number of recognised letters that replace a page's own text, as a multiple of the page's own letters."""
MOST_PAGES = 50_000
"""Maximum number of pages in a PDF. A small file can name one page a million times; a printed book has a thousand
pages."""
TAIL_BYTES = 1024  # ISO 32000: the end-of-file mark is in the last 1,024 bytes


def open_pages(
    path: Path, name: str, head: bytes, scans: Mapping[int, ScannedPage]
) -> tuple[int, Generator[Page, None, None]]:
    """Check the file; return its number of pages and a generator of the pages, numbered from 1.

    `scans` are pages read by text recognition, by number; they are used for pages without their own text. Raises
    EncryptedDocument and UnreadableDocument, both here and while pages are read, and EmptyDocument after the last page
    if none has text.
    """
    if b"%PDF-" not in head[: kinds.PDF_HEADER_WITHIN]:
        raise kinds.mismatch(path, name, "a PDF", head)
    _check_whole(path, name)
    with LOCK, closing(load(path, name)) as document:
        count = len(document)
    if count > MOST_PAGES:
        raise UnreadableDocument(
            f"{name} has {count:,} pages, and localcrag reads at most {MOST_PAGES:,}. Split it, and add the parts."
        )
    # The generator opens the file again at its first page, so if it never starts, there is nothing to close.
    return count, _pages(path, name, count, scans)


def _pages(path: Path, name: str, count: int, scans: Mapping[int, ScannedPage]) -> Generator[Page, None, None]:
    with LOCK:
        document = load(path, name)

    def read(index: int) -> scanned.PrintedPage:
        with LOCK:
            return _read(document, index, name, scans.get(index + 1))

    def outline() -> Mapping[int, Sequence[OutlineEntry]]:
        with LOCK:
            return read_outline(document)

    shown = False
    try:
        for page in scanned.composed_pages(count, read, outline):
            shown = shown or page.unread or bool(page.text)
            yield page
    finally:
        with LOCK:
            document.close()
    if not shown:
        raise EmptyDocument(
            f"{name} contains no text: its pages ({count}) are empty or drawings. "
            "If they show text, save them as pictures (PNG), and add those."
        )


def load(source: Path | bytes, name: str, password: str | None = None) -> Any:
    """Open a PDF, which the caller must close; hold the lock. Raises EncryptedDocument and UnreadableDocument."""
    try:
        return pdfium.PdfDocument(source if isinstance(source, bytes) else source.absolute(), password)
    except (pypdfium2.PdfiumError, OSError) as error:
        raise _load_error(error, name, password) from error


def unlocked(path: Path, name: str, password: str) -> bytes:
    """Return a file without its password. Raises PasswordNeeded if the password is wrong, and UnreadableDocument."""
    copy = BytesIO()
    with LOCK, closing(load(path, name, password)) as document:
        document.save(copy, flags=raw.FPDF_REMOVE_SECURITY)
    return copy.getvalue()


def _load_error(error: Exception, name: str, password: str | None) -> DocumentError:
    code = getattr(error, "err_code", None)
    if code == raw.FPDF_ERR_PASSWORD:
        return packages.password_needed(name) if password is None else packages.wrong_password(name)
    if code == raw.FPDF_ERR_SECURITY:
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
    """Raise UnreadableDocument if objects follow the last end mark: pdfium would show a truncated document."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        if b"%%EOF" in file.read():
            return
        file.seek(0)
        data = file.read()
    end = max(data.rfind(b"%%EOF"), data.rfind(b"startxref"))
    if re.search(rb"\d\s+\d+\s+obj\b", data[max(end, 0) :]):
        raise _damaged(name, "it has no end mark")


def _read(document: Any, index: int, name: str, scan: ScannedPage | None) -> scanned.PrintedPage:
    """Return the content of a page. The caller must hold the lock."""
    try:
        with closing(open_page(document, index)) as page, closing(page.get_textpage()) as textpage:
            rules = find_rules(page)
            lines = page_lines(textpage, rules)
            letters = sum(len(line.text) for line in lines)
            # A page with few letters may be a scan with a stamp; if it has no letters, its pictures or outlines may
            # show text.
            shows = _is_covered(page) if lines and letters < FEW_LETTERS else not lines and _may_show_text(page)
            if shows and scan and sum(len(line.text) for line in scan.lines) > RECOGNISED_FACTOR * letters:
                # The text is upright in the scan, so a quarter turn exchanges the page's width and height.
                lines = scanned.scanned_lines(scan, page.get_size()[scan.turn // 90 % 2])
            return scanned.printed_page(mark_ruled_tables(lines, rules), shows=shows)
    except pdfium.PdfiumError as error:
        raise _damaged(name, f"page {index + 1}: {error}") from error


def open_page(document: Any, index: int) -> Any:
    """Return page number `index`, from 0, with its form entries and notes. The caller must lock, and close the page."""
    page = document.get_page(index)
    if not _has_fields(page):
        return page
    # Text filled into forms or typed over the page lies above the page's own text; flattening merges both, in memory
    # only.
    with closing(page):
        raw.FPDFPage_Flatten(page.raw, raw.FLAT_NORMALDISPLAY)
    return document.get_page(index)


def _has_fields(page: Any) -> bool:
    for number in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if kind in FIELDS:
            return True
    return False


def _is_covered(page: Any) -> bool:
    """Return whether a single picture covers most of a page."""
    width, height = page.get_size()
    for part in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=FORM_DEPTH):
        left, bottom, right, top = part.get_bounds()
        if (right - left) * (top - bottom) >= COVERED_SHARE * width * height:
            return True
    return False


def _may_show_text(page: Any) -> bool:
    curves = 0
    wanted = [raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_PATH]
    for part in page.get_objects(filter=wanted, max_depth=FORM_DEPTH):
        if part.type == raw.FPDF_PAGEOBJ_PATH:
            curves += _curves(part.raw)
        elif part.type == raw.FPDF_PAGEOBJ_IMAGE or _has_ink(part):
            return True
        if curves >= OUTLINES:
            return True
    return False


def _has_ink(text: Any) -> bool:
    """Return whether a text is more than spaces, which have no height; Word leaves such spaces on empty pages."""
    left, bottom, right, top = text.get_bounds()
    return bool(left < right and bottom < top)


def _curves(path: Any) -> int:
    segments = (raw.FPDFPath_GetPathSegment(path, number) for number in range(raw.FPDFPath_CountSegments(path)))
    return sum(raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_BEZIERTO for segment in segments)


POINTS = 72
"""Points per inch; a point is PDF's own unit."""
LARGEST_SIDE = 4000
"""Maximum pixels of a picture's longer side; a page may be as large as a wall."""
SHEET = 11.7
"""Inches of the longer side of an A4 sheet, which is the assumed size of a picture file."""

Part = tuple[float, float, float, float]
"""Left, top, right and bottom, as shares (0..1) of a page's width and height, from the upper left corner."""
Letter = tuple[str, Part]
"""A letter or digit, and its place."""


def picture(
    source: bytes, name: str, page: int, texts: Sequence[str] = (), *, dpi: int = 110, scan: ScannedPage | None = None
) -> PagePicture:
    """Return page number `page`, from 1, as a picture, with the places of the texts that are found on it.

    `scan` is the output of text recognition for the page. Raises EncryptedDocument and UnreadableDocument, also if the
    page does not exist.
    """
    letters = list(_scanned_letters(scan)) if scan and texts else []
    if b"%PDF-" in source[: kinds.PDF_HEADER_WITHIN]:
        drawn, printed = _draw_pdf_page(source, name, page, dpi, letters=bool(texts and not scan))
        letters += printed
    else:
        drawn = scanned.draw_page(source, name, page)
        longer = max(drawn.size)
        side = min(longer, round(SHEET * dpi), LARGEST_SIDE)
        width, height = (max(1, round(length * side / longer)) for length in drawn.size)
        drawn = drawn.resize((width, height), Image.Resampling.LANCZOS)
    found = [_to_page(scan, part) if scan else part for part in _places(letters, texts)]
    boxes = tuple(Box(left, top, right - left, bottom - top) for left, top, right, bottom in found)
    file = io.BytesIO()
    drawn.save(file, "PNG")
    return PagePicture(file.getvalue(), drawn.width, drawn.height, boxes)


def _draw_pdf_page(source: bytes, name: str, page: int, dpi: int, *, letters: bool) -> tuple[Image.Image, list[Letter]]:
    """Return the picture of a page, and its letters if `letters` is true."""
    with LOCK, closing(load(source, name)) as document:
        count = len(document)
        if not 1 <= page <= count:
            raise UnreadableDocument(f"{name} has no page {page}: its pages are 1 to {count}.")
        try:
            with closing(open_page(document, page - 1)) as opened:
                width, height = opened.get_size()
                scale = min(dpi / POINTS, LARGEST_SIDE / max(width, height))
                printed = list(_letters(opened, width, height)) if letters else []
                with closing(opened.render(scale=scale)) as bitmap:
                    drawn: Image.Image = bitmap.to_pil()
                    return drawn.copy(), printed  # closing the bitmap frees its memory
        except pdfium.PdfiumError as error:
            raise UnreadableDocument(f"Page {page} of {name} cannot be drawn: {error}.") from error


def _places(letters: Sequence[Letter], texts: Sequence[str]) -> Iterator[Part]:
    """Yield the place of each line of each text; for a table row with bars, the place of each of its cells."""
    page_text = "".join(letter for letter, _ in letters)
    end = 0
    for text in (part for row in texts for part in (split_cells(row) if row.startswith("|") else [row])):
        sought = letters_only(text)
        # A short text may be on a page more than once, so the search first continues behind the previous text.
        found = [page_text.find(sought, begin) for begin in (end, 0)] if sought else []
        start = next((place for place in found if place >= 0), -1)
        if start < 0:
            continue
        end = start + len(sought)
        yield from _line_boxes([part for _, part in letters[start:end]])


def _letters(page: Any, width: float, height: float) -> Iterator[Letter]:
    """Yield a page's letters and digits with their places.

    Leaving out everything else makes the search independent of spaces, line ends and hyphens.
    """
    with closing(page.get_textpage()) as textpage:
        for place in range(textpage.count_chars()):
            plain = letters_only(character(textpage.raw, place))
            if plain:
                left, bottom, right, top = textpage.get_charbox(place)
                for letter in plain:
                    yield letter, (left / width, 1 - top / height, right / width, 1 - bottom / height)


def _scanned_letters(scan: ScannedPage) -> Iterator[Letter]:
    """Yield the recognised letters and digits of a page in reading order, spread evenly over their lines.

    Their places are on the upright picture.
    """
    for line in chain.from_iterable(scanned.rows_in_order(scan.lines)):
        step = (line.right - line.left) / len(line.text)
        top, bottom = line.top / scan.height, line.bottom / scan.height
        for place, written in enumerate(line.text):
            left = line.left + place * step
            for letter in letters_only(written):
                yield letter, (left / scan.width, top, (left + step) / scan.width, bottom)


def _to_page(scan: ScannedPage, part: Part) -> Part:
    """Return the place on the page, which may be turned, of a part of the upright picture."""
    left, top, right, bottom = part
    size = (scan.width, scan.height)
    middle = rotate_point((left + right) / 2 * scan.width, (top + bottom) / 2 * scan.height, scan.slope, size)
    x, y = middle[0] / scan.width, middle[1] / scan.height
    half_width, half_height = (right - left) / 2, (bottom - top) / 2
    for _ in range(scan.turn // 90 % 4):  # back, counter-clockwise
        x, y, half_width, half_height = y, 1 - x, half_height, half_width
    return x - half_width, y - half_height, x + half_width, y + half_height


def _line_boxes(boxes: Sequence[Part]) -> list[Part]:
    """Return one box around the characters of each line."""
    lines: list[Part] = []
    for left, top, right, bottom in boxes:
        if lines:
            before = lines[-1]
            # The next character of a line is to the right, at about the same height.
            if left >= before[0] and min(bottom, before[3]) - max(top, before[1]) > 0:
                lines[-1] = (before[0], min(top, before[1]), max(right, before[2]), max(bottom, before[3]))
                continue
        lines.append((left, top, right, bottom))
    return lines
