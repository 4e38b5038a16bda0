"""Files dropped into the page, taken in one after the other in a thread of their own.

What failed or did not go in as a whole stays until it is dismissed. Whoever looks sees the same list: another tab, or
the page after a reload.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

from localcrag.app import failed
from localcrag.app.observable_list import ObservableList
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult, Upload

Ingest = Callable[[Upload, str], Generator[IngestEvent, None, None]]
"""Takes a file into a collection."""


class UploadState(StrEnum):
    """Where a file is on its way."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploading:
    """A file and how far it is. `result` says what became of one that is done, `error` why another one failed.

    A `copy` is removed when it is done or dismissed.
    """

    id: int
    name: str
    collection: str
    path: Path
    copy: bool = True
    state: UploadState = UploadState.WAITING
    progress: IngestProgress | None = None
    result: IngestResult | None = None
    error: str | None = None

    @property
    def open(self) -> bool:
        """Whether it is still to be taken in."""
        return self.state in {UploadState.WAITING, UploadState.WORKING}


class Uploads:
    """The files of all tabs, in the order in which they came."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._files: ObservableList[int, Uploading] = ObservableList()
        self._ids = count(1)
        self._thread: threading.Thread | None = None

    def add(self, paths: Sequence[Path], collection: str, *, copies: bool = True) -> None:
        """Take these files into a collection, after those that wait already.

        What is in since before is not listed, unless something was to be said of it.
        """
        with self._files.lock:
            if not any(one.open for one in self._files.items()):
                for one in [one for one in self._files.items() if one.state is UploadState.DONE]:
                    if one.result is None or not one.result.warnings:
                        self._files.remove(one.id)
            for path in paths:
                one = Uploading(id=next(self._ids), name=path.name, collection=collection, path=path, copy=copies)
                self._files.put(one.id, one)
            self._go()

    def items(self) -> tuple[Uploading, ...]:
        """Return what is known of every file that was not dismissed."""
        return self._files.items()

    def cancel(self, ids: Collection[int] = ()) -> None:
        """Take these files in no further, or none at all; what is in already stays."""
        with self._files.lock:
            for one in self._some(ids, still_open=True):
                self._files.put(one.id, dataclasses.replace(one, state=UploadState.CANCELLED, progress=None))

    def retry(self, ids: Collection[int]) -> None:
        """Try again with files that failed or were cancelled."""
        with self._files.lock:
            for one in self._some(ids, still_open=False):
                self._files.put(one.id, dataclasses.replace(one, state=UploadState.WAITING, error=None, result=None))
            self._go()

    def dismiss(self, ids: Collection[int] = ()) -> None:
        """Show these files no longer, or none that is at its end."""
        with self._files.lock:
            for one in self._some(ids, still_open=False):
                self._files.remove(one.id)
                _remove(one)

    def follow(self) -> Iterator[tuple[Uploading, ...]]:
        """Yield the files now and whenever something has changed, as long as any is to be taken in."""
        return self._files.follow(lambda one: one.open)

    def close(self) -> None:
        """Cancel what is under way, and wait for its end."""
        self.cancel()
        if self._thread:
            self._thread.join()

    def _some(self, ids: Collection[int], *, still_open: bool) -> list[Uploading]:
        """Return these files, or all, as far as they are to be taken in still, or are at their end."""
        return [one for one in self._files.items() if one.open is still_open and (one.id in ids or not ids)]

    def _go(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="uploads", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            with self._files.lock:
                waiting = [one for one in self._files.items() if one.state is UploadState.WAITING]
                if not waiting:
                    self._thread = None
                    return
                one = dataclasses.replace(waiting[0], state=UploadState.WORKING)
                self._files.put(one.id, one)
            self._take_in(one)

    def _take_in(self, one: Uploading) -> None:
        last = one
        try:
            with closing(self._ingest(Upload(one.path, one.name), one.collection)) as events:
                for event in events:
                    last = _after(last, event)
                    if last.open and not self._still(last):
                        return
        except Exception as error:  # noqa: BLE001 - the next file goes on
            said = failed.why(error, f"{one.name} was not taken in")
            last = dataclasses.replace(one, state=UploadState.FAILED, error=said)
        if last.state is UploadState.DONE:
            _remove(one)
        # Now that the index has followed, too: what is said to be in is found by the next question.
        self._still(last)

    def _still(self, one: Uploading) -> bool:
        """Take down how far a file is, unless somebody has cancelled it; return whether nobody has."""
        return self._files.change(one.id, lambda there: there.state is UploadState.WORKING, lambda _: one)


def _after(one: Uploading, event: IngestEvent) -> Uploading:
    if isinstance(event, IngestProgress):
        return dataclasses.replace(one, progress=event)
    if event.error:
        return dataclasses.replace(one, state=UploadState.FAILED, progress=None, error=event.error)
    return dataclasses.replace(one, state=UploadState.DONE, progress=None, result=event)


def _remove(one: Uploading) -> None:
    # The copies that Gradio made of the uploaded files hold the documents' text.
    if one.copy:
        one.path.unlink(missing_ok=True)
