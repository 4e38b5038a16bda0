"""Files to add: those that a person names, and all in a folder they name, found while they are added."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Upload
from localcrag.steps.ingest.pace import Count
from localcrag.text.paths import shown


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
