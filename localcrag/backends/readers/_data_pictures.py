"""Pictures written into a text as letters: those that may show text, and the text without them."""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from collections.abc import Generator, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._member_names import within
from localcrag.backends.readers.shown_pictures import LEAST_PIXELS, MOST_BYTES, may_show_text
from localcrag.records.documents import Member
from localcrag.text.paths import Names

TYPES = frozenset((_kinds.HTML_TYPE, "application/xhtml+xml", "text/markdown"))
"""Media types of texts whose pictures are taken out."""
NOTEBOOK = ".ipynb"
"""The name ending of another kind, whose media type is that of plain text."""
# Between quotation marks a line may end within one; elsewhere that ends it. What is shorter is what a text
# says about such URLs: a GIF of a single dot has 56 letters.
_URL = re.compile(
    r"(?P<before>(?P<mark>[\"'])?data:image/(?P<kind>[\w.+-]{1,40}+)(?:;charset=[\w-]{1,40}+)?+);base64,"
    r"(?P<data>(?(mark)(?:(?:[ \t]*+[\r\n]\s*+)?+[\w+/=%-]){40,}+\s*+(?=(?P=mark))|[\w+/=%-]{40,}+))",
    re.ASCII | re.IGNORECASE,
)
LEAST_BYTES = 1_000
"""Of a picture that is looked at: a sheet of paper without a word on it has hardly fewer."""
_ENDINGS = {"jpeg": "jpg", "pjpeg": "jpg", "x-png": "png", "tiff": "tif", "x-ms-bmp": "bmp"}
_NAME = "picture"


def members(path: Path, *, is_notebook: bool) -> Generator[Member, None, None]:
    """Yield the pictures of a file that may show text, each once."""
    names, seen = Names(), set[bytes]()
    written = path.read_bytes()
    of_cells = _of_notebook(written, seen) if is_notebook else ()
    for name, data in chain(of_cells, pictures_in(written.decode("latin-1"), LEAST_PIXELS, seen)):
        yield Member(names.of(within(name)), data)


def _of_notebook(written: bytes, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures that are attached to a notebook's cells, or that these made, as `pictures_in` does."""
    try:
        for cell in json.loads(written)["cells"]:
            for name, held in _held(cell):
                for kind, letters in held.items():
                    data = _decoded("".join(letters)) if kind.startswith("image/") else b""
                    if is_new(data, LEAST_PIXELS, seen):
                        yield name or _named(kind.removeprefix("image/")), data
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return  # None of today's; what it says is read as it stands.


def _held(cell: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a cell holds beside its text, each as all the kinds that it is written in, attachments with names."""
    yield from (cell.get("attachments") or {}).items()
    yield from (("", output.get("data") or {}) for output in cell.get("outputs") or ())


def pictures_in(text: str, least_pixels: int, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of a text that have so many pixels, each once (`was_seen`) and with a name."""
    for found in _URL.finditer(text):
        data = _decoded(found["data"])
        if is_new(data, least_pixels, seen):
            yield _named(found["kind"].lower()), data


def is_new(data: bytes, least_pixels: int, seen: set[bytes]) -> bool:
    """Return whether a picture may show text, in so many pixels at least, and is none of those seen (`was_seen`)."""
    fits = LEAST_BYTES <= len(data) <= MOST_BYTES
    return fits and not was_seen(data, seen) and bool(may_show_text(data, least_pixels))


def was_seen(data: bytes, seen: set[bytes]) -> bool:
    """Return whether a picture is among those seen, which are kept by their digests, and put it there."""
    digest = hashlib.sha256(data).digest()
    known = digest in seen
    seen.add(digest)
    return known


def without_pictures(text: str) -> str:
    """Return a text without the letters that pictures are written in: to a reader they say nothing."""
    return _URL.sub(lambda found: found["before"], text) if ";base64," in text else text


def _named(kind: str) -> str:
    return f"{_NAME}.{_ENDINGS.get(kind, kind)}"


def _decoded(written: str) -> bytes:
    data = unquote_to_bytes(written) if "%" in written else written.encode()
    data = b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return b""
