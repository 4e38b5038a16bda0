"""Patterns that say which files of a folder are followed, as the shell's: *, ? and [abc].

A pattern with a “/” is compared with the path within the folder, one without with every name on the way: “*.pdf” is
every PDF file, “drafts” all that lies in a folder of that name, “2024/*” all that lies in the folder 2024. A “*” stands
for a “/” as well, and capitals count as small letters.
"""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.locator import Home
from localcrag.app.uploads import counts, outside
from localcrag.documents.folders import Found, Plan, ToRead, changes_of
from localcrag.documents.prepare import checksum
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.ingest import (
    BoundFolder,
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
    WhenGone,
)
from localcrag.storage.collections.folder_store import FolderStore, now
from localcrag.storage.database import Database
from localcrag.text.translation import gettext as _


class Patterns:
    """What is followed: all that one of `include` fits, or everything without any, but for what `exclude` fits."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include, self._exclude = [*map(_Pattern, include)], [*map(_Pattern, exclude)]

    def wants(self, path: str) -> bool:
        """Return whether a file is followed, by its path within the folder."""
        return (not self._include or any(one.fits(path) for one in self._include)) and not self.leaves_out(path)

    def leaves_out(self, path: str) -> bool:
        """Return whether a file or folder, with all that lies in it, is not followed."""
        return any(one.fits(path) for one in self._exclude)


class _Pattern:
    def __init__(self, text: str) -> None:
        text = text.removeprefix("./").rstrip("/")
        self._whole = "/" in text
        self._fits = re.compile(fnmatch.translate(text.lstrip("/")), re.IGNORECASE).match

    def fits(self, path: str) -> bool:
        parts = path.split("/")
        if not self._whole:
            return any(self._fits(part) for part in parts)
        return any(self._fits("/".join(parts[:number])) for number in range(1, len(parts) + 1))


LOOKED_AT = 2_000
"""Files between two signs that it goes on."""


@dataclass(slots=True)
class Look:
    """What a folder holds, by paths within it: files, folders with their devices, folders that cannot be opened.

    `away` says why the folder is not there; then nothing is known of its files.
    """

    files: dict[str, SeenFile] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    away: str | None = None

    def same_devices(self, known: Mapping[str, KnownFile]) -> dict[int, int]:
        """Return the numbers of today of devices that files were on: a start of the computer may give them others."""
        return {one.device: self.files[path].device for path, one in known.items() if path in self.files}

    def is_gone(self, known: KnownFile, devices: Mapping[int, int]) -> bool:
        """Return whether a file that was not seen is no more; not where the folder or disk it lay in is not there.

        `devices` is what `same_devices` returns.
        """
        folder = known.path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self.closed:
                return False
            if folder in self.devices:
                return self.devices[folder] == devices.get(known.device, known.device)
        return False


def look_at(folder: BoundFolder) -> Iterator[Look]:
    """Look at all files of a folder that its patterns want, hidden ones left out; yields what there is so far."""
    look, patterns = Look(), Patterns(folder.include, folder.exclude)
    within = folder.path.resolve()
    to_do = [""]
    told = 0
    while to_do:
        inside = to_do.pop()
        try:
            look.devices[inside] = (folder.path / inside).stat().st_dev
            with os.scandir(folder.path / inside) as found:
                entries = [one for one in found if not one.name.startswith(".") and counts(one)]
        except OSError as error:
            if not inside:
                yield Look(away=error.strerror or str(error))
                return
            look.devices.pop(inside, None)
            look.closed[inside] = error.strerror or str(error)
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not patterns.leaves_out(path):
                    to_do.append(path)
            elif patterns.wants(path) and (seen := _seen(entry, path, look.devices[inside], within)):
                look.files[path] = seen
        if len(look.files) >= told + LOOKED_AT:
            told = len(look.files)
            yield look
    yield look


def is_as_before(folder: BoundFolder, path: str, before: SeenFile) -> bool:
    """Return whether a file is as it was a moment ago."""
    try:
        return Stamp.of((folder.path / path).stat()) == before.stamp
    except OSError:
        return False


def not_there(folder: BoundFolder, look: Look, known: Mapping[str, KnownFile]) -> str | None:
    """Return why a folder is taken to be not there, where it held files that were `known`; None where it is there.

    A disk that is not mounted leaves an empty folder, and so does a network drive or a cloud that has lost its server.
    """
    if look.away is not None:
        return look.away
    there = [path for path, one in known.items() if one.gone_at is None]
    if not there or any(path in look.files for path in there) or look.closed:
        return None
    if not look.files:
        return _("it is empty, and held files before")
    if look.devices[""] not in {known[path].device for path in there}:
        return _("another disk is in its place, without any of its files")
    return None


def _seen(entry: os.DirEntry[str], path: str, device: int, within: Path) -> SeenFile | None:
    """Return what is seen of a file; None where it went away meanwhile."""
    try:
        # On Windows a listing knows no numbers of files.
        stamp = Stamp.of(entry.stat() if os.name != "nt" else Path(entry.path).stat())
        refused = outside(Path(entry.path), path, within) if entry.is_symlink() else None
    except OSError:
        return None
    return SeenFile(stamp, device, refused)


@contextmanager
def together(database: Database, collections: Collections, folder: BoundFolder) -> Iterator[Home]:
    """Write documents and what is remembered of files together, where both are in one database."""
    home = collections.homes.of(folder.collection)
    with home.together(), database.transaction():
        yield home


def whole(home: Home, document: str, known: Mapping[str, KnownFile]) -> list[str]:
    """Return a document and those that came within it; not those of a folder that has its name by now."""
    others = {one.document for one in known.values()} - {document}
    return [name for name in home.names.within(document) if name not in others]


def decide(
    database: Database,
    collections: Collections,
    folder: BoundFolder,
    what: WhenGone,
    names: Sequence[str] | None = None,
) -> list[FolderChange]:
    """Remove or keep the documents whose files are gone, those of these names or all. Raises StoreError.

    A file that is there again is left to the next look at the folder.
    """
    store = FolderStore(database)
    known = store.files(folder.id)
    asked = [one for one in store.gone(folder.id) if names is None or folder.name_of(one.path) in names]
    asked = [one for one in asked if not (folder.path / one.path).exists()]
    remove = {one.document for one in asked if one.document} if what is WhenGone.REMOVE else set()
    remove = {document for document in remove if not store.others(folder, document)}
    with together(database, collections, folder) as home:
        home.remove([name for document in sorted(remove) for name in whole(home, document, known)])
        store.put(folder.id, (), [one.path for one in asked])
    changes = []
    for one in asked:
        status = FolderStatus.REMOVED if one.document in remove else FolderStatus.KEPT
        changes.append(FolderChange(folder.name_of(one.path), status))
    return changes


def unbind(database: Database, collections: Collections, folder: BoundFolder, *, documents: bool) -> int:
    """Follow a folder no more; with `documents`, remove those that its files have alone, and return how many.

    Raises StoreError.
    """
    store = FolderStore(database)
    if not documents:
        store.unbind(folder.id)
        return 0
    known = store.files(folder.id)
    names = {folder.name_of(path) for path in known}
    own = sorted({one.document for one in known.values() if one.document in names})
    own = [document for document in own if not store.others(folder, document)]
    with together(database, collections, folder) as home:
        gone = [name for document in own for name in whole(home, document, known)]
        home.remove(gone)
        store.unbind(folder.id)
    return len(gone)


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
