"""From a file to drafts: it and the files within it are read and cut, ready to be embedded and stored.

What this needs of a collection is only looked up; nothing is written. Several files can be prepared at once, each in a
thread of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from localcrag.records.document_kinds import PDF_TYPE
from localcrag.records.documents import ARCHIVE, Chunk, Document, Member, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, PasswordNeeded, UnreadableDocument
from localcrag.records.ingest import FileAsRead, IngestProgress, IngestResult, Stamp, Upload
from localcrag.records.protocols import Embedder
from localcrag.steps.ingest import unread_pages
from localcrag.steps.ingest.checksum import checksum, is_unchanged, stamp_of
from localcrag.steps.ingest.chunk import join_pages
from localcrag.steps.ingest.embed import chunks_of
from localcrag.steps.ingest.members import AsFile, Room, add_members
from localcrag.steps.ingest.pace import Progress
from localcrag.steps.ingest.title import document_title
from localcrag.text.dates import date_of

PICTURED = (PDF_TYPE, "image/")
"""Of documents of these kinds the file is kept as well: their pages are shown as they look."""
A_LETTER, A_CHUNK, AN_EVENT = 3, 1_000, 500
"""Bytes of memory, about: a text is there whole and once more in its chunks."""


class OpenDocument(Protocol):
    """A document being read."""

    @property
    def media_type(self) -> str: ...

    @property
    def page_count(self) -> int | None: ...

    @property
    def pages(self) -> Generator[Page, None, None]: ...

    @property
    def dated(self) -> str | None: ...

    @property
    def title(self) -> str | None: ...

    @property
    def members(self) -> Generator[Member, None, None]: ...


OpenFile = Callable[[Path, str], OpenDocument]
Unlock = Callable[[Path, str, str], bytes]
"""Returns a file, called by a name, as it is without this password. Raises PasswordNeeded when it is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What files are read and cut with; those within others by `as_file`. All of it is used by several threads."""

    open_file: OpenFile
    embedder: Embedder
    find: Callable[[str], Document | None]
    chunk_tokens: int
    as_file: AsFile
    unlock: Unlock | None
    read_scans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document that is read and cut. `own` is its file as it is kept; `lent` is to be closed when it is stored."""

    name: str
    own: FileAsRead | None
    sha256: str
    replaces: bool
    media_type: str
    pages: int | None
    dated: str | None
    title: str
    text: str
    chunks: list[Chunk]
    waits: list[int]
    lost: list[int]
    seconds: float
    progress: Progress
    lent: ExitStack = field(default_factory=ExitStack)

    @property
    def memory(self) -> int:
        """How much of it this takes, about, in bytes."""
        return A_LETTER * len(self.text) + A_CHUNK * len(self.chunks)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The files within an archive, by their names, have all come."""

    name: str
    members: tuple[str, ...]
    begun: float


@dataclass(frozen=True, slots=True)
class Finished:
    """All has come of a file that was given."""

    upload: Upload


Prepared = IngestProgress | IngestResult | Draft | Unpacked | Finished


def memory_of(item: Prepared) -> int:
    """Return how much memory something takes that waits, about, in bytes."""
    return item.memory if isinstance(item, Draft) else AN_EVENT


def let_go(item: Prepared) -> None:
    """Discard something that nobody wants any more, with the file that was lent to it."""
    if isinstance(item, Draft):
        item.lent.close()


def prepared(upload: Upload, progress: Progress, tools: Tools) -> Generator[Prepared, None, None]:
    """Yield what comes of a file, and of those within it: progress, drafts to be stored, and results without any."""
    with ExitStack() as lent:
        yield from _prepare(upload, progress, tools, Room(), lent)
    yield Finished(upload)


def _prepare(
    upload: Upload, progress: Progress, tools: Tools, room: Room, lent: ExitStack, *, depth: int = 0
) -> Generator[Prepared, None, None]:
    """Prepare a file and those within it, of which there may be `room`; it lies itself within `depth` others."""
    begun = time.perf_counter()

    def add(member: Upload, lent: ExitStack) -> Generator[Prepared, None, None]:
        return _prepare(member, progress.within(member.name), tools, room, lent, depth=depth + 1)

    try:
        reading = yield from _its_own(upload, progress, tools, lent)
        if reading is None or reading.document is None:
            return
        document = reading.document
        with closing(document.members) as members:
            names = yield from add_members(upload.name, members, add, room, as_file=tools.as_file, depth=depth)
        if names:
            reading.check()
        if document.media_type == ARCHIVE:
            yield Unpacked(upload.name, names, begun)
    except DocumentError as error:
        seconds = round(time.perf_counter() - begun, 3)
        locked = isinstance(error, PasswordNeeded)
        said = f"{error} It has to be added by itself for that." if locked and depth else str(error)
        yield IngestResult(upload.name, IngestStatus.FAILED, seconds=seconds, error=said, locked=locked and not depth)


def _its_own(
    upload: Upload, progress: Progress, tools: Tools, lent: ExitStack
) -> Generator[Prepared, None, _Reading | None]:
    """Prepare what a file says itself; return it, the files within still to be read; None where it is in already."""
    begun = time.perf_counter()
    yield progress.at("reading", 0, None)
    stamp, sha256 = stamp_of(upload), checksum(upload)
    before = tools.find(upload.name)
    if before and before.sha256 == sha256:
        seconds = round(time.perf_counter() - begun, 3)
        yield IngestResult(upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, seconds)
        return None
    reading = _Reading(upload, stamp, sha256, begun, replaces=before is not None)
    try:
        reading.document = yield from _draft(reading, progress, tools, lent)
    except PasswordNeeded as error:
        if error.known is None or upload.password is not None:
            raise
        reading.upload = dataclasses.replace(upload, password=error.known)
        reading.document = yield from _draft(reading, progress, tools, lent)
    return reading


@dataclass(slots=True)
class _Reading:
    upload: Upload
    stamp: Stamp | None
    sha256: str
    begun: float
    replaces: bool
    document: OpenDocument | None = None

    def check(self) -> None:
        """Raise UnreadableDocument where the file is another by now: parts of both would be stored as one."""
        if not is_unchanged(self.upload, self.stamp, self.sha256):
            raise UnreadableDocument(
                f"{self.upload.name} was changed or removed while it was read. Add it again when nothing writes to it "
                "any more."
            )


def _draft(
    reading: _Reading, progress: Progress, tools: Tools, lent: ExitStack
) -> Generator[Prepared, None, OpenDocument]:
    """Read a file and yield its draft, unless it is an archive; return it."""
    upload, own = reading.upload, FileAsRead(reading.upload.path, reading.sha256)
    if upload.password is not None and tools.unlock is not None:
        data = tools.unlock(own.path, upload.name, upload.password)
        path = lent.enter_context(tools.as_file(Member(upload.name, data)))
        own = FileAsRead(path, hashlib.sha256(data).hexdigest())
    document = tools.open_file(own.path, upload.name)
    pages = yield from _read(document, progress)
    reading.check()
    if document.media_type == ARCHIVE:
        return document
    title = document_title(document.title, pages, upload.name)
    chunks = yield from chunks_of(pages, title, tools.embedder, tools.chunk_tokens, progress.at)
    pictured = document.media_type.startswith(PICTURED)
    waits, lost = unread_pages.shared_out(pages, chunks, recognised=tools.read_scans and pictured)
    if not chunks and not waits:
        raise EmptyDocument(unread_pages.nothing(upload.name, lost))
    yield Draft(
        name=upload.name,
        own=own if pictured else None,
        sha256=reading.sha256,
        replaces=reading.replaces,
        media_type=document.media_type,
        pages=document.page_count,
        dated=document.dated or _changed(upload),
        title=title,
        text=join_pages(pages),
        chunks=chunks,
        waits=[*waits],
        lost=[*lost],
        seconds=time.perf_counter() - reading.begun,
        progress=progress,
        lent=lent.pop_all() if pictured else ExitStack(),
    )
    return document


def _read(document: OpenDocument, progress: Progress) -> Generator[IngestProgress, None, list[Page]]:
    """Return a document's pages; yield how far that is."""
    pages: list[Page] = []
    with closing(document.pages):
        for page in document.pages:
            pages.append(page)
            yield progress.at("reading", len(pages), document.page_count)
    return pages


def _changed(upload: Upload) -> str | None:
    """Return the day on which an original was changed last."""
    try:
        return date_of(upload.path.stat().st_mtime) if upload.original else None
    except OSError:
        return None
