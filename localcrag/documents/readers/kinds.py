"""Kinds of files, determined by their content, and access to the parts of compound (OLE) files."""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anydoc
import olefile as untyped_olefile

from localcrag.records.documents import PDF_TYPE
from localcrag.records.errors import UnreadableDocument

olefile: Any = untyped_olefile  # has no type hints
MOST_ENTRIES = 20_000
"""Maximum number of streams and folders in a file. A message with a hundred files to five hundred people has half as
many."""
# Errors that olefile raises on damaged files; its own error is an OSError.
_ERRORS = (OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError, struct.error)


class DamagedCompound(Exception):
    """The file is not a compound file, or it is damaged; the message gives the details."""


@dataclass(slots=True)
class _Open:
    """An open file; `left` is the number of bytes that can still be read, because streams share no bytes."""

    file: Any
    left: int
    sizes: dict[tuple[str, ...], int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder (a storage) in a compound file, including the file's root. Names are in lower case."""

    _open: _Open
    _path: tuple[str, ...] = ()

    def stream(self, name: str) -> bytes | None:
        """Return the stream of this name, or None if there is none; each stream may be read only once.

        Raises ValueError if the streams have more bytes than the file.
        """
        path = (*self._path, name.lower())
        size = self._open.sizes.get(path)
        if size is None:
            return None
        self._open.left -= size
        if self._open.left < 0:
            raise ValueError("its parts are larger than itself")
        with self._open.file.openstream(list(path)) as stream:
            return bytes(stream.read())

    def file_offsets(self, name: str, offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield offsets within a large stream at the top of the file, each with its offset in the file.

        Raises ValueError if there is no such stream, and the errors that damaged files cause.
        """
        file = self._open.file
        entry = next((one for one in file.root.kids if one.name.lower() == name.lower()), None)
        if entry is None or entry.size < file.mini_stream_cutoff_size:
            raise ValueError(f"it has no large stream {name}")
        sectors: list[int] = []
        at = entry.isectStart
        # The file allocation table links each sector of a stream to the next.
        for _ in range(-(-entry.size // file.sector_size)):
            sectors.append(at)
            at = file.fat[at]
        for offset in offsets:
            # The header takes up the first sector.
            yield offset, (sectors[offset // file.sector_size] + 1) * file.sector_size + offset % file.sector_size

    def has(self, name: str) -> bool:
        """Return whether there is a stream of this name."""
        return self._open.sizes.get((*self._path, name.lower())) is not None

    def folder(self, name: str) -> Folder | None:
        """Return a folder within this one, or None if there is no folder of this name."""
        path = (*self._path, name.lower())
        return Folder(self._open, path) if path in self._open.sizes and self._open.sizes[path] is None else None

    def folders(self, begins: str) -> Iterator[Folder]:
        """Yield the folders within this one whose names begin with `begins`, in order of their names."""
        depth = len(self._path) + 1
        for path in sorted(path for path, size in self._open.sizes.items() if size is None and len(path) == depth):
            if path[:-1] == self._path and path[-1].startswith(begins.lower()):
                yield Folder(self._open, path)


@contextmanager
def open_compound(path: Path) -> Iterator[Folder]:
    """Open a file within a context. Raises DamagedCompound, also for errors while its parts are read inside it."""
    try:
        with olefile.OleFileIO(str(path)) as file:
            yield Folder(_index_streams(file))
    except _ERRORS as error:
        raise DamagedCompound(str(error) or type(error).__name__) from error


def has_stream(path: Path, name: str) -> bool:
    """Return whether a compound file has a stream of this name; False if the file is damaged."""
    try:
        with open_compound(path) as root:
            return root.has(name)
    except DamagedCompound:
        return False


def _index_streams(file: Any) -> _Open:
    found = _Open(file, file.fp.seek(0, io.SEEK_END))
    if file.root.size > found.left:  # The root contains the small streams.
        raise ValueError("its parts are larger than itself")
    under: list[tuple[tuple[str, ...], Any]] = [((), file.root)]
    folders = set()
    while under:
        path, folder = under.pop()
        if folder.sid in folders:  # The folder contains itself: paths would grow, and time with their square.
            continue
        folders.add(folder.sid)
        for entry in folder.kids:
            own = (*path, entry.name.lower())
            is_folder = entry.entry_type == olefile.STGTY_STORAGE
            found.sizes.setdefault(own, None if is_folder else entry.size)
            if is_folder:
                under.append((own, entry))
        if len(found.sizes) > MOST_ENTRIES:
            raise ValueError(f"it has more than {MOST_ENTRIES:,} parts")
    return found


_OOXML, _ODF = "application/vnd.openxmlformats-officedocument", "application/vnd.oasis.opendocument"
HTML_TYPE, RTF = "text/html", "application/rtf"
DOCX, PPTX, XLSX = (
    f"{_OOXML}.{kind}" for kind in ("wordprocessingml.document", "presentationml.presentation", "spreadsheetml.sheet")
)
DOC, PPT, XLS = "application/msword", "application/vnd.ms-powerpoint", "application/vnd.ms-excel"
ODT, ODP, ODS = (f"{_ODF}.{kind}" for kind in ("text", "presentation", "spreadsheet"))
EPUB, MSG = "application/epub+zip", "application/vnd.ms-outlook"
CSV, TSV = SEPARATED = ("text/csv", "text/tab-separated-values")
MESSAGE_STREAM = "__properties_version1.0"
"""Name of a stream that Outlook messages have, and no other files."""
HEAD_BYTES = 4096
MOST_TEXT = 250_000_000
"""Maximum bytes of a text file. Readers keep several copies of a text in memory, at up to four bytes a character,
for which 4 GB are enough."""
# ISO 32000 requires the header at the start, but readers accept it within the first 1,024 bytes.
PDF_HEADER_WITHIN = 1024
PDF, ZIP, OLE = "a PDF", "a ZIP archive", "an Office file of the kind before 2007, or one with a password"
# Only signatures that a text cannot begin with by chance.
SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", PDF),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS-Adobe", "a PostScript file"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"bplist00", "a binary property list"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "a SQLite database"),
)
_COMPOUND: dict[str | None, str] = {"doc": DOC, "ppt": PPT, "xlsx": XLS}
_FOLDERS = (("word", DOCX, "a Word document"), ("xl", XLSX, "an Excel workbook"), ("ppt", PPTX, "a PowerPoint file"))
_MIMETYPES = {mimetype: kind for kind in (ODT, ODP, ODS, EPUB) for mimetype in (kind, f"{kind}-template")}
# zipfile raises these for a damaged directory, whose fields it trusts, for parts that cannot be unpacked, and
# (RuntimeError) for encrypted ones.
_UNPACK_ERRORS = (EOFError, zlib.error, lzma.LZMAError)
ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, ValueError, OverflowError, struct.error, *_UNPACK_ERRORS)
HTML = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
MHTML = re.compile(rb"^(mime-version:|content-type:\s*multipart/related)", re.IGNORECASE | re.MULTILINE)


def identify(head: bytes) -> str | None:
    """Return a description of a file that begins with `head`, or None if it may be some kind of text."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a WebP picture"
    # "BM" alone may begin a text, but the header after it contains bytes that no text has.
    if head.startswith(b"BM") and head[6:10] == b"\0\0\0\0":
        return "a BMP picture"
    return next((words for signature, words in SIGNATURES if head.startswith(signature)), None)


def media_type(path: Path, head: bytes) -> str | None:
    """Return the media type of a file if its content determines it with certainty, otherwise None."""
    found = identify(head)
    if found == PDF:
        return PDF_TYPE
    if found and found.endswith(" picture"):
        return f"image/{found.split()[1].lower()}"
    if found == ZIP:
        return _archive_type(path)
    if found != OLE:
        return RTF if head.startswith(b"{\\rtf") else None
    return MSG if has_stream(path, MESSAGE_STREAM) else _COMPOUND.get(anydoc.format_from_bytes(path.read_bytes()))


def describe(path: Path, head: bytes) -> str:
    """Return a description of a file, as precise as possible."""
    found = identify(head)
    if found == ZIP:
        return _describe_archive(path)
    if found == OLE and has_stream(path, MESSAGE_STREAM):
        return "an Outlook message"
    if found is not None:
        return found
    if HTML.match(head):
        return "a web page (HTML)"
    return "plain text" if b"\x00" not in head else "unknown binary data"


def is_mhtml(head: bytes) -> bool:
    """Return whether a file is a web page saved with its pictures in one file, in e-mail format."""
    return MHTML.search(head) is not None and b"multipart/related" in head.lower()


def mismatch(path: Path, name: str, expected: str, head: bytes) -> UnreadableDocument:
    """Return the error for a file whose name says `expected` but whose content is something else."""
    why = f"{name} is not {expected}, although its name says so: by its content it is {describe(path, head)}."
    remedy = "Give it the name ending that fits its content, or save it again in the program it comes from."
    return UnreadableDocument(f"{why} {remedy}")


def expect_text(path: Path, name: str, expected: str, head: bytes) -> None:
    """Raise UnreadableDocument if a file's first bytes are not text, or it is too long; `expected` is its kind."""
    if identify(head) is not None:
        raise mismatch(path, name, expected, head)
    if (size := path.stat().st_size) > MOST_TEXT:
        why = f"{name} contains {size / 1e6:,.0f} MB of text, but at most {MOST_TEXT / 1e6:.0f} MB are read."
        raise UnreadableDocument(f"{why} Split it, and add the parts.")


def _archive_type(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "mimetype" in names and archive.getinfo("mimetype").file_size < HEAD_BYTES:
                return _MIMETYPES.get(archive.read("mimetype").decode("ascii", "replace").strip())
    except ZIP_ERRORS:
        return None
    return next((kind for folder, kind, _ in _FOLDERS if _is_ooxml(names, folder)), None)


def _is_ooxml(names: set[str], folder: str) -> bool:
    return "[Content_Types].xml" in names and any(name.startswith(f"{folder}/") for name in names)


def _describe_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except ZIP_ERRORS:
        return "a damaged ZIP archive"
    other = "an OpenDocument file or an e-book" if "mimetype" in names else ZIP
    return next((words for folder, _, words in _FOLDERS if _is_ooxml(names, folder)), other)
