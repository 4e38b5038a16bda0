"""Renewal: documents that an earlier version cut into chunks are cut anew, from their stored text.

One transaction each, so that it goes on where it was interrupted, and questions are answered meanwhile from what there
is: of a document either all its old chunks are found or all its new ones. What only a reader of its file knows of
headings (type size, markup) is not in the text: added again, the file is read again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from localcrag.records.documents import Chunk, Document, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnknownDocument
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest.chunk import PAGE_BREAK
from localcrag.steps.ingest.embed import chunks_of, embedded
from localcrag.steps.ingest.ingest import SavableIndex
from localcrag.steps.ingest.title import document_title


class OlderShelf(Protocol):
    """Where documents are kept, some of them as an earlier version cut them."""

    def outdated(self) -> list[Document]: ...

    def text(self, name: str) -> str: ...

    def title(self, name: str) -> str | None: ...

    def recut(self, document: Document, *, chunks: Sequence[Chunk], vectors: Vectors, title: str) -> None: ...


def renew(
    *, shelf: OlderShelf, index: SavableIndex, embedder: Embedder, chunk_tokens: int
) -> Generator[IngestEvent, None, None]:
    """Cut the outdated documents anew; yields progress and one result each. Raises StoreError and ModelError."""
    documents = shelf.outdated()
    try:
        for number, document in enumerate(documents, start=1):
            for event in _renew_one(document, shelf, embedder, chunk_tokens):
                if isinstance(event, IngestProgress):
                    yield replace(event, number=number, files=len(documents))
                else:
                    yield event
            index.refresh()
    finally:
        index.refresh()
        index.save()


def _renew_one(document: Document, shelf: OlderShelf, embedder: Embedder, chunk_tokens: int) -> Iterator[IngestEvent]:
    try:
        text = shelf.text(document.name)
    except UnknownDocument:
        return  # Deleted before its turn: there is nothing to renew.
    if document.pages:
        pages = [Page(number, part) for number, part in enumerate(text.split(PAGE_BREAK), start=1)]
    else:
        pages = [Page(None, text)]
    title = document_title(shelf.title(document.name), pages, document.name)

    def at(phase: str, done: int, total: int) -> IngestProgress:
        return IngestProgress(document.name, 1, 1, phase, done, total, None)

    chunks = yield from chunks_of(pages, title, embedder, chunk_tokens, at)
    vectors = yield from embedded(chunks, title, embedder, at)
    shelf.recut(document, chunks=chunks, vectors=vectors, title=title)
    yield IngestResult(document.name, IngestStatus.UPDATED, document.pages, len(chunks))
