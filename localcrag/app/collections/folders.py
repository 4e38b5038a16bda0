"""Watched folders: bind folders to collections, list, pause and update them, and stop watching."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.folder_sync import FolderSync, joint_transaction, with_members
from localcrag.app.shared_state import CurrentSettings
from localcrag.records.errors import FolderError
from localcrag.records.ingest import (
    FolderChange,
    FolderCounts,
    FolderEvent,
    FolderStatus,
    GoneFilePolicy,
    IngestProgress,
    WatchedFolder,
)
from localcrag.storage.collections import full_text
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from localcrag.text.translation import gettext as _

MAX_LISTED = 20
"""Maximum number of a folder's failed or missing files to name."""
LOCK, RUNNING = "folders.lock", "running"
POLL_SECONDS = 0.2
"""Seconds between two checks, for another process that uses the folders or for files being written."""
WRITE_WAIT_SECONDS = 30.0
"""Seconds that a command waits for files that are being written."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder, its counts, and the first files that are missing or failed, with the reasons."""

    folder: WatchedFolder
    counts: FolderCounts
    failed: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]


class Folders:
    """The watched folders of a data folder."""

    def __init__(
        self, settings: CurrentSettings, database: Database, collections: Collections, sync: FolderSync | None = None
    ) -> None:
        """Prepare the folders; `sync` updates a collection from its folder (by default, as the app does)."""
        self._settings, self._database, self._collections = settings, database, collections
        self._store = FolderStore(database)
        self._sync = sync or FolderSync(database, collections)

    def all(self, collection: str | None = None) -> list[WatchedFolder]:
        """Return the folders of a collection, or of all. Raises StoreError."""
        return self._store.folders(collection)

    def find(self, number: int) -> WatchedFolder | None:
        """Return a folder by its id, or None if it is no longer watched. Raises StoreError."""
        return self._store.find(number)

    def find_by_path(self, path: str | Path) -> WatchedFolder:
        """Return the folder with this path. Raises FolderError if it is not watched."""
        wanted = _absolute(path)
        for one in self._store.folders():
            if one.path == wanted:
                return one
        raise FolderError(
            _("No collection watches %(path)s. `localcrag folder list` shows the watched folders.", path=wanted)
        )

    def bind(
        self,
        path: str | Path,
        *,
        collection: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        gone: GoneFilePolicy = GoneFilePolicy.ASK,
    ) -> WatchedFolder:
        """Have a collection watch a folder; if it already does, replace the patterns and the rule.

        The collection is created if needed. Documents of its first folder are named after their files; documents of
        further folders also have the folder's name as a prefix. Raises FolderError, NameRefused, EmbedderMismatch,
        ModelError and StoreError.
        """
        wanted, name = _absolute(path), self._settings.collection(collection)
        self._check(wanted, name)
        self._collections.store(name)
        prefix = self._prefix(wanted, name)
        folder = WatchedFolder(
            id=0, collection=name, path=wanted, prefix=prefix, include=tuple(include), exclude=tuple(exclude), gone=gone
        )
        return self._store.bind(folder)

    def unbind(self, folder: WatchedFolder, *, documents: bool) -> int:
        """Stop watching a folder; with `documents`, remove the documents that only its files have. Return their number.

        Raises StoreError.
        """
        if not documents:
            self._store.unbind(folder.id)
            return 0
        known = self._store.files(folder.id)
        # Documents that were renamed, or were there before, are not the folder's own.
        names = {folder.name_of(path) for path in known}
        own = sorted({one.document for one in known.values() if one.document in names})
        own = [document for document in own if not self._store.other_files(folder, document)]
        with joint_transaction(self._database, self._collections, folder) as home:
            gone = [name for document in own for name in with_members(home, document, known)]
            home.remove(gone)
            self._store.unbind(folder.id)
        if gone:
            full_text.overwrite_deleted_words(self._database)
        return len(gone)

    def pause(self, folder: WatchedFolder, *, paused: bool) -> None:
        """Pause watching a folder, or resume it. Raises StoreError."""
        self._store.pause(folder.id, paused=paused)

    def decide(
        self, folder: WatchedFolder, what: GoneFilePolicy, names: Sequence[str] | None = None
    ) -> list[FolderChange]:
        """Remove or keep the documents of missing files: those in `names`, or all. Raises StoreError.

        A file that has come back is left to the next update.
        """
        known = self._store.files(folder.id)
        asked = [one for one in self._store.gone(folder.id) if names is None or folder.name_of(one.path) in names]
        asked = [one for one in asked if not (folder.path / one.path).exists()]
        remove = {one.document for one in asked if one.document} if what is GoneFilePolicy.REMOVE else set()
        # A document that files of other folders also have is not removed.
        remove = {document for document in remove if not self._store.other_files(folder, document)}
        with joint_transaction(self._database, self._collections, folder) as home:
            home.remove([name for document in sorted(remove) for name in with_members(home, document, known)])
            self._store.put(folder.id, (), [one.path for one in asked])
        if remove:
            full_text.overwrite_deleted_words(self._database)
        kept, removed = FolderStatus.KEPT, FolderStatus.REMOVED
        return [FolderChange(folder.name_of(one.path), removed if one.document in remove else kept) for one in asked]

    def state(self, folder: WatchedFolder) -> FolderState:
        """Return the stored state of a folder, without reading the folder. Raises StoreError."""
        failed, gone = self._store.failed(folder.id, MAX_LISTED), self._store.gone(folder.id, MAX_LISTED)
        return FolderState(
            folder, self._store.counts(folder.id),
            tuple((folder.name_of(one.path), one.error or "") for one in failed),
            tuple(folder.name_of(one.path) for one in gone),
        )  # fmt: skip

    def states(self, collection: str | None = None) -> list[FolderState]:
        """Return the states of the folders of a collection, or of all. Raises StoreError."""
        return [*map(self.state, self.all(collection))]

    def sync(
        self, folder: WatchedFolder, *, emptied: bool = False, checkpoint: Callable[[], None] = lambda: None
    ) -> Generator[FolderEvent, None, None]:
        """Update a collection from its folder once; see FolderSync.

        If another process is doing that, wait for it and call `checkpoint`, whose exceptions end the wait. Raises
        StoreError, ModelError and EmbedderMismatch.
        """
        with self._alone(checkpoint), closing(self._sync.sync(folder, emptied=emptied)) as events:
            moved_here = False
            for event in events:
                moved_here |= isinstance(event, FolderChange) and event.status is FolderStatus.SAME
                yield event
            if moved_here:
                yield from self._rename_moved(folder)

    def sync_and_wait(self, folder: WatchedFolder, *, emptied: bool = False) -> Iterator[FolderEvent]:
        """Update a collection from its folder, waiting up to half a minute for files that are being written."""
        until = time.monotonic() + WRITE_WAIT_SECONDS
        while True:
            waiting: list[FolderChange] = []
            for event in self.sync(folder, emptied=emptied):
                if isinstance(event, FolderChange) and event.status is FolderStatus.WAITING:
                    waiting.append(event)
                else:
                    yield event
            if not waiting or time.monotonic() > until:
                yield from waiting
                return
            yield IngestProgress(waiting[0].document, 1, len(waiting), "waiting", 0, len(waiting), None)
            time.sleep(POLL_SECONDS)

    def _rename_moved(self, folder: WatchedFolder) -> Iterator[FolderEvent]:
        """Rename documents whose files were moved here from another folder of the collection."""
        for other in self._store.folders(folder.collection):
            if other.id != folder.id and not other.paused and self._store.counts(other.id).gone:
                yield from self._sync.sync(other)

    @contextmanager
    def _alone(self, checkpoint: Callable[[], None]) -> Iterator[None]:
        place = self._settings.now.data_dir.absolute() / RUNNING
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A generator holds this lock, and its steps may run in different threads.
        lock = FileLock(place / LOCK, thread_local=False)
        while True:
            try:
                held = lock.acquire(timeout=POLL_SECONDS)
                break
            except Timeout:
                checkpoint()
        with held:
            yield

    def _check(self, path: Path, collection: str) -> None:
        if not path.is_dir():
            raise FolderError(_("%(path)s is not a folder that can be opened. Choose an existing folder.", path=path))
        if self._settings.now.data_dir.absolute().is_relative_to(path):
            raise FolderError(
                _(
                    "%(path)s contains localcrag's own data folder, which cannot be part of a collection. Choose a "
                    "folder inside %(path)s instead.",
                    path=path,
                )
            )
        # Document names are stored as UTF-8, so a folder name that is not valid UTF-8 cannot be their prefix.
        if path.as_posix().encode("utf-8", "surrogateescape") != path.as_posix().encode("utf-8", "replace"):
            raise FolderError(_("The name of the folder is not valid UTF-8. Rename the folder, then watch it."))
        for other in self._store.folders():
            if other.path == path and other.collection != collection:
                problem = _("The collection “%(name)s” already watches %(path)s.", name=other.collection, path=path)
            elif other.collection == collection and (path in other.path.parents or other.path in path.parents):
                problem = _(
                    "%(path)s shares files with %(other)s, which is already being watched.", path=path, other=other.path
                )
            else:
                continue
            raise FolderError(problem + " " + _("Stop watching that folder first: localcrag folder remove PATH"))

    def _prefix(self, path: Path, collection: str) -> str:
        taken = {one.prefix for one in self._store.folders(collection) if one.path != path}
        names = ["", f"{path.name}/", *(f"{path.name} ({number})/" for number in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)


def _absolute(path: str | Path) -> Path:
    return Path(path).expanduser().absolute()
