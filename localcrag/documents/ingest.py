"""Ingest: files become documents, read by several workers ahead of the one embedder, stored in order.

Yields progress as it goes and one result per file, also for each within another. It knows no file format, tokenizer or
database: those are handed in.

Documents that have been read are embedded together, a few hundred chunks at a time: one by one, short documents would
leave the embedder with batches of one. They are stored in one transaction, and only then reported. A file that fails is
a result with its reason, and the others still go in. Stopping in between (closing the generator) ends the workers, and
leaves the collection as it was before the files that were being worked on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Protocol, TypeVar

from localcrag.documents import prepare
from localcrag.documents.chunking import PAGE_BREAK, chunks_of, embedded, embedded_together, texts_of
from localcrag.documents.prefetch import Ahead, Bounds
from localcrag.documents.prepare import (
    AsFile,
    Draft,
    Finished,
    OpenFile,
    Prepared,
    Tools,
    Unlock,
    Unpacked,
    document_title,
    let_go,
    memory_of,
    prepared,
)
from localcrag.records.documents import Chunk, Document, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.ingest import (
    Counted,
    FileAsRead,
    IngestEvent,
    IngestProgress,
    IngestResult,
    Pace,
    Progress,
    Upload,
)
from localcrag.records.protocols import Embedder, Vectors
from localcrag.records.restriction import folders_of
from localcrag.text.translation import ngettext

TOGETHER = 256
"""Chunks of several documents that are embedded together at least, where so many have been read."""
MOST_AHEAD, MOST_MEMORY = 512, 64 * 2**20
"""Files begun ahead of the embedder, and bytes that wait for it, about; a large document goes in all the same."""

Together = Callable[[], AbstractContextManager[object]]


class DocumentShelf(Protocol):
    """Where documents are kept; `find` is asked by several threads."""

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
        original: FileAsRead | None = None,
        unread: Sequence[int] = (),
    ) -> None: ...


class SavableIndex(Protocol):
    """A vector index that follows the shelf."""

    def refresh(self) -> bool: ...

    def save(self) -> None: ...


def ingest(
    uploads: Sequence[Upload] | Counted,
    *,
    open_file: OpenFile,
    embedder: Embedder,
    shelf: DocumentShelf,
    index: SavableIndex,
    chunk_tokens: int,
    as_file: AsFile,
    unlock: Unlock | None = None,
    read_scans: bool = False,
    workers: int = 1,
    abandon: Callable[[], None] = lambda: None,
    together: Together = nullcontext,
) -> Generator[IngestEvent, None, None]:
    """Add files, in their order, and the files within them, each written by `as_file` as long as it is needed.

    What comes with a password is opened by `unlock`, and kept without one. With `read_scans`, pages that are pictures
    wait for text recognition (read_scans.py). `workers` files are read at once; `abandon` ends whatever `open_file` and
    `unlock` may be waiting for; `together` makes one transaction of what is put on the shelf inside. Raises StoreError
    when the database fails, and what `as_file` raises.
    """
    tools = Tools(
        open_file=open_file,
        embedder=embedder,
        find=shelf.find,
        chunk_tokens=chunk_tokens,
        as_file=as_file,
        unlock=unlock,
        read_scans=read_scans,
    )
    pace = Pace(uploads)

    def work(job: tuple[int, Upload, bool]) -> Generator[Prepared, None, None]:
        number, upload, again = job
        return _refused(upload) if again else prepared(upload, Progress(upload, number, pace), tools)

    bounds = Bounds(workers, MOST_AHEAD, MOST_MEMORY)
    ahead = Ahead(_numbered(uploads), work, bounds, size_of=memory_of, discard=let_go, abandon=abandon)
    try:
        with ahead, closing(_Group(embedder, shelf, pace, together)) as group:
            yield from _embed_and_store(ahead.items(), group)
    finally:
        # Also after an interruption: what has gone in is found by the next question.
        index.refresh()
        index.save()


def _numbered(uploads: Iterable[Upload]) -> Iterator[tuple[int, Upload, bool]]:
    """Yield the files with their numbers, and whether another one of that name came before."""
    seen: set[str] = set()
    for number, upload in enumerate(uploads, start=1):
        yield number, upload, upload.name in seen
        seen.add(upload.name)


def _refused(upload: Upload) -> Generator[Prepared, None, None]:
    reason = "Another file of this call has the same name, and would be replaced by it. Rename one of them."
    yield IngestResult(upload.name, IngestStatus.FAILED, error=f"{upload.name}: {reason}")


def _embed_and_store(items: Iterator[Prepared | None], group: _Group) -> Generator[IngestEvent, None, None]:
    """Gather what has been read, until it is enough or nothing more is there yet; yield what becomes of it."""
    last: IngestEvent | None = None
    for item in items:
        if item is None and last and not group:
            yield last  # So that whoever follows can stop it, however long a file takes.
        elif isinstance(item, IngestProgress):
            last = item
            yield item
        else:
            if item is not None:
                group.add(item)
            if item is None or group.is_enough:
                yield from group.stored()
    yield from group.stored()


class _Group:
    """What has been read and is to be stored, and what is to be said in between, in order."""

    def __init__(self, embedder: Embedder, shelf: DocumentShelf, pace: Pace, together: Together) -> None:
        self._embedder, self._shelf, self._pace, self._together = embedder, shelf, pace, together
        self._items: list[IngestResult | Draft | Unpacked | Finished] = []
        self._drafts: list[Draft] = []
        self._chunks = 0
        self._within: set[str] = set()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_enough(self) -> bool:
        """Whether there are as many chunks as are embedded together, or none to wait for."""
        return self._chunks >= TOGETHER or not self._drafts

    def add(self, item: IngestResult | Draft | Unpacked | Finished) -> None:
        self._items.append(item)
        if isinstance(item, Draft):
            self._drafts.append(item)
            self._chunks += len(item.chunks)

    def close(self) -> None:
        """Let go of what was not stored."""
        for draft in self._drafts:
            draft.lent.close()
        self._drafts, self._items, self._chunks = [], [], 0

    def stored(self) -> Generator[IngestEvent, None, None]:
        """Embed and store what there is, all in one transaction, and yield the results in order."""
        begun = time.perf_counter()
        texts = [(texts_of(draft.chunks, draft.title), draft.progress.at) for draft in self._drafts]
        vectors = yield from embedded_together(texts, self._embedder)
        a_chunk = (time.perf_counter() - begun) / max(1, self._chunks)
        put: list[IngestResult] = []
        if self._drafts:
            with self._together():
                for draft, its_own in zip(self._drafts, vectors, strict=True):
                    put.append(self._put(draft, its_own, a_chunk * len(draft.chunks)))
        items, results = self._items, iter(put)
        self.close()
        for item in items:
            if isinstance(item, Finished):
                self._pace.finished(item.upload)
                self._within.clear()
                continue
            if isinstance(item, Draft):
                yield item.progress.at("embedding", len(item.chunks), len(item.chunks))
                result = next(results)
            else:
                result = self._unpacked(item) if isinstance(item, Unpacked) else item
            if result.status is not IngestStatus.FAILED:
                self._within.update((result.document, *folders_of(result.document)))
            yield result

    def _put(self, draft: Draft, vectors: Vectors, seconds: float) -> IngestResult:
        """Put a document on the shelf; `seconds` is what embedding it took."""
        begun = time.perf_counter()
        try:
            twin = self._shelf.twin(draft.sha256, draft.name)
            self._shelf.put(
                draft.name,
                sha256=draft.sha256,
                media_type=draft.media_type,
                pages=draft.pages,
                text=draft.text,
                title=draft.title,
                chunks=draft.chunks,
                vectors=vectors,
                dated=draft.dated,
                original=draft.own,
                unread=draft.waits,
            )
        except DocumentError as error:
            return IngestResult(draft.name, IngestStatus.FAILED, seconds=round(draft.seconds, 3), error=str(error))
        return IngestResult(
            draft.name,
            IngestStatus.UPDATED if draft.replaces else IngestStatus.ADDED,
            draft.pages,
            len(draft.chunks),
            round(draft.seconds + seconds + time.perf_counter() - begun, 3),
            note=_note(draft.waits, twin),
            warnings=(prepare.warning(draft.lost),) if draft.lost else (),
        )

    def _unpacked(self, archive: Unpacked) -> IngestResult:
        """Return what became of an archive, by how many of its files are in the collection."""
        seconds = round(time.perf_counter() - archive.begun, 3)
        count = len(self._within.intersection(archive.members))
        if not count:
            said = f"{archive.name} holds no file that could be added."
            return IngestResult(archive.name, IngestStatus.FAILED, seconds=seconds, error=said)
        said = ngettext("%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count)
        return IngestResult(archive.name, IngestStatus.UNPACKED, seconds=seconds, note=said)


def _note(waits: Sequence[int], twin: str | None) -> str | None:
    said = [f"The same content is in the collection as “{twin}”."] if twin else []
    if waits:
        said.append(prepare.note(waits))
    return " ".join(said) or None


Result = TypeVar("Result")


class Shelf(Protocol):
    """The documents of a collection."""

    def text(self, name: str) -> str: ...

    def title(self, name: str) -> str | None: ...

    def recut(self, document: Document, *, chunks: Sequence[Chunk], vectors: Vectors, title: str) -> None: ...


def recut(documents: Sequence[Document], *, shelf: Shelf, embedder: Embedder, chunk_tokens: int) -> int:
    """Cut documents without chunks from their text, and return how many have some now.

    Each document is one transaction. Raises StoreError and ModelError.
    """
    number = 0
    for document in documents:
        text = shelf.text(document.name)
        if document.pages:
            pages = [Page(page, part) for page, part in enumerate(text.split(PAGE_BREAK), start=1)]
        else:
            pages = [Page(None, text)]
        title = document_title(shelf.title(document.name), pages, document.name)
        chunks = _result(chunks_of(pages, title, embedder, chunk_tokens, _at))
        # Pages that wait for text recognition have characters, but nothing to cut: they are separated by page breaks.
        if chunks:
            vectors = _result(embedded(chunks, title, embedder, _at))
            shelf.recut(document, chunks=chunks, vectors=vectors, title=title)
            number += 1
    return number


def _at(phase: str, done: int, total: int) -> IngestProgress:
    return IngestProgress("", 1, 1, phase, done, total, None)


def _result(steps: Generator[IngestEvent, None, Result]) -> Result:
    """Run a generator to its end, without its progress, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
