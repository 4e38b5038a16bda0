"""Ingest: files become documents of a collection, one transaction each.

Yields progress as it goes and one result per file, also for each within another. It knows no file format, tokenizer or
database: those are handed in.
A file that fails is a result with its reason, and the others still go in. Stopping in between (closing the generator)
leaves the collection as it was before the file that was being worked on.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localcrag.records.document_kinds import PDF_TYPE
from localcrag.records.documents import ARCHIVE, LAYOUT, Chunk, Document, Member, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, PasswordNeeded
from localcrag.records.ingest import IngestEvent, IngestResult, Upload
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest import unread_pages
from localcrag.steps.ingest.checksum import checksum
from localcrag.steps.ingest.chunk import join_pages
from localcrag.steps.ingest.embed import chunks_of, embedded
from localcrag.steps.ingest.members import AsFile, Room, add_members
from localcrag.steps.ingest.pace import Pace, Progress
from localcrag.steps.ingest.title import document_title
from localcrag.text.dates import date_of
from localcrag.text.translation import ngettext

PICTURED = (PDF_TYPE, "image/")
"""Of documents of these kinds the file is kept as well: their pages are shown as they look."""


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


class DocumentShelf(Protocol):
    """Where documents are kept."""

    def find(self, name: str) -> Document | None: ...

    def twin(self, sha256: str, but: str) -> str | None: ...

    def put(
        self,
        name: str,
        *,
        sha256: str,
        media_type: str,
        pages: int | None,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str | None = None,
        dated: str | None = None,
        original: Path | None = None,
        unread: Sequence[int] = (),
    ) -> None: ...


class SavableIndex(Protocol):
    """A vector index that follows the shelf."""

    def refresh(self) -> bool: ...

    def save(self) -> None: ...


OpenFile = Callable[[Path, str], OpenDocument]
Unlock = Callable[[Path, str, str], bytes]
"""Returns a file, called by a name, as it is without this password. Raises PasswordNeeded when it is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What files are added with; those within others by `as_file`."""

    open_file: OpenFile
    embedder: Embedder
    shelf: DocumentShelf
    chunk_tokens: int
    as_file: AsFile
    unlock: Unlock | None
    read_scans: bool


def ingest(
    uploads: Sequence[Upload],
    *,
    open_file: OpenFile,
    embedder: Embedder,
    shelf: DocumentShelf,
    index: SavableIndex,
    chunk_tokens: int,
    as_file: AsFile,
    unlock: Unlock | None = None,
    read_scans: bool = False,
) -> Generator[IngestEvent, None, None]:
    """Add files, one after the other, and the files within them, each written by `as_file` as long as it is read.

    What comes with a password is opened by `unlock`, and kept without one. With `read_scans`, pages that are pictures
    wait for text recognition (read_scans.py). Raises StoreError when the database fails, and what `as_file` raises.
    """
    parts = _Parts(
        open_file=open_file,
        embedder=embedder,
        shelf=shelf,
        chunk_tokens=chunk_tokens,
        as_file=as_file,
        unlock=unlock,
        read_scans=read_scans,
    )
    seen: set[str] = set()
    pace = Pace(uploads)
    try:
        for number, upload in enumerate(uploads, start=1):
            if upload.name in seen:
                reason = "Another file of this call has the same name, and would be replaced by it. Rename one of them."
                yield IngestResult(upload.name, IngestStatus.FAILED, error=f"{upload.name}: {reason}")
                continue
            seen.add(upload.name)
            yield from _ingest_one(upload, Progress(upload, number, pace), parts, Room())
            pace.finished(upload)
    finally:
        # Also after an interruption: what has gone in is found by the next question.
        index.refresh()
        index.save()


def _ingest_one(
    upload: Upload, progress: Progress, parts: _Parts, room: Room, *, depth: int = 0
) -> Generator[IngestEvent, None, None]:
    """Add a file and those within it, of which there may be `room`; it lies itself within `depth` others."""
    start = time.perf_counter()

    def add(member: Upload) -> Generator[IngestEvent, None, None]:
        return _ingest_one(member, progress.within(member.name), parts, room, depth=depth + 1)

    try:
        document = yield from _add_its_own(upload, progress, parts)
        if document is None:
            return
        with closing(document.members) as members:
            count = yield from add_members(upload.name, members, add, room, as_file=parts.as_file, depth=depth)
        if document.media_type == ARCHIVE:
            if not count:
                raise EmptyDocument(f"{upload.name} holds no file that could be added.")
            seconds = round(time.perf_counter() - start, 3)
            said = ngettext(
                "%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count
            )
            yield IngestResult(upload.name, IngestStatus.UNPACKED, seconds=seconds, note=said)
    except DocumentError as error:
        seconds = round(time.perf_counter() - start, 3)
        locked = isinstance(error, PasswordNeeded)
        said = f"{error} It has to be added by itself for that." if locked and depth else str(error)
        yield IngestResult(upload.name, IngestStatus.FAILED, seconds=seconds, error=said, locked=locked and not depth)


def _add_its_own(
    upload: Upload, progress: Progress, parts: _Parts
) -> Generator[IngestEvent, None, OpenDocument | None]:
    """Add what a file says itself; return it with the files within it still to be read, None where it is in already."""
    start = time.perf_counter()
    yield progress.at("reading", 0, None)
    sha256 = checksum(upload)
    before = parts.shelf.find(upload.name)
    if before and before.sha256 == sha256 and before.layout == LAYOUT:
        seconds = round(time.perf_counter() - start, 3)
        yield IngestResult(upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, seconds)
        return None
    try:
        with _unlocked(upload, parts) as path:
            return (yield from _put(upload, path, progress, parts, sha256=sha256, before=before, start=start))
    except PasswordNeeded as error:
        if error.known is None or upload.password is not None:
            raise
        unasked = dataclasses.replace(upload, password=error.known)
    with _unlocked(unasked, parts) as path:
        return (yield from _put(unasked, path, progress, parts, sha256=sha256, before=before, start=start))


@contextmanager
def _unlocked(upload: Upload, parts: _Parts) -> Iterator[Path]:
    """Give the place of a file as it is without its password, where it comes with one."""
    if upload.password is None or parts.unlock is None:
        yield upload.path
        return
    data = parts.unlock(upload.path, upload.name, upload.password)
    with parts.as_file(Member(upload.name, data)) as path:
        yield path


def _put(
    upload: Upload,
    path: Path,
    progress: Progress,
    parts: _Parts,
    *,
    sha256: str,
    before: Document | None,
    start: float,
) -> Generator[IngestEvent, None, OpenDocument]:
    """Put a file, which lies at `path`, on the shelf, unless it is an archive, in place of `before`; return it."""
    embedder, shelf = parts.embedder, parts.shelf
    twin = shelf.twin(sha256, upload.name)
    document = parts.open_file(path, upload.name)
    pages = yield from _read(document, progress)
    if document.media_type == ARCHIVE:
        return document
    text = join_pages(pages)
    title = document_title(document.title, pages, upload.name)
    chunks = yield from chunks_of(pages, title, embedder, parts.chunk_tokens, progress.at)
    pictured = document.media_type.startswith(PICTURED)
    waits, lost = unread_pages.shared_out(pages, chunks, recognised=parts.read_scans and pictured)
    if not chunks and not waits:
        raise EmptyDocument(unread_pages.nothing(upload.name, lost))
    vectors = yield from embedded(chunks, title, embedder, progress.at)
    shelf.put(
        upload.name,
        sha256=sha256,
        media_type=document.media_type,
        pages=document.page_count,
        text=text,
        title=title,
        chunks=chunks,
        vectors=vectors,
        dated=document.dated or _changed(upload),
        original=path if pictured else None,
        unread=waits,
    )
    yield IngestResult(
        upload.name,
        IngestStatus.UPDATED if before else IngestStatus.ADDED,
        document.page_count,
        len(chunks),
        round(time.perf_counter() - start, 3),
        note=_note(waits, twin),
        warnings=(unread_pages.warning(lost),) if lost else (),
    )
    return document


def _note(waits: Sequence[int], twin: str | None) -> str | None:
    said = [f"The same content is in the collection as “{twin}”."] if twin else []
    if waits:
        said.append(unread_pages.note(waits))
    return " ".join(said) or None


def _read(document: OpenDocument, progress: Progress) -> Generator[IngestEvent, None, list[Page]]:
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
