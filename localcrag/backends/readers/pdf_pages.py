"""A PDF page as a picture, and where a text stands on it. By pdfium, under the reader's lock."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from localcrag.backends.readers._page_lines import character
from localcrag.backends.readers.pdf import LOCK, load, open_page, pdfium
from localcrag.records.documents import Box, PagePicture
from localcrag.records.errors import UnreadableDocument

POINTS = 72
"""PDF's own unit is a 72nd of an inch."""
LARGEST_SIDE = 4000
"""Pixels: a page may be as large as a wall."""


def picture(source: Path | bytes, name: str, page: int, texts: Sequence[str] = (), *, dpi: int = 110) -> PagePicture:
    """Return page number `page`, from 1, with the place of every text that is found on it.

    Raises EncryptedDocument and UnreadableDocument, also for a page that there is not.
    """
    with LOCK, closing(load(source, name)) as document:
        count = len(document)
        if not 1 <= page <= count:
            raise UnreadableDocument(f"{name} has no page {page}: its pages are 1 to {count}.")
        try:
            with closing(open_page(document, page - 1)) as opened:
                width, height = opened.get_size()
                scale = min(dpi / POINTS, LARGEST_SIDE / max(width, height))
                with closing(opened.render(scale=scale)) as bitmap:
                    drawn = bitmap.to_pil()
                    file = io.BytesIO()
                    drawn.save(file, "PNG")
                boxes = tuple(_boxes(opened, texts, width, height)) if texts else ()
        except pdfium.PdfiumError as error:
            raise UnreadableDocument(f"Page {page} of {name} cannot be drawn: {error}.") from error
    return PagePicture(file.getvalue(), drawn.width, drawn.height, boxes)


def _boxes(page: Any, texts: Sequence[str], width: float, height: float) -> Iterator[Box]:
    with closing(page.get_textpage()) as textpage:
        letters, places = _letters(textpage)
        end = 0
        for text in texts:
            sought = _plain(text)
            # What is short stands on a page more than once: what follows another text comes behind it.
            found = [letters.find(sought, begin) for begin in (end, 0)] if sought else []
            start = next((place for place in found if place >= 0), -1)
            if start < 0:
                continue
            end = start + len(sought)
            corners = [textpage.get_charbox(place) for place in places[start : start + len(sought)]]
            for left, bottom, right, top in _lines(corners):
                yield Box(left / width, 1 - top / height, (right - left) / width, (top - bottom) / height)


def _letters(textpage: Any) -> tuple[str, list[int]]:
    """Return the page's letters and digits alone, and of each the number of its character.

    So that spaces, the ends of lines and hyphens at them do not matter.
    """
    letters, places = [], []
    for place in range(textpage.count_chars()):
        for letter in _plain(character(textpage.raw, place)):
            letters.append(letter)
            places.append(place)
    return "".join(letters), places


def _plain(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKC", text) if letter.isalnum()).casefold()


def _lines(boxes: Sequence[tuple[float, float, float, float]]) -> list[tuple[float, float, float, float]]:
    """Return one box around the characters of each line; boxes are left, bottom, right, top."""
    lines: list[tuple[float, float, float, float]] = []
    for left, bottom, right, top in boxes:
        if lines:
            before = lines[-1]
            # The next character of a line stands to the right, at about the same height.
            if left >= before[0] and min(top, before[3]) - max(bottom, before[1]) > 0:
                lines[-1] = (before[0], min(bottom, before[1]), max(right, before[2]), max(top, before[3]))
                continue
        lines.append((left, bottom, right, top))
    return lines
