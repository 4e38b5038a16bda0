"""Download progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from localcrag.records.downloads import DownloadProgress, Report

LINE_SECONDS = 5.0  # between lines where there is no terminal: enough to see it live, few enough for a log
WORDS = {"transfer": "getting", "check": "checking"}


@contextmanager
def display(stream: TextIO | None = None) -> Iterator[Report]:
    """Yield the function that shows one record after the other on `stream` (stderr)."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield _lines(stream)
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress, TextColumn  # noqa: PLC0415

    bar = Progress.get_default_columns()[1]
    with Progress(TextColumn("{task.description}"), bar, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(record: DownloadProgress) -> None:
            if record.phase == "connect":
                progress.console.print(_describe(record), markup=False)  # Not overwritten: it is said for good.
            else:
                progress.update(task, description=_describe(record), completed=record.done, total=record.total)

        yield show


def _lines(stream: TextIO, clock: Callable[[], float] = time.monotonic) -> Report:
    last: tuple[str, float] | None = None

    def report(record: DownloadProgress) -> None:
        nonlocal last
        now = clock()
        finished = record.done == record.total
        if last is None or last[0] != record.phase or finished or now - last[1] >= LINE_SECONDS:
            last = (record.phase, now)
            stream.write(_describe(record) + "\n")
            stream.flush()

    return report


def _describe(record: DownloadProgress) -> str:
    """Return where a connection goes to, or how far the download is."""
    if record.phase == "connect":
        return f"connecting to {record.file} for {record.model}"
    return _getting(record)


def _getting(record: DownloadProgress) -> str:
    """Return for instance `getting qwen3-4b-instruct: 120 of 2,497 MB, 11.2 MB/s, 3 min 32 s left`."""
    text = f"{WORDS[record.phase]} {record.model}: {record.done / 1e6:,.0f} of {record.total / 1e6:,.0f} MB"
    if record.bytes_per_second is not None and record.seconds_left:
        minutes, seconds = divmod(round(record.seconds_left), 60)
        left = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
        text += f", {record.bytes_per_second / 1e6:,.1f} MB/s, {left} left"
    return text
