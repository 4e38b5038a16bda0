"""Progress of an ingest, with a guess of the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localcrag.records.ingest import IngestProgress, Upload


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
