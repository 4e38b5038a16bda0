"""A collection brought in step with a folder: looked at, compared, renamed, read.

What is remembered of a file is written after its document, so that whoever is killed in between compares it again and
finds its document there. Closing the generator ends it; what was reported is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from localcrag.app.collections import Collections
from localcrag.app.folders.look import Look, is_as_before, look_at, not_there
from localcrag.app.folders.own_documents import together, whole
from localcrag.backends.store.database import Database
from localcrag.backends.store.folder_store import FolderStore, now
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.folders import BoundFolder, FolderChange, FolderEvent, FolderStatus, KnownFile
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult, Upload
from localcrag.steps.ingest.checksum import checksum
from localcrag.steps.ingest.folder_changes import Found, Plan, ToRead, changes_of

SETTLED = 2.0
"""Seconds since a file was changed last, after which it is taken to be written: programs that write a large file do so
more often, and file systems tell times to two seconds (FAT)."""
AT_ONCE = 200
"""Files that are remembered in one transaction, where no progress is told in between."""
Add = Callable[[Sequence[Upload], str], Generator[IngestEvent, None, None]]


@dataclass(slots=True)
class _Comparison:
    """What a look at a folder came to: checksums of files that look different, and those that could not be made.

    `moved` says what documents are called by now, "" for those that were removed.
    """

    look: Look
    known: dict[str, KnownFile]
    hashed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> frozenset[str]:
        """The known files that are no more."""
        devices = self.look.same_devices(self.known)
        unseen = (one for path, one in self.known.items() if path not in self.look.files)
        return frozenset(one.path for one in unseen if self.look.is_gone(one, devices))


class FolderSync:
    """Brings collections in step with their folders."""

    def __init__(
        self,
        database: Database,
        collections: Collections,
        *,
        add: Add | None = None,
        settled: float = SETTLED,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`add` reads files; one that was changed less than `settled` seconds ago is waited for."""
        self._database, self._collections = database, collections
        self._store = FolderStore(database)
        self._add = add or collections.add
        self._settled, self._clock = settled, clock

    def sync(self, folder: BoundFolder, *, emptied: bool = False) -> Generator[FolderEvent, None, None]:
        """Bring a collection in step with a folder, once; `emptied`: it may have lost all its files.

        Yields progress, and what became different. Files that are still being written come last, as `waiting`. Raises
        StoreError, ModelError and EmbedderMismatch.
        """
        known = self._store.files(folder.id)
        look = yield from _looked(folder)
        why = not_there(folder, look, known)
        if why and not (emptied and look.away is None):
            self._store.away(folder.id, why)
            yield FolderChange(str(folder.path), FolderStatus.AWAY, error=why)
            return
        self._store.there(folder.id)
        compared = _Comparison(look, known)
        yield from self._compare(folder, compared)
        plan = changes_of(self._found(folder, compared), now())
        self._do_at_once(folder, plan, compared)
        yield from plan.changes
        yield from (
            FolderChange(folder.name_of(path), FolderStatus.FAILED, error=error)
            for path, error in compared.failed.items()
        )
        yield from self._read(folder, plan, compared)
        if compared.waiting:
            yield from (FolderChange(folder.name_of(path), FolderStatus.WAITING) for path in compared.waiting)
        else:
            self._store.in_step(folder.id)

    def _compare(self, folder: BoundFolder, compared: _Comparison) -> Iterator[FolderEvent]:
        """Take the checksums of files that look different."""
        different = [
            path
            for path, seen in sorted(compared.look.files.items())
            if path not in compared.known or compared.known[path].stamp != seen.stamp
        ]
        for number, path in enumerate(different, start=1):
            seen, name = compared.look.files[path], folder.name_of(path)
            if 0 <= self._clock() - seen.stamp.mtime_ns / 1e9 < self._settled:
                compared.waiting.append(path)
                continue
            yield IngestProgress(name, number, len(different), "comparing", number, len(different), None)
            try:
                sha256 = checksum(Upload(folder.path / path, name, original=True, refused=seen.refused))
            except DocumentError as error:
                compared.failed[path] = str(error)
                continue
            if is_as_before(folder, path, seen):
                compared.hashed[path] = sha256
            else:
                compared.waiting.append(path)

    def _found(self, folder: BoundFolder, compared: _Comparison) -> Found:
        return Found(
            folder=folder,
            known=compared.known,
            seen=compared.look.files,
            hashed=compared.hashed,
            missing=compared.missing,
            contents=self._contents(folder, compared),
            others=lambda document: self._store.others(folder, document),
        )

    def _contents(self, folder: BoundFolder, compared: _Comparison) -> dict[str, str]:
        """Return the document that has the content of a file, by checksum, for files that look different."""
        home = self._collections.homes.of(folder.collection)
        # Of archives there is no document, but those within them.
        own = {one.stored: one.document for one in compared.known.values() if one.stored and one.document}
        there: dict[str, str] = {}
        for path, sha256 in compared.hashed.items():
            before = compared.known.get(path)
            if sha256 in there or (before and before.sha256 == sha256):
                continue
            document = own.get(sha256)
            if document is None or not home.names.within(document):
                document = home.names.with_content(sha256)
            if document is not None:
                there[sha256] = document
        return there

    def _do_at_once(self, folder: BoundFolder, plan: Plan, compared: _Comparison) -> None:
        """Remove and rename documents, and remember the files, in one transaction where they are in one database."""
        compared.moved = plan.renames | dict.fromkeys(plan.remove, "")
        failed = [self._failed(folder, path, error, compared) for path, error in compared.failed.items()]
        if not (plan.remove or plan.renames):
            self._store.put(folder.id, [*plan.put, *failed], plan.forget)
            return
        known = compared.known
        with together(self._database, self._collections, folder) as home:
            home.remove([name for document in plan.remove for name in whole(home, document, known)])
            home.names.rename_all(
                {
                    name: new + name.removeprefix(old)
                    for old, new in plan.renames.items()
                    for name in whole(home, old, known)
                }
            )
            self._store.renamed(folder.collection, plan.renames)
            self._store.put(folder.id, [*plan.put, *failed], plan.forget)

    def _read(self, folder: BoundFolder, plan: Plan, compared: _Comparison) -> Iterator[FolderEvent]:
        """Read the files whose content is new, remember each, and tell what became of it."""
        if not plan.read:
            return
        by_name = {one.name: one for one in plan.read}
        twins: dict[str, list[str]] = {}
        for path, first in plan.twins.items():
            twins.setdefault(first, []).append(path)
        uploads = [Upload(folder.path / one.path, one.name, original=True) for one in by_name.values()]
        done: list[KnownFile] = []
        within: dict[str, set[str]] = {}
        replaced: set[str] = set()
        try:
            with closing(self._add(uploads, folder.collection)) as events:
                for event in events:
                    if isinstance(event, IngestProgress) or len(done) >= AT_ONCE:
                        self._store.put(folder.id, done)
                        done = []
                    if isinstance(event, IngestProgress):
                        yield event
                    elif (one := by_name.get(event.document)) is None:
                        if event.status is not IngestStatus.FAILED:
                            within.setdefault(_came_within(event.document, by_name), set()).add(event.document)
                        if event.error:
                            yield FolderChange(event.document, FolderStatus.FAILED, error=event.error)
                    else:
                        if event.status is not IngestStatus.FAILED and one.before and one.before.document:
                            replaced.add(one.path)
                        done += self._remembered(folder, one, event, twins.get(one.path, ()), compared)
                        yield from self._told(folder, one, event, twins.get(one.path, ()))
        finally:
            self._store.put(folder.id, done)
        self._leave_out(folder, [one for one in plan.read if one.path in replaced], within)

    def _leave_out(self, folder: BoundFolder, changed: Sequence[ToRead], within: dict[str, set[str]]) -> None:
        """Remove what changed files, as archives and letters, do not hold any more."""
        home, known = self._collections.homes.of(folder.collection), self._store.files(folder.id)
        for one in changed:
            there = [name for name in whole(home, one.name, known) if name != one.name]
            home.remove([name for name in there if name not in within.get(one.name, set())])

    def _remembered(
        self, folder: BoundFolder, one: ToRead, result: IngestResult, twins: Sequence[str], compared: _Comparison
    ) -> list[KnownFile]:
        """Return a file as it is to be remembered now that it was read, and those with the same content."""
        paths = (one.path, *twins)
        if result.status is IngestStatus.FAILED:
            error = result.error or ""
            return [replace(self._failed(folder, path, error, compared), sha256=one.sha256) for path in paths]
        seen = compared.look.files
        return [
            KnownFile(path, seen[path].stamp, seen[path].device, one.sha256, one.name, one.sha256) for path in paths
        ]

    @staticmethod
    def _failed(folder: BoundFolder, path: str, error: str, compared: _Comparison) -> KnownFile:
        """Return a file that failed; a document that it had, and has still, stays as it is."""
        seen, before = compared.look.files[path], compared.known.get(path)
        document, stored = (before.document, before.stored) if before else (None, None)
        if document in compared.moved and compared.moved[document] != folder.name_of(path):
            document, stored = None, None
        return KnownFile(
            path, seen.stamp, seen.device, None, compared.moved.get(document or "", document), stored, error
        )

    @staticmethod
    def _told(folder: BoundFolder, one: ToRead, result: IngestResult, twins: Sequence[str]) -> Iterator[FolderChange]:
        if result.status is IngestStatus.FAILED:
            names = [folder.name_of(path) for path in (one.path, *twins)]
            yield from (FolderChange(name, FolderStatus.FAILED, error=result.error) for name in names)
            return
        updated = result.status is IngestStatus.UPDATED or bool(one.before and one.before.document)
        status = FolderStatus.UPDATED if updated else FolderStatus.ADDED
        if result.status is not IngestStatus.UNCHANGED:
            yield FolderChange(one.name, status, chunks=result.chunks, warnings=result.warnings)
        yield from (FolderChange(folder.name_of(path), FolderStatus.SAME, was=one.name) for path in twins)


def _looked(folder: BoundFolder) -> Generator[FolderEvent, None, Look]:
    look = Look()
    for look in look_at(folder):
        found = len(look.files)
        yield IngestProgress(str(folder.path), 0, found, "looking", found, None, None, more=True)
    return look


def _came_within(name: str, files: Mapping[str, ToRead]) -> str:
    """Return the file that a document came within."""
    while name and name not in files:
        name = name.rpartition("/")[0]
    return name
