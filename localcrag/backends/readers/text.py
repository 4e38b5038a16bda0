"""Reader for plain text and Markdown in any encoding; decoding and tidying shared by all readers.

What is decided here: which encoding, and which characters a document's text may hold. Of other kinds of text than
Markdown and plain text, `_written_as.py` makes Markdown.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Generator
from pathlib import Path

import charset_normalizer

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._data_pictures import without_pictures
from localcrag.backends.readers._written_as import as_it_reads
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument

# UTF-32's mark begins with UTF-16's, so it has to be asked for first.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Where two encodings read a text equally well, the one named first is the likelier file.
WESTERN = ("cp1252", "cp1250", "iso8859_2", "cp1254")
ANY = (
    *("cp1252", "cp932", "gb18030", "cp949", "big5", "euc_jp", "cp1251", "cp1250", "cp1254", "cp1253", "cp1255"),
    *("cp1256", "koi8_r", "iso8859_2", "iso8859_5", "cp866"),
)
# In Latin scripts accented letters stand alone between ASCII letters; in others nearly every byte is above 127.
# Measured over 30 short samples in 16 languages: at most 1.7 bytes a run (Polish) against at least 2.2 (Japanese).
WESTERN_RUN = 2.0
# charset-normalizer compares every candidate over the whole sample; more than this does not change its mind.
SAMPLE_BYTES = 100_000
# A text file has next to no control characters; machine code and media have several per cent.
CONTROL_SHARE = 0.01
# Damage, or a pasted character, that does not make a file's own claim about its encoding wrong.
STRAY_SHARE = 0.005
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")

NEWLINES = re.compile(r"\r\n?|[\f\v\x85]")
# Controls but tab and newline; lone surrogates and non-characters, which no database or model takes.
UNWANTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return its one page, without a number, still to be read.

    Raises UnreadableDocument, here and while the page is read.
    """
    _kinds.expect_text(path, name, "a text file", head)
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    content = without_pictures(normalise(decode(path.read_bytes(), name)))
    yield Page(None, as_it_reads(content, name))


def normalise(text: str) -> str:
    """Return `text` in NFC, lines ended by a newline, without control characters other than newline and tab."""
    return unicodedata.normalize("NFC", UNWANTED.sub("", NEWLINES.sub("\n", text)))


def decode(data: bytes, name: str, declared: str | None = None) -> str:
    """Return the text that `data` is, by its byte order mark, as UTF-8, by `declared`, or by what its bytes look like.

    `declared` is an encoding that the file claims for itself; it is honoured unless the file plainly is not in it.
    Raises UnreadableDocument when the bytes are not text.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _text(data[len(mark) :].decode(encoding, "replace"), name)
    if b"\x1b$" in data and data.isascii():
        return _text(data.decode("iso2022_jp", "replace"), name)
    text = _utf16(data)
    if text is None:
        # Bytes above 127 that happen to be valid UTF-8 are UTF-8, whatever the file claims.
        text = _strictly(data, "utf-8")
    if text is None and declared is not None:
        text = _nearly(data, declared)
    if text is None:
        text = _mostly_utf8(data)
    return _text(_guess(data, name) if text is None else text, name)


def _text(text: str, name: str) -> str:
    if len(CONTROLS.findall(text)) > CONTROL_SHARE * len(text):
        raise UnreadableDocument(_not_text(name))
    return text


def _not_text(name: str) -> str:
    return (
        f"{name} is not a text file: its bytes are not in any known text encoding. "
        "Open it in the program it comes from, save it as UTF-8 text or as PDF, and add that."
    )


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _nearly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError):  # There is no such encoding, or it is none of texts.
        return None
    return text if text.count("\ufffd") <= STRAY_SHARE * len(text) else None


def _utf16(data: bytes) -> str | None:
    """Return the text of UTF-16 without a byte order mark: every other byte of its ASCII characters is NUL."""
    even, odd = data[0:SAMPLE_BYTES:2].count(0), data[1:SAMPLE_BYTES:2].count(0)
    if even + odd < min(len(data), SAMPLE_BYTES) * 0.2 or min(even, odd) * 20 > max(even, odd):
        return None
    return _strictly(data[: len(data) // 2 * 2], "utf-16-le" if odd > even else "utf-16-be")


def _mostly_utf8(data: bytes) -> str | None:
    """Return the text of UTF-8 with a few stray bytes, which are read as cp1252."""
    text = data.decode("utf-8", "surrogateescape")
    strays = len(re.findall(r"[\udc80-\udcff]", text))
    beyond_ascii = len(re.findall(r"[^\x00-\x7f\udc80-\udcff]", text))
    if strays * 10 > beyond_ascii:
        return None
    return re.sub("[\udc80-\udcff]", lambda stray: _stray(stray[0]), text)


def _stray(character: str) -> str:
    return bytes([ord(character) - 0xDC00]).decode("cp1252", "replace")


def _guess(data: bytes, name: str) -> str:
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:SAMPLE_BYTES]
    runs = re.findall(rb"[\x80-\xff]+", lines)
    western = sum(map(len, runs)) < WESTERN_RUN * len(runs)
    candidates = WESTERN if western else ANY
    matches = charset_normalizer.from_bytes(lines, cp_isolation=list(candidates))
    best = matches.best()
    if best is None and not western:
        raise UnreadableDocument(_not_text(name))
    equals = [m.encoding for m in matches if best and m.chaos <= best.chaos and m.coherence >= best.coherence]
    return data.decode(min(equals, key=candidates.index, default="cp1252"), "replace")
