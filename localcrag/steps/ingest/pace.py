"""Progress of an ingest, with a guess of the time that is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from localcrag.records.ingest import IngestProgress, Upload


class Pace:
    """Guesses the remaining time of all files from the bytes done and the seconds they took."""

    def __init__(self, uploads: Sequence[Upload]) -> None:
        self._sizes = {upload.name: _size(upload.path) for upload in uploads}
        self.files = len(uploads)
        self._total = sum(self._sizes.values())
        self._done = 0
        self._start = time.perf_counter()

    def finished(self, upload: Upload) -> None:
        """Count a file as done."""
        self._done += self._sizes[upload.name]

    def seconds_left(self, upload: Upload, share: float) -> float | None:
        """Return the guess, when `share` (0..1) of this file is done."""
        done = self._done + share * self._sizes[upload.name]
        if done <= 0 or self._total <= 0:
            return None
        return max(0.0, (time.perf_counter() - self._start) * (self._total - done) / done)


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
        if self._member:
            return IngestProgress(self._member, self._number, self._pace.files, phase, done, total, None)
        share = done / total if total else 0.0
        if phase != "embedding":
            # What is cut has been read: that it begins anew would throw the guess back.
            share = self.READING_SHARE * (1 if phase == "cutting" else share)
            left = None if self._number == 1 else self._pace.seconds_left(self._upload, share)
        else:
            share = self.READING_SHARE + share * (1 - self.READING_SHARE)
            # Of the very first batch nothing is known yet.
            left = self._pace.seconds_left(self._upload, share) if done or self._number > 1 else None
        return IngestProgress(self._upload.name, self._number, self._pace.files, phase, done, total, left)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
