"""Mail reader: letters, mailboxes, and web pages saved in one file (MHTML), by Python's own parser.

Outlook's messages are made into letters in `outlook.py`. What is attached to a letter is named in its text, and is a
document of its own.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path

from localcrag.backends.readers import _kinds, _letter_parts, outlook
from localcrag.backends.readers._data_pictures import was_seen
from localcrag.backends.readers._letter_heads import MALFORMED, HeadPolicy
from localcrag.backends.readers._letter_parts import field
from localcrag.backends.readers._member_names import UNNAMED, within
from localcrag.backends.readers.html import render
from localcrag.backends.readers.text import decode, normalise
from localcrag.records.documents import Member, Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import Heading
from localcrag.text.moments import MONTHS
from localcrag.text.paths import Names

EML, MBOX, MHTML = _letter_parts.LETTER, "application/mbox", "multipart/related"
MOST_NAMED = 6
"""Of the people that a letter goes to, those who are named."""
MOST_LETTERS = 20_000
_POLICY = HeadPolicy()
_LETTER = re.compile(rb"^From .*\r?\n(?=[\w-]+:)", re.MULTILINE)
_FIELD = re.compile(rb"^[\w-]+:[ \t]*\S", re.MULTILINE)


def open_pages(path: Path, name: str, head: bytes, media_type: str) -> tuple[int | None, Generator[Page, None, None]]:
    """Check the file; return how many letters a mailbox has, None of a letter, and the pages, still to be read.

    Raises UnreadableDocument, here and while pages are read.
    """
    if media_type == _kinds.MSG:
        if _kinds.identify(head) != _kinds.OLE:
            raise _kinds.mismatch(path, name, outlook.OUTLOOK, head)
        return None, _pages([outlook.letter(path, name, whole=False)], name, media_type)
    _kinds.expect_text(path, name, "an e-mail", head)
    data = _bytes(path, name)
    if media_type != MBOX:
        return None, _pages([data], name, media_type)
    letters = _letters(data)
    if not letters or len(letters) > MOST_LETTERS:
        raise UnreadableDocument(
            f"{name} cannot be read as a mailbox: it holds {len(letters):,} letters, and one to {MOST_LETTERS:,} can "
            "be read. Export fewer of them from the mail program, and add that."
        )
    return len(letters), _pages(letters, name, media_type)


def members(path: Path, name: str, media_type: str) -> Generator[Member, None, None]:
    """Yield what is attached to a letter, or to those of a mailbox, by the letter's number.

    Pictures within a letter come as well, where they are large enough to show text, each once however often it is
    quoted; signatures are left out. Raises UnreadableDocument.
    """
    names = Names()
    seen: set[bytes] = set()
    for number, one in enumerate(_all(path, name, media_type), start=1):
        letter = _parsed(one)
        folder, sent = f"{number}/" if media_type == MBOX else "", _seconds(letter)
        for part, inside in _letter_parts.files(letter):
            if not _letter_parts.is_signature(part) and not (inside and was_seen(_letter_parts.content(part), seen)):
                yield _member(part, names, folder, sent)
        for named, data in _letter_parts.pictures_in_html(letter, seen):
            yield Member(names.of(within(f"{folder}{named}")), data, sent)


def pictures_of_page(path: Path, name: str) -> Generator[Member, None, None]:
    """Yield the pictures of a web page saved in one file (MHTML) that may show text."""
    names = Names()
    for named, data in _letter_parts.pictures_of_page(_parsed(_bytes(path, name))):
        yield Member(names.of(within(named)), data)


def _all(path: Path, name: str, media_type: str) -> Sequence[bytes | EmailMessage]:
    if media_type == _kinds.MSG:
        return [outlook.letter(path, name, whole=True)]
    data = _bytes(path, name)
    return _letters(data) if media_type == MBOX else [data]


def said_of(path: Path, media_type: str) -> tuple[str | None, str]:
    """Return when a letter was sent, as an ISO date, and its subject; None and empty where it does not say."""
    try:
        is_outlook = media_type == _kinds.MSG
        letter = outlook.letter(path, path.name, whole=False) if is_outlook else _parsed(_bytes(path, path.name))
        sent = _sent(letter)
        return sent.date().isoformat() if sent else None, field(letter, "Subject")
    except (*MALFORMED, RecursionError):
        return None, ""


def _member(part: EmailMessage, names: Names, folder: str, sent: float | None) -> Member:
    try:
        own = _letter_parts.file_name(part)
        return Member(names.of(within(f"{folder}{own}")), _letter_parts.content(part), sent)
    except (*MALFORMED, RecursionError) as error:
        name = names.of(within(f"{folder}{UNNAMED}"))
        kind = type(error).__name__
        said = f"{name} cannot be taken out of its letter ({kind}). Save it in the mail program, and add that."
        return Member(name, b"", error=said)


def _letters(data: bytes) -> list[bytes]:
    lines = list(_LETTER.finditer(data))
    starts, ends = [line.end() for line in lines], [*(line.start() for line in lines[1:]), len(data)]
    return [data[start:end] for start, end in zip(starts, ends, strict=False)]


def _bytes(path: Path, name: str) -> bytes:
    """Return a file's bytes; as UTF-8 where it is in UTF-16, as some programs save letters."""
    data = path.read_bytes()
    head = data[: _kinds.HEAD_BYTES]
    return decode(data, name).encode() if b"\0" in head or head.startswith(codecs.BOM_UTF8) else data


def _pages(letters: Sequence[bytes | EmailMessage], name: str, media_type: str) -> Generator[Page, None, None]:
    for number, data in enumerate(letters, start=1):
        if media_type == EML and isinstance(data, bytes) and not _FIELD.search(data):
            raise UnreadableDocument(
                f"{name} cannot be read as an e-mail: it has no head (From, Date, Subject). "
                "Save it again in the mail program, or give it the name ending that fits its content."
            )
        try:
            page = _page(_parsed(data), name, head_too=media_type != MHTML, titled=media_type == MBOX)
        except RecursionError as error:
            raise UnreadableDocument(
                f"{name} cannot be read: its parts are nested too deeply. Open it in the mail program, and save what "
                "it says as text."
            ) from error
        yield replace(page, number=number if media_type == MBOX else None)


def _page(letter: EmailMessage, name: str, *, head_too: bool, titled: bool) -> Page:
    body = _body(letter, name)
    # A letter's subject is its document's title; those of a mailbox each have their own.
    subject = f"# {subject}\n\n" if titled and (subject := field(letter, "Subject")) else ""
    written = f"{written}\n\n" if head_too and (written := _written(letter)) else ""
    front = normalise(subject + written)
    headings = tuple(Heading(one.start + len(front), one.end + len(front), one.level) for one in body.headings)
    below = [*_addresses(letter), *(f"Attached: {one}" for one in _attached(letter))] if head_too else []
    behind = "".join(f"\n\n{line}" for line in below)
    return Page(None, f"{front}{body.text}{normalise(behind)}", headings=headings)


def _parsed(data: bytes | EmailMessage) -> EmailMessage:
    if isinstance(data, EmailMessage):
        return data
    letter = message_from_bytes(data, policy=_POLICY)
    return letter if isinstance(letter, EmailMessage) else EmailMessage()


def _written(letter: EmailMessage) -> str:
    """Return who wrote to whom and when, as a sentence.

    Fields (“From: …”) in front of a letter hide from relevance-v2 what it says: asked who has the keys, a letter that
    says so has a relevance of 0.05 behind its fields, and of 0.5 behind such a sentence.
    """
    senders, readers = (_people(letter, *fields) for fields in (("From",), ("To", "Cc")))
    day = _day(letter)
    said = " and ".join(name for name, _ in senders) or ("Written" if readers or day else "")
    others = len(readers) - MOST_NAMED
    to = ", ".join(name for name, _ in readers[:MOST_NAMED]) + (f" and {others} others" if others > 0 else "")
    verb = " wrote" if senders else ""
    return f"{said}{verb}{f' to {to}' if to else ''}{f' on {day}' if day else ''}:" if said else ""


def _addresses(letter: EmailMessage) -> list[str]:
    """Return the addresses of those who have a name as well, one a line."""
    people = dict.fromkeys(_people(letter, "From", "To", "Cc"))
    return [f"{name}: {address}" for name, address in [*people][:MOST_NAMED] if address and name != address]


def _people(letter: EmailMessage, *fields: str) -> list[tuple[str, str]]:
    """Return names and addresses of a letter's fields; who has no name is called by the address."""
    found = getaddresses([field(letter, named) for named in fields])
    return [(" ".join(name.split()) or address, address) for name, address in found if name or address]


def _day(letter: EmailMessage) -> str:
    """Return when a letter was sent, in words; as it says itself where that is no date."""
    sent = _sent(letter)
    if sent is None:
        return field(letter, "Date")
    return f"{sent.day} {MONTHS[sent.month - 1]} {sent.year} at {sent.hour}:{sent.minute:02}"


def _sent(letter: EmailMessage) -> datetime | None:
    try:
        return parsedate_to_datetime(field(letter, "Date"))
    except MALFORMED:
        return None


def _seconds(letter: EmailMessage) -> float | None:
    """Return when a letter was sent, in seconds since 1970."""
    try:
        sent = _sent(letter)
        return sent.timestamp() if sent else None
    except (ValueError, OverflowError):
        return None


def _body(letter: EmailMessage, name: str) -> Page:
    """Return what a letter says: as plain text where it has that, else its HTML."""
    try:
        part = letter.get_body(("plain", "html"))
    except MALFORMED:
        part = None
    if part is None:
        part = next((one for one in letter.walk() if one.get_content_maintype() == "text"), None)
    if part is None:
        return Page(None, "")
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    said = normalise(decode(data, name, declared=part.get_content_charset()))
    if part.get_content_subtype() == "html":
        return render(said, name)
    return Page(None, said.strip("\n"))


def _attached(letter: EmailMessage) -> Iterator[str]:
    for part, _ in _letter_parts.files(letter):
        yield " ".join(str(part.get_filename() or part.get_content_type()).split())
