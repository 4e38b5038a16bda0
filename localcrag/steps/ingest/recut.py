"""Chunks made again from the stored text of documents that lost theirs: the last step of a repair.

The text is all that is left of such a document. What only a reader of its file knows of headings (type size, markup) is
not in it; the file has to be added again for that.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol, TypeVar

from localcrag.records.documents import Chunk, Document, Page
from localcrag.records.ingest import IngestEvent, IngestProgress
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest.chunk import PAGE_BREAK
from localcrag.steps.ingest.embed import chunks_of, embedded
from localcrag.steps.ingest.title import document_title

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
