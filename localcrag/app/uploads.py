"""Files to add: find them in folders, add them in the background, and report the results.

`FoundFiles` finds the files of a folder while they are being added. `Uploads` is the list that the page shows: files,
folders, text recognition and watched folders, which share one background thread per lane.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, Never, TypeVar

from localcrag.app.tasks import BackgroundList, Task, TaskState, UpdateTask
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnknownCollection, UnreadableDocument
from localcrag.records.ingest import (
    FolderChange,
    FolderEvent,
    GrowingUploads,
    IngestEvent,
    IngestProgress,
    IngestResult,
    Upload,
    UploadCount,
    WatchedFolder,
    file_size,
)
from localcrag.text.places import UniqueNames, visible_name
from localcrag.text.translation import ngettext


def uploads_from(paths: Sequence[Path]) -> list[Upload]:
    """Return all files at `paths`; see FoundFiles. Raises UnreadableDocument."""
    return list(FoundFiles(paths))


class FoundFiles:
    """The files at some paths, found on demand while another thread counts them.

    A folder stands for all its files except hidden ones, ordered by name; each file is named by its path inside the
    folder. Links to folders are not followed, because links can form a circle. A link to a file outside the folder, and
    a folder that cannot be opened, yield a refused Upload. A path that does not exist fails when it is read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Check that each folder contains a file. Raises UnreadableDocument if one does not."""
        self._paths = paths
        for path in paths:
            if path.is_dir() and next(_walk(path), None) is None:
                raise UnreadableDocument(f"The folder {path} contains no files.")
        self._count = UploadCount(0, 0, all=False)
        self._counting: threading.Thread | None = None

    def __iter__(self) -> Iterator[Upload]:
        for path in self._paths:
            if path.is_dir():
                within = path.resolve()
                for found, closed in _walk(path):
                    file = Path(found)
                    name = file.relative_to(path).as_posix()
                    if closed:
                        yield _unreadable_folder(path, name, closed)
                    else:
                        # A link that leads out is refused: the folder may come from somebody else.
                        yield Upload(file, name, original=True, refused=link_refusal(file, name, within))
            else:
                yield Upload(path, path.name, original=True)

    def count(self) -> UploadCount:
        """Return the number of files found so far. The first call starts the count; no call waits for it."""
        if self._counting is None:
            self._counting = threading.Thread(target=self._count_all, name="count files", daemon=True)
            self._counting.start()
        return self._count

    def _count_all(self) -> None:
        # This second walk stores no names, so a folder of a million files takes no memory before its turn.
        files = size = 0
        for path in self._paths:
            for file, _ in _walk(path) if path.is_dir() else [(str(path), None)]:
                files += 1
                size += file_size(Path(file))
                self._count = UploadCount(files, size, all=False)
        self._count = UploadCount(files, size, all=True)


def _walk(folder: Path | str) -> Iterator[tuple[str, OSError | None]]:
    """Yield the files in a folder and below it, except hidden ones, sorted by the parts of their paths.

    A folder that cannot be opened is yielded instead of its files, with the error.
    """
    to_do: list[tuple[str, bool]] = [(str(folder), True)]
    while to_do:
        path, is_folder = to_do.pop()
        if not is_folder:
            yield path, None
            continue
        try:
            with os.scandir(path) as found:
                inside = sorted((one for one in found if not one.name.startswith(".")), key=lambda one: one.name)
        except OSError as error:
            yield path, error
            continue
        kinds = [(one.path, one.is_dir(follow_symlinks=False)) for one in inside if is_file_or_folder(one)]
        # The stack is last in, first out, so the entries are pushed in reverse order.
        to_do.extend(reversed(kinds))


def is_file_or_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, a file, or a link to a file. A link may lead nowhere, or to itself."""
    try:
        return entry.is_dir(follow_symlinks=False) or entry.is_file()
    except OSError:
        return False


def _unreadable_folder(folder: Path, name: str, error: OSError) -> Upload:
    name = folder.name if name == "." else name
    reason = f"The folder {visible_name(name)} cannot be opened: {error.strerror or error}. Check who may read it."
    return Upload(folder / name, name, original=True, refused=reason)


def link_refusal(file: Path, name: str, folder: Path) -> str | None:
    """Return why a file must not be opened: it is a link to a file outside `folder`. Return None if it is allowed."""
    if not file.is_symlink() or file.resolve().is_relative_to(folder):
        return None
    return f"{visible_name(name)} was left out: it is a link to a file outside of the folder. Add that file by itself."


Result = TypeVar("Result", bound=IngestResult | FolderChange)
SLASH_STAND_IN = "\u2215"
"""Stand-in for “/” in the name of an uploaded file: the page's script inserts it, because Gradio removes each “/”."""
MAX_MESSAGES = 10
"""Maximum number of files named in a message about files that were not added."""


def unique_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the name of each file in the collection, unique even if two files have the same name."""
    names = UniqueNames()
    return {path: names.of(PurePosixPath(path.name.replace(SLASH_STAND_IN, "/"))) for path in dict.fromkeys(paths)}


def first_messages(failed: Sequence[str]) -> list[str]:
    """Return the messages of the first files that were not added, and a last message that counts the others."""
    if (more := len(failed) - MAX_MESSAGES) <= 0:
        return [*failed]
    last = ngettext("%(num)s more file in it was not added.", "%(num)s more files in it were not added.", more)
    return [*failed[:MAX_MESSAGES], last]


def folder_result(name: str, count: int, failed: Sequence[str]) -> IngestResult:
    """Return the result for a folder: `count` files are in the collection, `failed` has messages about the others."""
    note = ngettext("%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count)
    return IngestResult(name, IngestStatus.ADDED, note=note, warnings=tuple(first_messages(failed)))


def with_warnings(results: Sequence[Result], warnings: Collection[str]) -> list[Result]:
    """Return the results, with the collection's `warnings` attached to the last result that succeeded."""
    last = max((at for at, one in enumerate(results) if not one.error), default=-1)
    return [
        dataclasses.replace(one, warnings=(*one.warnings, *warnings)) if at == last else one
        for at, one in enumerate(results)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTask(Task):
    """A row of the upload list, its progress, and its `result` once it is done.

    A `copy` is deleted when the row is done or dismissed; `original` and `refused` are as in Upload. A row that
    `recognises` is not a file: it stands for all scans of a collection, and `results` has one entry per document. A
    `folder` row stands for all files in the folder, because separate rows would be too many. A row with `follows`
    brings the watched folder of that id up to date. If `locked` is set, the file needs its password.
    """

    id: int
    collection: str
    path: Path
    copy: bool = False
    original: bool = False
    refused: str | None = None
    recognises: bool = False
    folder: bool = False
    follows: int | None = None
    progress: IngestProgress | None = None
    result: IngestResult | None = None
    results: tuple[IngestResult, ...] = ()
    locked: bool = False

    @property
    def is_deferred(self) -> bool:
        """Whether files go first: most documents of a watched folder are already searchable."""
        return self.follows is not None

    @property
    def is_file(self) -> bool:
        """Whether a person added this row, as a file or a folder."""
        return not (self.recognises or self.follows is not None)

    @property
    def lane(self) -> str:
        """Text recognition has its own queue, because it takes long and nothing waits for it."""
        return "scans" if self.recognises else ""

    @property
    def key(self) -> int:
        """The id of the row: several files may have the same name."""
        return self.id


def is_plain_success(one: UploadTask) -> bool:
    """Return whether a row is done and has no warnings."""
    results = [one.result] if one.result else one.results
    return one.state is TaskState.DONE and not any(result.warnings for result in results)


def finish_task(one: UploadTask, own: Sequence[IngestResult], within: Sequence[IngestResult]) -> UploadTask:
    """Return the row in its final state, from the results of the file itself and of the files inside it."""
    failed = first_messages([result.error for result in within if result.error])
    # An error of the file itself fails the row; errors of files inside it become warnings.
    if error := next((result.error for result in own if result.error), None):
        locked = any(result.locked for result in own)
        message = "\n".join([error, *failed])
        return dataclasses.replace(one, state=TaskState.FAILED, error=message, locked=locked)
    result = dataclasses.replace(own[0], warnings=(*own[0].warnings, *failed))
    return dataclasses.replace(one, state=TaskState.DONE, result=result)


PAUSE_SECONDS = 0.2
"""Seconds between two checks of whether a question is still being answered."""
MAX_RESULTS = 20
"""Maximum number of recognised documents that a row names, the latest ones."""
Ingest = Callable[[Sequence[Upload] | GrowingUploads, str], Generator[IngestEvent, None, None]]
"""Adds files to a collection."""
ReadScans = Callable[[str, Callable[[], None]], Generator[IngestEvent, None, None]]
"""Recognises the text of a collection's scans; calls the function every few lines and passes on its errors."""
Follow = Callable[[int, Callable[[], None]], Generator[FolderEvent, None, None]]
"""Brings a watched folder, by its id, up to date; calls the function while waiting and passes on its errors."""
PendingScans = Callable[[], Sequence[str]]
"""Returns the collections that have scans waiting for text recognition."""


def _no_events(*_: object) -> Generator[Never, None, None]:
    yield from ()


class Uploads(BackgroundList[UploadTask]):
    """The upload list, shared by all tabs, in the order in which rows were added."""

    def __init__(
        self,
        ingest: Ingest,
        *,
        read_scans: ReadScans = _no_events,
        scanned: PendingScans = tuple,
        follow: Follow = _no_events,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """Set the functions that do the work.

        `scanned` names the collections with waiting scans. Text recognition pauses while `busy` returns True, because a
        question is being answered.
        """
        self._ingest, self._read_scans, self._scanned = ingest, read_scans, scanned
        self._follow, self._busy = follow, busy
        self._passwords: dict[int, str] = {}
        super().__init__(self._perform, "{name} was not added", at_once=1)
        self._ids = count(1)

    def add(self, paths: Sequence[Path], collection: str, *, copies: bool = True) -> None:
        """Queue these files for a collection.

        If nothing else is open, rows that are done without warnings are removed from the list first.
        """
        with self.lock:
            there = self.items()
            if not any(one.open and one.follows is None for one in there) and (
                whole := [one.id for one in there if is_plain_success(one)]
            ):
                self.dismiss(whole)
            for path, name in unique_names(paths).items():
                self._queue(name, collection, path, copy=copies)

    def add_originals(self, uploads: Sequence[Upload], collection: str) -> None:
        """Queue files from their original location; they are never changed or deleted."""
        with self.lock:
            for one in uploads:
                self._queue(one.name, collection, one.path, original=True, refused=one.refused)

    def add_folder(self, folder: Path, collection: str) -> None:
        """Queue all files of a folder, from their original location, as one row of the list."""
        self._queue(folder.name or str(folder), collection, folder, original=True, folder=True)

    def recognise(self, collections: Sequence[str]) -> None:
        """Start text recognition for these collections, unless it is already under way."""
        with self.lock:
            for name in collections:
                rows = (one for one in reversed(self.items()) if one.recognises and one.collection == name)
                last = next(rows, None)
                if last and last.open:
                    continue  # The recognition under way also finds scans that were added since.
                if last and last.state is TaskState.DONE:
                    self.dismiss([last.id])
                self._queue(name, name, Path(), recognises=True)

    def sync_folder(self, folder: WatchedFolder) -> None:
        """Bring a watched folder up to date after the waiting files.

        If an update of it is running, queue one more: files may have changed since it started.
        """
        with self.lock:
            rows = [one for one in self.items() if one.follows == folder.id]
            if any(one.state is TaskState.WAITING for one in rows):
                return
            if ended := [one.id for one in rows if not one.open]:
                self.dismiss(ended)
            self._queue(str(folder.path), folder.collection, folder.path, follows=folder.id)

    def _queue(self, name: str, collection: str, path: Path, **fields: Any) -> None:
        self.start(UploadTask(id=next(self._ids), name=name, collection=collection, path=path, **fields))

    def cancel(self, keys: Collection[Hashable] = ()) -> None:
        """Cancel these rows; without ids, cancel all except watched folders. Documents already added stay."""
        if wanted := keys or [one.id for one in self.items() if one.follows is None]:
            super().cancel(wanted)

    def retry(self, ids: Collection[int]) -> None:
        """Retry files that failed or were cancelled."""
        self.restart(ids, result=None, progress=None, locked=False)

    def unlock(self, one: int, password: str) -> None:
        """Retry a file that needs a password. The password is discarded after the attempt."""
        self._passwords[one] = password
        self.retry([one])

    def dismiss(self, keys: Collection[Hashable] = ()) -> list[UploadTask]:
        """Remove these ended rows from the list, or all ended rows if no ids are given; return the removed rows."""
        with self.lock:
            gone = super().dismiss(keys)
            for one in gone:
                _remove(one)
            return gone

    def ended(self, task: UploadTask) -> None:
        """Remove the copy of an uploaded file that was added."""
        if task.state is TaskState.DONE:
            _remove(task)

    def _perform(self, one: UploadTask, tell: UpdateTask[UploadTask]) -> UploadTask:
        if one.recognises:
            return self._recognised(one, tell)
        if one.follows is not None:
            one = self._followed(one, one.follows, tell)
        else:
            one = self._add_folder_files(one, tell) if one.folder else self._add(one, tell)
        if not one.open:
            # The row ends only now, when the index is up to date: the next question finds what the list reports as
            # added.
            self.recognise(self._scanned())
        return one

    def _add(self, one: UploadTask, tell: UpdateTask[UploadTask]) -> UploadTask:
        upload = Upload(
            one.path, one.name, original=one.original, password=self._passwords.pop(one.id, None), refused=one.refused
        )
        own: list[IngestResult] = []
        within: list[IngestResult] = []
        for result in _results(one, self._ingest([upload], one.collection), tell):
            (own if result.document == upload.name else within).append(result)
        return finish_task(one, own, within)

    def _add_folder_files(self, one: UploadTask, tell: UpdateTask[UploadTask]) -> UploadTask:
        """Add the files of a folder. If cancelled, the files added so far stay."""
        failed: list[str] = []
        count = 0
        for result in _results(one, self._ingest(FoundFiles([one.path]), one.collection), tell):
            if result.error:
                failed.append(result.error)
            else:
                count += 1
        return dataclasses.replace(one, state=TaskState.DONE, result=folder_result(one.name, count, failed))

    def _followed(self, one: UploadTask, number: int, tell: UpdateTask[UploadTask]) -> UploadTask:
        """Bring a watched folder up to date. Return the row as waiting if files wait: they go between two documents."""
        with closing(_results(one, self._follow(number, lambda: tell(one)), tell)) as results:
            for _ in results:
                if any(file.state is TaskState.WAITING and not file.is_deferred for file in self.items()):
                    return dataclasses.replace(one, state=TaskState.WAITING)
        return dataclasses.replace(one, state=TaskState.DONE)

    def _recognised(self, one: UploadTask, tell: UpdateTask[UploadTask]) -> UploadTask:
        """Recognise a collection's scans. If cancelled, it ends within a few lines; finished pages stay."""
        now = one

        def checkpoint() -> None:
            # `tell` raises Cancelled if the row was cancelled, even while the loop waits for an answer to end.
            tell(now)
            while self._busy():
                time.sleep(PAUSE_SECONDS)
                tell(now)

        # The collection may be deleted or renamed. After a rename, the next start reads the remaining scans.
        with suppress(UnknownCollection), closing(self._read_scans(one.collection, checkpoint)) as events:
            for event in events:
                if isinstance(event, IngestProgress):
                    now = dataclasses.replace(now, progress=event)
                else:
                    now = dataclasses.replace(now, results=(*now.results, event)[-MAX_RESULTS:])
                tell(now)
        return dataclasses.replace(now, state=TaskState.DONE, progress=None)


def _results(
    one: UploadTask, events: Generator[IngestProgress | Result, None, None], tell: UpdateTask[UploadTask]
) -> Generator[Result, None, None]:
    """Yield the results among the events, and report the progress of a row in between."""
    with closing(events):
        for event in events:
            if isinstance(event, IngestProgress):
                tell(dataclasses.replace(one, progress=event))
            else:
                yield event


def _remove(one: UploadTask) -> None:
    # Gradio's copies of uploaded files contain the text of the documents, so they must be removed.
    if one.copy:
        one.path.unlink(missing_ok=True)
