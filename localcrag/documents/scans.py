"""Text recognition as the app asks for it: of processes that give way to questions."""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from localcrag.documents import prepare
from localcrag.documents.chunking import chunks_of, embedded, join_pages
from localcrag.documents.ingest import SavableIndex
from localcrag.documents.prefetch import Ahead, Bounds
from localcrag.documents.prepare import OpenDocument, document_title
from localcrag.privacy.child_process import ChildProcess, Over, ProcessPool
from localcrag.records.documents import Chunk, Document, Member, ScannedPage
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, UnreadableDocument
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult
from localcrag.records.protocols import Embedder, Vectors
from localcrag.text.places import place
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

MODULE = "localcrag.documents.ocr"
PATIENCE = 300.0
"""Seconds for the lines of a picture to be found, or for a few of them to be read."""


class Recogniser(ProcessPool):
    """Processes that read pictures, a page at a time each, started when they are needed."""

    def __init__(self, patience: float = PATIENCE) -> None:
        super().__init__(MODULE, patience)

    def read(self, picture: bytes, what: str, *, threads: int = 0, go_on: Callable[[], None]) -> ScannedPage:
        """Return what a page's picture (PNG) says; `what` is the page's name in errors.

        `go_on` is called every few lines: it may wait, and what it raises ends the reading. `threads` of the
        processor are used, 0: one a core. Raises UnreadableDocument. May be used by several threads at once.
        """
        process = self.take()
        try:
            page = self._read(process, picture, what, threads, go_on)
        except BaseException:
            # Whatever it says next would be taken for an answer to the next page.
            self.drop(process)
            raise
        self.give_back(process)
        return page

    def _read(
        self, process: ChildProcess, picture: bytes, what: str, threads: int, go_on: Callable[[], None]
    ) -> ScannedPage:
        go_on()
        process.ask({"threads": threads}, picture)
        while True:
            try:
                content, _ = process.answer()
            except Over as over:
                raise UnreadableDocument(f"The text of {what} cannot be recognised: {over}.") from over
            if "error" in content:
                raise UnreadableDocument(f"The text of {what} cannot be recognised: {content['error']}.")
            if "page" in content:
                return ScannedPage.of(content["page"])
            go_on()
            process.ask({"go": "on"}, b"")


LEAST_BETWEEN = 20
"""Times the seconds that putting a document's text in took: how long it is read on before that is done again."""


LEAST_CONFIDENT, LEAST_CERTAIN = 0.9, 0.5
"""Confidence of what was read on a page, and of all that looks like lines there.

What can be read, however small, pale or blurred, is read with 0.95 and more; letters of other scripts with less than
0.9, or most of them are not read at all (scripts/lab/measuring/measure_ocr.py).
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
    """What scans are read with; `read_page` by so many `workers` at once, all of which `abandon` ends."""

    shelf: ScannedShelf
    index: SavableIndex
    embedder: Embedder
    chunk_tokens: int
    open_file: OpenScanned
    read_page: ReadPage
    as_file: Callable[[Member], AbstractContextManager[Path]]
    workers: int = 1
    abandon: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Pace:
    """How many pages there are to read, and how long one takes, several of them being read at once."""

    done: int = 0
    waiting: int = 0
    begun: float = field(default_factory=time.perf_counter)

    def progress(self, document: Document) -> IngestProgress:
        of_one = (time.perf_counter() - self.begun) / self.done if self.done else None
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
    put: float = field(default_factory=time.perf_counter)
    putting: float = 0.0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Come:
    """What has come of a page; without a page, the document's last one has come before."""

    reading: _Reading
    page: int | None
    read: ScannedPage | None = None
    error: str | None = None


def read_scans(parts: Parts) -> Generator[IngestEvent, None, None]:
    """Read what waits in a collection, and whatever comes meanwhile; yields progress and one result a document.

    Raises StoreError and ModelError, and what `read_page` raises beside DocumentError.
    """
    pace = _Pace()
    seen: set[int] = set()
    while documents := [one for one in parts.shelf.documents() if one.id not in seen]:
        pace.waiting = sum(one.waiting for one in documents)
        seen.update(one.id for one in documents)
        # One page more than is read: what comes of a page is little, and each holds its document's file.
        bounds = Bounds(parts.workers, parts.workers + 1, parts.workers + 1)
        jobs = _pages_of(documents, parts)
        with Ahead(jobs, lambda job: _page(job, parts), bounds, abandon=parts.abandon) as ahead:
            yield pace.progress(documents[0])
            yield from _followed(ahead.items(), documents[0], parts, pace)


def _pages_of(documents: Sequence[Document], parts: Parts) -> Iterator[tuple[_Reading, int | None]]:
    """Yield each page that waits, and behind a document's last one its end."""
    for document in documents:
        original = parts.shelf.original(document)
        if original is not None:  # Else it was deleted before its turn.
            reading = _Reading(document, original)
            yield from ((reading, page) for page in parts.shelf.waiting(document))
            yield reading, None


def _followed(
    items: Iterator[_Come | None], document: Document, parts: Parts, pace: _Pace
) -> Generator[IngestEvent, None, None]:
    """Put what has been read into the documents; `document` is the first of them."""
    try:
        for item in items:
            if item is None:
                yield pace.progress(document)
                continue
            document, reading = item.reading.document, item.reading
            if reading.failed:
                continue
            try:
                yield from _taken(item, parts, pace)
            except DocumentError as error:
                reading.failed = True
                yield IngestResult(document.name, IngestStatus.FAILED, document.pages, error=str(error))
    finally:
        parts.index.refresh()
        parts.index.save()


def _taken(item: _Come, parts: Parts, pace: _Pace) -> Generator[IngestEvent, None, None]:
    """Take down what has come of a page, and put it into its document, unless that was done just now; or end it."""
    reading = item.reading
    if item.page is None:
        yield pace.progress(reading.document)
        chunks = yield from _put_text(reading, parts, pace)
        parts.index.save()
        yield _result(reading, chunks)
        return
    pace.waiting -= 1
    if item.error is not None:
        reading.errors.append(item.error)
    if item.read is not None:
        reading.read[item.page] = item.read
        pace.done += 1
    yield pace.progress(reading.document)
    if time.perf_counter() - reading.put > LEAST_BETWEEN * reading.putting:
        begun = time.perf_counter()
        yield from _put_text(reading, parts, pace)
        reading.put = time.perf_counter()
        reading.putting = reading.put - begun


def _page(job: tuple[_Reading, int | None], parts: Parts) -> Generator[_Come, None, None]:
    """Read a page and keep it, in a thread of its own."""
    reading, page = job
    if page is None or reading.failed:
        yield _Come(reading, None)
        return
    document, begun = reading.document, time.perf_counter()
    try:
        read = parts.read_page(reading.original, document, page)
        if not _is_legible(read):
            raise UnreadableDocument(_illegible(place(document.name, page), parts.shelf.text(document)))
    except DocumentError as error:
        parts.shelf.give_up(document, page, str(error))
        yield _Come(reading, page, error=str(error))
    else:
        parts.shelf.keep(document, page, read, round(time.perf_counter() - begun, 3))
        yield _Come(reading, page, read)


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
    silent = prepare.named(page for page, one in sorted(read.items()) if not one.lines)
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
