"""Records for adding files: the files, watched folders, progress, and the result of each file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from localcrag.records.enums import IngestStatus
from localcrag.text.places import visible_name


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to add: its path, and its name in the collection.

    Bytes of the name that are not UTF-8, and invisible characters, become "�". `original` is False for a copy that a
    browser sent, whose modification time means nothing. The `password` opens the file and is never stored. If
    `refused` is set, it is the reason why the file is not opened at all.
    """

    path: Path
    name: str
    original: bool = False
    password: str | None = field(default=None, repr=False)
    refused: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", visible_name(self.name))


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's size in bytes, times in ns and inode number, by which a change is noticed without reading the file.

    Times are only compared for equality: they come from whatever clock the changing computer had. Programs can set
    `mtime_ns` back but not `ctime_ns`. `ctime_ns` also changes if only the file's name or permissions do.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Stamp:
        """Return the stamp from the result of `os.stat`."""
        return cls(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """A document's original file, to be stored with its text; `sha256` belongs to the content that was read."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """Progress of adding files: `done` of `total` in one phase of file `number` of `files`.

    `phase` is reading or recognising (counted in pages), cutting (characters), embedding (chunks), or loading: the
    models load while files are being found, and none is processed yet. `more` is True while files are still being
    found. `seconds_left` is an estimate for all files, `seconds_a_page` the time of text recognition; both are None
    until there is something to estimate from.
    """

    document: str
    number: int
    files: int
    phase: str
    done: int
    total: int | None
    seconds_left: float | None
    seconds_a_page: float | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result of adding one file.

    `error` is the reason why it failed, `warnings` name parts that were not added, `note` is a remark. A file that is
    `locked` can be added with its password.
    """

    document: str
    status: IngestStatus
    pages: int | None = None
    chunks: int = 0
    seconds: float = 0.0
    error: str | None = None
    note: str | None = None
    warnings: tuple[str, ...] = ()
    locked: bool = False


IngestEvent = IngestProgress | IngestResult


class GoneFilePolicy(StrEnum):
    """What to do with a document whose file is gone from a watched folder."""

    ASK = "ask"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolder:
    """A folder that a collection watches.

    `prefix` is put before the names of its documents. `include` and `exclude` are patterns for file paths. The
    collection was last up to date with the folder at `in_step_at`. The folder has been missing since `away_since`, for
    the reason `away_why`. Times are ISO 8601 in UTC.
    """

    id: int
    collection: str
    path: Path
    prefix: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gone: GoneFilePolicy = GoneFilePolicy.ASK
    paused: bool = False
    added_at: str = ""
    in_step_at: str | None = None
    away_since: str | None = None
    away_why: str | None = None

    def name_of(self, path: str) -> str:
        """Return the name of the document for a file, given the file's path within the folder."""
        return visible_name(self.prefix + path)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it is now; `device` is its folder's device, `refused` the reason why it must not be opened."""

    stamp: Stamp
    device: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a watched folder as it was last seen; `path` is relative to the folder, with “/”.

    `sha256` is that of its content, None if it could not be read. `document` is the document that has the file's
    content, and `stored` the checksum of that content: an older one if the changed file failed, with the reason in
    `error`.
    """

    path: str
    stamp: Stamp
    device: int
    sha256: str | None = None
    document: str | None = None
    stored: str | None = None
    error: str | None = None
    gone_at: str | None = None


class FolderStatus(StrEnum):
    """The kind of a change to a file in a watched folder, or to the folder itself."""

    ADDED = "added"
    UPDATED = "updated"
    RENAMED = "renamed"
    SAME = "same"
    GONE = "gone"
    BACK = "back"
    REMOVED = "removed"
    KEPT = "kept"
    FAILED = "failed"
    WAITING = "waiting"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A change in a watched folder. `document` is the document's name, or the folder's path if the folder is missing.

    `was` is the earlier name of a renamed document, or the document with the same content. `error` is the reason why
    the file failed or the folder is missing; `warnings` name parts of the file that were not added.
    """

    document: str
    status: FolderStatus
    was: str | None = None
    chunks: int = 0
    error: str | None = None
    warnings: tuple[str, ...] = ()


FolderEvent = IngestProgress | FolderChange


@dataclass(frozen=True, slots=True)
class FolderCounts:
    """The numbers of a folder's files that are in the collection, that failed, and that are gone and undecided."""

    files: int
    failed: int
    gone: int


@dataclass(frozen=True, slots=True)
class UploadCount:
    """The number of files to add and their size in bytes; until `all` is True, only of the files found so far."""

    files: int
    size: int
    all: bool


class GrowingUploads(Protocol):
    """Files to add that are still being found while the first ones are added."""

    def __iter__(self) -> Iterator[Upload]: ...

    def count(self) -> UploadCount: ...


class TimeEstimate:
    """Estimates the remaining time for all files from the bytes processed and the seconds they took."""

    def __init__(self, uploads: Sequence[Upload] | GrowingUploads) -> None:
        if isinstance(uploads, Sequence):
            total = UploadCount(len(uploads), sum(file_size(upload.path) for upload in uploads), all=True)
            self.count: Callable[[], UploadCount] = lambda: total
        else:
            self.count = uploads.count
        self._done = 0
        self._start = time.perf_counter()

    def finished(self, upload: Upload) -> None:
        """Count a file as done."""
        self._done += file_size(upload.path)

    def seconds_left(self, upload: Upload, share: float) -> float | None:
        """Return the estimate when `share` (0..1) of this file is done; None while files are still being found."""
        count = self.count()
        done = self._done + share * file_size(upload.path)
        if done <= 0 or count.size <= 0 or not count.all:
            return None
        return max(0.0, (time.perf_counter() - self._start) * (count.size - done) / done)


class FileProgress:
    """The progress of one of several files."""

    READING_SHARE = 0.1
    """Share of a file's time that reading takes; embedding takes the rest."""

    def __init__(self, upload: Upload, number: int, pace: TimeEstimate, member: str | None = None) -> None:
        """Report on file `number`; `member` is the file inside it being processed, for which no time is estimated."""
        self._upload, self._number, self._pace, self._member = upload, number, pace, member

    def within(self, member: str) -> FileProgress:
        """Return the progress of a file inside this one, such as a member of an archive."""
        return FileProgress(self._upload, self._number, self._pace, member)

    def at(self, phase: str, done: int, total: int | None) -> IngestProgress:
        """Return the progress with `done` of `total` pages, characters or chunks in a phase."""
        count = self._pace.count()
        files = max(count.files, self._number)  # The count of files may lag behind their processing.
        if self._member:
            return IngestProgress(self._member, self._number, files, phase, done, total, None, more=not count.all)
        share = done / total if total else 0.0
        if phase != "embedding":
            # Cutting starts when reading is complete; counting its share from 0 would set the estimate back.
            share = self.READING_SHARE * (1 if phase == "cutting" else share)
            left = None if self._number == 1 else self._pace.seconds_left(self._upload, share)
        else:
            share = self.READING_SHARE + share * (1 - self.READING_SHARE)
            # Before the first batch of the first file there is nothing to estimate from.
            left = self._pace.seconds_left(self._upload, share) if done or self._number > 1 else None
        return IngestProgress(self._upload.name, self._number, files, phase, done, total, left, more=not count.all)


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
