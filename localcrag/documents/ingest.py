"""Ingest: add files as documents; workers read them in order, ahead of the embedding model.

It yields progress, and one result per file, including files within other files. The module knows no file format,
tokenizer or database: they are passed in.

Documents that have been read are embedded together, a few hundred chunks at a time. Otherwise, short documents would
leave the embedding model with batches of one. They are stored in one transaction, and only then reported. If a file
fails, its result has the reason, and the other files are still added. Closing the generator ends the workers, and
leaves the collection as it was before the files in progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Protocol, TypeVar

from localcrag.documents import prepare
from localcrag.documents.chunking import PAGE_BREAK, cut_pages, embed_chunks, embed_documents, embedding_texts
from localcrag.documents.prefetch import Bounds, OrderedPrefetch
from localcrag.documents.prepare import Draft, Finished, PreparedItem, ReadingTools, Unpacked
from localcrag.records.documents import Chunk, Document, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.ingest import (
    FileProgress,
    GrowingUploads,
    IngestEvent,
    IngestProgress,
    IngestResult,
    TimeEstimate,
    Upload,
)
from localcrag.records.protocols import DocumentShelf, Embedder, SavableIndex, Vectors
from localcrag.records.restriction import parent_folders
from localcrag.text.translation import ngettext

EMBED_TOGETHER = 256
"""Minimum number of chunks from several documents to embed together, if so many have been read."""
MOST_AHEAD, MOST_MEMORY = 512, 64 * 2**20
"""Maximum number of files begun ahead of the embedding model, and approximate bytes that may wait for it; a single
larger document is added nevertheless."""

Transaction = Callable[[], AbstractContextManager[object]]


def ingest(
    uploads: Sequence[Upload] | GrowingUploads,
    tools: ReadingTools,
    *,
    shelf: DocumentShelf,
    index: SavableIndex,
    workers: int = 1,
    abandon: Callable[[], None] = lambda: None,
    transaction: Transaction = nullcontext,
) -> Generator[IngestEvent, None, None]:
    """Add files in their order, and the files within them; files with a password are stored without it.

    `workers` files are read at once. `abandon` ends calls of the tools `open_file` and `unlock` that are waiting.
    Everything that is stored inside `transaction` is one transaction. Raises StoreError if the database fails, and what
    the tool `as_file` raises.
    """
    pace = TimeEstimate(uploads)

    def work(job: tuple[int, Upload]) -> Generator[PreparedItem, None, None]:
        number, upload = job
        return prepare.prepare_upload(upload, FileProgress(upload, number, pace), tools)

    bounds = Bounds(workers, MOST_AHEAD, MOST_MEMORY)
    ahead = OrderedPrefetch(
        _numbered(uploads), work, bounds, size_of=prepare.memory_size, discard=prepare.discard_item, abandon=abandon
    )
    try:
        with ahead, closing(_Group(tools.embedder, shelf, pace, transaction)) as group:
            yield from _embed_and_store(ahead.items(), group)
    finally:
        # Do this even after an interruption, so that the next question finds the documents that were stored.
        index.refresh()
        index.save()


def _numbered(uploads: Iterable[Upload]) -> Iterator[tuple[int, Upload]]:
    """Yield the files with their numbers; a file is refused if an earlier one has the same name."""
    seen: set[str] = set()
    for number, upload in enumerate(uploads, start=1):
        reason = "Another file of this call has the same name, and would be replaced by it. Rename one of them."
        yield number, replace(upload, refused=f"{upload.name}: {reason}") if upload.name in seen else upload
        seen.add(upload.name)


def _embed_and_store(items: Iterator[PreparedItem | None], group: _Group) -> Generator[IngestEvent, None, None]:
    """Collect documents until there are enough or none is ready; then store them, and yield the results."""
    last: IngestEvent | None = None
    for item in items:
        if item is None and last and not group:
            yield last  # This lets the consumer stop, however long a file takes.
        elif isinstance(item, IngestProgress):
            last = item
            yield item
        else:
            if item is not None:
                group.add(item)
            if item is None or group.is_enough:
                yield from group.store()
    yield from group.store()


_SHELF_FIELDS = ("sha256", "media_type", "pages", "text", "title", "chunks", "dated")
"""Fields of a draft that are arguments of `DocumentShelf.put`."""


class _Group:
    """Documents to be stored, and the events between them, in order."""

    def __init__(self, embedder: Embedder, shelf: DocumentShelf, pace: TimeEstimate, transaction: Transaction) -> None:
        self._embedder, self._shelf, self._pace, self._transaction = embedder, shelf, pace, transaction
        self._items: list[IngestResult | Draft | Unpacked | Finished] = []
        self._drafts: list[Draft] = []
        self._chunks = 0
        self._stored_names: set[str] = set()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_enough(self) -> bool:
        """Return whether enough chunks are waiting to be embedded together, or no documents are waiting at all."""
        return self._chunks >= EMBED_TOGETHER or not self._drafts

    def add(self, item: IngestResult | Draft | Unpacked | Finished) -> None:
        self._items.append(item)
        if isinstance(item, Draft):
            self._drafts.append(item)
            self._chunks += len(item.chunks)

    def close(self) -> None:
        """Discard the documents that were not stored, and close their files."""
        for draft in self._drafts:
            draft.lent.close()
        self._drafts, self._items, self._chunks = [], [], 0

    def store(self) -> Generator[IngestEvent, None, None]:
        """Embed and store the documents, all in one transaction, and yield the results in order."""
        begun = time.perf_counter()
        texts = [(embedding_texts(draft.chunks, draft.title), draft.progress.at) for draft in self._drafts]
        vectors = yield from embed_documents(texts, self._embedder)
        a_chunk = (time.perf_counter() - begun) / max(1, self._chunks)
        items, results = self._items, iter(list[IngestResult]())
        if self._drafts:
            with self._transaction():
                seconds = [a_chunk * len(draft.chunks) for draft in self._drafts]
                results = iter([*map(self._put, self._drafts, vectors, seconds)])
        # The drafts are stored, so their temporary files can be closed.
        self.close()
        for item in items:
            if isinstance(item, Finished):
                self._pace.finished(item.upload)
                self._stored_names.clear()
                continue
            if isinstance(item, Draft):
                yield item.progress.at("embedding", len(item.chunks), len(item.chunks))
                result = next(results)
            else:
                result = self._unpacked(item) if isinstance(item, Unpacked) else item
            if result.status is not IngestStatus.FAILED:
                self._stored_names.update((result.document, *parent_folders(result.document)))
            yield result

    def _put(self, draft: Draft, vectors: Vectors, seconds: float) -> IngestResult:
        """Put a document on the shelf; `seconds` is the time that its embedding took."""
        begun = time.perf_counter()
        try:
            twin = self._shelf.twin(draft.sha256, draft.name)
            same = {name: getattr(draft, name) for name in _SHELF_FIELDS}
            self._shelf.put(draft.name, **same, vectors=vectors, original=draft.kept_file, unread=draft.waiting_pages)
        except DocumentError as error:
            return IngestResult(draft.name, IngestStatus.FAILED, seconds=round(draft.seconds, 3), error=str(error))
        notes = [f"The same content is in the collection as “{twin}”."] if twin else []
        notes += [prepare.waiting_pages_note(draft.waiting_pages)] if draft.waiting_pages else []
        warnings = (prepare.lost_pages_warning(draft.lost_pages),) if draft.lost_pages else ()
        status = IngestStatus.UPDATED if draft.replaces else IngestStatus.ADDED
        counts = (draft.pages, len(draft.chunks), round(draft.seconds + seconds + time.perf_counter() - begun, 3))
        return IngestResult(draft.name, status, *counts, note=" ".join(notes) or None, warnings=warnings)

    def _unpacked(self, archive: Unpacked) -> IngestResult:
        """Return the result for an archive: how many of its files are in the collection."""
        seconds = round(time.perf_counter() - archive.begun, 3)
        count = len(self._stored_names.intersection(archive.members))
        if not count:
            error = f"{archive.name} holds no file that could be added."
            return IngestResult(archive.name, IngestStatus.FAILED, seconds=seconds, error=error)
        note = ngettext("%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count)
        return IngestResult(archive.name, IngestStatus.UNPACKED, seconds=seconds, note=note)


Result = TypeVar("Result")


class Shelf(Protocol):
    """The documents of a collection."""

    def text(self, name: str) -> str: ...

    def title(self, name: str) -> str | None: ...

    def recut(self, document: Document, *, chunks: Sequence[Chunk], vectors: Vectors, title: str) -> None: ...


def recut(documents: Sequence[Document], *, shelf: Shelf, embedder: Embedder, chunk_tokens: int) -> int:
    """Cut documents without chunks from their stored text; return how many of them have chunks now.

    Each document is one transaction. Raises StoreError and ModelError.
    """
    number = 0
    for document in documents:
        text = shelf.text(document.name)
        parts = enumerate(text.split(PAGE_BREAK), start=1) if document.pages else [(None, text)]
        pages = [Page(number_of_page, part) for number_of_page, part in parts]
        title = prepare.document_title(shelf.title(document.name), pages, document.name)
        chunks = _run_to_end(cut_pages(pages, title, embedder, chunk_tokens, _progress_event))
        # Pages that wait for text recognition have characters, but nothing to cut: they are separated by page breaks.
        if chunks:
            vectors = _run_to_end(embed_chunks(chunks, title, embedder, _progress_event, known={}))
            shelf.recut(document, chunks=chunks, vectors=vectors, title=title)
            number += 1
    return number


def _progress_event(phase: str, done: int, total: int) -> IngestProgress:
    return IngestProgress("", 1, 1, phase, done, total, None)


def _run_to_end(steps: Generator[IngestEvent, None, Result]) -> Result:
    """Run a generator to its end, ignoring its progress, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
