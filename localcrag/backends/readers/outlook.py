"""Outlook reader: messages (MSG) are made into letters as other programs write them (`mail.py`).

A message is a compound file, in which each property is a stream, or an entry of a list where it is short. Recipients,
attachments and messages within are folders of the same kind ([MS-OXMSG], numbers of properties: [MS-OXPROPS]). What is
attached but lies elsewhere (on a server), and objects that are shown within a text (OLE), are left out: they are no
files.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.message import EmailMessage
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr, parsedate_to_datetime
from pathlib import Path

from localcrag.backends.readers import _compound, _kinds, _packages, office
from localcrag.backends.readers._letter_heads import HeadPolicy
from localcrag.backends.readers._member_names import UNNAMED
from localcrag.backends.readers._outlook_properties import Properties
from localcrag.backends.readers._rtf_packed import unpacked
from localcrag.backends.readers.html import declared_encoding
from localcrag.backends.readers.text import decode

OUTLOOK = "an Outlook message (MSG)"
DEEPEST = 4
"""Messages within messages that are taken out: one more than is added (steps/ingest/members.py), so that it is said."""
SUBJECT, HEADERS, BODY, HTML, RTF = 0x0037, 0x007D, 0x1000, 0x1013, 0x1009
SENT = (0x0039, 0x0E06, 0x3007)
"""When it was submitted, delivered or made."""
SENDER = ((0x0C1A, (0x5D01, 0x0C1F)), (0x0042, (0x5D02, 0x0065)))
"""Names of who sent it and for whom, each with the addresses, of which one may be Exchange's own."""
DISPLAY_NAME, ADDRESSES, ROLE = 0x3001, (0x39FE, 0x3003), 0x0C15
ROLES, ALL_NAMES = {"To": 1, "Cc": 2}, {"To": 0x0E04, "Cc": 0x0E03}
"""By field: the role of a recipient, and the property that has all names where no recipient is told."""
METHOD, BY_VALUE, DATA = 0x3705, 1, 0x3701
FILE_NAMES, MIME_TYPE, CONTENT_ID, IS_HIDDEN = (0x3707, 0x3704, DISPLAY_NAME), 0x370E, 0x3712, 0x7FFE
_ADDRESS = re.compile(r"[\x21-\x7e]+@[\x21-\x7e]+")
_MIME = re.compile(r"(?!multipart/|message/)[a-z]+/[\w.+-]+", re.ASCII)
# As it stands: a head that was made here is folded already, and one that was not may not be foldable.
_POLICY = HeadPolicy(refold_source="none")
_UNSEEN = re.compile(r"[^\x21-\x7e]+")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def letter(path: Path, name: str, *, whole: bool) -> EmailMessage:
    """Return a message as a letter; `whole` with what is attached, else with the names of that alone.

    Raises UnreadableDocument.
    """
    try:
        with _compound.opened(path) as root:
            return _letter(Properties.of_message(root), name, whole=whole)
    except _compound.DamagedCompound as error:
        raise _packages.damaged(name, OUTLOOK, error) from error


def _letter(message: Properties, name: str, *, whole: bool, depth: int = 0) -> EmailMessage:
    made = EmailMessage(_POLICY)
    said, subtype = _body(message, name)
    made.set_content(said, subtype=subtype, cte="base64")
    _put_heads(made, message)
    for attached in message.within("__attach_version1.0_"):
        _attach(made, attached, name, whole=whole, depth=depth)
    return made


def _put_heads(made: EmailMessage, message: Properties) -> None:
    made.set_raw("Subject", _head(message.text(SUBJECT)))
    senders = (_person(message.text(named), message, addresses) for named, addresses in SENDER)
    made.set_raw("From", next(filter(None, senders), ""))
    recipients = message.within("__recip_version1.0_")
    people = [(one.number(ROLE), _person(one.text(DISPLAY_NAME), one, ADDRESSES)) for one in recipients]
    for field, role in ROLES.items():
        named = [who for its, who in people if its == role and who]
        if not people:
            named = [_named(one) for one in message.text(ALL_NAMES[field]).split(";") if one.strip()]
        if named:
            made.set_raw(field, ", ".join(named))
    if sent := _sent(message):
        made.set_raw("Date", format_datetime(sent))


def _person(name: str, of: Properties, addresses: tuple[int, ...]) -> str:
    """Return a person as a field of a letter names them; empty where nobody is named."""
    found = (of.text(address).strip() for address in addresses)
    address = next((one for one in found if _ADDRESS.fullmatch(one)), "")
    return _named(name, address) if name.strip() or address else ""


def _named(name: str, address: str = "") -> str:
    # Some programs put names that are addresses between quotation marks.
    return formataddr((" ".join(name.split()).strip("'"), address), "utf-8")


def _head(said: str) -> str:
    """Return a line of a head in letters that any head may have."""
    return Header(" ".join(said.split()), "utf-8").encode()


def _sent(message: Properties) -> datetime | None:
    """Return when a message was sent: as its head says, which has the sender's time zone, else in the reader's."""
    try:
        return parsedate_to_datetime(HeaderParser().parsestr(message.text(HEADERS))["Date"])
    except (ValueError, TypeError, IndexError, OverflowError):
        pass  # There is no head, or none that says so.
    ticks = next(filter(None, (message.number(one) for one in SENT)), None)
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).astimezone() if ticks else None
    except (ValueError, OverflowError, OSError):
        return None


def _body(message: Properties, name: str) -> tuple[str, str]:
    """Return what a message says, and whether that is "plain" text or "html"."""
    if (plain := message.text(BODY)).strip():
        return plain, "plain"
    data = message.data(HTML)
    html = decode(data, name, declared=declared_encoding(data) or message.encoding) if data else message.text(HTML)
    if html.strip():
        return html, "html"
    if rtf := message.data(RTF):
        return office.page(None, unpacked(rtf), name, _kinds.RTF).text, "plain"
    return "", "plain"


def _attach(made: EmailMessage, attached: Properties, name: str, *, whole: bool, depth: int) -> None:
    named = next(filter(None, (" ".join(attached.text(one).split()) for one in FILE_NAMES)), "")
    if inner := attached.message(DATA):
        if depth < DEEPEST:
            within = _letter(inner, name, whole=whole, depth=depth + 1)
            made.add_attachment(within, filename=named or None)
        return
    if attached.number(METHOD) not in (None, BY_VALUE) or not attached.has(DATA):
        return
    kind = attached.text(MIME_TYPE).strip().lower()
    maintype, subtype = (kind if _MIME.fullmatch(kind) else "application/octet-stream").split("/")
    # What has such a name, or is not listed, is shown within the text; how large it is tells whether it counts.
    shown = _UNSEEN.sub("", attached.text(CONTENT_ID)) or attached.number(IS_HIDDEN)
    data = attached.data(DATA) if whole or shown else b""
    made.add_attachment(
        data,
        maintype=maintype,
        subtype=subtype,
        filename=named or UNNAMED,
        cid=f"<{shown}>" if shown else None,
        # Inline, a text would be what the message says.
        disposition="inline" if shown and maintype != "text" else None,
    )
