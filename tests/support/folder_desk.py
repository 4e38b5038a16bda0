"""A folder of files that a collection of the real app follows, for tests: written, brought in step, asked."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.collections.folder_sync import FolderSync
from localcrag.app.collections.folders import Folders, FolderState
from localcrag.records.events import RunFinished
from localcrag.records.ingest import FolderChange, GoneFilePolicy, IngestEvent, Upload, WatchedFolder
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Run
from localcrag.settings import with_changes

HOUR = 3600.0


class FolderDesk:
    """An app with a folder; `read` are the names of the files that were read into a collection, in order."""

    def __init__(self, place: Path, assembly: Assembly, collection: str) -> None:
        self.folder = place / "papers"
        self.folder.mkdir(parents=True)
        self.assembly, self.collection = assembly, collection
        self.read: list[str] = []
        self.folders = self.with_clock(time.time() + HOUR)
        self.bound: WatchedFolder | None = None

    def with_clock(self, now: float) -> Folders:
        """Return the folders as they are brought in step at this time; an hour ahead, every file is settled."""
        assembly = self.assembly
        sync = FolderSync(assembly.database, assembly.collections, add=self._add, clock=lambda: now)
        return Folders(assembly.current_settings, assembly.database, assembly.collections, sync)

    def _add(self, uploads: Sequence[Upload], collection: str) -> Generator[IngestEvent, None, None]:
        self.read += [one.name for one in uploads]
        yield from self.assembly.ingest(uploads, collection)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder, so that its time is another one than before."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_text(text)
        os.utime(path, ns=(before + 1_000_000_000, max(before, path.stat().st_mtime_ns) + 1_000_000_000))
        return path

    def bind(self, gone: GoneFilePolicy = GoneFilePolicy.ASK, folder: Path | None = None) -> WatchedFolder:
        """Have the collection follow a folder, its own unless another is named."""
        bound = self.folders.bind(folder or self.folder, gone=gone, collection=self.collection)
        self.bound = bound if self.bound is None or bound.id == self.bound.id else self.bound
        return bound

    def sync(self, folder: WatchedFolder | None = None, *, emptied: bool = False) -> list[tuple[str, str]]:
        """Bring the folder in step; return what became of which document."""
        return [(str(one.status), one.document) for one in self.changes(folder, emptied=emptied)]

    def changes(self, folder: WatchedFolder | None = None, *, emptied: bool = False) -> list[FolderChange]:
        wanted = folder or self.bound
        assert wanted
        events = self.folders.sync(wanted, emptied=emptied)
        return [event for event in events if isinstance(event, FolderChange)]

    def states(self) -> list[FolderState]:
        return self.folders.states(self.collection)

    def names(self) -> list[str]:
        """Return the names of the collection's documents."""
        return [one.name for one in self.assembly.collections.documents(self.collection)]

    def text(self, name: str) -> str:
        return self.assembly.collections.text(name, self.collection)

    def chunk_ids(self) -> list[int]:
        return self.assembly.collections.store(self.collection).chunk_ids()

    def ask(self, question: str, restriction: Restriction = EVERYWHERE) -> Run:
        """Put a question to the collection with the real models."""
        settings = with_changes(self.assembly.settings, collection=self.collection)
        asking = self.assembly.ask(question, settings=settings, restriction=restriction)
        (finished,) = [one for one in asking if isinstance(one, RunFinished)]
        return finished.run
