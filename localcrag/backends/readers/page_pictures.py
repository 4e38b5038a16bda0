"""A page as a picture, and where a text stands on it.

Of a PDF, drawn by pdfium under the reader's lock, or of a file that is a picture.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

from PIL import Image

from localcrag.backends.readers import image
from localcrag.backends.readers._kinds import PDF_HEADER_WITHIN
from localcrag.backends.readers._page_lines import character
from localcrag.backends.readers._scanned_lines import rows_in_order
from localcrag.backends.readers.pdf import LOCK, load, open_page, pdfium
from localcrag.records.documents import Box, PagePicture, ScannedPage, turned
from localcrag.records.errors import UnreadableDocument
from localcrag.text.table_lines import cells_of

POINTS = 72
"""PDF's own unit is a 72nd of an inch."""
LARGEST_SIDE = 4000
"""Pixels: a page may be as large as a wall."""
SHEET = 11.7
"""Inches: the longer side of a sheet of A4, which a picture is taken to be of."""

Part = tuple[float, float, float, float]
"""Left, top, right, bottom, in shares (0..1) of a page's width and height, from the upper left corner."""
Letter = tuple[str, Part]
"""A letter or digit, and where it stands."""


def picture(
    source: bytes,
    name: str,
    page: int,
    texts: Sequence[str] = (),
    *,
    dpi: int = 110,
    scan: ScannedPage | None = None,
) -> PagePicture:
    """Return page number `page`, from 1, with the place of every text that is found on it.

    `scan` is what text recognition has read of the page. Raises EncryptedDocument and UnreadableDocument, also for a
    page that there is not.
    """
    letters = list(_scanned_letters(scan)) if scan and texts else []
    if b"%PDF-" in source[:PDF_HEADER_WITHIN]:
        drawn, printed = _of_pdf(source, name, page, dpi, letters=bool(texts and not scan))
        letters += printed
    else:
        drawn = image.drawn(source, name, page)
        longer = max(drawn.size)
        side = min(longer, round(SHEET * dpi), LARGEST_SIDE)
        width, height = (max(1, round(length * side / longer)) for length in drawn.size)
        drawn = drawn.resize((width, height), Image.Resampling.LANCZOS)
    found = [_as_it_lies(scan, part) if scan else part for part in _places(letters, texts)]
    boxes = tuple(Box(left, top, right - left, bottom - top) for left, top, right, bottom in found)
    file = io.BytesIO()
    drawn.save(file, "PNG")
    return PagePicture(file.getvalue(), drawn.width, drawn.height, boxes)


def _of_pdf(source: bytes, name: str, page: int, dpi: int, *, letters: bool) -> tuple[Image.Image, list[Letter]]:
    """Return a page as it looks, and its letters where they are asked for."""
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
                    return drawn.copy(), printed  # The bitmap's memory goes with it.
        except pdfium.PdfiumError as error:
            raise UnreadableDocument(f"Page {page} of {name} cannot be drawn: {error}.") from error


def _places(letters: Sequence[Letter], texts: Sequence[str]) -> Iterator[Part]:
    """Yield where each line of each text stands; of a table's row that is written with bars, where each cell does."""
    said = "".join(letter for letter, _ in letters)
    end = 0
    for text in (part for row in texts for part in (cells_of(row) if row.startswith("|") else [row])):
        sought = _plain(text)
        # What is short stands on a page more than once: what follows another text comes behind it.
        found = [said.find(sought, begin) for begin in (end, 0)] if sought else []
        start = next((place for place in found if place >= 0), -1)
        if start < 0:
            continue
        end = start + len(sought)
        yield from _lines([part for _, part in letters[start:end]])


def _letters(page: Any, width: float, height: float) -> Iterator[Letter]:
    """Yield a page's letters and digits alone, and the place of each.

    So that spaces, the ends of lines and hyphens at them do not matter.
    """
    with closing(page.get_textpage()) as textpage:
        for place in range(textpage.count_chars()):
            plain = _plain(character(textpage.raw, place))
            if plain:
                left, bottom, right, top = textpage.get_charbox(place)
                for letter in plain:
                    yield letter, (left / width, 1 - top / height, right / width, 1 - bottom / height)


def _scanned_letters(scan: ScannedPage) -> Iterator[Letter]:
    """Yield the letters and digits that were read on a page, each at its share of its line, in reading order.

    Their places are on the upright picture.
    """
    for line in chain.from_iterable(rows_in_order(scan.lines)):
        step = (line.right - line.left) / len(line.text)
        top, bottom = line.top / scan.height, line.bottom / scan.height
        for place, written in enumerate(line.text):
            left = line.left + place * step
            for letter in _plain(written):
                yield letter, (left / scan.width, top, (left + step) / scan.width, bottom)


def _as_it_lies(scan: ScannedPage, part: Part) -> Part:
    """Return where a part of the upright picture is on the page, which may lie otherwise."""
    left, top, right, bottom = part
    size = (scan.width, scan.height)
    middle = turned((left + right) / 2 * scan.width, (top + bottom) / 2 * scan.height, scan.slope, size)
    x, y = middle[0] / scan.width, middle[1] / scan.height
    half_width, half_height = (right - left) / 2, (bottom - top) / 2
    for _ in range(scan.turn // 90 % 4):  # back, counter-clockwise
        x, y, half_width, half_height = y, 1 - x, half_height, half_width
    return x - half_width, y - half_height, x + half_width, y + half_height


def _plain(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKC", text) if letter.isalnum()).casefold()


def _lines(boxes: Sequence[Part]) -> list[Part]:
    """Return one box around the characters of each line."""
    lines: list[Part] = []
    for left, top, right, bottom in boxes:
        if lines:
            before = lines[-1]
            # The next character of a line stands to the right, at about the same height.
            if left >= before[0] and min(bottom, before[3]) - max(top, before[1]) > 0:
                lines[-1] = (before[0], min(top, before[1]), max(right, before[2]), max(bottom, before[3]))
                continue
        lines.append((left, top, right, bottom))
    return lines
