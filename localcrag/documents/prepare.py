"""Prepares files for a collection: reads each file and those within it, and cuts its text into chunks.

`prepared` yields drafts of documents to be stored, with progress and results. The other functions compute a file's
checksum and title, unpack the files within it, and find pages without text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Protocol, TypeVar

from localcrag.documents.chunking import cut_pages, join_pages
from localcrag.records.documents import ARCHIVE, PDF_TYPE, Chunk, Document, Member, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, PasswordNeeded, UnreadableDocument
from localcrag.records.ingest import FileProgress, IngestProgress, IngestResult, OriginalFile, Stamp, Upload
from localcrag.records.protocols import Embedder
from localcrag.text.places import number_ranges
from localcrag.text.quantities import file_date
from localcrag.text.titles import (
    BEGINNING,
    LONGEST_MATTER,
    find_title,
    heading_text,
    is_heading,
    is_named_by_file,
    may_be_title,
    strip_site_name,
    title_from_name,
)
from localcrag.text.translation import ngettext


def file_stamp(upload: Upload) -> Stamp | None:
    """Return a file's stamp without reading the file; None if there is no such file."""
    try:
        return Stamp.of(upload.path.stat())
    except OSError:
        return None


def is_unchanged(upload: Upload, before: Stamp | None, sha256: str) -> bool:
    """Return whether a file has not been written to since `before`, when it had the checksum `sha256`."""
    now = file_stamp(upload)
    if before is None or now is None or replace(before, ctime_ns=now.ctime_ns) != now:
        return False
    if before == now:
        return True
    try:
        # Only ctime differs: the file was renamed, or its permissions changed, or it was written to and its time was
        # reset.
        return checksum(upload) == sha256
    except UnreadableDocument:
        return False


def checksum(upload: Upload) -> str:
    """Return a file's SHA-256. Raises UnreadableDocument, also if it is refused or is not an ordinary file."""
    if upload.refused:
        raise UnreadableDocument(upload.refused)
    try:
        if not stat.S_ISREG(upload.path.stat().st_mode):  # reading a pipe may block, and a device never ends
            raise UnreadableDocument(f"{upload.name} cannot be read: it is not an ordinary file. Choose a file.")
        with upload.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableDocument(
            f"{upload.name} cannot be read: {error.strerror or error}. Check that the file is there and readable."
        ) from error


MOST_MEMBERS, MOST_BYTES = 20_000, 2 * 10**9
"""Maximum number and total bytes of the files within one added file, including those within others."""
DEEPEST = 3
"""Maximum nesting of files, such as an e-mail in an archive that is attached to another e-mail."""

Item = TypeVar("Item")
Add = Callable[[Upload, ExitStack], Generator[Item, None, None]]
"""Adds a file that exists while the stack is open; the function may take the stack over (`pop_all`)."""
AsFile = Callable[[Member], AbstractContextManager[Path]]
"""Provides a member as a file that exists only within the context."""


@dataclass(slots=True)
class UnpackLimits:
    """The number and bytes of files that may still be unpacked from one added file."""

    members: int = MOST_MEMBERS
    size: int = MOST_BYTES

    def take(self, member: Member, whole: str) -> None:
        """Subtract a file from the room. Raises UnreadableDocument if there is not enough room for it."""
        self.members -= 1
        self.size -= len(member.data)
        if self.members < 0 or self.size < 0:
            raise UnreadableDocument(
                f"{whole} holds more than {MOST_MEMBERS:,} files or {MOST_BYTES / 1e9:.0f} GB, and was added up to "
                "there. Unpack it, and add the folder."
            )


def add_members(
    whole: str, members: Iterable[Member], add: Add[Item], room: UnpackLimits, *, as_file: AsFile, depth: int
) -> Generator[Item | IngestResult, None, tuple[str, ...]]:
    """Add the files within `whole`, each by `add`; return their names.

    `depth` is the number of files that `whole` is nested in. Raises UnreadableDocument if there are too many files or
    they are nested too deeply, and what `as_file` raises.
    """
    names = []
    for member in members:
        if depth == DEEPEST:
            raise UnreadableDocument(
                f"{whole} lies within {DEEPEST} other files, and what it holds was not added. Unpack it, and add the "
                "folder."
            )
        upload = Upload(Path(), f"{whole}/{member.name}", original=member.changed is not None)
        if member.error:
            yield IngestResult(f"{whole}/{member.name}", IngestStatus.FAILED, error=member.error)
            continue
        room.take(member, whole)
        names.append(upload.name)
        with ExitStack() as lent:
            path = lent.enter_context(as_file(member))
            yield from add(replace(upload, path=path), lent)
    return tuple(names)


def lost_page_numbers(pages: Iterable[Page], chunks: Iterable[Chunk]) -> list[int]:
    """Return the numbers of pages with content that is in no chunk; blank pages are not among them."""
    found = {chunk.page for chunk in chunks}
    lost = (page for page in pages if page.unread or (page.number not in found and page.text.strip()))
    return [page.number for page in lost if page.number is not None]


def lost_pages_warning(pages: Sequence[int]) -> str:
    """Return the warning about these pages without text; `pages` has at least one."""
    return ngettext(
        "Page %(pages)s holds no text (a scan?): it cannot be found or quoted.",
        "Pages %(pages)s hold no text (scans?): they cannot be found or quoted.",
        len(pages),
        pages=page_ranges(pages),
    )


def waiting_pages_note(pages: Sequence[int]) -> str:
    """Return the note about these pages, which wait for text recognition; `pages` has at least one."""
    return ngettext(
        "Page %(pages)s is a picture: it can be found as soon as its text is recognised.",
        "Pages %(pages)s are pictures: they can be found as soon as their text is recognised.",
        len(pages),
        pages=page_ranges(pages),
    )


def waiting_and_lost_pages(
    pages: Sequence[Page], chunks: Sequence[Chunk], *, recognised: bool
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the pages that wait for text recognition, and those that are lost.

    Pages that are pictures wait if `recognised`; otherwise they are lost.
    """
    pictures = [page.number for page in pages if page.unread and page.number] if recognised else []
    return pictures, [number for number in lost_page_numbers(pages, chunks) if number not in pictures]


def no_text_error(name: str, unread: Sequence[int]) -> str:
    """Return the error for a document without searchable text; `unread` are its pages that were not read."""
    if not unread:
        return f"{name} holds no text that could be searched."
    return (
        f"{name} holds no text: its pages are pictures or lettering without meaning (a scan?), and text recognition is "
        "turned off. Turn it on (the setting read_scans), and add the file again."
    )


def page_ranges(pages: Iterable[int]) -> str:
    """Return ascending numbers as text, with consecutive ones as a range: "3, 7–9"."""
    return ", ".join(number_ranges(pages))


TITLE_PAGES = 3
"""Number of a document's first pages on which its title may be."""
LEAST_RUNNING_PAGES = 3
"""Minimum pages that begin or end with the same line for it to be a header or footer; in long documents, a third."""


def document_title(stated: str | None, pages: Sequence[Page], name: str) -> str:
    """Return the title of a document. `stated` is the title in its properties, `name` the name of its file."""
    found = [_headings(page) for page in pages[:TITLE_PAGES]]
    if stated and not _is_name(stated, name):
        return strip_site_name(stated, [text for headings in found for _, text in headings])
    if is_named_by_file(name):
        return title_from_name(name)
    for headings in found:
        fit = [heading for heading in headings if is_heading(heading[1]) and may_be_title(heading[1])]
        if fit:
            return min(fit, key=lambda heading: heading[0])[1]
    running = _running(pages)
    beginning = "\n".join(page.text for page in pages[:TITLE_PAGES])[: LONGEST_MATTER + BEGINNING]
    lines = (line for line in beginning.split("\n") if _without_digits(line) not in running)
    return find_title("\n".join(lines), name)


def _headings(page: Page) -> list[tuple[int, str]]:
    """Return the headings that the file itself marks, in order, each with its level."""
    return [(known.level, heading_text(page.text[known.start : known.end])) for known in page.headings if known.level]


def _is_name(stated: str, name: str) -> bool:
    """Return whether a title is one word and the file's name, which programs fill in if there is no title."""
    return len(stated.split()) == 1 and stated.casefold() == PurePath(name).stem.casefold()


def _running(pages: Sequence[Page]) -> set[str]:
    """Return the lines that many pages begin or end with, without their numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        lines = [line for line in page.text.split("\n") if line.strip()]
        seen.update({_without_digits(line) for line in (*lines[:1], *lines[-1:])})
    often = {
        line for line, times in seen.items() if times >= max(LEAST_RUNNING_PAGES, len(pages) / LEAST_RUNNING_PAGES)
    }
    known = [page.text[one.start : one.end] for page in pages for one in page.headings if not one.level]
    return often | set(map(_without_digits, known))


def _without_digits(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


KEPT_FILE_TYPES = (PDF_TYPE, "image/")
"""Media types of documents whose file is kept, too, because their pages are displayed as pictures."""
CHARACTER_BYTES, CHUNK_BYTES, EVENT_BYTES = 3, 1_000, 500
"""Approximate bytes of memory for a character, a chunk and an event; chunks contain the text a second time."""


class OpenDocument(Protocol):
    """A document that is being read."""

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
"""Returns a file's content without its password, given path, name and password. Raises PasswordNeeded if it is
wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTools:
    """Functions and settings to read and cut files; several threads use all of them.

    `as_file` provides the files that are within others.
    """

    open_file: OpenFile
    embedder: Embedder
    find: Callable[[str], Document | None]
    chunk_tokens: int
    as_file: AsFile
    unlock: Unlock | None
    read_scans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document that has been read and cut.

    `own` is its file if it is kept; `lent` is closed when the document is stored.
    """

    name: str
    own: OriginalFile | None
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
    progress: FileProgress
    lent: ExitStack = field(default_factory=ExitStack)

    @property
    def memory(self) -> int:
        """Return the approximate memory of the draft in bytes."""
        return CHARACTER_BYTES * len(self.text) + CHUNK_BYTES * len(self.chunks)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Event: all files within an archive have been yielded; `members` are their names."""

    name: str
    members: tuple[str, ...]
    begun: float


@dataclass(frozen=True, slots=True)
class Finished:
    """Event: everything from a file that was added has been yielded."""

    upload: Upload


PreparedItem = IngestProgress | IngestResult | Draft | Unpacked | Finished


def memory_size(item: PreparedItem) -> int:
    """Return the approximate memory of a waiting item in bytes."""
    return item.memory if isinstance(item, Draft) else EVENT_BYTES


def discard_item(item: PreparedItem) -> None:
    """Discard an item that is not needed any more, and close the file that was lent to it."""
    if isinstance(item, Draft):
        item.lent.close()


def prepare_upload(upload: Upload, progress: FileProgress, tools: ReadingTools) -> Generator[PreparedItem, None, None]:
    """Yield the outcome of a file and of those within it: progress, drafts to be stored, results without a draft."""
    with ExitStack() as lent:
        yield from _prepare(upload, progress, tools, UnpackLimits(), lent)
    yield Finished(upload)


def _prepare(
    upload: Upload, progress: FileProgress, tools: ReadingTools, room: UnpackLimits, lent: ExitStack, *, depth: int = 0
) -> Generator[PreparedItem, None, None]:
    """Prepare a file and those within it, limited by `room`; the file is itself nested in `depth` others."""
    begun = time.perf_counter()

    def add(member: Upload, lent: ExitStack) -> Generator[PreparedItem, None, None]:
        return _prepare(member, progress.within(member.name), tools, room, lent, depth=depth + 1)

    try:
        reading = yield from _prepare_own_content(upload, progress, tools, lent)
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
        message = f"{error} It has to be added by itself for that." if locked and depth else str(error)
        yield IngestResult(
            upload.name, IngestStatus.FAILED, seconds=seconds, error=message, locked=locked and not depth
        )


def _prepare_own_content(
    upload: Upload, progress: FileProgress, tools: ReadingTools, lent: ExitStack
) -> Generator[PreparedItem, None, _Reading | None]:
    """Prepare the content of the file itself and return it; the files within it are still to be read.

    Return None if the collection has the file already.
    """
    begun = time.perf_counter()
    yield progress.at("reading", 0, None)
    stamp, sha256 = file_stamp(upload), checksum(upload)
    before = tools.find(upload.name)
    if before and before.sha256 == sha256:
        seconds = round(time.perf_counter() - begun, 3)
        yield IngestResult(upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, seconds)
        return None
    reading = _Reading(upload, stamp, sha256, begun, replaces=before is not None)
    try:
        reading.document = yield from _draft(reading, progress, tools, lent)
    except PasswordNeeded as error:
        # Office tries some passwords without asking the user; `error.known` is such a password.
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
        """Raise UnreadableDocument if the file has changed by now: parts of both versions would be stored as one."""
        if not is_unchanged(self.upload, self.stamp, self.sha256):
            raise UnreadableDocument(
                f"{self.upload.name} was changed or removed while it was read. Add it again when nothing writes to it "
                "any more."
            )


def _draft(
    reading: _Reading, progress: FileProgress, tools: ReadingTools, lent: ExitStack
) -> Generator[PreparedItem, None, OpenDocument]:
    """Read a file and yield its draft, unless it is an archive; return the open document."""
    upload, own = reading.upload, OriginalFile(reading.upload.path, reading.sha256)
    if upload.password is not None and tools.unlock is not None:
        data = tools.unlock(own.path, upload.name, upload.password)
        path = lent.enter_context(tools.as_file(Member(upload.name, data)))
        own = OriginalFile(path, hashlib.sha256(data).hexdigest())
    document = tools.open_file(own.path, upload.name)
    pages = yield from _read(document, progress)
    reading.check()
    if document.media_type == ARCHIVE:
        return document
    title = document_title(document.title, pages, upload.name)
    chunks = yield from cut_pages(pages, title, tools.embedder, tools.chunk_tokens, progress.at)
    pictured = document.media_type.startswith(KEPT_FILE_TYPES)
    waits, lost = waiting_and_lost_pages(pages, chunks, recognised=tools.read_scans and pictured)
    if not chunks and not waits:
        raise EmptyDocument(no_text_error(upload.name, lost))
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


def _read(document: OpenDocument, progress: FileProgress) -> Generator[IngestProgress, None, list[Page]]:
    """Return a document's pages; yield the progress."""
    pages: list[Page] = []
    with closing(document.pages):
        for page in document.pages:
            pages.append(page)
            yield progress.at("reading", len(pages), document.page_count)
    return pages


def _changed(upload: Upload) -> str | None:
    """Return the day of the last change of an original file, None for files of other origin."""
    try:
        return file_date(upload.path.stat().st_mtime) if upload.original else None
    except OSError:
        return None
