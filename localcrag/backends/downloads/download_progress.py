"""Download progress: the record that callers get, and the meter that makes it. No input or output."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from localcrag.records.downloads import DownloadPhase, DownloadProgress, Report

RATE_WINDOW = 10.0  # seconds that the rate is taken over: long enough to be steady, short enough to follow a change


class ProgressMeter:
    """Turns counts of bytes into records for `report`; bytes that were there before do not count for the rate."""

    def __init__(self, model: str, report: Report | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._report = report
        self._clock = clock
        self.begin(DownloadPhase.TRANSFER, "", 0, 0)

    def begin(self, phase: DownloadPhase, file: str, done: int, total: int) -> None:
        """Start a phase of `total` bytes, `done` of which are there already."""
        self._phase, self._file, self._done, self._total = phase, file, done, total
        self._marks = deque([(self._clock(), done)])
        if total:
            self._tell()

    def connecting(self, place: str) -> None:
        """Say where a connection is about to go."""
        if self._report:
            self._report(
                DownloadProgress(
                    model=self._model, file=place, phase=DownloadPhase.CONNECT, done=0, total=0,
                    bytes_per_second=None, seconds_left=None,
                )
            )  # fmt: skip

    def file(self, name: str) -> None:
        """Say which file the next bytes belong to."""
        self._file = name

    def advance(self, count: int) -> None:
        """Count further bytes; a negative count takes back bytes that have to be fetched again."""
        self.at(self._done + count)

    def at(self, done: int, total: int | None = None) -> None:
        """Set the bytes that are there now."""
        if done < self._done:
            self._marks.clear()
        self._done = done
        self._total = self._total if total is None else total
        now = self._clock()
        self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= RATE_WINDOW:
            self._marks.popleft()
        self._tell()

    def _tell(self) -> None:
        if self._report is None:
            return
        (start, before), (now, done) = self._marks[0], self._marks[-1]
        rate = (done - before) / (now - start) if now > start and done > before else None
        self._report(
            DownloadProgress(
                model=self._model,
                file=self._file,
                phase=self._phase,
                done=self._done,
                total=self._total,
                bytes_per_second=rate,
                seconds_left=max(self._total - self._done, 0) / rate if rate else None,
            )
        )
