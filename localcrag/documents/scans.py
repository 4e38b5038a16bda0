"""Text recognition of pages that are pictures; their text is stored in the collection.

`Recogniser` runs the processes, which pause while questions are answered. `read_scans` reads the pages of a collection
that wait for text recognition.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from localcrag.documents import prepare
from localcrag.documents.chunking import cut_pages, embed_chunks, join_pages
from localcrag.documents.prefetch import Bounds, OrderedPrefetch
from localcrag.documents.prepare import document_title
from localcrag.privacy.child_process import ProcessPool, WorkerFailed
from localcrag.records.documents import Document, Member, OpenDocument, ScannedPage
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, UnreadableDocument
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult
from localcrag.records.protocols import Embedder, SavableIndex, ScannedPages
from localcrag.text.places import place_name
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

MODULE = "localcrag.documents.ocr"
PATIENCE = 300.0
"""Seconds to wait until the lines of a picture are found, or a few of them are read."""


class Recogniser(ProcessPool):
    """Processes that each read one page's picture at a time, and are started when needed."""

    def __init__(self, patience: float = PATIENCE) -> None:
        super().__init__(MODULE, patience)

    def read(self, picture: bytes, what: str, *, threads: int = 0, checkpoint: Callable[[], None]) -> ScannedPage:
        """Return the text of a page's picture (PNG); `what` is the page's name in errors.

        `checkpoint` is called every few lines: it may wait, and if it raises an error, the reading ends. `threads` is
        the number of CPU threads; 0 means one per core. Raises UnreadableDocument. Several threads may call this at
        once.
        """
        process = self.take()
        try:
            checkpoint()
            process.ask({"threads": threads}, picture)
            content, _ = process.answer()
            while "page" not in content:
                if "error" in content:
                    raise WorkerFailed(content["error"])
                checkpoint()
                process.ask({"go": "on"}, b"")
                content, _ = process.answer()
            page = ScannedPage.of(content["page"])
        except BaseException as error:
            # The next message of this process would be taken for the answer to the next page.
            self.drop(process)
            if isinstance(error, WorkerFailed):
                raise UnreadableDocument(f"The text of {what} cannot be recognised: {error}.") from error
            raise
        self.give_back(process)
        return page


STORE_INTERVAL_FACTOR = 20
"""Minimum time between two updates of a document's text, as a multiple of the time that the last update took."""


LEAST_CONFIDENT, LEAST_CERTAIN = 0.9, 0.5
"""Minimum confidence of the text read on a page, and of everything on it that looks like a line.

Legible text, however small, pale or blurred, is read with a confidence of 0.95 and more. Letters of other scripts are
read with less than 0.9, or most of them are not read at all (scripts/lab/measuring/measure_ocr.py).
"""
RECOGNISED_SCRIPTS = frozenset(("LATIN", "CJK", "HIRAGANA", "KATAKANA", "FULLWIDTH", "HALFWIDTH", "DIGIT"))
"""Scripts that are recognised, named by the first word in the Unicode names of their letters."""


OpenScanned = Callable[[Path, str, Mapping[int, ScannedPage]], OpenDocument]
"""Opens a file, given its path, its name and the pages that have been recognised."""
ReadPage = Callable[[bytes, Document, int], ScannedPage]
"""Reads a page, given the document's file, the document and the page's number. Raises DocumentError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTools:
    """Settings and functions to read scans; `workers` calls of `read_page` run at once, and `abandon` ends them all."""

    shelf: ScannedPages
    index: SavableIndex
    embedder: Embedder
    chunk_tokens: int
    open_file: OpenScanned
    read_page: ReadPage
    as_file: Callable[[Member], AbstractContextManager[Path]]
    workers: int = 1
    abandon: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _ScanProgress:
    """The number of pages read and waiting, and the time per page, while several are read at once."""

    done: int = 0
    waiting: int = 0
    begun: float = field(default_factory=time.perf_counter)

    def progress(self, document: Document) -> IngestProgress:
        per_page = (time.perf_counter() - self.begun) / self.done if self.done else None
        left = per_page * self.waiting if per_page is not None else None
        return IngestProgress(document.name, 1, 1, "recognising", self.done, self.done + self.waiting, left, per_page)


@dataclass(slots=True)
class _DocumentScan:
    """A document, and the results of its pages since the reading began."""

    document: Document
    original: bytes
    begun: float = field(default_factory=time.perf_counter)
    read: dict[int, ScannedPage] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    stored_at: float = field(default_factory=time.perf_counter)
    storing_seconds: float = 0.0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _PageResult:
    """The result of a page; if `page` is None, the document's last page has already been yielded."""

    reading: _DocumentScan
    page: int | None
    read: ScannedPage | None = None
    error: str | None = None


def read_scans(parts: ScanTools) -> Generator[IngestEvent, None, None]:
    """Read the pages that wait in a collection, including new ones; yield progress and one result per document.

    Raises StoreError and ModelError, and the errors of `read_page` except DocumentError.
    """
    pace = _ScanProgress()
    seen: set[int] = set()
    while documents := [one for one in parts.shelf.documents() if one.id not in seen]:
        pace.waiting = sum(one.waiting for one in documents)
        seen.update(one.id for one in documents)
        # One page ahead is enough: a page's result is small, but each job keeps its document's file in memory.
        bounds = Bounds(parts.workers, parts.workers + 1, parts.workers + 1)
        jobs = _waiting_pages(documents, parts)
        with OrderedPrefetch(jobs, lambda job: _page(job, parts), bounds, abandon=parts.abandon) as ahead:
            yield pace.progress(documents[0])
            yield from _store_results(ahead.items(), documents[0], parts, pace)


def _waiting_pages(documents: Sequence[Document], parts: ScanTools) -> Iterator[tuple[_DocumentScan, int | None]]:
    """Yield each waiting page, and None after the last page of a document."""
    for document in documents:
        original = parts.shelf.original(document)
        if original is not None:  # Otherwise the document was deleted before its turn.
            reading = _DocumentScan(document, original)
            yield from ((reading, page) for page in parts.shelf.waiting(document))
            yield reading, None


def _store_results(
    items: Iterator[_PageResult | None], document: Document, parts: ScanTools, pace: _ScanProgress
) -> Generator[IngestEvent, None, None]:
    """Put the recognised pages into their documents; `document` is the first of them."""
    try:
        for item in items:
            if item is None:
                yield pace.progress(document)
                continue
            document, reading = item.reading.document, item.reading
            # After an error, the document's remaining pages are skipped.
            if reading.failed:
                continue
            try:
                yield from _store_result(item, parts, pace)
            except DocumentError as error:
                reading.failed = True
                yield IngestResult(document.name, IngestStatus.FAILED, document.pages, error=str(error))
    finally:
        parts.index.refresh()
        parts.index.save()


def _store_result(item: _PageResult, parts: ScanTools, pace: _ScanProgress) -> Generator[IngestEvent, None, None]:
    """Record a page's result, and update its document unless that was done recently; or finish the document."""
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
    # Storing takes longer as the text grows, so the interval is a multiple of the time that storing took.
    if time.perf_counter() - reading.stored_at > STORE_INTERVAL_FACTOR * reading.storing_seconds:
        begun = time.perf_counter()
        yield from _put_text(reading, parts, pace)
        reading.stored_at = time.perf_counter()
        reading.storing_seconds = reading.stored_at - begun


def _page(job: tuple[_DocumentScan, int | None], parts: ScanTools) -> Generator[_PageResult, None, None]:
    """Read a page and store its text; runs in a separate thread."""
    reading, page = job
    if page is None or reading.failed:
        yield _PageResult(reading, None)
        return
    document, begun = reading.document, time.perf_counter()
    try:
        read = parts.read_page(reading.original, document, page)
        if not _is_legible(read):
            raise UnreadableDocument(_illegible_error(place_name(document.name, page), parts.shelf.text(document)))
    except DocumentError as error:
        parts.shelf.record_failure(document, page, str(error))
        yield _PageResult(reading, page, error=str(error))
    else:
        parts.shelf.keep(document, page, read, round(time.perf_counter() - begun, 3))
        yield _PageResult(reading, page, read)


def _is_legible(read: ScannedPage) -> bool:
    """Return whether the text of a page can be trusted; a drawing on which nothing was read is not refused."""
    confidence, certainty = read.confidence, read.certainty
    return confidence is None or certainty is None or (confidence >= LEAST_CONFIDENT and certainty >= LEAST_CERTAIN)


def _illegible_error(what: str, text: str) -> str:
    """Return the error for a page whose letters are not recognised; `text` is the document's other text."""
    names = Counter(unicodedata.name(letter, "").split(" ")[0] for letter in text if letter.isalpha())
    script = max(names, key=lambda name: names[name], default="")
    is_other = script and script not in RECOGNISED_SCRIPTS
    letters = f" in {script.capitalize()} letters, as the rest of the document" if is_other else ""
    return (
        f"{what} shows text{letters} that cannot be recognised: printed Latin, Chinese and Japanese is, if it is "
        "sharp enough to be read. Add what it says as a text file, or make the PDF searchable with another program."
    )


def _put_text(reading: _DocumentScan, parts: ScanTools, pace: _ScanProgress) -> Generator[IngestEvent, None, int]:
    """Put the text read so far into the document; return its number of chunks."""
    document = reading.document
    read = parts.shelf.read(document)
    with parts.as_file(Member(document.name, reading.original)) as path:
        opened = parts.open_file(path, document.name, read)
        pages = list(opened.pages)
    title = document_title(opened.title, pages, document.name)

    def event(*_: object) -> IngestProgress:
        return pace.progress(document)

    chunks = yield from cut_pages(pages, title, parts.embedder, parts.chunk_tokens, event)
    vectors = yield from embed_chunks(chunks, title, parts.embedder, event, parts.shelf.vectors(document))
    text, recognised = join_pages(pages), list(read)
    parts.shelf.replace_text(document, text=text, chunks=chunks, vectors=vectors, title=title, pages=recognised)
    parts.index.refresh()
    return len(chunks)


def _result(reading: _DocumentScan, chunks: int) -> IngestResult:
    document, read = reading.document, reading.read
    seconds = round(time.perf_counter() - reading.begun, 3)
    silent = prepare.page_ranges(page for page, one in sorted(read.items()) if not one.lines)
    warnings = list(reading.errors)
    if silent:
        warnings.append(_("No text that can be recognised was found on: page %(pages)s.", pages=silent))
    note = ngettext(
        "%(num)s page was read by text recognition", "%(num)s pages were read by text recognition", len(read)
    )
    if confidences := [one.confidence for one in read.values() if one.confidence is not None]:
        note += _(", confidence %(mean).2f", mean=sum(confidences) / len(confidences))
    counts = (document.pages, chunks, seconds)
    return IngestResult(
        document.name, IngestStatus.UPDATED, *counts, note=note if read else None, warnings=tuple(warnings)
    )
