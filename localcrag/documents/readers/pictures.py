"""Pictures embedded in documents that may show text, and names of embedded files.

Each picture becomes a separate document, whose text is recognised like that of any picture. If the document has text,
its pictures are ignored: most are photos, logos and charts.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
import unicodedata
import warnings
import zipfile
from collections.abc import Generator, Iterator, Sequence
from html import unescape
from io import BytesIO
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from PIL import Image

from localcrag.documents.readers import kinds
from localcrag.records.documents import Member, Page
from localcrag.text.places import UniqueNames

LONGEST_NAME = 200
"""Maximum characters of a name, including its folders."""
UNNAMED = "unnamed"
_SEPARATORS = re.compile(r"[/\\]+")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that are invisible or change the direction of others."""


def safe_path(name: str) -> PurePosixPath:
    """Return the path of an embedded file, made from its stated name so that it cannot leave the document."""
    parts = (_visible(part) for part in _SEPARATORS.split(name))
    path = "/".join(part for part in parts if part not in {"", ".", ".."})
    return PurePosixPath(path[-LONGEST_NAME:].lstrip("/") or UNNAMED)


def _visible(part: str) -> str:
    return "".join(one for one in part if unicodedata.category(one) not in _INVISIBLE).strip()


SUFFICIENT_LETTERS = 100
"""Number of letters of text per picture that makes the pictures unnecessary; the same as for a page of a PDF."""
LEAST_SIDE, LEAST_PIXELS = 200, 250_000
"""Minimum side and pixels of a picture that may show text: a quarter of a screenshot, or a tenth of a page at 150
dpi."""
MOST_BYTES = 50_000_000
"""Maximum bytes of a picture file."""
_REFERRING = {
    kinds.DOCX: r"word/_rels/document\.xml\.rels",
    kinds.PPTX: r"ppt/slides/_rels/[^/]+\.rels",
    kinds.XLSX: r"xl/drawings/_rels/[^/]+\.rels",
    **dict.fromkeys((kinds.ODT, kinds.ODP, kinds.ODS), r"content\.xml"),
    kinds.EPUB: r".*\.x?html?",
}
"""For each media type, the parts that name the pictures shown in the text; the logos of headers and masters are
named elsewhere."""
_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP")
_NAMED = re.compile(rb"[\"'/]([^\"'/<>]+\.(?:png|jpe?g|tiff?|gif|bmp|webp))[\"']", re.IGNORECASE)
_ERRORS = (*kinds.ZIP_ERRORS, KeyError, OSError, SyntaxError, Image.DecompressionBombError)


def picture_parts(path: Path, media_type: str) -> list[str]:
    """Return the parts of a file that are pictures and may show text; none for other kinds of files."""
    if media_type not in _REFERRING:
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part.filename for part in archive.infolist() if part.file_size < MOST_BYTES]
            referring = [part for part in parts if re.fullmatch(_REFERRING[media_type], part)]
            found = (one for part in referring for one in _NAMED.findall(archive.read(part)))
            named = {unquote(unescape(one.decode("utf-8", "replace"))) for one in found}
            return [part for part in parts if PurePosixPath(part).name in named and _may_show_text(archive, part)]
    except _ERRORS:  # The reader that parses the text reports the damage.
        return []


def pictures_matter(shown: Sequence[str], pages: Sequence[Page]) -> bool:
    """Return whether the text of these pages is so short that the pictures are more informative."""
    return sum(character.isalnum() for page in pages for character in page.text) < SUFFICIENT_LETTERS * len(shown)


def read_pictures(path: Path, parts: Sequence[str]) -> Generator[Member, None, None]:
    """Yield these pictures, named as in the file but without its folders."""
    names = UniqueNames()
    with zipfile.ZipFile(path) as archive:
        for part in parts:
            yield Member(names.of(safe_path(PurePosixPath(part).name)), archive.read(part))


def may_show_text(data: bytes, least_pixels: int = LEAST_PIXELS) -> bool | None:
    """Return whether a picture is large enough to show text; None if it cannot be opened."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=_FORMATS) as image:
                return min(image.size) >= LEAST_SIDE and image.width * image.height >= least_pixels
    except Image.DecompressionBombError:
        return True  # It is too large to read, which its own reader reports.
    except _ERRORS:
        return None


def _may_show_text(archive: zipfile.ZipFile, part: str) -> bool:
    try:
        return bool(may_show_text(archive.read(part)))
    except _ERRORS:
        return False


TYPES = frozenset((kinds.HTML_TYPE, "application/xhtml+xml", "text/markdown"))
"""Media types of texts whose embedded pictures are extracted."""
NOTEBOOK = ".ipynb"
"""File extension of notebooks, whose media type is that of plain text."""
# Between quotation marks the data may contain line breaks; elsewhere a line break ends it. Anything shorter is text
# about such URLs: even a GIF of a single dot has 56 letters.
_URL = re.compile(
    r"(?P<before>(?P<mark>[\"'])?data:image/(?P<kind>[\w.+-]{1,40}+)(?:;charset=[\w-]{1,40}+)?+);base64,"
    r"(?P<data>(?(mark)(?:(?:[ \t]*+[\r\n]\s*+)?+[\w+/=%-]){40,}+\s*+(?=(?P=mark))|[\w+/=%-]{40,}+))",
    re.ASCII | re.IGNORECASE,
)
LEAST_BYTES = 1_000
"""Minimum bytes for a picture to be considered; even a blank sheet of paper rarely has fewer."""
_ENDINGS = {"jpeg": "jpg", "pjpeg": "jpg", "x-png": "png", "tiff": "tif", "x-ms-bmp": "bmp"}


def pictures_in_data(path: Path, *, is_notebook: bool) -> Generator[Member, None, None]:
    """Yield the pictures of a file that may show text, each once."""
    names, seen = UniqueNames(), set[bytes]()
    written = path.read_bytes()
    cell_pictures = _notebook_pictures(written, seen) if is_notebook else ()
    for name, data in chain(cell_pictures, pictures_in(written.decode("latin-1"), LEAST_PIXELS, seen)):
        yield Member(names.of(safe_path(name)), data)


def _notebook_pictures(written: bytes, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures attached to a notebook's cells, or created by them, as `pictures_in` does."""
    try:
        for cell in json.loads(written)["cells"]:
            for name, held in _cell_data(cell):
                for kind, letters in held.items():
                    data = _decoded("".join(letters)) if kind.startswith("image/") else b""
                    if is_new(data, LEAST_PIXELS, seen):
                        yield name or _default_name(kind.removeprefix("image/")), data
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return  # This is not a notebook of the current format; its text is still searched for pictures.


def _cell_data(cell: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a cell's attachments and outputs, each with its name (outputs have none) and its data by media type."""
    yield from (cell.get("attachments") or {}).items()
    yield from (("", output.get("data") or {}) for output in cell.get("outputs") or ())


def pictures_in(text: str, least_pixels: int, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures in a text that have at least `least_pixels`, each once (`was_seen`) and with a name."""
    for found in _URL.finditer(text):
        data = _decoded(found["data"])
        if is_new(data, least_pixels, seen):
            yield _default_name(found["kind"].lower()), data


def is_new(data: bytes, least_pixels: int, seen: set[bytes]) -> bool:
    """Return whether a picture may show text, has at least `least_pixels`, and has not been seen (`was_seen`)."""
    fits = LEAST_BYTES <= len(data) <= MOST_BYTES
    return fits and not was_seen(data, seen) and bool(may_show_text(data, least_pixels))


def was_seen(data: bytes, seen: set[bytes]) -> bool:
    """Add a picture's digest to `seen`, and return whether it was there before."""
    digest = hashlib.sha256(data).digest()
    known = digest in seen
    seen.add(digest)
    return known


def without_pictures(text: str) -> str:
    """Return a text without the data of embedded pictures, which means nothing to readers."""
    return _URL.sub(lambda found: found["before"], text) if ";base64," in text else text


def _default_name(kind: str) -> str:
    return f"picture.{_ENDINGS.get(kind, kind)}"


def _decoded(written: str) -> bytes:
    data = unquote_to_bytes(written) if "%" in written else written.encode()
    data = b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return b""
