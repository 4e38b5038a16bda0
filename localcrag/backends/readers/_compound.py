"""Compound files (OLE), as Outlook's messages and old Office files are: their parts, by olefile."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import olefile as untyped_olefile

olefile: Any = untyped_olefile  # has no type hints
MOST_ENTRIES = 20_000
"""Of streams and folders. A message of a hundred files to five hundred people has half of that."""
# What it runs into in damaged files; its own error is an OSError.
_ERRORS = (OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError, struct.error)


class DamagedCompound(Exception):
    """A compound file is none, or damaged; the message says how."""


@dataclass(slots=True)
class _Open:
    """An open file; `left` are the bytes that can still be read, since no two streams share any."""

    file: Any
    left: int
    sizes: dict[tuple[str, ...], int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in a compound file (a storage), of which the file itself is one. Names are in lower case."""

    _open: _Open
    _path: tuple[str, ...] = ()

    def stream(self, name: str) -> bytes | None:
        """Return what lies under this name, None where nothing does; each once, since together they are the file.

        Raises ValueError when they are more.
        """
        path = (*self._path, name.lower())
        size = self._open.sizes.get(path)
        if size is None:
            return None
        self._open.left -= size
        if self._open.left < 0:
            raise ValueError("its parts are larger than itself")
        with self._open.file.openstream(list(path)) as stream:
            return bytes(stream.read())

    def places(self, name: str, offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield places within a large stream of the file itself, each with where in the file that is.

        Raises ValueError where there is no such stream, and what damaged files make it run into.
        """
        file = self._open.file
        entry = next((one for one in file.root.kids if one.name.lower() == name.lower()), None)
        if entry is None or entry.size < file.mini_stream_cutoff_size:
            raise ValueError(f"it has no large stream {name}")
        sectors: list[int] = []
        at = entry.isectStart
        for _ in range(-(-entry.size // file.sector_size)):
            sectors.append(at)
            at = file.fat[at]
        for offset in offsets:
            yield offset, (sectors[offset // file.sector_size] + 1) * file.sector_size + offset % file.sector_size

    def has(self, name: str) -> bool:
        """Return whether there is a stream of this name."""
        return self._open.sizes.get((*self._path, name.lower())) is not None

    def folder(self, name: str) -> Folder | None:
        """Return a folder within, None where there is none of this name."""
        path = (*self._path, name.lower())
        return Folder(self._open, path) if path in self._open.sizes and self._open.sizes[path] is None else None

    def folders(self, begins: str) -> Iterator[Folder]:
        """Yield the folders within whose names begin so, by their names."""
        depth = len(self._path) + 1
        for path in sorted(path for path, size in self._open.sizes.items() if size is None and len(path) == depth):
            if path[:-1] == self._path and path[-1].startswith(begins.lower()):
                yield Folder(self._open, path)


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """Open a file, and close it. Raises DamagedCompound, also for what its parts make whoever reads them run into."""
    try:
        with olefile.OleFileIO(str(path)) as file:
            yield Folder(_indexed(file))
    except _ERRORS as error:
        raise DamagedCompound(str(error) or type(error).__name__) from error


def holds(path: Path, name: str) -> bool:
    """Return whether a compound file has a stream of this name; of a damaged one that is not known."""
    try:
        with opened(path) as root:
            return root.has(name)
    except DamagedCompound:
        return False


def _indexed(file: Any) -> _Open:
    found = _Open(file, file.fp.seek(0, io.SEEK_END))
    if file.root.size > found.left:  # Where small streams lie.
        raise ValueError("its parts are larger than itself")
    under: list[tuple[tuple[str, ...], Any]] = [((), file.root)]
    folders = set()
    while under:
        path, folder = under.pop()
        if folder.sid in folders:  # It lies within itself: paths would grow, and time with their square.
            continue
        folders.add(folder.sid)
        for entry in folder.kids:
            own = (*path, entry.name.lower())
            is_folder = entry.entry_type == olefile.STGTY_STORAGE
            found.sizes.setdefault(own, None if is_folder else entry.size)
            if is_folder:
                under.append((own, entry))
        if len(found.sizes) > MOST_ENTRIES:
            raise ValueError(f"it has more than {MOST_ENTRIES:,} parts")
    return found
