"""Office files that are ZIP archives: what is checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

from localcrag.backends.readers import _kinds, _passwords
from localcrag.records.errors import UnreadableDocument

# A small file that unpacks to more than this is an attack or a mistake, not a text.
MAX_UNPACKED_BYTES = 500_000_000
# XML packs to a twentieth, at most to a hundredth; only parts of this size can do harm.
MAX_RATIO = 200
BIG_PART_BYTES = 10_000_000
# Readers take about a second and 30 MB of memory for each MB of this, and no book has as much.
MAX_XML_BYTES = 100_000_000
MOST_PARTS = 20_000


def check(path: Path, name: str, what: str, head: bytes, *, remedy: str = "save it as PDF and add that") -> None:
    """Make sure that a file is not encrypted, and can be unpacked where it is an archive; `what` is it to be.

    `remedy`: what to do with one that is genuine and too large. Raises EncryptedDocument and UnreadableDocument.
    """
    found = _kinds.identify(head)
    if found != _kinds.ZIP:
        return
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except _kinds.ZIP_ERRORS as error:
        raise damaged(name, what, error) from error
    if any(part.flag_bits & 0x1 for part in parts):
        raise _passwords.unknown_way(name)
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED_BYTES or len(parts) > MOST_PARTS or any(map(_oversized, parts)):
        raise UnreadableDocument(
            f"{name} unpacks to {unpacked / 1e6:,.0f} MB in {len(parts):,} parts, far more than a document of its size "
            f"holds, and was left alone. If it is genuine, {remedy}."
        )
    if sum(part.compress_size for part in parts) > path.stat().st_size:
        raise damaged(name, what, ValueError("its parts overlap"))


def _oversized(part: zipfile.ZipInfo) -> bool:
    bomb = part.file_size > max(BIG_PART_BYTES, MAX_RATIO * part.compress_size)
    return bomb or (part.filename.endswith((".xml", ".xhtml", ".html")) and part.file_size > MAX_XML_BYTES)


def unpacked(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """Return a part, no more of it than the directory says: `ZipFile.read` unpacks all of it before it compares."""
    with archive.open(part) as file:
        return file.read(part.file_size) + file.read(1)  # At the end, the checksum is compared.


def damaged(name: str, what: str, error: Exception) -> UnreadableDocument:
    """Return the error for a file that is no whole one of its kind."""
    reason = str(error) or type(error).__name__
    return UnreadableDocument(
        f"{name} cannot be read as {what}: it is damaged or cut off ({reason}). "
        "Open and save it again in the program that it comes from or in LibreOffice, or get a fresh copy."
    )
