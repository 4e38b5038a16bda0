"""Pictures written into a text as data: URLs: those that may show text, and the text without them."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._member_names import within
from localcrag.backends.readers.shown_pictures import LEAST_PIXELS, MOST_BYTES, may_show_text
from localcrag.records.documents import Member
from localcrag.text.paths import Names

TYPES = frozenset((_kinds.HTML_TYPE, "application/xhtml+xml", "text/markdown"))
"""Media types of texts whose pictures are taken out."""
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


def members(path: Path) -> Generator[Member, None, None]:
    """Yield the pictures of a file that may show text."""
    names = Names()
    for name, data in pictures_in(path.read_bytes().decode("latin-1"), LEAST_PIXELS, set()):
        yield Member(names.of(within(name)), data)


def pictures_in(text: str, least_pixels: int, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of a text that have so many pixels, each once (`was_seen`) and with a name."""
    for found in _URL.finditer(text):
        if len(found["data"]) > MOST_BYTES * 4 // 3:
            continue
        data = _decoded(found["data"])
        if not was_seen(data, seen) and len(data) >= LEAST_BYTES and may_show_text(data, least_pixels):
            kind = found["kind"].lower()
            yield f"{_NAME}.{_ENDINGS.get(kind, kind)}", data


def was_seen(data: bytes, seen: set[bytes]) -> bool:
    """Return whether a picture is among those seen, which are kept by their digests, and put it there."""
    digest = hashlib.sha256(data).digest()
    known = digest in seen
    seen.add(digest)
    return known


def without_pictures(text: str) -> str:
    """Return a text without the letters that pictures are written in: to a reader they say nothing."""
    return _URL.sub(lambda found: found["before"], text) if ";base64," in text else text


def _decoded(written: str) -> bytes:
    data = unquote_to_bytes(written) if "%" in written else written.encode()
    data = b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return b""
