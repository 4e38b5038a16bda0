"""Files to add to a collection, watched folders, progress, and the result of each file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from localcrag.records.enums import IngestStatus
from localcrag.text.places import shown


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to add: where it lies, and the name that it gets in the collection.

    Bytes of a file's name that are no UTF-8 become "�" in the document's name, and so does what does not show. Of an
    `original`, and not of a copy that a browser sent, the file's own time says when it was changed last. The `password`
    opens it, and is kept nowhere. One that is `refused` is not opened at all, for that reason.
    """

    path: Path
    name: str
    original: bool = False
    password: str | None = field(default=None, repr=False)
    refused: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", shown(self.name))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells without reading a file that it is as it was: its size in bytes, its times in ns, its number.

    Times are those of whoever changed it: compared, never put in order. `mtime_ns` can be put back, `ctime_ns` cannot;
    but that one is another also where only the file's name or rights are.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Stamp:
        """Return what was seen of a file."""
        return cls(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


@dataclass(frozen=True, slots=True)
class FileAsRead:
    """A document's file, to be kept beside its text; `sha256` is of its content when it was read."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far the work is.

    `phase` is reading or recognising (`done` pages of `total`), cutting (characters), embedding (chunks), or loading:
    the models, while files are found, and none is worked on yet. There are `more` files than these where they are still
    being found. `seconds_left` is for all the files together, and `seconds_a_page` of text recognition; None as long as
    there is nothing to judge by.
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
    """What became of a file.

    `error` says why it failed, `warnings` what of it did not go in, `note` what else there is to know. One that is
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


class WhenGone(StrEnum):
    """What becomes of a document whose file is no more."""

    ASK = "ask"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFolder:
    """A folder that a collection follows.

    `prefix` stands in front of the names of its documents. `include` and `exclude` are patterns (`app/folders/
    patterns.py`). It was last in step at `in_step_at`; it is not there since `away_since`, for the reason `away_why`.
    Times are ISO 8601 in UTC.
    """

    id: int
    collection: str
    path: Path
    prefix: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gone: WhenGone = WhenGone.ASK
    paused: bool = False
    added_at: str = ""
    in_step_at: str | None = None
    away_since: str | None = None
    away_why: str | None = None

    def name_of(self, path: str) -> str:
        """Return what the document of a file is called, of which this is the path within the folder."""
        return shown(self.prefix + path)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it is there now; `device` is that of the folder it lies in, `refused` why it is not to be opened."""

    stamp: Stamp
    device: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a bound folder as it was seen last; `path` is within the folder, with “/”.

    `sha256` is of its content, None where it could not be read; `document` is the document that has a content of it,
    and `stored` that content's checksum: another one where a changed file failed, for the reason `error`.
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
    """What became of a file of a bound folder, or of the folder."""

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
    """Something that became different. `document` is what a file is called, or the folder's path where that is away.

    `was` is what a renamed document was called, or which document has the same content. `error` says why it failed,
    or why the folder is not there; `warnings` what of the file did not go in.
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
    """How many files of a folder are in the collection, failed, and are gone and asked about."""

    files: int
    failed: int
    gone: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many files there are to add, and their bytes; those found so far, as long as these are not `all`."""

    files: int
    size: int
    all: bool


class Counted(Protocol):
    """Files to add that are found while they are added."""

    def __iter__(self) -> Iterator[Upload]: ...

    def count(self) -> Count: ...


class Pace:
    """Guesses the remaining time of all files from the bytes done and the seconds they took."""

    def __init__(self, uploads: Sequence[Upload] | Counted) -> None:
        if isinstance(uploads, Sequence):
            total = Count(len(uploads), sum(_size(upload.path) for upload in uploads), all=True)
            self.count: Callable[[], Count] = lambda: total
        else:
            self.count = uploads.count
        self._done = 0
        self._start = time.perf_counter()

    def finished(self, upload: Upload) -> None:
        """Count a file as done."""
        self._done += _size(upload.path)

    def seconds_left(self, upload: Upload, share: float) -> float | None:
        """Return the guess, when `share` (0..1) of this file is done; None as long as files are still being found."""
        count = self.count()
        done = self._done + share * _size(upload.path)
        if done <= 0 or count.size <= 0 or not count.all:
            return None
        return max(0.0, (time.perf_counter() - self._start) * (count.size - done) / done)


class Progress:
    """How far one file is, of all of them."""

    READING_SHARE = 0.1
    """Of a file's time: embedding takes the rest."""

    def __init__(self, upload: Upload, number: int, pace: Pace, member: str | None = None) -> None:
        """`member` is the name of the file within it that is worked on: how long that takes, nobody knows."""
        self._upload, self._number, self._pace, self._member = upload, number, pace, member

    def within(self, member: str) -> Progress:
        """Return the progress of a file within this one."""
        return Progress(self._upload, self._number, self._pace, member)

    def at(self, phase: str, done: int, total: int | None) -> IngestProgress:
        """Return the progress with `done` of `total` pages, characters or chunks in a phase."""
        count = self._pace.count()
        files = max(count.files, self._number)  # What counts them may be behind.
        if self._member:
            return IngestProgress(self._member, self._number, files, phase, done, total, None, more=not count.all)
        share = done / total if total else 0.0
        if phase != "embedding":
            # What is cut has been read: that it begins anew would throw the guess back.
            share = self.READING_SHARE * (1 if phase == "cutting" else share)
            left = None if self._number == 1 else self._pace.seconds_left(self._upload, share)
        else:
            share = self.READING_SHARE + share * (1 - self.READING_SHARE)
            # Of the very first batch nothing is known yet.
            left = self._pace.seconds_left(self._upload, share) if done or self._number > 1 else None
        return IngestProgress(self._upload.name, self._number, files, phase, done, total, left, more=not count.all)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
