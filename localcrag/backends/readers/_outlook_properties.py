"""Properties of Outlook's messages, recipients and attachments: texts, numbers and data."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from localcrag.backends.readers._compound import Folder
from localcrag.backends.readers._kinds import MESSAGE
from localcrag.backends.readers.text import decode
from localcrag.records.errors import UnreadableDocument

LIST = MESSAGE
"""The list of short properties; of the long ones it has the lengths."""
_IN_FILE, _IN_MESSAGE, _IN_PART = 32, 24, 8
"""Bytes before the first entry of a list: of the file, of a message within, of a recipient or attachment."""
_ENTRY = struct.Struct("<HHIQ")
"""Type, number, flags, value."""
_NUMBERS = {0x0002: 0xFFFF, 0x0003: 0xFFFFFFFF, 0x000B: 0xFF, 0x0014: 2**64 - 1, 0x0040: 2**64 - 1}
"""Types of numbers, truth values and moments, and the bits of each."""
_FOLDER, _UNICODE, _EIGHT_BIT, _BINARY = 0x000D, 0x001F, 0x001E, 0x0102
_CODE_PAGES = (0x3FFD, 0x3FDE)
_ENCODINGS = {20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 50220: "iso2022_jp", 51932: "euc_jp", 51949: "euc_kr"}
"""Of those code pages that Python calls otherwise, its names; 28591 to 28605 are ISO 8859."""


@dataclass(frozen=True, slots=True)
class Properties:
    """What is known of a message, a recipient or an attachment; `encoding` is that of its 8-bit texts, None unsaid."""

    _folder: Folder
    _short: dict[int, int]
    encoding: str | None = None

    @classmethod
    def of_message(cls, folder: Folder, begins: int = _IN_FILE) -> Properties:
        """Return those of a message. Raises ValueError when it has no list of them."""
        if not folder.has(LIST):
            raise ValueError("it has no list of properties")
        plain = cls(folder, _short(folder, begins))
        return replace(plain, encoding=next(filter(None, (_encoding(plain.number(one)) for one in _CODE_PAGES)), None))

    def number(self, of: int) -> int | None:
        """Return a number, a truth value (0 or 1) or a moment (100 ns since 1601); None where it is not told."""
        return self._short.get(of)

    def text(self, of: int) -> str:
        """Return a text, empty where there is none."""
        data = self._folder.stream(_stream(of, _UNICODE))
        if data is not None:
            return data.decode("utf-16-le", "replace").rstrip("\0")
        data = self._folder.stream(_stream(of, _EIGHT_BIT))
        if not data:
            return ""
        try:
            return decode(data.rstrip(b"\0"), "", declared=self.encoding)
        except UnreadableDocument:  # Its bytes are none that a text has: whatever they are, they are not lost.
            return data.decode("latin-1")

    def has(self, of: int) -> bool:
        """Return whether there is data of this number."""
        return self._folder.has(_stream(of, _BINARY))

    def data(self, of: int) -> bytes:
        """Return bytes, none where there are none."""
        return self._folder.stream(_stream(of, _BINARY)) or b""

    def message(self, of: int) -> Properties | None:
        """Return a message within; None where there is none."""
        folder = self._folder.folder(_stream(of, _FOLDER))
        return Properties.of_message(folder, _IN_MESSAGE) if folder and folder.has(LIST) else None

    def within(self, begins: str) -> Iterator[Properties]:
        """Yield recipients or attachments, by their numbers."""
        for folder in self._folder.folders(begins):
            yield Properties(folder, _short(folder, _IN_PART), self.encoding)


def _short(folder: Folder, begins: int) -> dict[int, int]:
    data = (folder.stream(LIST) or b"")[begins:]
    entries = _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size])
    return {number: value & _NUMBERS[kind] for kind, number, _, value in entries if kind in _NUMBERS}


def _stream(of: int, kind: int) -> str:
    return f"__substg1.0_{of:04X}{kind:04X}"


def _encoding(code_page: int | None) -> str | None:
    """Return Python's name of a code page, None where it has none."""
    if not code_page:
        return None
    iso = f"iso8859_{code_page - 28590}" if 28591 <= code_page <= 28605 else None
    try:
        return codecs.lookup(iso or _ENCODINGS.get(code_page) or f"cp{code_page}").name
    except LookupError:
        return None
