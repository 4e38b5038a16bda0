"""Outlook messages (MSG) as e-mails, and e-mail headers that Python cannot parse.

`HeaderPolicy` keeps a malformed header from making the others unreadable. `unpack_rtf` unpacks the RTF of a message,
`MessageProperties` reads its properties, and `read_message` makes an e-mail of them.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.header import Header
from email.message import EmailMessage
from email.parser import HeaderParser
from email.policy import EmailPolicy
from email.utils import format_datetime, formataddr, parsedate_to_datetime
from pathlib import Path
from typing import Any

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.html import declared_encoding
from localcrag.documents.readers.kinds import MESSAGE_STREAM, Folder
from localcrag.documents.readers.office import office
from localcrag.documents.readers.pictures import UNNAMED
from localcrag.documents.readers.text import decode
from localcrag.records.errors import UnreadableDocument

MALFORMED = (ValueError, IndexError, AttributeError, LookupError, TypeError, OverflowError, MessageError)
"""Exceptions that the e-mail parser raises on malformed headers."""


class HeaderPolicy(EmailPolicy):
    """Like `email.policy.default`, except that a malformed header is read without its parameters, or is empty.

    Headers are parsed on access, so without this policy any access might fail.
    """

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return a parsed header."""
        for readable in (value, value.partition(";")[0]):
            try:
                return super().header_fetch_parse(name, readable)
            except MALFORMED:
                continue
        return super().header_fetch_parse(name, "")


_PACKED, _PLAIN = b"LZFu", b"MELA"
_HEAD = struct.Struct("<II4sI")
"""Number of bytes after the first field, bytes of the RTF, packing method, checksum."""
_WINDOW = 4096
_REFERENCE = 2
"""Bytes of a reference, which is also the shortest length that it can stand for; stored lengths count from there."""
# Initial content of the window, by the specification.
_INITIAL_WINDOW = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0%b\par \pard\plain\f0\fs20\b\i\u\tab\tx"
) % b"\r\n"


def unpack_rtf(data: bytes) -> bytes:
    """Return the RTF, or its beginning if it is cut off. Raises ValueError if it is packed in another way."""
    if len(data) < _HEAD.size:
        raise ValueError("its RTF has no header")
    _, size, how, _ = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if how == _PLAIN:
        return body[:size]
    if how != _PACKED:
        raise ValueError("its RTF has an unknown compression")
    # The result has at most nine times the packed bytes: a reference of two bytes stands for up to 17.
    return _decompress(body, size)[len(_INITIAL_WINDOW) :][:size]


def _decompress(body: bytes, size: int) -> bytes:
    """Return the initial content of the window, followed by up to `size` bytes of RTF and a few more."""
    out, at = bytearray(_INITIAL_WINDOW), 0
    while at < len(body) and len(out) < len(_INITIAL_WINDOW) + size:
        # One byte describes the next eight items: a clear bit is a literal byte, a set bit a reference.
        kinds = body[at]
        at += 1
        for bit in range(8):
            if not kinds >> bit & 1:
                out += body[at : at + 1]
                at += 1
                continue
            if at + _REFERENCE > len(body):
                return bytes(out)
            # A reference has 12 bits for the position in the window and 4 for the length.
            place, length = int.from_bytes(body[at : at + _REFERENCE]) >> 4, (body[at + 1] & 0xF) + _REFERENCE
            at += _REFERENCE
            back = (len(out) - place) % _WINDOW
            if back == 0:  # A reference to itself marks the end.
                return bytes(out)
            for _ in range(length):
                # Positions that have not been written yet are empty.
                out.append(out[-back] if back <= len(out) else 0)
    return bytes(out)


# The stream called MESSAGE_STREAM is the list of short properties; for long ones, it contains their lengths.
_IN_FILE, _IN_MESSAGE, _IN_PART = 32, 24, 8
"""Bytes before the first entry of a list: in the file, in a message within it, and in a recipient or attachment."""
_ENTRY = struct.Struct("<HHIQ")
"""An entry of the list: type, number, flags, value."""
_NUMBERS = {0x0002: 0xFFFF, 0x0003: 0xFFFFFFFF, 0x000B: 0xFF, 0x0014: 2**64 - 1, 0x0040: 2**64 - 1}
"""Types of numbers, booleans and times, with a mask of the bits that each uses."""
_FOLDER, _UNICODE, _EIGHT_BIT, _BINARY = 0x000D, 0x001F, 0x001E, 0x0102
_CODE_PAGES = (0x3FFD, 0x3FDE)
_ENCODINGS = {20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 50220: "iso2022_jp", 51932: "euc_jp", 51949: "euc_kr"}
"""Python's names of code pages that it calls differently; 28591 to 28605 are ISO 8859."""


@dataclass(frozen=True, slots=True)
class MessageProperties:
    """The properties of a message, recipient or attachment.

    `encoding` is the encoding of its 8-bit texts, None if it is not stated.
    """

    _folder: Folder
    _short: dict[int, int]
    encoding: str | None = None

    @classmethod
    def from_message(cls, folder: Folder, begins: int = _IN_FILE) -> MessageProperties:
        """Return the properties of a message. Raises ValueError if it has no property list."""
        if not folder.has(MESSAGE_STREAM):
            raise ValueError("it has no list of properties")
        plain = cls(folder, _short(folder, begins))
        return replace(plain, encoding=next(filter(None, (_encoding(plain.number(one)) for one in _CODE_PAGES)), None))

    def number(self, tag: int) -> int | None:
        """Return a number, a boolean (0 or 1) or a time (100 ns since 1601); None if it is missing."""
        return self._short.get(tag)

    def text(self, tag: int) -> str:
        """Return a text; empty if it is missing."""
        data = self._folder.stream(_stream(tag, _UNICODE))
        if data is not None:
            return data.decode("utf-16-le", "replace").rstrip("\0")
        data = self._folder.stream(_stream(tag, _EIGHT_BIT))
        if not data:
            return ""
        try:
            return decode(data.rstrip(b"\0"), "", declared=self.encoding)
        except UnreadableDocument:  # No text has such bytes, but they must not get lost.
            return data.decode("latin-1")

    def has(self, tag: int) -> bool:
        """Return whether binary data with this number exists."""
        return self._folder.has(_stream(tag, _BINARY))

    def data(self, tag: int) -> bytes:
        """Return binary data; empty if it is missing."""
        return self._folder.stream(_stream(tag, _BINARY)) or b""

    def message(self, tag: int) -> MessageProperties | None:
        """Return a message within this one; None if there is none."""
        folder = self._folder.folder(_stream(tag, _FOLDER))
        return MessageProperties.from_message(folder, _IN_MESSAGE) if folder and folder.has(MESSAGE_STREAM) else None

    def children(self, begins: str) -> Iterator[MessageProperties]:
        """Yield recipients or attachments, ordered by number."""
        for folder in self._folder.folders(begins):
            yield MessageProperties(folder, _short(folder, _IN_PART), self.encoding)


def _short(folder: Folder, begins: int) -> dict[int, int]:
    data = (folder.stream(MESSAGE_STREAM) or b"")[begins:]
    entries = _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size])
    return {number: value & _NUMBERS[kind] for kind, number, _, value in entries if kind in _NUMBERS}


def _stream(tag: int, kind: int) -> str:
    return f"__substg1.0_{tag:04X}{kind:04X}"


def _encoding(code_page: int | None) -> str | None:
    """Return Python's name of a code page; None if Python does not know it."""
    if not code_page:
        return None
    iso = f"iso8859_{code_page - 28590}" if 28591 <= code_page <= 28605 else None
    try:
        return codecs.lookup(iso or _ENCODINGS.get(code_page) or f"cp{code_page}").name
    except LookupError:
        return None


OUTLOOK = "an Outlook message (MSG)"
DEEPEST = 4
"""Levels of nested messages that are unpacked: one more than documents/prepare.py allows, so that it can report that
the limit is exceeded."""
SUBJECT, HEADERS, BODY, HTML, RTF = 0x0037, 0x007D, 0x1000, 0x1013, 0x1009
SENT = (0x0039, 0x0E06, 0x3007)
"""Properties with the time when a message was submitted, delivered or created."""
SENDER = ((0x0C1A, (0x5D01, 0x0C1F)), (0x0042, (0x5D02, 0x0065)))
"""Properties with the name of the sender, and of the person that the sender represents, each with the properties of
their addresses, one of which may be an internal address of Exchange."""
DISPLAY_NAME, ADDRESSES, ROLE = 0x3001, (0x39FE, 0x3003), 0x0C15
ROLES, ALL_NAMES = {"To": 1, "Cc": 2}, {"To": 0x0E04, "Cc": 0x0E03}
"""For each header: the role of its recipients, and the property with all their names, for messages that list no
recipients."""
METHOD, BY_VALUE, DATA = 0x3705, 1, 0x3701
FILE_NAMES, MIME_TYPE, CONTENT_ID, IS_HIDDEN = (0x3707, 0x3704, DISPLAY_NAME), 0x370E, 0x3712, 0x7FFE
_ADDRESS = re.compile(r"[\x21-\x7e]+@[\x21-\x7e]+")
_MIME = re.compile(r"(?!multipart/|message/)[a-z]+/[\w.+-]+", re.ASCII)
# No refolding: headers made here are folded already, and others may not be foldable.
_POLICY = HeaderPolicy(refold_source="none")
_INVISIBLE = re.compile(r"[^\x21-\x7e]+")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read_message(path: Path, name: str, *, with_files: bool) -> EmailMessage:
    """Return a message as an e-mail; with its attachments if `with_files`, otherwise only with their names.

    Raises UnreadableDocument.
    """
    try:
        with kinds.open_compound(path) as root:
            return _to_email(MessageProperties.from_message(root), name, with_files=with_files)
    except kinds.DamagedCompound as error:
        raise packages.damaged(name, OUTLOOK, error) from error


def _to_email(message: MessageProperties, name: str, *, with_files: bool, depth: int = 0) -> EmailMessage:
    made = EmailMessage(_POLICY)
    body, subtype = _body(message, name)
    made.set_content(body, subtype=subtype, cte="base64")
    _set_headers(made, message)
    for attached in message.children("__attach_version1.0_"):
        _attach(made, attached, name, with_files=with_files, depth=depth)
    return made


def _set_headers(made: EmailMessage, message: MessageProperties) -> None:
    made.set_raw("Subject", Header(" ".join(message.text(SUBJECT).split()), "utf-8").encode())
    senders = (_person(message.text(named), message, addresses) for named, addresses in SENDER)
    made.set_raw("From", next(filter(None, senders), ""))
    recipients = message.children("__recip_version1.0_")
    people = [(one.number(ROLE), _person(one.text(DISPLAY_NAME), one, ADDRESSES)) for one in recipients]
    for field, role in ROLES.items():
        named = [who for its, who in people if its == role and who]
        if not people:
            named = [_format_person(one) for one in message.text(ALL_NAMES[field]).split(";") if one.strip()]
        if named:
            made.set_raw(field, ", ".join(named))
    if sent := _sent(message):
        made.set_raw("Date", format_datetime(sent))


def _person(name: str, properties: MessageProperties, addresses: tuple[int, ...]) -> str:
    """Return a person in the form of an e-mail header; empty if there is neither a name nor an address."""
    found = (properties.text(address).strip() for address in addresses)
    address = next((one for one in found if _ADDRESS.fullmatch(one)), "")
    return _format_person(name, address) if name.strip() or address else ""


def _format_person(name: str, address: str = "") -> str:
    # Some programs put names that are addresses in quotation marks.
    return formataddr((" ".join(name.split()).strip("'"), address), "utf-8")


def _sent(message: MessageProperties) -> datetime | None:
    """Return when a message was sent: from its headers in the sender's time zone, or else in the reader's."""
    try:
        return parsedate_to_datetime(HeaderParser().parsestr(message.text(HEADERS))["Date"])
    except (ValueError, TypeError, IndexError, OverflowError):
        pass  # There are no headers, or none with a date.
    ticks = next(filter(None, (message.number(one) for one in SENT)), None)
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).astimezone() if ticks else None
    except (ValueError, OverflowError, OSError):
        return None


def _body(message: MessageProperties, name: str) -> tuple[str, str]:
    """Return the text of a message, and whether it is "plain" text or "html"."""
    if (plain := message.text(BODY)).strip():
        return plain, "plain"
    data = message.data(HTML)
    html = decode(data, name, declared=declared_encoding(data) or message.encoding) if data else message.text(HTML)
    if html.strip():
        return html, "html"
    if rtf := message.data(RTF):
        return office.page(unpack_rtf(rtf), name, kinds.RTF).text, "plain"
    return "", "plain"


def _attach(made: EmailMessage, attached: MessageProperties, name: str, *, with_files: bool, depth: int) -> None:
    named = next(filter(None, (" ".join(attached.text(one).split()) for one in FILE_NAMES)), "")
    if inner := attached.message(DATA):
        if depth < DEEPEST:
            made.add_attachment(_to_email(inner, name, with_files=with_files, depth=depth + 1), filename=named or None)
        return
    # Attachments by reference, for example, have no content in the message.
    if attached.number(METHOD) not in (None, BY_VALUE) or not attached.has(DATA):
        return
    kind = attached.text(MIME_TYPE).strip().lower()
    maintype, subtype = (kind if _MIME.fullmatch(kind) else "application/octet-stream").split("/")
    # An attachment with an id, or a hidden one, is shown within the text; its size decides whether it counts.
    shown = _INVISIBLE.sub("", attached.text(CONTENT_ID)) or attached.number(IS_HIDDEN)
    data, cid = attached.data(DATA) if with_files or shown else b"", f"<{shown}>" if shown else None
    # An inline text attachment would become the text of the message.
    disposition, file = "inline" if shown and maintype != "text" else None, named or UNNAMED
    made.add_attachment(data, maintype=maintype, subtype=subtype, filename=file, cid=cid, disposition=disposition)
