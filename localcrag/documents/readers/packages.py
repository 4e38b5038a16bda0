"""ZIP files: office packages, and archives whose members are documents of their own."""

from __future__ import annotations

import re
import zipfile
from calendar import timegm
from collections.abc import Generator, Iterable
from io import BytesIO
from pathlib import Path

from localcrag.documents.readers import kinds
from localcrag.documents.readers.pictures import safe_path
from localcrag.records.documents import Member
from localcrag.records.errors import EncryptedDocument, PasswordNeeded, UnreadableDocument
from localcrag.text.places import UniqueNames, is_hidden


def password_needed(name: str, known: str | None = None) -> PasswordNeeded:
    """Return the error for a file with a password; `known` is a password that programs try without asking."""
    error = PasswordNeeded(f"{name} is protected with a password. Give it on the page, or in a terminal.")
    error.known = known
    return error


def wrong_password(name: str) -> PasswordNeeded:
    """Return the error for a wrong password."""
    return PasswordNeeded(f"{name} has another password. Try again.")


def unsupported_encryption(name: str) -> EncryptedDocument:
    """Return the error for an office file with unsupported encryption."""
    why = f"{name} is protected with a password, in a way that cannot be opened here."
    remedy = "Save a copy without one in the program that it comes from (in Word: File, Info, Protect Document)"
    return EncryptedDocument(f"{why} {remedy} and add that.")


# A small file that unpacks to more than this is an attack or a mistake, not a text.
MAX_UNPACKED_BYTES = 500_000_000
# XML shrinks to a twentieth, at most to a hundredth; parts smaller than BIG_PART_BYTES can do no harm.
MAX_RATIO = 200
BIG_PART_BYTES = 10_000_000
# Readers take about a second and 30 MB of memory for each MB of XML, and no book is that long.
MAX_XML_BYTES = 100_000_000
MOST_PARTS = 20_000


def check(path: Path, name: str, what: str, head: bytes, *, remedy: str = "save it as PDF and add that") -> None:
    """Check that a file, if it is a ZIP, is not encrypted and can be unpacked; `what` is its expected kind.

    `remedy` is the advice for a genuine file that is too large. Raises EncryptedDocument and UnreadableDocument.
    """
    if kinds.identify(head) != kinds.ZIP:
        return
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except kinds.ZIP_ERRORS as error:
        raise damaged(name, what, error) from error
    if any(part.flag_bits & 0x1 for part in parts):
        raise unsupported_encryption(name)
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED_BYTES or len(parts) > MOST_PARTS or any(map(_oversized, parts)):
        size = f"{unpacked / 1e6:,.0f} MB in {len(parts):,} parts, far more than a document of its size should contain"
        raise UnreadableDocument(f"{name} unpacks to {size}, so it was not read. If it is genuine, {remedy}.")
    # Parts that overlap, as in ZIP bombs, add up to more than the file.
    if sum(part.compress_size for part in parts) > path.stat().st_size:
        raise damaged(name, what, ValueError("its parts overlap"))


def _oversized(part: zipfile.ZipInfo) -> bool:
    bomb = part.file_size > max(BIG_PART_BYTES, MAX_RATIO * part.compress_size)
    return bomb or (part.filename.endswith((".xml", ".xhtml", ".html")) and part.file_size > MAX_XML_BYTES)


def read_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """Return a part, up to its size in the directory; `ZipFile.read` would unpack all of it before it compares."""
    with archive.open(part) as file:
        return file.read(part.file_size) + file.read(1)  # At the end of the part, zipfile verifies the checksum.


def read_parts(archive: zipfile.ZipFile, pattern: re.Pattern[str]) -> dict[str, bytes]:
    """Return the parts of which `pattern` matches the whole name, by their names."""
    return {part.filename: read_part(archive, part) for part in archive.infolist() if pattern.fullmatch(part.filename)}


def packed(parts: Iterable[tuple[zipfile.ZipInfo | str, bytes]]) -> BytesIO:
    """Return a ZIP archive of these parts, as a file in memory."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for part, data in parts:
            archive.writestr(part, data)
    return made


def damaged(name: str, what: str, error: Exception) -> UnreadableDocument:
    """Return the error for a file that is not a complete file of its kind."""
    why = f"{name} cannot be read as {what}: it is damaged or cut off ({str(error) or type(error).__name__})."
    remedy = "Open and save it again in the program that it comes from or in LibreOffice, or get a fresh copy."
    return UnreadableDocument(f"{why} {remedy}")


_SYSTEM_FILES = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini"})
"""Files and folders that programs put into archives for their own use."""


def open_members(path: Path, name: str, head: bytes) -> Generator[Member, None, None]:
    """Check the archive, and return a generator that unpacks its files, except hidden ones.

    Raises UnreadableDocument and EncryptedDocument.
    """
    if kinds.identify(head) != kinds.ZIP:
        raise kinds.mismatch(path, name, "a ZIP archive", head)
    try:
        check(path, name, "a ZIP archive", head, remedy="unpack it and add the files")
    except EncryptedDocument:
        why = f"{name} is protected with a password."
        raise EncryptedDocument(f"{why} Unpack it, and add the files that were in it.") from None
    return _members(path, name)


def _members(path: Path, name: str) -> Generator[Member, None, None]:
    names = UniqueNames()
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                inside = safe_path(part.filename)
                if part.filename.endswith("/") or is_hidden(inside) or not _SYSTEM_FILES.isdisjoint(inside.parts):
                    continue
                yield _member(archive, part, name, names.of(inside))
    except kinds.ZIP_ERRORS as error:
        raise damaged(name, "a ZIP archive", error) from error


def _member(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str, own: str) -> Member:
    try:
        return Member(own, read_part(archive, part), _changed(part))
    except (*kinds.ZIP_ERRORS, OSError) as error:  # OSError: the stated position may precede the file's beginning.
        reason = str(error) or type(error).__name__
        message = f"{name}/{own} cannot be unpacked ({reason}). Unpack {name} in another program, and add this file."
        return Member(own, b"", error=message)


def _changed(part: zipfile.ZipInfo) -> float | None:
    """Return when a file was last changed, as if in UTC, because an archive does not record the time zone."""
    try:
        return float(timegm((*part.date_time, 0, 0, 0)))
    except (ValueError, OverflowError):
        return None
