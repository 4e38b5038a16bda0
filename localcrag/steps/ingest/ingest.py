"""Files -> documents of a collection: read, chunk, embed, store; one transaction a document.

Yields progress as it goes and one result per file. It knows no file format, tokenizer or database: those are handed in.
A file that fails is a result with its reason, and the others still go in. Stopping in between (closing the generator)
leaves the collection as it was before the file that was being worked on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from localcrag.records.documents import Chunk, Document, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, UnreadableDocument
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest import unread_pages
from localcrag.steps.ingest.chunk import join_pages, split_into_chunks
from localcrag.text.dates import date_of
from localcrag.text.titles import BEGINNING, in_context, title_of
from localcrag.text.words import valid

AT_ONCE = 64
"""Chunks embedded between two reports of progress; sorted by length, so that a batch is hardly padded."""


PICTURED = "application/pdf"
"""Of documents of this kind the file is kept as well: their pages are shown as they look."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to take in: where it lies, and the name it shall have in the collection.

    Bytes of a file's name that are no UTF-8 become "�" in the document's name. Of an `original`, and not of a copy that
    a browser sent, the file's own time says when it was changed last.
    """

    path: Path
    name: str
    original: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", valid(self.name))


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far the work is. `phase` is reading (`done` pages of `total`) or embedding (chunks).

    `seconds_left` is for all the files together, and None as long as there is nothing to judge by.
    """

    document: str
    number: int
    files: int
    phase: str
    done: int
    total: int | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of a file.

    `error` says why it failed, `warnings` what of it did not go in, `note` what else there is to know.
    """

    document: str
    status: IngestStatus
    pages: int | None = None
    chunks: int = 0
    seconds: float = 0.0
    error: str | None = None
    note: str | None = None
    warnings: tuple[str, ...] = ()


IngestEvent = IngestProgress | IngestResult


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


class DocumentShelf(Protocol):
    """Where documents are kept."""

    def find(self, name: str) -> Document | None: ...

    def twin(self, sha256: str) -> str | None: ...

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
        dated: str | None = None,
        original: Path | None = None,
    ) -> None: ...


class SavableIndex(Protocol):
    """A vector index that follows the shelf."""

    def refresh(self) -> bool: ...

    def save(self) -> None: ...


OpenFile = Callable[[Path, str], OpenDocument]


def ingest(
    uploads: Sequence[Upload],
    *,
    open_file: OpenFile,
    embedder: Embedder,
    shelf: DocumentShelf,
    index: SavableIndex,
    chunk_tokens: int,
) -> Generator[IngestEvent, None, None]:
    """Take the files in, one after the other. Raises StoreError when the database fails."""
    seen: set[str] = set()
    pace = _Pace(uploads)
    try:
        for number, upload in enumerate(uploads, start=1):
            start = time.perf_counter()
            if upload.name in seen:
                reason = "Another file of this call has the same name, and would be replaced by it. Rename one of them."
                yield IngestResult(upload.name, IngestStatus.FAILED, error=f"{upload.name}: {reason}")
                continue
            seen.add(upload.name)
            try:
                yield from _ingest_one(
                    upload, number, pace, open_file=open_file, embedder=embedder, shelf=shelf, chunk_tokens=chunk_tokens
                )
            except DocumentError as error:
                seconds = round(time.perf_counter() - start, 3)
                yield IngestResult(upload.name, IngestStatus.FAILED, seconds=seconds, error=str(error))
            pace.finished(upload)
    finally:
        # Also after an interruption: what has gone in is found by the next question.
        if index.refresh():
            index.save()


def _ingest_one(
    upload: Upload,
    number: int,
    pace: _Pace,
    *,
    open_file: OpenFile,
    embedder: Embedder,
    shelf: DocumentShelf,
    chunk_tokens: int,
) -> Iterator[IngestEvent]:
    start = time.perf_counter()
    progress = _Progress(upload, number, pace)
    yield progress.at("reading", 0, None)
    sha256 = _checksum(upload)
    before = shelf.find(upload.name)
    if before and before.sha256 == sha256:
        yield IngestResult(
            upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, round(time.perf_counter() - start, 3)
        )
        return
    twin = shelf.twin(sha256)

    document = open_file(upload.path, upload.name)
    pages: list[Page] = []
    with closing(document.pages):
        for page in document.pages:
            pages.append(page)
            yield progress.at("reading", len(pages), document.page_count)
    text = join_pages(pages)
    title = title_of(text[:BEGINNING], upload.name)
    (of_title,) = embedder.count_tokens([title])
    # In a small window a long title may push out the end of a passage, but not half of it.
    limit = max(embedder.max_tokens - of_title, embedder.max_tokens // 2)
    chunks = split_into_chunks(pages, embedder.count_tokens, target=chunk_tokens, limit=limit)
    if not chunks:
        raise EmptyDocument(f"{upload.name} holds no text that could be searched.")

    vectors = np.zeros((len(chunks), embedder.dimension), dtype=np.float32)
    texts = [in_context(title, chunk.text) for chunk in chunks]
    by_length = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
    for at in range(0, len(chunks), AT_ONCE):
        yield progress.at("embedding", at, len(chunks))
        some = by_length[at : at + AT_ONCE]
        vectors[some] = embedder.embed([texts[i] for i in some])
    yield progress.at("embedding", len(chunks), len(chunks))

    shelf.put(
        upload.name,
        sha256=sha256,
        media_type=document.media_type,
        pages=document.page_count,
        text=text,
        chunks=chunks,
        vectors=vectors,
        dated=document.dated or _changed(upload),
        original=upload.path if document.media_type == PICTURED else None,
    )
    unread = unread_pages.numbers(pages, chunks)
    yield IngestResult(
        upload.name,
        IngestStatus.UPDATED if before else IngestStatus.ADDED,
        document.page_count,
        len(chunks),
        round(time.perf_counter() - start, 3),
        note=f"The same content is in the collection as “{twin}”." if twin else None,
        warnings=(unread_pages.warning(unread),) if unread else (),
    )


def _checksum(upload: Upload) -> str:
    try:
        with upload.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableDocument(
            f"{upload.name} cannot be read: {error.strerror or error}. Check that the file is there and readable."
        ) from error


def _changed(upload: Upload) -> str | None:
    """Return the day on which an original was changed last."""
    try:
        return date_of(upload.path.stat().st_mtime) if upload.original else None
    except OSError:
        return None


class _Pace:
    """Guesses the remaining time of all files from the bytes done and the seconds they took."""

    def __init__(self, uploads: Sequence[Upload]) -> None:
        self._sizes = {upload.name: _size(upload.path) for upload in uploads}
        self.files = len(uploads)
        self._total = sum(self._sizes.values())
        self._done = 0
        self._start = time.perf_counter()

    def finished(self, upload: Upload) -> None:
        self._done += self._sizes[upload.name]

    def seconds_left(self, upload: Upload, share: float) -> float | None:
        """Return the guess, when `share` (0..1) of this file is done."""
        done = self._done + share * self._sizes[upload.name]
        if done <= 0 or self._total <= 0:
            return None
        return max(0.0, (time.perf_counter() - self._start) * (self._total - done) / done)


class _Progress:
    READING_SHARE = 0.1
    """Of a file's time: embedding takes the rest."""

    def __init__(self, upload: Upload, number: int, pace: _Pace) -> None:
        self._upload, self._number, self._pace = upload, number, pace

    def at(self, phase: str, done: int, total: int | None) -> IngestProgress:
        share = done / total if total else 0.0
        if phase == "reading":
            left = None if self._number == 1 else self._pace.seconds_left(self._upload, share * self.READING_SHARE)
        else:
            share = self.READING_SHARE + share * (1 - self.READING_SHARE)
            # Of the very first batch nothing is known yet.
            left = self._pace.seconds_left(self._upload, share) if done or self._number > 1 else None
        return IngestProgress(self._upload.name, self._number, self._pace.files, phase, done, total, left)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
