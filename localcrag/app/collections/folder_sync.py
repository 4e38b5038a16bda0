"""Update a collection from its watched folder: patterns, scanning, comparing, and applying changes.

Patterns choose the files, as in the shell: `*`, `?` and `[abc]`. A pattern with a “/” is compared with the path within
the folder; a pattern without it is compared with each part of the path: “*.pdf” means every PDF file, “drafts”
everything in folders of that name, “2024/*” everything in the folder 2024. A “*” also matches a “/”, and case is
ignored.
"""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from localcrag.app.collections.collections import Collections
from localcrag.app.uploads import is_file_or_folder, link_refusal
from localcrag.documents.folders import FileToRead, FolderPlan, FolderSnapshot, plan_changes
from localcrag.documents.prepare import checksum
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.ingest import (
    FolderChange,
    FolderEvent,
    FolderStatus,
    IngestEvent,
    IngestProgress,
    IngestResult,
    KnownFile,
    SeenFile,
    Stamp,
    Upload,
    WatchedFolder,
)
from localcrag.records.restriction import parent_folders
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database, now
from localcrag.storage.protocol import CollectionBackend
from localcrag.text.translation import gettext as _


class Patterns:
    """The files to watch: those that match a pattern in `include` (all if it is empty) but none in `exclude`."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include, self._exclude = [*map(_matcher, include)], [*map(_matcher, exclude)]

    def wants(self, path: str) -> bool:
        """Return whether a file is watched, given its path within the folder."""
        return (not self._include or any(fits(path) for fits in self._include)) and not self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Return whether a file, or a folder with everything in it, is excluded."""
        return any(fits(path) for fits in self._exclude)


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a path, or a folder that contains it, matches a pattern."""
    pattern = pattern.removeprefix("./").rstrip("/")
    fits = re.compile(fnmatch.translate(pattern.lstrip("/")), re.IGNORECASE).match
    if "/" not in pattern:
        return lambda path: any(fits(part) for part in path.split("/"))
    return lambda path: any(fits(one) for one in (path, *parent_folders(path)))


FILES_PER_REPORT = 2_000
"""Number of files found between two progress reports."""


@dataclass(slots=True)
class FolderScan:
    """The content of a folder, by path: files, the devices of its folders, and folders that cannot be opened.

    `away` is the reason why the folder itself cannot be opened; then nothing is known about its files.
    """

    files: dict[str, SeenFile] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    away: str | None = None

    def deleted_files(self, known: Mapping[str, KnownFile]) -> frozenset[str]:
        """Return the known files that were deleted, rather than on a folder or disk that is absent now."""
        # Device numbers may change when the computer restarts.
        devices = {one.device: self.files[path].device for path, one in known.items() if path in self.files}
        unseen = (one for path, one in known.items() if path not in self.files)
        return frozenset(one.path for one in unseen if self._was_deleted(one.path, devices.get(one.device, one.device)))

    def _was_deleted(self, path: str, device: int) -> bool:
        # Go up to the nearest folder that was seen. If it is on another device than the file was, a disk is not
        # mounted.
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self.closed:
                return False
            if folder in self.devices:
                return self.devices[folder] == device
        return False


def scan_folder(folder: WatchedFolder) -> Iterator[FolderScan]:
    """Scan a folder for files that match its patterns, except hidden ones; yield the growing result."""
    look, patterns = FolderScan(), Patterns(folder.include, folder.exclude)
    within = folder.path.resolve()
    to_do = [""]
    reported = 0
    while to_do:
        inside = to_do.pop()
        try:
            look.devices[inside] = (folder.path / inside).stat().st_dev
            with os.scandir(folder.path / inside) as found:
                entries = [one for one in found if not one.name.startswith(".") and is_file_or_folder(one)]
        except OSError as error:
            if not inside:
                yield FolderScan(away=error.strerror or str(error))
                return
            look.devices.pop(inside, None)
            look.closed[inside] = error.strerror or str(error)
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not patterns.excludes(path):
                    to_do.append(path)
            elif patterns.wants(path) and (seen := _seen(entry, path, look.devices[inside], within)):
                look.files[path] = seen
        if len(look.files) >= reported + FILES_PER_REPORT:
            reported = len(look.files)
            yield look
    yield look


def is_file_unchanged(folder: WatchedFolder, path: str, before: SeenFile) -> bool:
    """Return whether a file is unchanged since it was scanned."""
    try:
        return Stamp.of((folder.path / path).stat()) == before.stamp
    except OSError:
        return False


def absence_reason(folder: WatchedFolder, look: FolderScan, known: Mapping[str, KnownFile]) -> str | None:
    """Return why a folder that contained `known` files counts as absent, or None if it is present.

    An unmounted disk leaves an empty folder; so does a network drive or cloud folder without its server.
    """
    if look.away is not None:
        return look.away
    there = [path for path, one in known.items() if one.gone_at is None]
    if not there or any(path in look.files for path in there) or look.closed:
        return None
    if not look.files:
        return _("it is empty but contained files before")
    if look.devices[""] not in {known[path].device for path in there}:
        return _("another disk is mounted there, without any of its files")
    return None


def _seen(entry: os.DirEntry[str], path: str, device: int, within: Path) -> SeenFile | None:
    """Return the state of a file, or None if it vanished during the scan."""
    try:
        # On Windows, os.scandir does not report file ids.
        stamp = Stamp.of(entry.stat() if os.name != "nt" else Path(entry.path).stat())
        refused = link_refusal(Path(entry.path), path, within) if entry.is_symlink() else None
    except OSError:
        return None
    return SeenFile(stamp, device, refused)


@contextmanager
def joint_transaction(
    database: Database, collections: Collections, folder: WatchedFolder
) -> Iterator[CollectionBackend]:
    """Change documents and file records in one transaction, if both are in the same database."""
    home = collections.homes.locate(folder.collection)
    with home.transaction(), database.transaction():
        yield home


def with_members(home: CollectionBackend, document: str, known: Mapping[str, KnownFile]) -> list[str]:
    """Return a document and those inside it, except documents that belong to a folder of the same name."""
    others = {one.document for one in known.values()} - {document}
    return [name for name in home.names_within(document) if name not in others]


SETTLE_SECONDS = 2.0
"""Seconds without a change after which a file counts as completely written.

Programs write to large files more often than that, and FAT stores times with a resolution of two seconds.
"""
RECORDS_PER_TRANSACTION = 200
"""Maximum number of file records in one transaction if no progress is reported in between."""
Add = Callable[[Sequence[Upload], str], Generator[IngestEvent, None, None]]


@dataclass(slots=True)
class _Comparison:
    """A scan compared with the stored records: checksums of files that look different, and read errors.

    `waiting` are files that are still being written. `moved` maps documents to their new names, "" if removed.
    """

    look: FolderScan
    known: dict[str, KnownFile]
    hashed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


class FolderSync:
    """Updates collections from their watched folders."""

    def __init__(
        self,
        database: Database,
        collections: Collections,
        *,
        add: Add | None = None,
        settled: float = SETTLE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the updates; `add` reads files, and files changed less than `settled` seconds ago have to wait."""
        self._database, self._collections = database, collections
        self._store = FolderStore(database)
        self._add = add or collections.add
        self._settled, self._clock = settled, clock

    def sync(self, folder: WatchedFolder, *, emptied: bool = False) -> Generator[FolderEvent, None, None]:
        """Update a collection from a folder once; `emptied` confirms that the folder may have lost all files.

        Yields progress and changes. Files that are still being written come last, as `waiting`. Raises StoreError,
        ModelError and EmbedderMismatch.
        """
        known = self._store.files(folder.id)
        look = yield from _scan(folder)
        why = absence_reason(folder, look, known)
        if why and not (emptied and look.away is None):
            self._store.record_missing(folder.id, why)
            yield FolderChange(str(folder.path), FolderStatus.AWAY, error=why)
            return
        self._store.record_present(folder.id)
        compared = _Comparison(look, known)
        yield from self._compare(folder, compared)
        found = FolderSnapshot(
            folder=folder,
            known=known,
            seen=look.files,
            hashed=compared.hashed,
            missing=look.deleted_files(known),
            contents=self._contents(folder, compared),
            others=lambda document: self._store.other_files(folder, document),
        )
        plan = plan_changes(found, now())
        self._apply_changes(folder, plan, compared)
        yield from plan.changes
        for path, error in compared.failed.items():
            yield FolderChange(folder.name_of(path), FolderStatus.FAILED, error=error)
        yield from self._read(folder, plan, compared)
        if compared.waiting:
            yield from (FolderChange(folder.name_of(path), FolderStatus.WAITING) for path in compared.waiting)
        else:
            self._store.record_sync(folder.id)

    def _compare(self, folder: WatchedFolder, compared: _Comparison) -> Iterator[FolderEvent]:
        """Compute the checksums of files that look different."""
        known, files = compared.known, sorted(compared.look.files.items())
        different = [path for path, seen in files if path not in known or known[path].stamp != seen.stamp]
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
            # The checksum is useless if the file changed while it was read.
            if is_file_unchanged(folder, path, seen):
                compared.hashed[path] = sha256
            else:
                compared.waiting.append(path)

    def _contents(self, folder: WatchedFolder, compared: _Comparison) -> dict[str, str]:
        """Map the checksums of files that look different to the documents that have this content."""
        home = self._collections.homes.locate(folder.collection)
        # An archive has no document of its own, only the documents inside it.
        own = {one.stored: one.document for one in compared.known.values() if one.stored and one.document}
        there: dict[str, str] = {}
        for path, sha256 in compared.hashed.items():
            before = compared.known.get(path)
            if sha256 in there or (before and before.sha256 == sha256):
                continue
            document = own.get(sha256)
            if document is None or not home.names_within(document):
                document = home.twin(sha256)
            if document is not None:
                there[sha256] = document
        return there

    def _apply_changes(self, folder: WatchedFolder, plan: FolderPlan, compared: _Comparison) -> None:
        """Remove and rename documents and store the file records, in one transaction if they share a database."""
        compared.moved = plan.renames | dict.fromkeys(plan.remove, "")
        failed = [self._failed(folder, path, error, compared) for path, error in compared.failed.items()]
        if not (plan.remove or plan.renames):
            self._store.put(folder.id, [*plan.put, *failed], plan.forget)
            return
        known = compared.known
        with joint_transaction(self._database, self._collections, folder) as home:
            home.remove([name for document in plan.remove for name in with_members(home, document, known)])
            home.rename_all(
                {
                    name: new + name.removeprefix(old)
                    for old, new in plan.renames.items()
                    for name in with_members(home, old, known)
                }
            )
            self._store.rename_documents(folder.collection, plan.renames)
            self._store.put(folder.id, [*plan.put, *failed], plan.forget)

    def _read(self, folder: WatchedFolder, plan: FolderPlan, compared: _Comparison) -> Iterator[FolderEvent]:
        """Read the files with new content, store a record for each, and report the results."""
        if not plan.read:
            return
        by_name = {one.name: one for one in plan.read}
        twins = defaultdict(list)
        for path, first in plan.twins.items():
            twins[first].append(path)
        uploads = [Upload(folder.path / one.path, one.name, original=True) for one in by_name.values()]
        done: list[KnownFile] = []
        within = defaultdict(set)
        replaced: set[str] = set()
        try:
            with closing(self._add(uploads, folder.collection)) as events:
                for event in events:
                    if isinstance(event, IngestProgress) or len(done) >= RECORDS_PER_TRANSACTION:
                        self._store.put(folder.id, done)
                        done = []
                    if isinstance(event, IngestProgress):
                        yield event
                    elif (one := by_name.get(event.document)) is None:
                        if event.status is not IngestStatus.FAILED:
                            # The file that the document came inside of is the nearest of its folders that was read.
                            outer = next((one for one in parent_folders(event.document)[::-1] if one in by_name), "")
                            within[outer].add(event.document)
                        if event.error:
                            yield FolderChange(event.document, FolderStatus.FAILED, error=event.error)
                    else:
                        if event.status is not IngestStatus.FAILED and one.before and one.before.document:
                            replaced.add(one.path)
                        done += self._remembered(folder, one, event, twins[one.path], compared)
                        yield from self._report(folder, one, event, twins[one.path])
        finally:
            self._store.put(folder.id, done)
        self._drop_members(folder, [one for one in plan.read if one.path in replaced], within)

    def _drop_members(self, folder: WatchedFolder, changed: Sequence[FileToRead], within: dict[str, set[str]]) -> None:
        """Remove documents that changed containers (such as archives and e-mails) no longer contain."""
        home, known = self._collections.homes.locate(folder.collection), self._store.files(folder.id)
        for one in changed:
            there = [name for name in with_members(home, one.name, known) if name != one.name]
            home.remove([name for name in there if name not in within[one.name]])

    def _remembered(
        self, folder: WatchedFolder, one: FileToRead, result: IngestResult, twins: Sequence[str], compared: _Comparison
    ) -> list[KnownFile]:
        """Return the new records of a file that was read, and of files with the same content."""
        paths = (one.path, *twins)
        if result.status is IngestStatus.FAILED:
            error = result.error or ""
            return [replace(self._failed(folder, path, error, compared), sha256=one.sha256) for path in paths]
        seen = [(path, compared.look.files[path]) for path in paths]
        return [KnownFile(path, file.stamp, file.device, one.sha256, one.name, one.sha256) for path, file in seen]

    @staticmethod
    def _failed(folder: WatchedFolder, path: str, error: str, compared: _Comparison) -> KnownFile:
        """Return the record of a file that failed; an earlier document of the file is kept."""
        seen, before = compared.look.files[path], compared.known.get(path)
        document, stored = (before.document, before.stored) if before else (None, None)
        if document in compared.moved and compared.moved[document] != folder.name_of(path):
            document, stored = None, None
        document = compared.moved.get(document or "", document)
        return KnownFile(path, seen.stamp, seen.device, None, document, stored, error)

    @staticmethod
    def _report(
        folder: WatchedFolder, one: FileToRead, result: IngestResult, twins: Sequence[str]
    ) -> Iterator[FolderChange]:
        if result.status is IngestStatus.FAILED:
            names = [folder.name_of(path) for path in (one.path, *twins)]
            yield from (FolderChange(name, FolderStatus.FAILED, error=result.error) for name in names)
            return
        updated = result.status is IngestStatus.UPDATED or bool(one.before and one.before.document)
        status = FolderStatus.UPDATED if updated else FolderStatus.ADDED
        if result.status is not IngestStatus.UNCHANGED:
            yield FolderChange(one.name, status, chunks=result.chunks, warnings=result.warnings)
        yield from (FolderChange(folder.name_of(path), FolderStatus.SAME, was=one.name) for path in twins)


def _scan(folder: WatchedFolder) -> Generator[FolderEvent, None, FolderScan]:
    look = FolderScan()
    for look in scan_folder(folder):
        found = len(look.files)
        yield IngestProgress(str(folder.path), 0, found, "looking", found, None, None, more=True)
    return look
