"""The files of a letter: what is attached to it, and the pictures that stand within its text.

Programs attach in many ways: behind the text, beside one of its versions (Apple), within what is signed. Of pictures
within a text those count that may show text, as scans and photos do; logos, icons of a signature and what tells that a
letter was opened are smaller.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from email.message import EmailMessage
from urllib.parse import unquote

from localcrag.backends.readers._data_pictures import is_new, pictures_in
from localcrag.backends.readers._letter_heads import MALFORMED
from localcrag.backends.readers._member_names import UNNAMED
from localcrag.backends.readers.shown_pictures import LEAST_PIXELS as LEAST_ON_A_PAGE
from localcrag.backends.readers.shown_pictures import may_show_text

LETTER = "message/rfc822"
LEAST_PIXELS = 150_000
"""Of a picture within a letter: 500 by 300, as of a piece of a screen; banners of signatures are lower."""
LEAST_BYTES = 50_000
"""Of a picture whose pixels cannot be counted, as of a telephone's (HEIC): as a file of its own it says why."""
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
_DRAWINGS = frozenset({"image/svg+xml", "image/x-emf", "image/x-wmf", "image/emf", "image/wmf"})
_REFERRED = re.compile(rb"cid:([^\s\"'<>()]+)", re.IGNORECASE)


def field(letter: EmailMessage, name: str) -> str:
    """Return what a field of a head says, in one line; empty where it says nothing that can be read."""
    try:
        return " ".join(str(letter[name] or "").split())
    except MALFORMED:
        return ""


def files(letter: EmailMessage) -> Iterator[tuple[EmailMessage, bool]]:
    """Yield the parts that are files of their own, each with whether it is a picture that stands within the text."""
    try:
        found = list(_beside_the_text(letter))
        referred = _referred(letter) if any(map(_is_picture, found)) else set()
    except MALFORMED:
        return
    for part in found:
        try:
            inside = _is_picture(part) and _is_within(part, referred)
            counts = not inside or _counts(part)
        except (*MALFORMED, RecursionError):  # Whoever takes it out says so.
            inside, counts = False, True
        if counts:
            yield part, inside


def pictures_in_html(letter: EmailMessage, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the large pictures that are written into a letter's HTML itself, new ones (`was_seen`), with a name."""
    html = _html(letter)
    if b"base64," in html:
        yield from pictures_in(html.decode("latin-1"), LEAST_PIXELS, seen)


def pictures_of_page(page: EmailMessage) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of a web page saved in one file that may show text, each once and with a name.

    They count as those that are written into a page of HTML itself, which come as well.
    """
    seen: set[bytes] = set()
    for part in _beside_the_text(page):
        try:
            is_shown = _is_picture(part) and part.get_content_type() not in _DRAWINGS
            data = content(part) if is_shown else b""
            named = file_name(part) if is_new(data, LEAST_ON_A_PAGE, seen) else ""
        except (*MALFORMED, RecursionError):
            continue
        if named:
            yield named, data
    yield from pictures_in(_html(page).decode("latin-1"), LEAST_ON_A_PAGE, seen)


def is_signature(part: EmailMessage) -> bool:
    """Return whether a part is what a letter was signed with."""
    return part.get_content_type() in _SIGNATURES


def file_name(part: EmailMessage) -> str:
    """Return an attachment's name; of a letter its subject."""
    if part.get_content_type() == LETTER:
        inner = _inner(part)
        return f"{(field(inner, 'Subject') if inner else '').replace('/', ' ') or 'letter'}.eml"
    # Of a web page's pictures, that is where they lay.
    named = part.get_filename() or unquote(field(part, "Content-Location").partition("?")[0].rpartition("/")[2])
    return str(named) if named else f"{UNNAMED}{mimetypes.guess_extension(part.get_content_type()) or ''}"


def content(part: EmailMessage) -> bytes:
    """Return an attachment's bytes; of a letter it as it was written."""
    if part.get_content_type() == LETTER:
        inner = _inner(part)
        return inner.as_bytes() if inner else b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _beside_the_text(letter: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts, within others or not, that are not the text itself or another version of it."""
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
            # As Python's parser has it: the first of each is what the letter says.
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
    except RecursionError:  # Whoever takes it out says so.
        return True


def _is_picture(part: EmailMessage) -> bool:
    if part.get_content_maintype() == "image":
        return True
    by_name = mimetypes.guess_type(str(part.get_filename() or ""))[0] or ""
    return part.get_content_type() == "application/octet-stream" and by_name.startswith("image/")


def _is_within(part: EmailMessage, referred: set[str]) -> bool:
    """Whether a picture stands within the text: some programs give those that are attached a Content-ID as well."""
    own, shown = field(part, "Content-ID").strip("<>"), part.get_content_disposition()
    return shown == "inline" or bool(own and (shown is None or own in referred))


def _counts(part: EmailMessage) -> bool:
    if part.get_content_type() in _DRAWINGS:
        return False
    data = content(part)
    shows = may_show_text(data, LEAST_PIXELS)
    return len(data) >= LEAST_BYTES if shows is None else shows


def _referred(letter: EmailMessage) -> set[str]:
    return {unquote(one.decode("latin-1")) for one in _REFERRED.findall(_html(letter))}


def _html(letter: EmailMessage) -> bytes:
    try:
        part = letter.get_body(("html",))
    except (*MALFORMED, RecursionError):
        return b""
    return content(part) if isinstance(part, EmailMessage) else b""


def _inner(part: EmailMessage) -> EmailMessage | None:
    """Return the letter that is attached."""
    held = part.get_payload()
    first = held[0] if isinstance(held, list) and held else None
    return first if isinstance(first, EmailMessage) else None
