"""Word reader: DOCX by way of HTML, so that headings, lists, tables and footnotes survive.

Headers, footers, comments, equations and deleted text of tracked changes are not part of a document's text.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO

import mammoth as untyped_mammoth

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._markup_headings import TITLE_CLASS
from localcrag.backends.readers._markup_tables import WORD_TABLE_CLASS
from localcrag.backends.readers._word_markup import BODY, NUMBERING, STYLES, known, numbered
from localcrag.backends.readers.html import render
from localcrag.records.documents import Page
from localcrag.records.errors import EncryptedDocument, UnreadableDocument

mammoth: Any = untyped_mammoth  # has no type hints
WORD = "a Word document (DOCX)"
# A small file that unpacks to more than this is an attack or a mistake, not a text.
MAX_UNPACKED_BYTES = 500_000_000
# XML packs to a twentieth, at most to a hundredth; only parts of this size can do harm.
MAX_RATIO = 200
BIG_PART_BYTES = 10_000_000
# mammoth takes about a second and 30 MB of memory for each MB of this, and no book has as much.
MAX_XML_BYTES = 100_000_000
# Beside mammoth's own, which knows "Heading 1" to "Heading 6".
STYLE_MAP = f"p[style-name='Title'] => p.{TITLE_CLASS}:fresh\ntable => table.{WORD_TABLE_CLASS}:fresh"
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return its one page, without a number, still to be read.

    Raises EncryptedDocument and UnreadableDocument, here and while the page is read.
    """
    found = _kinds.identify(head)
    if found == _kinds.OLE and ENCRYPTED_PACKAGE in path.read_bytes():
        raise _needs_password(name)
    if found != _kinds.ZIP:
        raise _kinds.mismatch(path, name, WORD, head)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_parts(archive.infolist(), name)
    except _kinds.ZIP_ERRORS as error:
        raise _damaged(name, error) from error
    if _kinds.describe(path, head) != "a Word document":
        raise _kinds.mismatch(path, name, WORD, head)
    return _pages(path, name)


def _check_parts(parts: list[zipfile.ZipInfo], name: str) -> None:
    if any(part.flag_bits & 0x1 for part in parts):
        raise _needs_password(name)
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED_BYTES or any(map(_oversized, parts)):
        raise UnreadableDocument(
            f"{name} unpacks to {unpacked / 1e6:,.0f} MB, far more than a document of its size holds, "
            "and was left alone. If it is genuine, save it as PDF and add that."
        )


def _oversized(part: zipfile.ZipInfo) -> bool:
    bomb = part.file_size > max(BIG_PART_BYTES, MAX_RATIO * part.compress_size)
    return bomb or (part.filename.endswith(".xml") and part.file_size > MAX_XML_BYTES)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    try:
        with path.open("rb") as file:
            markup = mammoth.convert_to_html(
                _known_to_mammoth(file), convert_image=_no_image, style_map=STYLE_MAP
            ).value
    except Exception as error:  # mammoth passes on whatever a damaged part makes it run into
        raise _damaged(name, error) from error
    yield render(numbered(_without_back_links(markup)), name)


def _known_to_mammoth(file: BinaryIO) -> BinaryIO:
    """Return the document with markup that mammoth leaves out as some that it reads."""
    with zipfile.ZipFile(file) as archive:
        names = [part for part in archive.namelist() if BODY.fullmatch(part) or part in (NUMBERING, STYLES)]
        parts = {part: archive.read(part) for part in names}
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w") as mended:
            for part in archive.infolist():
                of_body = BODY.fullmatch(part.filename)
                mended.writestr(part, known(part.filename, parts) if of_body else archive.read(part))
    return copy


def _no_image(_image: object) -> list[object]:
    return []


def _without_back_links(markup: str) -> str:
    """Drop the arrows that lead from a note back to its place."""
    return re.sub(r'<a href="#(?:foot|end)note-ref-[^"]*">[^<]*</a>', "", markup)


def _needs_password(name: str) -> EncryptedDocument:
    return EncryptedDocument(
        f"{name} is protected with a password. Save a copy without one in Word (File, Info, Protect Document) "
        "and add that."
    )


def _damaged(name: str, error: Exception) -> UnreadableDocument:
    reason = str(error) or type(error).__name__
    return UnreadableDocument(
        f"{name} cannot be read as {WORD}: it is damaged or cut off ({reason}). "
        "Open and save it again in Word or LibreOffice, or get a fresh copy."
    )
