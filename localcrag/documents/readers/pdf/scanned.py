"""Compose printed and scanned pages into text, and open picture files.

Text recognition returns pieces of lines with their places: each cell of a table is a separate piece, and the columns of
a page are mixed up. A gap that runs down the page between long lines separates two columns; adjacent pieces in a table
are short. This module uses no OCR library.

Pillow opens picture files, and text recognition provides their text.
"""

from __future__ import annotations

import re
import statistics
import unicodedata
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from localcrag.documents.readers.pdf.headings import Headings, OutlineEntry, Place, RunningLines, find_typography
from localcrag.documents.readers.pdf.paragraphs import (
    SAME_BASELINE,
    SPACELESS,
    Line,
    LineCell,
    Printed,
    composed,
    join_rows,
)
from localcrag.documents.readers.pdf.tables import mark_tables
from localcrag.documents.readers.text import normalise, place_headings
from localcrag.records.documents import Page, Recognised, ScannedLine, ScannedPage, mean_confidence
from localcrag.records.errors import UnreadableDocument

SIZE = 0.78
"""Type size, as a share of a piece's height: recognition leaves some space around letters."""
ABOUT_USUAL = 0.28
"""Share by which a piece's height may differ from the usual height because of letters with ascenders or descenders."""
# Multiples of the usual height.
GUTTER = 0.5
PROSE_WIDTH = 7.0
"""Minimum width of a line of text, as a multiple of the usual height; table cells are narrower."""
LEAST_LINES = 3
"""Minimum number of lines in a column."""
A4_WIDTH = 595.0
"""Width of a page in points, assumed if it is unknown."""
HYPHEN = re.compile(r"\w[-\u2010]$")


def scanned_lines(page: ScannedPage | None, width: float = A4_WIDTH) -> list[Line]:
    """Return the lines of a page in reading order; the upright page is `width` points wide."""
    if not page or not page.lines:
        return []
    usual = _usual_height(page.lines)
    return [
        _line(piece, width / page.width, usual, page.height - statistics.mean(map(_middle, row)))
        for row in rows_in_order(page.lines)
        for piece in row
    ]


def rows_in_order(pieces: Sequence[ScannedLine]) -> list[list[ScannedLine]]:
    """Return the pieces of a page in rows, one column after another if there are columns."""
    return _in_order(pieces, _usual_height(pieces)) if pieces else []


def _line(piece: ScannedLine, scale: float, usual: float, baseline: float) -> Line:
    high = usual if abs(_height(piece) - usual) < ABOUT_USUAL * usual else _height(piece)
    left, right, size = piece.left * scale, piece.right * scale, high * SIZE * scale
    hyphen = HYPHEN.search(piece.text) is not None
    text = piece.text[:-1] if hyphen else piece.text
    share = len(text.split(maxsplit=1)[0]) / len(piece.text)
    return Line(
        text=text,
        left=left,
        right=right,
        baseline=baseline * scale,
        size=size,
        first_word=size if SPACELESS.match(text) else (right - left) * share,
        hyphen=hyphen,
        cells=(LineCell(text, left, right),),
        confidence=piece.confidence,
    )


def _in_order(pieces: Sequence[ScannedLine], usual: float) -> list[list[ScannedLine]]:
    gutter = _gutter(pieces, usual)
    if gutter is None:
        return _rows(pieces)
    rows: list[list[ScannedLine]] = []
    band: list[ScannedLine] = []
    # A piece across the gap (a title, or a table over the whole width) separates the pieces above it from those below.
    for piece in sorted(pieces, key=_middle):
        if piece.left < gutter < piece.right:
            rows += [*_columns(band, gutter, usual), [piece]]
            band = []
        else:
            band.append(piece)
    return [*rows, *_columns(band, gutter, usual)]


def _columns(pieces: Sequence[ScannedLine], gutter: float, usual: float) -> list[list[ScannedLine]]:
    left = [piece for piece in pieces if piece.right <= gutter]
    right = [piece for piece in pieces if piece.left >= gutter]
    if _is_prose(left, usual) and _is_prose(right, usual):
        return [*_in_order(left, usual), *_in_order(right, usual)]
    return _rows(pieces)


def _gutter(pieces: Sequence[ScannedLine], usual: float) -> float | None:
    """Return the position of the gap between two columns of text; None if there is no such gap."""
    most, found = 0, None
    for at in sorted({piece.left for piece in pieces}):
        gap = at - GUTTER * usual
        left = [piece for piece in pieces if piece.right <= gap]
        right = [piece for piece in pieces if piece.left >= at]
        score = min(len(left), len(right)) - (len(pieces) - len(left) - len(right))
        if score > most and _is_prose(left, usual) and _is_prose(right, usual):
            most, found = score, (gap + at) / 2
    return found


def _is_prose(pieces: Sequence[ScannedLine], usual: float) -> bool:
    wide = sum(piece.right - piece.left > PROSE_WIDTH * usual for piece in pieces)
    return len(pieces) >= LEAST_LINES and wide > len(pieces) / 2


def _rows(pieces: Sequence[ScannedLine]) -> list[list[ScannedLine]]:
    """Group the pieces that are on the same baseline, from left to right."""
    rows: list[list[ScannedLine]] = []
    for piece in sorted(pieces, key=_middle):
        if rows and _middle(piece) - statistics.mean(map(_middle, rows[-1])) < SAME_BASELINE * SIZE * _height(piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]


def _usual_height(pieces: Sequence[ScannedLine]) -> float:
    return statistics.median(map(_height, pieces))


def _height(piece: ScannedLine) -> float:
    return piece.bottom - piece.top


def _middle(piece: ScannedLine) -> float:
    return (piece.top + piece.bottom) / 2


LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
BULLETS = dict.fromkeys(map(ord, "\uf0a7\uf0b7\uf0d8\uf0fc"), "•")  # as Word writes them, in symbol fonts
TIDY = {**LIGATURES, **BULLETS, 0xAD: None}
SAMPLE_PAGES = 20
"""Pages that are sampled before the first one is composed."""
SAMPLE_CHARACTERS = 300_000
"""Maximum characters in the sample, because some pages are as long as a book."""


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page's lines; `shows` tells whether it may contain more text that is only a picture."""

    printed: list[Printed]
    shows: bool


def printed_page(lines: Sequence[Line], *, shows: bool) -> PrintedPage:
    """Return a page that consists of these lines, given in reading order."""
    return PrintedPage(composed(mark_tables(join_rows(lines))), shows)


def composed_pages(
    count: int, read: Callable[[int], PrintedPage], read_outline: Callable[[], Mapping[int, Sequence[OutlineEntry]]]
) -> Generator[Page, None, None]:
    """Yield `count` pages, read by index from 0; `read_outline` returns the file's own headings by page."""
    looked_at: dict[int, PrintedPage] = {}
    for index in _sample(count):
        if sum(len(line.text) for page in looked_at.values() for line in page.printed) > SAMPLE_CHARACTERS:
            break
        looked_at[index] = read(index)
    outline = read_outline()
    found = Headings(find_typography([(page.printed, outline.get(at, ())) for at, page in looked_at.items()]))
    running = RunningLines(found.typography.running)
    for index in range(count):
        page = looked_at.pop(index, None) or read(index)
        page = PrintedPage(running.remove_repeated(index, page.printed), page.shows)
        headings = found.page_headings(page.printed, outline.get(index, ()))
        # A line that is on many pages is not a heading on the first of them, either.
        none = [((at, at + 1), 0) for at in running.running_lines(page.printed)]
        yield _page(index, page, sorted(dict([*none, *headings]).items()))


def _sample(count: int) -> list[int]:
    """Return the indices of the sample: the first pages, and others up to the last."""
    step = max(1.0, count / SAMPLE_PAGES)
    return sorted({*range(min(3, count)), *(int(number * step) for number in range(min(count, SAMPLE_PAGES)))})


def _page(index: int, page: PrintedPage, headings: Sequence[tuple[Place, int]]) -> Page:
    # Normalise each line separately, to know where it begins; a newline never composes with its neighbours.
    lines = [normalise(printed.text.translate(TIDY)) for printed in page.printed]
    starts, placed = place_headings(lines, ((*place, level) for place, level in headings))
    recognised = [
        Recognised(starts[at], starts[at] + len(lines[at]), confidence)
        for at, printed in enumerate(page.printed)
        if (confidence := _confidence(printed.rows)) is not None
    ]
    return Page(index + 1, "\n".join(lines), page.shows, placed, tuple(recognised))


def _confidence(rows: Sequence[Line]) -> float | None:
    return mean_confidence([(len(row.text), row.confidence) for row in rows if row.confidence is not None])


_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP")
"""The picture formats that are read, by Pillow's names."""
TYPES = frozenset(f"image/{name.lower()}" for name in _FORMATS)
"""The media types of these formats."""
# Pillow raises many errors on damaged files, and its own error on pictures made to crash programs.
_ERRORS = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, Image.DecompressionBombError)


def open_pages(path: Path, name: str, scans: Mapping[int, ScannedPage]) -> tuple[int, Generator[Page, None, None]]:
    """Check the file; return its number of pages (a TIFF may have several) and a generator of them, numbered from 1.

    The text of a page comes from `scans`, by page number. Raises UnreadableDocument.
    """
    with _opened(path, name) as image:
        count = _frames(image)
        image.load()
    return count, composed_pages(
        count, lambda index: printed_page(scanned_lines(scans.get(index + 1)), shows=True), dict
    )


def draw_page(source: bytes, name: str, page: int) -> Image.Image:
    """Return page number `page`, from 1, as it is displayed.

    Raises UnreadableDocument, also if the page does not exist.
    """
    with _opened(BytesIO(source), name) as image:
        count = _frames(image)
        if not 1 <= page <= count:
            raise UnreadableDocument(f"{name} has no page {page}: its pages are 1 to {count}.")
        image.seek(page - 1)
        # A photo contains information about which side is up.
        return _to_rgb(ImageOps.exif_transpose(image))


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return a picture of any mode in red, green and blue; transparent parts become white, like paper."""
    if image.mode[0] in "IF":  # For 16 or more bits a pixel, or floats, Pillow would clip values at 255.
        values = np.asarray(image, dtype=np.float32)
        low, high = float(values.min()), float(values.max())
        return Image.fromarray(((values - low) * (255 / max(high - low, 1e-6))).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    upright = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright).convert("RGB")


def _frames(image: Image.Image) -> int:
    # A TIFF contains the pages of a fax; the frames of an animation would repeat the same text.
    return int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1


@contextmanager
def _opened(source: Path | BytesIO, name: str) -> Iterator[Image.Image]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(source, formats=_FORMATS) as image:
                yield image
    except (*_ERRORS, Image.DecompressionBombWarning) as error:
        raise UnreadableDocument(
            f"{name} cannot be read as a picture: it is damaged, cut off or very large. "
            "Get a fresh copy, or save a smaller version in a program that can open it."
        ) from error
