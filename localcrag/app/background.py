"""Background work of the page and the API: uploads, watched folders, unfinished work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.collections.deletion import Overwriting
from localcrag.app.collections.folders import Folders
from localcrag.app.collections.open_collections import ReEmbeddings
from localcrag.app.tasks import RegularLooks
from localcrag.app.uploads import FoundFiles, Uploads
from localcrag.documents.folders import changed_paths
from localcrag.records.errors import StoreError
from localcrag.records.ingest import BoundFolder, FolderChange, FolderEvent, FolderStatus

TICK = 2.0
"""Seconds between two looks which folders there are, and whether they are there."""
AGAIN = 4.0
"""Seconds after which files that were being written are looked at again."""
LOOK_AGAIN = 600.0
"""Seconds after which a folder is looked at, though nobody told of a change: network drives do not."""
Changes = Callable[[Sequence[Path], threading.Event, float], Iterator[frozenset[Path]]]
Begin = Callable[[BoundFolder], None]


class FolderKeeper:
    """Knows when a folder is to be brought in step. `events` does it, and `version` tells how often it changed any."""

    def __init__(self, folders: Folders, *, changes: Changes = changed_paths, tick: float = TICK) -> None:
        """Take what tells of changes in folders, as changed_paths does, and the seconds between two looks."""
        self._folders, self._changes, self._tick = folders, changes, tick
        self._looks = RegularLooks(self._look, tick, "folders")
        self._start: Begin = lambda _: None
        self._due: dict[int, float] = {}
        self._there: dict[int, bool] = {}
        self._asked_for: dict[int, BoundFolder] = {}
        self.version = 0

    def begin(self, start: Begin) -> None:
        """Have each folder brought in step by `start`, which returns at once, whenever it is time."""
        self._start = start
        self._looks.begin()

    def close(self) -> None:
        """Watch no more, and wait for that."""
        self._looks.close()

    def events(self, number: int, go_on: Callable[[], None]) -> Generator[FolderEvent, None, None]:
        """Bring a folder in step; see Folders.sync. One that is bound no more, or paused, is left as it is."""
        folder = self._folders.find(number)
        if folder is None or folder.paused:
            return
        self._due[number] = time.monotonic() + LOOK_AGAIN
        with closing(self._folders.sync(folder, go_on=go_on)) as events:
            for event in events:
                if isinstance(event, FolderChange):
                    self.version += 1
                    if event.status is FolderStatus.WAITING:
                        self._due[number] = time.monotonic() + AGAIN
                yield event
        self.version += 1

    def _look(self) -> None:
        """Follow what changes, from one set of folders to the next, until none is there or nobody tells of theirs."""
        followed = self._followed()
        self._begin_due(followed)
        while there := self._paths_there(followed):
            for changed in self._changes(there, self._looks.closing, self._tick):
                for one in followed:
                    if any(path.is_relative_to(one.path) for path in changed):
                        self._start(one)
                now = self._followed()
                self._begin_due(now)
                if self._paths_there(now) != there:
                    followed = now
                    break
            else:
                return

    def _paths_there(self, followed: list[BoundFolder]) -> list[Path]:
        return [one.path for one in followed if self._there[one.id]]

    def _followed(self) -> list[BoundFolder]:
        """Return the folders that are to be in step, and take down which of them are there."""
        with suppress(StoreError):  # Busy or full: the next look tells.
            found = [one for one in self._folders.all() if not one.paused]
            for one in found:
                is_there = one.path.is_dir()
                changed = self._asked_for.get(one.id) not in (None, _as_bound(one))
                if one.id not in self._due or changed or is_there is not self._there.get(one.id):
                    self._due[one.id] = 0.0
                self._there[one.id], self._asked_for[one.id] = is_there, _as_bound(one)
            for number in set(self._due) - {one.id for one in found}:
                del self._due[number]
            return found
        return []

    def _begin_due(self, followed: list[BoundFolder]) -> None:
        for one in followed:
            if self._due.get(one.id, 0.0) <= time.monotonic():
                self._due[one.id] = time.monotonic() + LOOK_AGAIN
                self._start(one)


def _as_bound(folder: BoundFolder) -> BoundFolder:
    """Return a folder as a person chose it, without how it stands."""
    return BoundFolder(
        id=folder.id, collection=folder.collection, path=folder.path, prefix=folder.prefix, include=folder.include,
        exclude=folder.exclude, gone=folder.gone,
    )  # fmt: skip


def files_in_background(assembly: Assembly, keeper: FolderKeeper, busy: Callable[[], bool]) -> Uploads:
    """Return the files to be added, none as yet; text recognition rests while it is `busy` answering."""
    collections = assembly.collections
    return Uploads(
        lambda upload, collection: assembly.ingest([upload], collection),
        ingest_folder=lambda folder, collection: assembly.ingest(FoundFiles([folder]), collection),
        read_scans=lambda collection, go_on: collections.read_scans(collection, go_on=go_on),
        scanned=collections.scanned,
        follow=keeper.events,
        busy=busy,
    )


def go_on(assembly: Assembly, files: Uploads, embeddings: ReEmbeddings) -> None:
    """Go on with what an earlier start left to do: scans, collections to be embedded anew."""
    if assembly.collections.homes.elsewhere():
        # Their servers are asked, and may be away: nobody waits for that.
        threading.Thread(target=_take_up, args=(assembly, files, embeddings), daemon=True).start()
    else:
        _take_up(assembly, files, embeddings)


def _take_up(assembly: Assembly, files: Uploads, embeddings: ReEmbeddings) -> None:
    for collection in assembly.collections.embedders.left_to_do():
        embeddings.start(collection)
    files.recognise(assembly.collections.scanned())


def overwriting_beside(assembly: Assembly, files: Uploads, busy: Callable[[], bool]) -> Overwriting:
    """Return what overwrites the words of changed documents when no file is added; it rests as recognition does."""
    return Overwriting(assembly.database, asked=busy, working=lambda: any(one.open for one in files.items()))
