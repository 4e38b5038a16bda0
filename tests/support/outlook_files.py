"""Outlook's messages made from scratch: compound files (OLE), with the properties that a message has."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.support.compound_files import Tree, compound

UNICODE, EIGHT_BIT, BINARY = 0x001F, 0x001E, 0x0102
NUMBER, TRUE_OR_NOT, MOMENT = 0x0003, 0x000B, 0x0040
EPOCH_1601 = 11644473600
"""Seconds from 1601 to 1970."""


@dataclass(frozen=True)
class Attached:
    """A file, a message (then `data` is its tree) or something else that a message has attached, by its `method`."""

    name: str
    data: bytes | Tree
    mime: str = ""
    cid: str = ""
    method: int = 1


@dataclass(frozen=True)
class Message:
    """What a message says; texts are in UTF-16, or in `code_page` where it has one."""

    subject: str = "The keys of Quay Street"
    body: str = ""
    html: bytes = b""
    rtf: bytes = b""
    sender: tuple[str, str] = ("Ada Thorne", "ada@example.org")
    to: Sequence[tuple[str, str]] = (("Bo", ""),)
    all_names: str = ""
    sent: datetime | None = None
    headers: str = ""
    attached: Sequence[Attached] = field(default=())
    code_page: int = 0

    def tree(self, head: int = 32) -> Tree:
        """Return it as folders and streams; its list of properties has a head of so many bytes."""
        made: Tree = {}
        numbers = {(0x3FFD, NUMBER): self.code_page} if self.code_page else {}
        if self.sent:
            numbers[0x0039, MOMENT] = round((self.sent.timestamp() + EPOCH_1601) * 10**7)
        texts = {0x0037: self.subject, 0x1000: self.body, 0x0C1A: self.sender[0], 0x0C1F: self.sender[1]}
        texts |= {0x007D: self.headers, 0x0E04: self.all_names}
        for number, text in texts.items():
            self._put(made, number, text)
        for number, data in {0x1013: self.html, 0x1009: self.rtf}.items():
            if data:
                made[_named(number, BINARY)] = data
        for count, (name, address) in enumerate(self.to):
            one: Tree = {"__properties_version1.0": _listed({(0x0C15, NUMBER): 1}, 8)}
            self._put(one, 0x3001, name)
            self._put(one, 0x39FE, address)
            made[f"__recip_version1.0_#{count:08X}"] = one
        for count, attached in enumerate(self.attached):
            made[f"__attach_version1.0_#{count:08X}"] = self._attachment(attached)
        made["__properties_version1.0"] = _listed(numbers, head)
        return made

    def _attachment(self, attached: Attached) -> Tree:
        made: Tree = {"__properties_version1.0": _listed({(0x3705, NUMBER): attached.method}, 8)}
        for number, text in {0x3707: attached.name, 0x370E: attached.mime, 0x3712: attached.cid}.items():
            self._put(made, number, text)
        made[_named(0x3701, BINARY if isinstance(attached.data, bytes) else 0x000D)] = attached.data
        return made

    def _put(self, made: Tree, number: int, text: str) -> None:
        if text and self.code_page:
            made[_named(number, EIGHT_BIT)] = text.encode(f"cp{self.code_page}")
        elif text:
            made[_named(number, UNICODE)] = text.encode("utf-16-le")


def make_msg(path: Path, message: Message) -> Path:
    """Write a message."""
    path.write_bytes(compound(message.tree()))
    return path


def packed(rtf: bytes) -> bytes:
    """Return RTF as Outlook packs it: letter by letter, but for what follows its first letter from the window."""
    body = b"".join(b"\0" + rtf[start : start + 8] for start in range(0, len(rtf), 8))
    return struct.pack("<II4sI", len(body) + 12, len(rtf), b"LZFu", 0) + body


def _named(number: int, kind: int) -> str:
    return f"__substg1.0_{number:04X}{kind:04X}"


def _listed(numbers: Mapping[tuple[int, int], int], head: int) -> bytes:
    return bytes(head) + b"".join(struct.pack("<HHIQ", kind, of, 6, value) for (of, kind), value in numbers.items())
