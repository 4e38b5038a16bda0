"""Scans: pages that are pictures go into their documents as text recognition reads them.

Each page is kept as soon as it is read, so that it goes on where it was interrupted. Of a long document what is read so
far goes in from time to time, so that questions find it before its end.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from localcrag.records.documents import Chunk, Document, Member, ScannedPage
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, UnreadableDocument
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest import unread_pages
from localcrag.steps.ingest.chunk import join_pages
from localcrag.steps.ingest.embed import chunks_of, embedded
from localcrag.steps.ingest.ingest import OpenDocument, SavableIndex
from localcrag.steps.ingest.title import document_title
from localcrag.text.places import place
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

LEAST_BETWEEN = 20
"""Times the seconds that putting a document's text in took: how long it is read on before that is done again."""


LEAST_CONFIDENT, LEAST_CERTAIN = 0.9, 0.5
"""Confidence of what was read on a page, and of all that looks like lines there.

What can be read, however small, pale or blurred, is read with 0.95 and more; letters of other scripts with less than
0.9, or most of them are not read at all (scripts/measure_ocr.py).
"""
READ = frozenset(("LATIN", "CJK", "HIRAGANA", "KATAKANA", "FULLWIDTH", "HALFWIDTH", "DIGIT"))
"""Scripts that are recognised, as Unicode calls their letters."""


class ScannedShelf(Protocol):
    """Where documents with pages that are pictures are kept."""

    def documents(self) -> list[Document]: ...

    def original(self, document: Document) -> bytes | None: ...

    def text(self, document: Document) -> str: ...

    def waiting(self, document: Document) -> list[int]: ...

    def read(self, document: Document) -> dict[int, ScannedPage]: ...

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None: ...

    def give_up(self, document: Document, page: int, error: str) -> None: ...

    def vectors(self, document: Document) -> dict[str, Vectors]: ...

    def put_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None: ...


OpenScanned = Callable[[Path, str, Mapping[int, ScannedPage]], OpenDocument]
"""Opens a file by its name, given what was read of its pages."""
ReadPage = Callable[[bytes, Document, int], ScannedPage]
"""Reads a page of a document, of which this is the file. Raises DocumentError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What scans are read with."""

    shelf: ScannedShelf
    index: SavableIndex
    embedder: Embedder
    chunk_tokens: int
    open_file: OpenScanned
    read_page: ReadPage
    as_file: Callable[[Member], AbstractContextManager[Path]]


@dataclass(slots=True)
class _Pace:
    """How many pages there are to read, and how long one takes."""

    done: int = 0
    waiting: int = 0
    seconds: float = 0.0

    def progress(self, document: Document) -> IngestProgress:
        of_one = self.seconds / self.done if self.done else None
        left = of_one * self.waiting if of_one is not None else None
        total = self.done + self.waiting
        return IngestProgress(document.name, 1, 1, "recognising", self.done, total, left, of_one)


@dataclass(slots=True)
class _Reading:
    """One document, and what became of its pages since it was begun."""

    document: Document
    original: bytes
    begun: float = field(default_factory=time.perf_counter)
    read: dict[int, ScannedPage] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def read_scans(parts: Parts) -> Generator[IngestEvent, None, None]:
    """Read what waits in a collection, and whatever comes meanwhile; yields progress and one result a document.

    Raises StoreError and ModelError, and what `read_page` raises beside DocumentError.
    """
    pace = _Pace()
    seen: set[int] = set()
    while documents := [one for one in parts.shelf.documents() if one.id not in seen]:
        pace.waiting = sum(one.waiting for one in documents)
        seen.add(documents[0].id)
        try:
            yield from _read_document(documents[0], parts, pace)
        except DocumentError as error:
            yield IngestResult(documents[0].name, IngestStatus.FAILED, documents[0].pages, error=str(error))


def _read_document(document: Document, parts: Parts, pace: _Pace) -> Generator[IngestEvent, None, None]:
    original = parts.shelf.original(document)
    if original is None:
        return  # Deleted before its turn.
    reading = _Reading(document, original)
    try:
        last, took = time.perf_counter(), 0.0
        for page in parts.shelf.waiting(document):
            yield pace.progress(document)
            _read_page(reading, page, parts, pace)
            if time.perf_counter() - last > LEAST_BETWEEN * took:
                begun = time.perf_counter()
                yield from _put_text(reading, parts, pace)
                last = time.perf_counter()
                took = last - begun
        yield pace.progress(document)
        chunks = yield from _put_text(reading, parts, pace)
    finally:
        parts.index.refresh()
        parts.index.save()
    yield _result(reading, chunks)


def _read_page(reading: _Reading, page: int, parts: Parts, pace: _Pace) -> None:
    begun = time.perf_counter()
    try:
        read = parts.read_page(reading.original, reading.document, page)
        if not _is_legible(read):
            raise UnreadableDocument(_illegible(place(reading.document.name, page), parts.shelf.text(reading.document)))
    except DocumentError as error:
        parts.shelf.give_up(reading.document, page, str(error))
        reading.errors.append(str(error))
    else:
        seconds = time.perf_counter() - begun
        parts.shelf.keep(reading.document, page, read, round(seconds, 3))
        reading.read[page] = read
        pace.seconds += seconds
        pace.done += 1
    pace.waiting -= 1


def _is_legible(read: ScannedPage) -> bool:
    """Return whether what was read of a page can be trusted; a drawing, on which nothing was, is no page to refuse."""
    confidence, certainty = read.confidence, read.certainty
    return confidence is None or certainty is None or (confidence >= LEAST_CONFIDENT and certainty >= LEAST_CERTAIN)


def _illegible(what: str, text: str) -> str:
    """Return what is said of a page whose letters are not recognised; `text` is what the document says otherwise."""
    names = Counter(unicodedata.name(letter, "").split(" ")[0] for letter in text if letter.isalpha())
    script = max(names, key=lambda name: names[name], default="")
    of = f" in {script.capitalize()} letters, as the rest of the document" if script and script not in READ else ""
    return (
        f"{what} shows text{of} that cannot be recognised: printed Latin, Chinese and Japanese is, if it is sharp "
        "enough to be read. Add what it says as a text file, or make the PDF searchable with another program."
    )


def _put_text(reading: _Reading, parts: Parts, pace: _Pace) -> Generator[IngestEvent, None, int]:
    """Put what was read so far into the document; return its number of chunks."""
    document = reading.document
    read = parts.shelf.read(document)
    with parts.as_file(Member(document.name, reading.original)) as path:
        opened = parts.open_file(path, document.name, read)
        pages = list(opened.pages)
    title = document_title(opened.title, pages, document.name)

    def at(*_: object) -> IngestProgress:
        return pace.progress(document)

    chunks = yield from chunks_of(pages, title, parts.embedder, parts.chunk_tokens, at)
    known = parts.shelf.vectors(document)
    vectors = yield from embedded(chunks, title, parts.embedder, at, known=known)
    parts.shelf.put_text(
        document, text=join_pages(pages), chunks=chunks, vectors=vectors, title=title, pages=list(read)
    )
    parts.index.refresh()
    return len(chunks)


def _result(reading: _Reading, chunks: int) -> IngestResult:
    document, read = reading.document, reading.read
    seconds = round(time.perf_counter() - reading.begun, 3)
    silent = unread_pages.named(page for page, one in sorted(read.items()) if not one.lines)
    warnings = list(reading.errors)
    if silent:
        warnings.append(_("No text that can be recognised was found on: page %(pages)s.", pages=silent))
    note = None
    if read:
        confidences = [one.confidence for one in read.values() if one.confidence is not None]
        note = ngettext(
            "%(num)s page was read by text recognition", "%(num)s pages were read by text recognition", len(read)
        )
        if confidences:
            note += _(", confidence %(mean).2f", mean=sum(confidences) / len(confidences))
    return IngestResult(
        document.name, IngestStatus.UPDATED, document.pages, chunks, seconds, note=note, warnings=tuple(warnings)
    )
