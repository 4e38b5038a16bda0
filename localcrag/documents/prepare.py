"""What tells a file that is added from others: its checksum, and whether it was written to since."""

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

from localcrag.documents.chunking import chunks_of, join_pages
from localcrag.records.documents import ARCHIVE, PDF_TYPE, Chunk, Document, Member, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, EmptyDocument, PasswordNeeded, UnreadableDocument
from localcrag.records.ingest import FileAsRead, IngestProgress, IngestResult, Progress, Stamp, Upload
from localcrag.records.protocols import Embedder
from localcrag.text.places import in_runs
from localcrag.text.quantities import date_of
from localcrag.text.titles import (
    BEGINNING,
    LONGEST_MATTER,
    heading_text,
    is_heading,
    may_be_title,
    title_of,
    without_site,
)
from localcrag.text.translation import ngettext


def stamp_of(upload: Upload) -> Stamp | None:
    """Return what a file looks like now, without reading it; None where there is none."""
    try:
        return Stamp.of(upload.path.stat())
    except OSError:
        return None


def is_unchanged(upload: Upload, before: Stamp | None, sha256: str) -> bool:
    """Return whether a file was not written to since `before`, when it had that checksum."""
    now = stamp_of(upload)
    if before is None or now is None or replace(before, ctime_ns=now.ctime_ns) != now:
        return False
    if before == now:
        return True
    try:
        # Its name or rights are others; or it was written to, and its time put back.
        return checksum(upload) == sha256
    except UnreadableDocument:
        return False


def checksum(upload: Upload) -> str:
    """Return a file's SHA-256. Raises UnreadableDocument, also for one that is refused or no ordinary file."""
    if upload.refused:
        raise UnreadableDocument(upload.refused)
    try:
        if not stat.S_ISREG(upload.path.stat().st_mode):  # A pipe would be waited for, a device read without end.
            raise UnreadableDocument(f"{upload.name} cannot be read: it is not an ordinary file. Choose a file.")
        with upload.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableDocument(
            f"{upload.name} cannot be read: {error.strerror or error}. Check that the file is there and readable."
        ) from error


MOST_MEMBERS, MOST_BYTES = 20_000, 2 * 10**9
"""Within one file that is added, all those within others counted in."""
DEEPEST = 3
"""Files within files: a letter in an archive that is attached to another."""

Item = TypeVar("Item")
Add = Callable[[Upload, ExitStack], Generator[Item, None, None]]
"""Adds a file that is there as long as the stack is open, which may be taken over (`pop_all`)."""
AsFile = Callable[[Member], AbstractContextManager[Path]]
"""Gives a file to read, which is gone afterwards."""


@dataclass(slots=True)
class Room:
    """What may still be taken out of one file that is added."""

    members: int = MOST_MEMBERS
    size: int = MOST_BYTES

    def take(self, member: Member, whole: str) -> None:
        """Take out a file. Raises UnreadableDocument when there is no room for it."""
        self.members -= 1
        self.size -= len(member.data)
        if self.members < 0 or self.size < 0:
            raise UnreadableDocument(
                f"{whole} holds more than {MOST_MEMBERS:,} files or {MOST_BYTES / 1e9:.0f} GB, and was added up to "
                "there. Unpack it, and add the folder."
            )


def add_members(
    whole: str, members: Iterable[Member], add: Add[Item], room: Room, *, as_file: AsFile, depth: int
) -> Generator[Item | IngestResult, None, tuple[str, ...]]:
    """Add the files within `whole`, each by `add`; return their names. `whole` lies within `depth` others.

    Raises UnreadableDocument when they are too many or lie too deep, and what `as_file` raises.
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


def numbers(pages: Iterable[Page], chunks: Iterable[Chunk]) -> list[int]:
    """Return the pages that show something that is in no chunk; blank ones are not among them."""
    found = {chunk.page for chunk in chunks}
    lost = (page for page in pages if page.unread or (page.number not in found and page.text.strip()))
    return [page.number for page in lost if page.number is not None]


def warning(pages: Sequence[int]) -> str:
    """Return what is said of these pages, one at least."""
    return ngettext(
        "Page %(pages)s holds no text (a scan?): it cannot be found or quoted.",
        "Pages %(pages)s hold no text (scans?): they cannot be found or quoted.",
        len(pages),
        pages=named(pages),
    )


def note(pages: Sequence[int]) -> str:
    """Return what is said of pages, one at least, that wait for text recognition."""
    return ngettext(
        "Page %(pages)s is a picture: it can be found as soon as its text is recognised.",
        "Pages %(pages)s are pictures: they can be found as soon as their text is recognised.",
        len(pages),
        pages=named(pages),
    )


def shared_out(
    pages: Sequence[Page], chunks: Sequence[Chunk], *, recognised: bool
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the pages that wait for text recognition, if those that are pictures are `recognised`, and those lost."""
    pictures = [page.number for page in pages if page.unread and page.number] if recognised else []
    return pictures, [number for number in numbers(pages, chunks) if number not in pictures]


def nothing(name: str, unread: Sequence[int]) -> str:
    """Return what is said of a document that nothing of goes in; `unread` are its pages that are not read."""
    if not unread:
        return f"{name} holds no text that could be searched."
    return (
        f"{name} holds no text: its pages are pictures or lettering without meaning (a scan?), and text recognition is "
        "turned off. Turn it on (the setting read_scans), and add the file again."
    )


def named(pages: Iterable[int]) -> str:
    """Return rising numbers as they are written, those in a row as one: "3, 7–9"."""
    return ", ".join(in_runs(pages))


FIRST_PAGES = 3
"""Of a document, those that its title is looked for on."""
RUNNING = 3
"""Pages that begin or end with one line; it is a header or footer."""


def document_title(stated: str | None, pages: Sequence[Page], name: str) -> str:
    """Return what a document is called. `stated` is what its properties say, `name` its file's name."""
    found = [_headings(page) for page in pages[:FIRST_PAGES]]
    if stated and not _is_name(stated, name):
        return without_site(stated, [text for headings in found for _, text in headings])
    for headings in found:
        fit = [heading for heading in headings if is_heading(heading[1]) and may_be_title(heading[1])]
        if fit:
            return min(fit, key=lambda heading: heading[0])[1]
    running = _running(pages)
    beginning = "\n".join(page.text for page in pages[:FIRST_PAGES])[: LONGEST_MATTER + BEGINNING]
    lines = (line for line in beginning.split("\n") if _without_numbers(line) not in running)
    return title_of("\n".join(lines), name)


def _headings(page: Page) -> list[tuple[int, str]]:
    """Return the headings that the file tells of, in order, each with its level."""
    return [(known.level, heading_text(page.text[known.start : known.end])) for known in page.headings if known.level]


def _is_name(stated: str, name: str) -> bool:
    """Whether a title is one word and the file's name, which programs put there for want of a title."""
    return len(stated.split()) == 1 and stated.casefold() == PurePath(name).stem.casefold()


def _running(pages: Sequence[Page]) -> set[str]:
    """Return the lines that pages begin or end with, without their numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        lines = [line for line in page.text.split("\n") if line.strip()]
        seen.update({_without_numbers(line) for line in (*lines[:1], *lines[-1:])})
    often = {line for line, times in seen.items() if times >= max(RUNNING, len(pages) / RUNNING)}
    known = [page.text[one.start : one.end] for page in pages for one in page.headings if not one.level]
    return often | set(map(_without_numbers, known))


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


PICTURED = (PDF_TYPE, "image/")
"""Of documents of these kinds the file is kept as well: their pages are shown as they look."""
A_LETTER, A_CHUNK, AN_EVENT = 3, 1_000, 500
"""Bytes of memory, about: a text is there whole and once more in its chunks."""


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

    @property
    def title(self) -> str | None: ...

    @property
    def members(self) -> Generator[Member, None, None]: ...


OpenFile = Callable[[Path, str], OpenDocument]
Unlock = Callable[[Path, str, str], bytes]
"""Returns a file, called by a name, as it is without this password. Raises PasswordNeeded when it is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What files are read and cut with; those within others by `as_file`. All of it is used by several threads."""

    open_file: OpenFile
    embedder: Embedder
    find: Callable[[str], Document | None]
    chunk_tokens: int
    as_file: AsFile
    unlock: Unlock | None
    read_scans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document that is read and cut. `own` is its file as it is kept; `lent` is to be closed when it is stored."""

    name: str
    own: FileAsRead | None
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
    progress: Progress
    lent: ExitStack = field(default_factory=ExitStack)

    @property
    def memory(self) -> int:
        """How much of it this takes, about, in bytes."""
        return A_LETTER * len(self.text) + A_CHUNK * len(self.chunks)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The files within an archive, by their names, have all come."""

    name: str
    members: tuple[str, ...]
    begun: float


@dataclass(frozen=True, slots=True)
class Finished:
    """All has come of a file that was given."""

    upload: Upload


Prepared = IngestProgress | IngestResult | Draft | Unpacked | Finished


def memory_of(item: Prepared) -> int:
    """Return how much memory something takes that waits, about, in bytes."""
    return item.memory if isinstance(item, Draft) else AN_EVENT


def let_go(item: Prepared) -> None:
    """Discard something that nobody wants any more, with the file that was lent to it."""
    if isinstance(item, Draft):
        item.lent.close()


def prepared(upload: Upload, progress: Progress, tools: Tools) -> Generator[Prepared, None, None]:
    """Yield what comes of a file, and of those within it: progress, drafts to be stored, and results without any."""
    with ExitStack() as lent:
        yield from _prepare(upload, progress, tools, Room(), lent)
    yield Finished(upload)


def _prepare(
    upload: Upload, progress: Progress, tools: Tools, room: Room, lent: ExitStack, *, depth: int = 0
) -> Generator[Prepared, None, None]:
    """Prepare a file and those within it, of which there may be `room`; it lies itself within `depth` others."""
    begun = time.perf_counter()

    def add(member: Upload, lent: ExitStack) -> Generator[Prepared, None, None]:
        return _prepare(member, progress.within(member.name), tools, room, lent, depth=depth + 1)

    try:
        reading = yield from _its_own(upload, progress, tools, lent)
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
        said = f"{error} It has to be added by itself for that." if locked and depth else str(error)
        yield IngestResult(upload.name, IngestStatus.FAILED, seconds=seconds, error=said, locked=locked and not depth)


def _its_own(
    upload: Upload, progress: Progress, tools: Tools, lent: ExitStack
) -> Generator[Prepared, None, _Reading | None]:
    """Prepare what a file says itself; return it, the files within still to be read; None where it is in already."""
    begun = time.perf_counter()
    yield progress.at("reading", 0, None)
    stamp, sha256 = stamp_of(upload), checksum(upload)
    before = tools.find(upload.name)
    if before and before.sha256 == sha256:
        seconds = round(time.perf_counter() - begun, 3)
        yield IngestResult(upload.name, IngestStatus.UNCHANGED, before.pages, before.chunks, seconds)
        return None
    reading = _Reading(upload, stamp, sha256, begun, replaces=before is not None)
    try:
        reading.document = yield from _draft(reading, progress, tools, lent)
    except PasswordNeeded as error:
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
        """Raise UnreadableDocument where the file is another by now: parts of both would be stored as one."""
        if not is_unchanged(self.upload, self.stamp, self.sha256):
            raise UnreadableDocument(
                f"{self.upload.name} was changed or removed while it was read. Add it again when nothing writes to it "
                "any more."
            )


def _draft(
    reading: _Reading, progress: Progress, tools: Tools, lent: ExitStack
) -> Generator[Prepared, None, OpenDocument]:
    """Read a file and yield its draft, unless it is an archive; return it."""
    upload, own = reading.upload, FileAsRead(reading.upload.path, reading.sha256)
    if upload.password is not None and tools.unlock is not None:
        data = tools.unlock(own.path, upload.name, upload.password)
        path = lent.enter_context(tools.as_file(Member(upload.name, data)))
        own = FileAsRead(path, hashlib.sha256(data).hexdigest())
    document = tools.open_file(own.path, upload.name)
    pages = yield from _read(document, progress)
    reading.check()
    if document.media_type == ARCHIVE:
        return document
    title = document_title(document.title, pages, upload.name)
    chunks = yield from chunks_of(pages, title, tools.embedder, tools.chunk_tokens, progress.at)
    pictured = document.media_type.startswith(PICTURED)
    waits, lost = shared_out(pages, chunks, recognised=tools.read_scans and pictured)
    if not chunks and not waits:
        raise EmptyDocument(nothing(upload.name, lost))
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


def _read(document: OpenDocument, progress: Progress) -> Generator[IngestProgress, None, list[Page]]:
    """Return a document's pages; yield how far that is."""
    pages: list[Page] = []
    with closing(document.pages):
        for page in document.pages:
            pages.append(page)
            yield progress.at("reading", len(pages), document.page_count)
    return pages


def _changed(upload: Upload) -> str | None:
    """Return the day on which an original was changed last."""
    try:
        return date_of(upload.path.stat().st_mtime) if upload.original else None
    except OSError:
        return None
