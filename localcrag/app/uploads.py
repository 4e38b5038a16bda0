"""Files dropped into the page, added one after the other in a thread of their own.

What failed or did not go in as a whole stays until it is dismissed. Whoever looks sees the same list: another tab, or
the page after a reload.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from localcrag.app.background import BackgroundList, TaskState, Tell
from localcrag.app.uploading import Uploading, at_its_end, is_in_as_a_whole
from localcrag.app.what_is_said_of_files import named, of_folder
from localcrag.records.errors import UnknownCollection
from localcrag.records.folders import BoundFolder, FolderEvent
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult, Upload

REST = 0.2
"""Seconds between two looks whether a question is being answered still."""
MOST_RESULTS = 20
"""Of the documents whose text was recognised, the latest that are named."""
Ingest = Callable[[Upload, str], Generator[IngestEvent, None, None]]
"""Adds a file to a collection."""
IngestFolder = Callable[[Path, str], Generator[IngestEvent, None, None]]
"""Adds all files of a folder to a collection, as they are found."""
ReadScans = Callable[[str, Callable[[], None]], Generator[IngestEvent, None, None]]
"""Recognises the text of a collection's scans; calls the function every few lines, and ends with what that raises."""
Follow = Callable[[int, Callable[[], None]], Generator[FolderEvent, None, None]]
"""Brings the bound folder of a number in step; calls the function while it waits, and ends with what that raises."""
Scanned = Callable[[], Sequence[str]]
"""Returns the collections with scans that wait."""


class Uploads:
    """The files of all tabs, in the order in which they came."""

    def __init__(
        self,
        ingest: Ingest,
        *,
        ingest_folder: IngestFolder | None = None,
        read_scans: ReadScans | None = None,
        scanned: Scanned = tuple,
        follow: Follow | None = None,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take what does the work; what is not given is never asked for. `scanned` names what has scans that wait.

        Text recognition rests as long as it is `busy`: a question is being answered.
        """
        self._busy = busy
        self._passwords: dict[int, str] = {}
        self._ingest, self._read_scans, self._scanned = ingest, read_scans, scanned
        self._ingest_folder, self._follow = ingest_folder, follow
        self._files = BackgroundList(self._add, "{name} was not added", at_once=1, ended=_remove_if_done)
        self._ids = count(1)

    def add(self, paths: Sequence[Path], collection: str, *, copies: bool = True) -> None:
        """Add these files to a collection, after those that wait already.

        What is in since before is not listed, unless something was to be said of it.
        """
        with self._files.lock:
            there = self._files.items()
            if not any(one.open and one.follows is None for one in there) and (
                whole := [one.id for one in there if is_in_as_a_whole(one)]
            ):
                self._files.dismiss(whole)
            for path, name in named(paths).items():
                self._files.start(
                    Uploading(id=next(self._ids), name=name, collection=collection, path=path, copy=copies)
                )

    def add_originals(self, uploads: Sequence[Upload], collection: str) -> None:
        """Add files from where a person keeps them, which stay there as they are."""
        with self._files.lock:
            for one in uploads:
                self._files.start(
                    Uploading(
                        id=next(self._ids),
                        name=one.name,
                        collection=collection,
                        path=one.path,
                        copy=False,
                        original=True,
                        refused=one.refused,
                    )
                )

    def add_folder(self, folder: Path, collection: str) -> None:
        """Add all files of a folder from where a person keeps them, in one row of the list."""
        one = Uploading(
            id=next(self._ids), name=folder.name or str(folder), collection=collection, path=folder, copy=False,
            original=True, folder=True,
        )  # fmt: skip
        self._files.start(one)

    def recognise(self, collections: Sequence[str]) -> None:
        """Recognise the text of these collections' scans, where that is not under way."""
        with self._files.lock:
            for name in collections:
                of_it = (one for one in reversed(self._files.items()) if one.recognises and one.collection == name)
                last = next(of_it, None)
                if last and last.open:
                    continue  # It finds what has come meanwhile.
                if last and last.state is TaskState.DONE:
                    self._files.dismiss([last.id])
                self._files.start(
                    Uploading(id=next(self._ids), name=name, collection=name, path=Path(), copy=False, recognises=True)
                )

    def follow_folder(self, folder: BoundFolder) -> None:
        """Bring a bound folder in step, after the files that wait; once more, where that is under way."""
        with self._files.lock:
            of_it = [one for one in self._files.items() if one.follows == folder.id]
            if any(one.state is TaskState.WAITING for one in of_it):
                return
            if ended := [one.id for one in of_it if not one.open]:
                self._files.dismiss(ended)
            self._files.start(
                Uploading(
                    id=next(self._ids),
                    name=str(folder.path),
                    collection=folder.collection,
                    path=folder.path,
                    copy=False,
                    follows=folder.id,
                )
            )

    def items(self) -> tuple[Uploading, ...]:
        """Return what is known of every file that was not dismissed."""
        return self._files.items()

    def cancel(self, ids: Collection[int] = ()) -> None:
        """Add these files no further, or none at all; what is in already stays, and folders are followed as before."""
        if wanted := ids or [one.id for one in self.items() if one.follows is None]:
            self._files.cancel(wanted)

    def retry(self, ids: Collection[int]) -> None:
        """Try again with files that failed or were cancelled."""
        self._files.again(ids, result=None, progress=None, locked=False)

    def unlock(self, one: int, password: str) -> None:
        """Try again with a file that needs a password, which is forgotten as soon as it was tried."""
        self._passwords[one] = password
        self.retry([one])

    def dismiss(self, ids: Collection[int] = ()) -> None:
        """Show these files no longer, or none that is at its end."""
        with self._files.lock:
            for one in self._files.dismiss(ids):
                _remove(one)

    def follow(self) -> Iterator[tuple[Uploading, ...]]:
        """Yield the files now and whenever something has changed, as long as any is to be added."""
        return self._files.follow()

    def close(self) -> None:
        """Cancel what is under way, and wait for its end."""
        self._files.close()

    def _add(self, one: Uploading, tell: Tell[Uploading]) -> Uploading:
        if one.recognises and self._read_scans:
            return self._recognised(one, self._read_scans, tell)
        if one.follows is not None and self._follow:
            return self._followed(one, one.follows, self._follow, tell)
        if one.folder and self._ingest_folder:
            return self._folder_added(one, self._ingest_folder, tell)
        upload = Upload(
            one.path, one.name, original=one.original, password=self._passwords.pop(one.id, None), refused=one.refused
        )
        own: list[IngestResult] = []
        within: list[IngestResult] = []
        with closing(self._ingest(upload, one.collection)) as events:
            for event in events:
                if isinstance(event, IngestProgress):
                    one = dataclasses.replace(one, progress=event)
                    tell(one)
                else:
                    (own if event.document == upload.name else within).append(event)
        self.recognise(self._scanned())
        # Told now that the index has followed, too: what is said to be in is found by the next question.
        return at_its_end(one, own, within)

    def _folder_added(self, one: Uploading, ingest: IngestFolder, tell: Tell[Uploading]) -> Uploading:
        """Add the files of a folder; cancelled, what was added stays."""
        failed: list[str] = []
        count = 0
        with closing(ingest(one.path, one.collection)) as events:
            for event in events:
                if isinstance(event, IngestProgress):
                    one = dataclasses.replace(one, progress=event)
                    tell(one)
                elif event.error:
                    failed.append(event.error)
                else:
                    count += 1
        self.recognise(self._scanned())
        result = of_folder(one.name, count, failed)
        return dataclasses.replace(one, state=TaskState.DONE, progress=None, result=result)

    def _followed(self, one: Uploading, number: int, follow: Follow, tell: Tell[Uploading]) -> Uploading:
        """Bring a bound folder in step; between two documents, files that are waiting go first."""
        with closing(follow(number, lambda: tell(one))) as events:
            one = self._until_files_wait(one, events, tell)
        if one.state is TaskState.DONE:
            self.recognise(self._scanned())
        return one

    def _until_files_wait(
        self, one: Uploading, events: Iterable[IngestEvent | FolderEvent], tell: Tell[Uploading]
    ) -> Uploading:
        """Return it done, or waiting again where files came to wait meanwhile; between two documents that is seen."""
        for event in events:
            if isinstance(event, IngestProgress):
                one = dataclasses.replace(one, progress=event)
                tell(one)
            elif any(file.state is TaskState.WAITING and not file.later for file in self.items()):
                return dataclasses.replace(one, state=TaskState.WAITING, progress=None)
        return dataclasses.replace(one, state=TaskState.DONE, progress=None)

    def _recognised(self, one: Uploading, read_scans: ReadScans, tell: Tell[Uploading]) -> Uploading:
        """Read a collection's scans. Cancelled, it ends within a few lines of text; what is read stays."""
        now = one

        def go_on() -> None:
            tell(now)
            while self._busy():
                time.sleep(REST)
                tell(now)

        try:
            with closing(read_scans(one.collection, go_on)) as events:
                for event in events:
                    if isinstance(event, IngestProgress):
                        now = dataclasses.replace(now, progress=event)
                    else:
                        now = dataclasses.replace(now, results=(*now.results, event)[-MOST_RESULTS:])
                    tell(now)
        except UnknownCollection:
            pass  # Deleted, or called otherwise by now: what is left is read at the next start.
        return dataclasses.replace(now, state=TaskState.DONE, progress=None)


def _remove_if_done(one: Uploading) -> None:
    if one.state is TaskState.DONE:
        _remove(one)


def _remove(one: Uploading) -> None:
    # The copies that Gradio made of the uploaded files hold the documents' text.
    if one.copy:
        one.path.unlink(missing_ok=True)
