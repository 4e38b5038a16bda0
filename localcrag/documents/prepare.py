"""Prepare files for a collection: read each file and those within it, and cut the text into chunks.

`prepare_upload` yields drafts of documents to be stored, with progress and results. The other functions compute a
file's checksum and title, unpack the files within it, and find pages without text.
"""

from __future__ import annotations

import hashlib
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from localcrag.documents.chunking import cut_pages, join_pages
from localcrag.records.documents import ARCHIVE, PDF_TYPE, Chunk, Document, Member, OpenDocument, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, PasswordNeeded, UnreadableDocument
from localcrag.records.ingest import FileProgress, IngestProgress, IngestResult, OriginalFile, Stamp, Upload
from localcrag.records.protocols import Embedder
from localcrag.text import titles
from localcrag.text.places import number_ranges
from localcrag.text.quantities import file_date
from localcrag.text.translation import ngettext
from localcrag.text.words import split_words


def file_stamp(upload: Upload) -> Stamp | None:
    """Return a file's stamp without reading the file; None if there is no such file."""
    try:
        return Stamp.of(upload.path.stat())
    except OSError:
        return None


def is_unchanged(upload: Upload, before: Stamp | None, sha256: str) -> bool:
    """Return whether a file has not been written to since `before`, when its checksum was `sha256`."""
    now = file_stamp(upload)
    if before is None or now is None or replace(before, ctime_ns=now.ctime_ns) != now:
        return False
    if before == now:
        return True
    try:
        # Only ctime differs: the file was renamed, its permissions changed, or it was written to and its time was
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
        why = f"{upload.name} cannot be read: {error.strerror or error}."
        raise UnreadableDocument(f"{why} Check that the file is there and readable.") from error


MOST_MEMBERS, MOST_BYTES = 20_000, 2 * 10**9
"""Maximum number and total bytes of the files within one added file, counting nested files."""
DEEPEST = 3
"""Maximum nesting of files, such as an e-mail in an archive that is attached to another e-mail."""

AsFile = Callable[[Member], AbstractContextManager[Path]]
"""Provides a member as a file that exists only within the context."""


@dataclass(slots=True)
class UnpackLimits:
    """The number and bytes of files that may still be unpacked from one added file."""

    members: int = MOST_MEMBERS
    size: int = MOST_BYTES

    def subtract(self, member: Member, whole: str) -> None:
        """Subtract a file from the remaining room. Raises UnreadableDocument if there is not enough room for it."""
        self.members -= 1
        self.size -= len(member.data)
        if self.members < 0 or self.size < 0:
            why = f"{whole} contains more than {MOST_MEMBERS:,} files or {MOST_BYTES / 1e9:.0f} GB"
            raise UnreadableDocument(f"{why}, so only part of it was added. Unpack it, and add the folder.")


def lost_pages_warning(pages: Sequence[int]) -> str:
    """Return the warning about these pages without text; `pages` must not be empty."""
    return ngettext(
        "Page %(pages)s holds no text (a scan?): it cannot be found or quoted.",
        "Pages %(pages)s hold no text (scans?): they cannot be found or quoted.",
        len(pages),
        pages=page_ranges(pages),
    )


def waiting_pages_note(pages: Sequence[int]) -> str:
    """Return the note about these pages, which wait for text recognition; `pages` must not be empty."""
    return ngettext(
        "Page %(pages)s is a picture: it can be found as soon as its text is recognised.",
        "Pages %(pages)s are pictures: they can be found as soon as their text is recognised.",
        len(pages),
        pages=page_ranges(pages),
    )


def waiting_and_lost_pages(
    pages: Sequence[Page], chunks: Sequence[Chunk], *, recognised: bool
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the numbers of the pages that wait for text recognition, and of those with content that is in no chunk.

    Pages that are pictures wait if `recognised`; otherwise they are lost.
    """
    pictures = [page.number for page in pages if page.unread and page.number] if recognised else []
    found = {*pictures, *(chunk.page for chunk in chunks if chunk.page)}
    lost = (page for page in pages if page.unread or (page.number not in found and page.text.strip()))
    return pictures, [page.number for page in lost if page.number is not None and page.number not in pictures]


def no_text_error(name: str, unread: Sequence[int]) -> str:
    """Return the error for a document without searchable text; `unread` are its pages that were not read."""
    if not unread:
        return f"{name} contains no text that could be searched."
    return (
        f"{name} holds no text: its pages are pictures or lettering without meaning (a scan?), and text recognition is "
        "turned off. Turn it on (the setting read_scans), and add the file again."
    )


def page_ranges(pages: Iterable[int]) -> str:
    """Return ascending numbers as text, with consecutive ones as a range: "3, 7–9"."""
    return ", ".join(number_ranges(pages))


TITLE_PAGES = 3
"""Number of pages, from the first one, that may contain a document's title."""
LEAST_RUNNING_PAGES = 3
"""Minimum number of pages that begin or end with the same line for it to be a header or footer; in long documents, a
third of the pages."""


def document_title(stated: str | None, pages: Sequence[Page], name: str) -> str:
    """Return the title of a document. `stated` is the title in its properties, `name` the name of its file.

    A heading below other text, with others of its level after it, is the title of a section.
    """
    first = pages[:TITLE_PAGES]
    found = [_headings(page) for page in first]
    # Programs fill in the file's name if there is no title.
    is_name = stated and len(stated.split()) == 1 and stated.casefold() == PurePath(name).stem.casefold()
    if stated and not is_name:
        return titles.strip_site_name(stated, [text for headings in found for _, text in headings])
    if titles.is_named_by_file(name):
        return titles.title_from_name(name)
    fit = [[one for one in headings if titles.is_heading(one[1]) and titles.may_be_title(one[1])] for headings in found]
    level, heading = min(next(filter(None, fit), []), key=lambda one: one[0], default=(0, ""))
    alike = sum(other == level for headings in fit for other, _ in headings)
    if heading and (alike == 1 or not _has_text_before(heading, first)):
        return heading
    running = _running(pages)
    beginning = "\n".join(page.text for page in first)[: titles.LONGEST_MATTER + titles.BEGINNING]
    lines = (line for line in beginning.split("\n") if _without_digits(line) not in running)
    title = titles.find_title("\n".join(lines), name)
    return titles.title_from_name(name) if title == heading else title


def _has_text_before(heading: str, pages: Sequence[Page]) -> bool:
    """Return whether words come before a heading on the page where it is first found."""
    text = next((page.text for page in pages if heading in page.text), "")
    before = text[titles.end_of_front_matter(text) :].partition(heading)[0]
    return bool(split_words(before))


def _headings(page: Page) -> list[tuple[int, str]]:
    """Return the headings that the file itself marks, in order, each with its level."""
    marked = (one for one in page.headings if one.level)
    return [(one.level, titles.heading_text(page.text[one.start : one.end])) for one in marked]


def _running(pages: Sequence[Page]) -> set[str]:
    """Return the lines that many pages begin or end with, without their numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        lines = [line for line in page.text.split("\n") if line.strip()]
        seen.update({_without_digits(line) for line in (*lines[:1], *lines[-1:])})
    least = max(LEAST_RUNNING_PAGES, len(pages) / LEAST_RUNNING_PAGES)
    often = {line for line, times in seen.items() if times >= least}
    known = [page.text[one.start : one.end] for page in pages for one in page.headings if not one.level]
    return often | set(map(_without_digits, known))


def _without_digits(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


KEPT_FILE_TYPES = (PDF_TYPE, "image/")
"""Media types of documents whose file is also kept, because their pages are displayed as pictures."""
CHARACTER_BYTES, CHUNK_BYTES, EVENT_BYTES = 3, 1_000, 500
"""Approximate bytes of memory for a character, a chunk and an event; chunks contain the text a second time."""


OpenFile = Callable[[Path, str], OpenDocument]
Unlock = Callable[[Path, str, str], bytes]
"""Returns a file's content without its password, given path, name and password. Raises PasswordNeeded if it is
wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTools:
    """Functions and settings to read and cut files; several threads use them at once.

    `find` returns a document of the collection, and `as_file` provides the files that are within others. `unlock` opens
    files that come with a password. With `read_scans`, pages that are pictures wait for text recognition (scans.py).
    """

    open_file: OpenFile
    embedder: Embedder
    find: Callable[[str], Document | None]
    chunk_tokens: int
    as_file: AsFile
    unlock: Unlock | None = None
    read_scans: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document that has been read and cut.

    `kept_file` is its file if it is kept; `lent` is closed when the document is stored.
    """

    name: str
    kept_file: OriginalFile | None
    sha256: str
    replaces: bool
    media_type: str
    pages: int | None
    dated: str | None
    title: str
    text: str
    chunks: list[Chunk]
    waiting_pages: Sequence[int]
    lost_pages: Sequence[int]
    seconds: float
    progress: FileProgress
    lent: ExitStack = field(default_factory=ExitStack)


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
    if isinstance(item, Draft):
        return CHARACTER_BYTES * len(item.text) + CHUNK_BYTES * len(item.chunks)
    return EVENT_BYTES


def discard_item(item: PreparedItem) -> None:
    """Discard an item that is no longer needed, and close the file that was lent to it."""
    if isinstance(item, Draft):
        item.lent.close()


def prepare_upload(upload: Upload, progress: FileProgress, tools: ReadingTools) -> Generator[PreparedItem, None, None]:
    """Yield the outcome for a file and those within it: progress, drafts to be stored, results without a draft."""
    with ExitStack() as lent:
        yield from _prepare(upload, progress, tools, UnpackLimits(), lent)
    yield Finished(upload)


def _prepare(
    upload: Upload, progress: FileProgress, tools: ReadingTools, room: UnpackLimits, lent: ExitStack, *, depth: int = 0
) -> Generator[PreparedItem, None, None]:
    """Prepare a file and the files within it, limited by `room`; the file itself is nested in `depth` others."""
    begun = time.perf_counter()
    try:
        yield progress.at("reading", 0, None)
        stamp, sha256 = file_stamp(upload), checksum(upload)
        before = tools.find(upload.name)
        if before and before.sha256 == sha256:
            seconds = round(time.perf_counter() - begun, 3)
            yield IngestResult(upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, seconds)
            return
        reading = _Reading(upload, stamp, sha256, begun, replaces=before is not None)
        try:
            document = yield from _draft(reading, progress, tools, lent)
        except PasswordNeeded as error:
            # Office tries some passwords without asking the user; `error.known` is such a password.
            if error.known is None or upload.password is not None:
                raise
            reading.upload = replace(upload, password=error.known)
            document = yield from _draft(reading, progress, tools, lent)
        with closing(document.members) as members:
            names = yield from _prepare_members(upload.name, members, progress, tools, room=room, depth=depth)
        if names:
            reading.check()
        if document.media_type == ARCHIVE:
            yield Unpacked(upload.name, names, begun)
    except DocumentError as error:
        seconds, needs_password = round(time.perf_counter() - begun, 3), isinstance(error, PasswordNeeded)
        message = f"{error} It has to be added by itself for that." if needs_password and depth else str(error)
        locked = needs_password and not depth
        yield IngestResult(upload.name, IngestStatus.FAILED, seconds=seconds, error=message, locked=locked)


def _prepare_members(
    name: str, members: Iterable[Member], progress: FileProgress, tools: ReadingTools, *, room: UnpackLimits, depth: int
) -> Generator[PreparedItem, None, tuple[str, ...]]:
    """Prepare the files within `name`, which is itself nested in `depth` others; return their names.

    Raises UnreadableDocument if there are too many files or they are nested too deeply, and what the tool `as_file`
    raises.
    """
    names = []
    for member in members:
        if depth == DEEPEST:
            why = f"{name} is nested within {DEEPEST} other files, so its contents were not added."
            raise UnreadableDocument(f"{why} Unpack it, and add the folder.")
        if member.error:
            yield IngestResult(f"{name}/{member.name}", IngestStatus.FAILED, error=member.error)
            continue
        room.subtract(member, name)
        with ExitStack() as lent:
            path = lent.enter_context(tools.as_file(member))
            upload = Upload(path, f"{name}/{member.name}", original=member.changed is not None)
            names.append(upload.name)
            yield from _prepare(upload, progress.within(upload.name), tools, room, lent, depth=depth + 1)
    return tuple(names)


@dataclass(slots=True)
class _Reading:
    upload: Upload
    stamp: Stamp | None
    sha256: str
    begun: float
    replaces: bool

    def check(self) -> None:
        """Raise UnreadableDocument if the file has changed since: parts of both versions would be stored as one."""
        if not is_unchanged(self.upload, self.stamp, self.sha256):
            why = f"{self.upload.name} was changed or removed while it was read."
            raise UnreadableDocument(f"{why} Add it again when nothing writes to it any more.")


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
        kept_file=own if pictured else None,
        sha256=reading.sha256,
        replaces=reading.replaces,
        media_type=document.media_type,
        pages=document.page_count,
        dated=document.dated or _changed(upload),
        title=title,
        text=join_pages(pages),
        chunks=chunks,
        waiting_pages=waits,
        lost_pages=lost,
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
    """Return the day of an original file's last change; None for other files."""
    try:
        return file_date(upload.path.stat().st_mtime) if upload.original else None
    except OSError:
        return None
