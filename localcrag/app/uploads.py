"""Files to add: those that a person names, and all in a folder they name, found while they are added."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TypeVar

from localcrag.app.tasks import BackgroundList, Task, TaskState, Tell
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnknownCollection, UnreadableDocument
from localcrag.records.ingest import (
    BoundFolder,
    Count,
    FolderChange,
    FolderEvent,
    IngestEvent,
    IngestProgress,
    IngestResult,
    Upload,
)
from localcrag.text.places import Names, shown
from localcrag.text.translation import ngettext


def uploads_from(paths: Sequence[Path]) -> list[Upload]:
    """Return the files at `paths`, all of them found; see FoundFiles. Raises UnreadableDocument."""
    return list(FoundFiles(paths))


class FoundFiles:
    """The files at some paths, found as they are asked for, and counted meanwhile.

    Of a folder they are all files in it, in the order of their names, named by their path inside, hidden ones left out.
    Links to folders are not followed, so that none leads round in a circle; a link to a file outside of the folder is
    refused when its turn comes, and so is a folder that cannot be opened. A path that does not exist fails when it is
    read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Look whether there is any file. Raises UnreadableDocument when a folder holds none."""
        self._paths = paths
        for path in paths:
            if path.is_dir() and next(_walk(path), None) is None:
                raise UnreadableDocument(f"The folder {path} holds no files.")
        self._count = Count(0, 0, all=False)
        self._counting: threading.Thread | None = None

    def __iter__(self) -> Iterator[Upload]:
        for path in self._paths:
            if path.is_dir():
                within = path.resolve()
                for file, closed in _walk(path):
                    name = Path(file).relative_to(path).as_posix()
                    yield _closed(path, name, closed) if closed else _of_folder(Path(file), name, within)
            else:
                yield Upload(path, path.name, original=True)

    def count(self) -> Count:
        """Return how many files have been found so far; begins to count when it is first asked, and does not wait."""
        if self._counting is None:
            self._counting = threading.Thread(target=self._count_all, name="count files", daemon=True)
            self._counting.start()
        return self._count

    def _count_all(self) -> None:
        # A walk of its own, that keeps no names: a folder of a million files takes no memory before its turn.
        files = size = 0
        for path in self._paths:
            for file, _ in _walk(path) if path.is_dir() else [(str(path), None)]:
                files += 1
                size += _size(file)
                self._count = Count(files, size, all=False)
        self._count = Count(files, size, all=True)


def _walk(folder: Path | str) -> Iterator[tuple[str, OSError | None]]:
    """Yield the files in a folder and below it, without hidden ones, in the order of their paths' parts.

    A folder that cannot be opened comes in the place of its files, with what was said of it.
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
        kinds = [(one.path, one.is_dir(follow_symlinks=False)) for one in inside if counts(one)]
        to_do.extend(reversed(kinds))


def counts(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a file, or leads to a file; a link may lead nowhere, or to itself."""
    try:
        return entry.is_dir(follow_symlinks=False) or entry.is_file()
    except OSError:
        return False


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except OSError:
        return 0


def _closed(folder: Path, name: str, error: OSError) -> Upload:
    name = folder.name if name == "." else name
    said = f"The folder {shown(name)} cannot be opened: {error.strerror or error}. Check who may read it."
    return Upload(folder / name, name, original=True, refused=said)


def outside(file: Path, name: str, folder: Path) -> str | None:
    """Return why a file of a folder is not opened: it is a link to one that is nobody's business; else None."""
    if not file.is_symlink() or file.resolve().is_relative_to(folder):
        return None
    return f"{shown(name)} was left out: it is a link to a file outside of the folder. Add that file by itself."


def _of_folder(file: Path, name: str, folder: Path) -> Upload:
    """Return a file of a folder. A folder that somebody else made may hold such a link."""
    return Upload(file, name, original=True, refused=outside(file, name, folder))


Told = TypeVar("Told", bound=IngestResult | FolderChange)
FOLDER = "\u2215"
"""A “/” in the name of a file that a browser sent: the page's script puts it there, since Gradio cuts a “/” off."""
MOST_SAID = 10
"""Of the files within a file that were not added, those that are named."""


def named(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the name of each file in the collection, where one of the same name would take another's place."""
    names = Names()
    return {path: names.of(PurePosixPath(path.name.replace(FOLDER, "/"))) for path in dict.fromkeys(paths)}


def first_of(failed: Sequence[str]) -> list[str]:
    """Return what is said of the first files of many that were not added, and how many more there are."""
    if (more := len(failed) - MOST_SAID) <= 0:
        return [*failed]
    said = ngettext("%(num)s more file in it was not added.", "%(num)s more files in it were not added.", more)
    return [*failed[:MOST_SAID], said]


def of_folder(name: str, count: int, failed: Sequence[str]) -> IngestResult:
    """Return what became of a folder, of which `count` files are in, and what is said of those that are not."""
    note = ngettext("%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count)
    return IngestResult(name, IngestStatus.ADDED, note=note, warnings=tuple(first_of(failed)))


def with_warnings(results: Sequence[Told], said: Collection[str]) -> list[Told]:
    """Return what became of files, with what is `said` of their collection beside the last one that is in."""
    last = max((at for at, one in enumerate(results) if not one.error), default=-1)
    return [
        dataclasses.replace(one, warnings=(*one.warnings, *said)) if at == last else one
        for at, one in enumerate(results)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploading(Task):
    """A file and how far it is; `result` says what became of one that is done.

    A `copy` is removed when it is done or dismissed; `original` and `refused` are as in Upload. One that
    `recognises` is no file, but all scans of a collection, and `results` says what became of each document. One that is
    a `folder` stands for all files in it, too many for a row each; one that `follows` brings the bound folder of that
    number in step. One that is `locked` can be added with its password.
    """

    id: int
    collection: str
    path: Path
    copy: bool = True
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
    def later(self) -> bool:
        """Files go before folders that are followed, whose documents questions find already."""
        return self.follows is not None

    @property
    def is_file(self) -> bool:
        """Whether somebody gave it to be added."""
        return not (self.recognises or self.follows is not None)

    @property
    def lane(self) -> str:
        """Text recognition takes long, and nothing waits for it."""
        return "scans" if self.recognises else ""

    @property
    def key(self) -> int:
        """Its number: several files may have one name."""
        return self.id


def is_in_as_a_whole(one: Uploading) -> bool:
    """Return whether a file is in, and nothing is to be said of it."""
    told = [one.result] if one.result else one.results
    return one.state is TaskState.DONE and not any(result.warnings for result in told)


def at_its_end(one: Uploading, own: Sequence[IngestResult], within: Sequence[IngestResult]) -> Uploading:
    """Return a file at its end: what became of itself, and of the files within it."""
    failed = first_of([result.error for result in within if result.error])
    if error := next((result.error for result in own if result.error), None):
        locked = any(result.locked for result in own)
        said = "\n".join([error, *failed])
        return dataclasses.replace(one, state=TaskState.FAILED, progress=None, error=said, locked=locked)
    result = dataclasses.replace(own[0], warnings=(*own[0].warnings, *failed))
    return dataclasses.replace(one, state=TaskState.DONE, progress=None, result=result)


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
