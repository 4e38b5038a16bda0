"""Background work of the page and the API: uploads, watched folders, unfinished work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from localcrag.app.assembly import Assembly
from localcrag.app.collections.deletion import SecureDeletion
from localcrag.app.collections.folders import Folders
from localcrag.app.collections.open_collections import ReindexingTasks
from localcrag.app.tasks import PeriodicTask
from localcrag.app.uploads import Uploads
from localcrag.documents.folders import changed_paths
from localcrag.records.errors import StoreError
from localcrag.records.ingest import FolderChange, FolderEvent, FolderStatus, WatchedFolder

TICK_SECONDS = 2.0
"""Seconds between two checks of the list of folders, and of which are present."""
RETRY_SECONDS = 4.0
"""Seconds to wait before files that were being written are checked again."""
RESCAN_SECONDS = 600.0
"""Seconds after which a folder is scanned even without a notification: network drives send none."""
Changes = Callable[[Sequence[Path], threading.Event, float], Iterator[frozenset[Path]]]
Begin = Callable[[WatchedFolder], None]


class FolderWatcher(PeriodicTask):
    """Watcher that decides when to update each watched folder; `version` counts the changes so far."""

    def __init__(self, folders: Folders, *, changes: Changes = changed_paths, tick: float = TICK_SECONDS) -> None:
        """Set the source of changed paths (default: changed_paths) and the seconds between two checks."""
        super().__init__(self._watch, tick, "folders")
        self._folders, self._changes, self._tick = folders, changes, tick
        self._start: Begin = lambda _: None
        self._due: dict[int, float] = {}
        self._seen: dict[int, tuple[bool, WatchedFolder]] = {}
        self.version = 0

    def begin_watching(self, start: Begin) -> None:
        """Start watching; call `start` for each folder that is due. It must return at once."""
        self._start = start
        self.begin()

    def events(self, number: int, checkpoint: Callable[[], None]) -> Generator[FolderEvent, None, None]:
        """Update a folder; see Folders.sync. Does nothing if the folder is paused or no longer watched."""
        folder = self._folders.find(number)
        if folder is None or folder.paused:
            return
        self._due[number] = time.monotonic() + RESCAN_SECONDS
        with closing(self._folders.sync(folder, checkpoint=checkpoint)) as events:
            for event in events:
                if isinstance(event, FolderChange):
                    self.version += 1
                    if event.status is FolderStatus.WAITING:
                        self._due[number] = time.monotonic() + RETRY_SECONDS
                yield event
        self.version += 1

    def _watch(self) -> None:
        """Wait for changes in the present folders; start over when that set changes.

        Ends when no folder is present, or when the system cannot watch them; it is called again after `tick`.
        """
        followed = self._followed()
        self._start_due(followed)
        while there := self._present_paths(followed):
            for changed in self._changes(there, self.closing, self._tick):
                for one in followed:
                    if any(path.is_relative_to(one.path) for path in changed):
                        self._start(one)
                now = self._followed()
                self._start_due(now)
                if self._present_paths(now) != there:
                    followed = now
                    break
            else:
                return

    def _present_paths(self, followed: list[WatchedFolder]) -> list[Path]:
        return [one.path for one in followed if self._seen[one.id][0]]

    def _followed(self) -> list[WatchedFolder]:
        """Return the folders to keep up to date, and record which of them are present."""
        with suppress(StoreError):  # The database is busy or the disk is full; the next check will try again.
            found = [one for one in self._folders.all() if not one.paused]
            # Compare the user's choices only, without the state.
            state: dict[str, Any] = {"added_at": "", "in_step_at": None, "away_since": None, "away_why": None}
            seen = {one.id: (one.path.is_dir(), replace(one, **state)) for one in found}
            # Due at once: new folders, folders with changed patterns, and folders that have come back or gone.
            for number, folder in seen.items():
                if number not in self._due or folder != self._seen.get(number):
                    self._due[number] = 0.0
            for number in set(self._due) - set(seen):
                del self._due[number]
            self._seen = seen
            return found
        return []

    def _start_due(self, followed: list[WatchedFolder]) -> None:
        for one in followed:
            if self._due.get(one.id, 0.0) <= time.monotonic():
                self._due[one.id] = time.monotonic() + RESCAN_SECONDS
                self._start(one)


def create_uploads(assembly: Assembly, keeper: FolderWatcher, busy: Callable[[], bool]) -> Uploads:
    """Create the empty upload list; text recognition pauses while a question is being answered (`busy`)."""
    collections = assembly.collections
    return Uploads(
        assembly.ingest,
        read_scans=lambda collection, checkpoint: collections.read_scans(collection, checkpoint=checkpoint),
        scanned=collections.scanned,
        follow=keeper.events,
        busy=busy,
    )


def resume_unfinished(assembly: Assembly, files: Uploads, embeddings: ReindexingTasks) -> None:
    """Resume what an earlier process left unfinished: text recognition and re-indexing."""
    if assembly.collections.homes.elsewhere():
        # This contacts servers of other collections, which may not answer, so it must not delay the start.
        threading.Thread(target=_resume, args=(assembly, files, embeddings), daemon=True).start()
    else:
        _resume(assembly, files, embeddings)


def _resume(assembly: Assembly, files: Uploads, embeddings: ReindexingTasks) -> None:
    for collection in assembly.collections.embedders.pending():
        embeddings.reindex(collection)
    files.recognise(assembly.collections.scanned())


def create_secure_deletion(assembly: Assembly, files: Uploads, busy: Callable[[], bool]) -> SecureDeletion:
    """Create the thread that overwrites deleted words; it waits for uploads and pauses while `busy`."""
    return SecureDeletion(assembly.database, asked=busy, working=lambda: any(one.open for one in files.items()))
