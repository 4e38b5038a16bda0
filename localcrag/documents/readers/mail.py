"""E-mails, mailboxes and web pages saved in one file (MHTML): their text, attachments and pictures.

Mail programs attach files in many ways: after the text, next to one of its versions (Apple), or within the signed part.
Pictures within a text count if they may show text, such as scans and photos. Logos, icons in a signature and tracking
pixels are smaller, and are left out.
"""

from __future__ import annotations

import codecs
import mimetypes
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote

from localcrag.documents.readers import kinds, outlook
from localcrag.documents.readers.html import render
from localcrag.documents.readers.outlook import MALFORMED, HeaderPolicy
from localcrag.documents.readers.pictures import LEAST_PIXELS as LEAST_ON_A_PAGE
from localcrag.documents.readers.pictures import UNNAMED, is_new, may_show_text, pictures_in, safe_path, was_seen
from localcrag.documents.readers.text import decode, normalise
from localcrag.records.documents import Member, Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import Heading
from localcrag.text.places import UniqueNames
from localcrag.text.quantities import MONTHS
from localcrag.text.words import one_line

EMAIL_TYPE = "message/rfc822"
LEAST_PIXELS = 150_000
"""Minimum number of pixels of a picture within an e-mail: 500 by 300, such as a part of a screenshot; banners in
signatures have fewer."""
LEAST_BYTES = 50_000
"""Minimum bytes of a picture whose pixels cannot be counted, such as a phone's (HEIC) picture; when it is added, an
error gives the reason."""
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
_DRAWINGS = frozenset({"image/svg+xml", "image/x-emf", "image/x-wmf", "image/emf", "image/wmf"})
_CID_REFERENCE = re.compile(rb"cid:([^\s\"'<>()]+)", re.IGNORECASE)


def header_value(letter: EmailMessage, name: str) -> str:
    """Return the value of a header in one line; empty if it is missing or cannot be read."""
    try:
        return " ".join(str(letter[name] or "").split())
    except MALFORMED:
        return ""


def attachments(letter: EmailMessage) -> Iterator[tuple[EmailMessage, bool]]:
    """Yield the parts that are separate files, each with whether it is a picture within the text."""
    try:
        found = list(_attached_parts(letter))
        written = _CID_REFERENCE.findall(_html(letter)) if any(map(_is_picture, found)) else []
        referred = {unquote(one.decode("latin-1")) for one in written}
    except MALFORMED:
        return
    for part in found:
        try:
            inside = _is_picture(part) and _is_inline(part, referred)
            counts = not inside or _is_large_enough(part)
        except (*MALFORMED, RecursionError):  # The error is reported when the part is unpacked.
            inside, counts = False, True
        if counts:
            yield part, inside


def file_name(part: EmailMessage) -> str:
    """Return an attachment's name; for an attached e-mail, its subject."""
    if part.get_content_type() == EMAIL_TYPE:
        inner = _attached_email(part)
        return f"{(header_value(inner, 'Subject') if inner else '').replace('/', ' ') or 'letter'}.eml"
    # A web page's pictures are named after their addresses.
    named = part.get_filename() or unquote(header_value(part, "Content-Location").partition("?")[0].rpartition("/")[2])
    return str(named) if named else f"{UNNAMED}{mimetypes.guess_extension(part.get_content_type()) or ''}"


def content(part: MIMEPart) -> bytes:
    """Return an attachment's bytes; for an attached e-mail, its source."""
    if part.get_content_type() == EMAIL_TYPE:
        inner = _attached_email(part)
        return inner.as_bytes() if inner else b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _attached_parts(letter: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts, nested or not, that are neither the text itself nor another version of it."""
    # Each entry is a part, whether it is one of several versions of the text, and whether it is a file.
    under = [(letter, False, letter.get_content_maintype() != "text")]
    while under:
        part, other_version, is_file = under.pop()
        if part.get_content_maintype() != "multipart":
            if is_file:
                yield part
            continue
        other_version = other_version or part.get_content_subtype() == "alternative"
        seen: set[str] = set()
        within = []
        for one in _parts(part):
            subtype = one.get_content_subtype()
            text = one.get_content_maintype() == "text" and not _is_attachment(one)
            # As in Python's parser, the first part of each subtype is the text of the e-mail.
            says = text and (other_version or (subtype in {"plain", "html"} and subtype not in seen))
            seen.update({subtype} if says else ())
            within.append((one, other_version, not says))
        under += reversed(within)


def _parts(part: EmailMessage) -> list[EmailMessage]:
    held = part.get_payload()
    return [one for one in held if isinstance(one, EmailMessage)] if isinstance(held, list) else []


def _is_attachment(part: EmailMessage) -> bool:
    try:
        return part.is_attachment()
    except RecursionError:  # The error is reported when the part is unpacked.
        return True


def _is_picture(part: EmailMessage) -> bool:
    if part.get_content_maintype() == "image":
        return True
    by_name = mimetypes.guess_type(str(part.get_filename() or ""))[0] or ""
    return part.get_content_type() == "application/octet-stream" and by_name.startswith("image/")


def _is_inline(part: EmailMessage, referred: set[str]) -> bool:
    """Return whether a picture is within the text.

    A Content-ID is not enough, because some programs also give one to attached pictures.
    """
    own, shown = header_value(part, "Content-ID").strip("<>"), part.get_content_disposition()
    return shown == "inline" or bool(own and (shown is None or own in referred))


def _is_large_enough(part: EmailMessage) -> bool:
    if part.get_content_type() in _DRAWINGS:
        return False
    data = content(part)
    shows = may_show_text(data, LEAST_PIXELS)
    return len(data) >= LEAST_BYTES if shows is None else shows


def _html(letter: EmailMessage) -> bytes:
    try:
        part = letter.get_body(("html",))
    except (*MALFORMED, RecursionError):
        return b""
    return content(part) if part else b""


def _attached_email(part: MIMEPart) -> EmailMessage | None:
    """Return the attached e-mail, or None."""
    held = part.get_payload()
    first = held[0] if isinstance(held, list) and held else None
    return first if isinstance(first, EmailMessage) else None


EML, MBOX, MHTML = EMAIL_TYPE, "application/mbox", "multipart/related"
MOST_NAMED = 6
"""Maximum number of an e-mail's recipients to name."""
MOST_EMAILS = 20_000
_POLICY = HeaderPolicy()
_FROM_LINE = re.compile(rb"^From .*\r?\n(?=[\w-]+:)", re.MULTILINE)
_FIELD = re.compile(rb"^[\w-]+:[ \t]*\S", re.MULTILINE)


def open_pages(path: Path, name: str, head: bytes, media_type: str) -> tuple[int | None, Generator[Page, None, None]]:
    """Check the file; return a mailbox's number of e-mails (None for a single e-mail) and a generator of the pages.

    Raises UnreadableDocument, both here and while pages are read.
    """
    if media_type != kinds.MSG:
        kinds.expect_text(path, name, "an e-mail", head)
    elif kinds.identify(head) != kinds.OLE:
        raise kinds.mismatch(path, name, outlook.OUTLOOK, head)
    letters = _read_emails(path, name, media_type, with_files=False)
    if media_type != MBOX:
        return None, _pages(letters, name, media_type)
    if not letters or len(letters) > MOST_EMAILS:
        raise UnreadableDocument(
            f"{name} cannot be read as a mailbox: it has {len(letters):,} messages, and localcrag reads 1 to "
            f"{MOST_EMAILS:,}. Export it again from the mail program, in parts if it is large, and add that."
        )
    return len(letters), _pages(letters, name, media_type)


def members(path: Path, name: str, media_type: str) -> Generator[Member, None, None]:
    """Yield the attachments of an e-mail, or of each e-mail in a mailbox, in a folder with the e-mail's number.

    Pictures within the text are included if they are large enough to show text, each once however often they are
    quoted; signatures are left out. Raises UnreadableDocument.
    """
    names = UniqueNames()
    seen: set[bytes] = set()
    for number, one in enumerate(_read_emails(path, name, media_type, with_files=True), start=1):
        letter = _parsed(one)
        folder, sent = f"{number}/" if media_type == MBOX else "", _seconds(letter)
        for part, inside in attachments(letter):
            if part.get_content_type() not in _SIGNATURES and not (inside and was_seen(content(part), seen)):
                yield _member(part, names, folder, sent)
        html = _html(letter)
        for named, data in pictures_in(html.decode("latin-1"), LEAST_PIXELS, seen) if b"base64," in html else ():
            yield Member(names.of(safe_path(f"{folder}{named}")), data, sent)


def pictures_of_page(path: Path, name: str) -> Generator[Member, None, None]:
    """Yield the pictures of a web page saved in one file (MHTML) that may show text, each once.

    The limits are those for pictures embedded in HTML, which are yielded, too.
    """
    names, seen = UniqueNames(), set[bytes]()
    page = _parsed(_read_bytes(path, name))
    for part in _attached_parts(page):
        try:
            is_shown = _is_picture(part) and part.get_content_type() not in _DRAWINGS
            data = content(part) if is_shown else b""
            named = file_name(part) if is_new(data, LEAST_ON_A_PAGE, seen) else ""
        except (*MALFORMED, RecursionError):
            continue
        if named:
            yield Member(names.of(safe_path(named)), data)
    for named, data in pictures_in(_html(page).decode("latin-1"), LEAST_ON_A_PAGE, seen):
        yield Member(names.of(safe_path(named)), data)


def _read_emails(path: Path, name: str, media_type: str, *, with_files: bool) -> Sequence[bytes | EmailMessage]:
    """Return the e-mails of a file; those of Outlook with their attachments if `with_files`."""
    if media_type == kinds.MSG:
        return [outlook.read_message(path, name, with_files=with_files)]
    data = _read_bytes(path, name)
    return _FROM_LINE.split(data)[1:] if media_type == MBOX else [data]


def date_and_subject(path: Path, media_type: str) -> tuple[str | None, str]:
    """Return an e-mail's ISO date and subject; None and "" if they are missing."""
    try:
        letter = _parsed(_read_emails(path, path.name, media_type, with_files=False)[0])
        sent = _sent(letter)
        return sent.date().isoformat() if sent else None, header_value(letter, "Subject")
    except (*MALFORMED, RecursionError):
        return None, ""


def _member(part: EmailMessage, names: UniqueNames, folder: str, sent: float | None) -> Member:
    try:
        own = file_name(part)
        return Member(names.of(safe_path(f"{folder}{own}")), content(part), sent)
    except (*MALFORMED, RecursionError) as error:
        name = names.of(safe_path(f"{folder}{UNNAMED}"))
        kind = type(error).__name__
        message = f"{name} cannot be extracted from its message ({kind}). Save it from your mail program, then add it."
        return Member(name, b"", error=message)


def _read_bytes(path: Path, name: str) -> bytes:
    """Return a file's bytes; UTF-16, which some programs use for e-mails, becomes UTF-8."""
    data = path.read_bytes()
    head = data[: kinds.HEAD_BYTES]
    return decode(data, name).encode() if b"\0" in head or head.startswith(codecs.BOM_UTF8) else data


def _pages(letters: Sequence[bytes | EmailMessage], name: str, media_type: str) -> Generator[Page, None, None]:
    for number, data in enumerate(letters, start=1):
        if media_type == EML and isinstance(data, bytes) and not _FIELD.search(data):
            why = f"{name} cannot be read as an e-mail: it has no headers (From, Date, Subject)."
            remedy = "Save it again in the mail program, or give it the name ending that fits its content."
            raise UnreadableDocument(f"{why} {remedy}")
        try:
            page = _page(_parsed(data), name, with_headers=media_type != MHTML, titled=media_type == MBOX)
        except RecursionError as error:
            why = f"{name} cannot be read: its parts are nested too deeply."
            raise UnreadableDocument(f"{why} Open it in the mail program, and save the message as text.") from error
        yield replace(page, number=number if media_type == MBOX else None)


def _page(letter: EmailMessage, name: str, *, with_headers: bool, titled: bool) -> Page:
    body = _body(letter, name)
    # An e-mail's subject is its document's title, but in a mailbox each e-mail has its own subject.
    subject = f"# {subject}\n\n" if titled and (subject := header_value(letter, "Subject")) else ""
    written = f"{written}\n\n" if with_headers and (written := _sender_sentence(letter)) else ""
    front = normalise(subject + written)
    headings = tuple(Heading(one.start + len(front), one.end + len(front), one.level) for one in body.headings)
    files = (str(part.get_filename() or part.get_content_type()) for part, _ in attachments(letter))
    below = [*_addresses(letter), *(f"Attached: {one_line(file)}" for file in files)] if with_headers else []
    behind = "".join(f"\n\n{line}" for line in below)
    return Page(None, f"{front}{body.text}{normalise(behind)}", headings=headings)


def _parsed(data: bytes | EmailMessage) -> EmailMessage:
    if isinstance(data, EmailMessage):
        return data
    letter = message_from_bytes(data, policy=_POLICY)
    return letter if isinstance(letter, EmailMessage) else EmailMessage()


def _sender_sentence(letter: EmailMessage) -> str:
    """Return the sender, the recipients and the date as a sentence.

    Headers (“From: …”) in front of an e-mail hide its content from relevance-v2: for the question who has the keys, an
    e-mail with the answer has a relevance of 0.05 after its headers, and of 0.5 after such a sentence.
    """
    senders, readers = (_people(letter, *fields) for fields in (("From",), ("To", "Cc")))
    day = _day(letter)
    writers = " and ".join(name for name, _ in senders) or ("Written" if readers or day else "")
    others = len(readers) - MOST_NAMED
    to = ", ".join(name for name, _ in readers[:MOST_NAMED]) + (f" and {others} others" if others > 0 else "")
    verb = " wrote" if senders else ""
    return f"{writers}{verb}{f' to {to}' if to else ''}{f' on {day}' if day else ''}:" if writers else ""


def _addresses(letter: EmailMessage) -> list[str]:
    """Return the addresses of people who also have a name, one per line."""
    people = dict.fromkeys(_people(letter, "From", "To", "Cc"))
    return [f"{name}: {address}" for name, address in [*people][:MOST_NAMED] if address and name != address]


def _people(letter: EmailMessage, *fields: str) -> list[tuple[str, str]]:
    """Return the names and addresses in an e-mail's headers; the address replaces a missing name."""
    found = getaddresses([header_value(letter, named) for named in fields])
    return [(" ".join(name.split()) or address, address) for name, address in found if name or address]


def _day(letter: EmailMessage) -> str:
    """Return when an e-mail was sent, in words; if its Date header is not a date, return the header itself."""
    if sent := _sent(letter):
        return f"{sent.day} {MONTHS[sent.month - 1]} {sent.year} at {sent.hour}:{sent.minute:02}"
    return header_value(letter, "Date")


def _sent(letter: EmailMessage) -> datetime | None:
    try:
        return parsedate_to_datetime(header_value(letter, "Date"))
    except MALFORMED:
        return None


def _seconds(letter: EmailMessage) -> float | None:
    """Return when an e-mail was sent, in seconds since 1970."""
    try:
        sent = _sent(letter)
        return sent.timestamp() if sent else None
    except (ValueError, OverflowError):
        return None


def _body(letter: EmailMessage, name: str) -> Page:
    """Return the text of an e-mail: its plain text if there is one, otherwise its HTML."""
    try:
        part = letter.get_body(("plain", "html"))
    except MALFORMED:
        part = None
    if part is None:
        part = next((one for one in letter.walk() if one.get_content_maintype() == "text"), None)
    if part is None:
        return Page(None, "")
    text = normalise(decode(content(part), name, declared=part.get_content_charset()))
    if part.get_content_subtype() == "html":
        return render(text, name)
    return Page(None, text.strip("\n"))
