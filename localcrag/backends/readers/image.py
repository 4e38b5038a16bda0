"""Pictures: a photo of a letter, a screenshot, a fax.

Opened by Pillow; what they say is read by text recognition.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from localcrag.backends.readers._paragraphs import Line
from localcrag.backends.readers._scanned_lines import scanned_lines
from localcrag.backends.readers.printed_pages import composed_pages, printed_page
from localcrag.records.documents import Page, ScannedPage
from localcrag.records.errors import UnreadableDocument

_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP")
"""As Pillow calls those that are read."""
TYPES = frozenset(f"image/{name.lower()}" for name in _FORMATS)
"""Their media types."""
# Pillow tells of damage in many ways, and of pictures that are made to break programs by an error of its own.
_ERRORS = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, Image.DecompressionBombError)


def open_pages(path: Path, name: str, scans: Mapping[int, ScannedPage]) -> tuple[int, Generator[Page, None, None]]:
    """Check the file; return its number of pages (of a fax in TIFF) and the pages, numbered from 1.

    A page's text is what `scans`, by number, have read of it. Raises UnreadableDocument.
    """
    with _opened(path, name) as image:
        count = _frames(image)
        image.load()
    return count, composed_pages(count, lambda index: printed_page(_lines(scans.get(index + 1)), shows=True), dict)


def _lines(scan: ScannedPage | None) -> list[Line]:
    return scanned_lines(scan) if scan else []


def drawn(source: bytes, name: str, page: int) -> Image.Image:
    """Return page number `page`, from 1, as it is looked at.

    Raises UnreadableDocument, also for one that there is not.
    """
    with _opened(BytesIO(source), name) as image:
        count = _frames(image)
        if not 1 <= page <= count:
            raise UnreadableDocument(f"{name} has no page {page}: its pages are 1 to {count}.")
        image.seek(page - 1)
        # A photo says which side is up.
        return _on_paper(ImageOps.exif_transpose(image))


def _on_paper(image: Image.Image) -> Image.Image:
    """Return a picture of any kind in red, green and blue; what is transparent is white, as paper is."""
    if image.mode[0] in "IF":  # 16 bits and more a pixel, or numbers: Pillow would cut off what is beyond 255.
        values = np.asarray(image, dtype=np.float32)
        low, high = float(values.min()), float(values.max())
        return Image.fromarray(((values - low) * (255 / max(high - low, 1e-6))).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    upright = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright).convert("RGB")


def _frames(image: Image.Image) -> int:
    # The pages of a fax; the frames of an animation say the same thing again and again.
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
            "Get a fresh copy, or save it anew and smaller in a program that shows it."
        ) from error
