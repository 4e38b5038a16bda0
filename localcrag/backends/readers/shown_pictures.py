"""Pictures that a document shows where it has next to no text: pasted scans, screenshots on slides.

Each becomes a document of its own, whose text is recognised as that of any picture. Where there is text, pictures are
left alone: most are photos, logos and charts.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Generator, Sequence
from html import unescape
from io import BytesIO
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from PIL import Image

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._member_names import within
from localcrag.records.documents import Member, Page
from localcrag.text.paths import Names

FEW = 100
"""Letters for each such picture: with as many or more, the text says what there is to say. As of a page of a PDF."""
LEAST_SIDE, LEAST_PIXELS = 200, 250_000
"""Of a picture that may show text: a quarter of a screenshot, or a tenth of a page at 150 dots an inch."""
MOST_BYTES = 50_000_000
"""Of a picture as it is packed."""
_REFERRING = {
    _kinds.DOCX: r"word/_rels/document\.xml\.rels",
    _kinds.PPTX: r"ppt/slides/_rels/[^/]+\.rels",
    _kinds.XLSX: r"xl/drawings/_rels/[^/]+\.rels",
    **dict.fromkeys((_kinds.ODT, _kinds.ODP, _kinds.ODS), r"content\.xml"),
    _kinds.EPUB: r".*\.x?html?",
}
"""By media type, the parts that name what is shown in the text; headers and masters name their logos elsewhere."""
_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP")
_NAMED = re.compile(rb"[\"'/]([^\"'/<>]+\.(?:png|jpe?g|tiff?|gif|bmp|webp))[\"']", re.IGNORECASE)
_ERRORS = (*_kinds.ZIP_ERRORS, KeyError, OSError, SyntaxError, Image.DecompressionBombError)


def parts_of(path: Path, media_type: str) -> list[str]:
    """Return the parts of a file that are pictures which may show text; none of a file of another kind."""
    if media_type not in _REFERRING:
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part.filename for part in archive.infolist() if part.file_size < MOST_BYTES]
            referring = [part for part in parts if re.fullmatch(_REFERRING[media_type], part)]
            found = (one for part in referring for one in _NAMED.findall(archive.read(part)))
            named = {unquote(unescape(one.decode("utf-8", "replace"))) for one in found}
            return [part for part in parts if PurePosixPath(part).name in named and _may_show_text(archive, part)]
    except _ERRORS:  # Damaged: whoever reads its text says so.
        return []


def say_more(shown: Sequence[str], pages: Sequence[Page]) -> bool:
    """Return whether so many pictures say more than the text of these pages."""
    letters = sum(character.isalnum() for page in pages for character in page.text)
    return letters < FEW * len(shown)


def members(path: Path, parts: Sequence[str]) -> Generator[Member, None, None]:
    """Yield these pictures, named as the file names them, without its folders."""
    names = Names()
    with zipfile.ZipFile(path) as archive:
        for part in parts:
            yield Member(names.of(within(PurePosixPath(part).name)), archive.read(part))


def may_show_text(data: bytes, least_pixels: int = LEAST_PIXELS) -> bool | None:
    """Return whether a picture is large enough to show text; None where it cannot be opened."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=_FORMATS) as image:
                return min(image.size) >= LEAST_SIDE and image.width * image.height >= least_pixels
    except Image.DecompressionBombError:
        return True  # Larger than is read, as its own reader says.
    except _ERRORS:
        return None


def _may_show_text(archive: zipfile.ZipFile, part: str) -> bool:
    try:
        return bool(may_show_text(archive.read(part)))
    except _ERRORS:
        return False
