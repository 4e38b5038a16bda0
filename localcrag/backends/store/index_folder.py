"""Where the vector index files of a collection lie: written under new names, and removed."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localcrag.backends.store.durable_files import held, is_abandoned
from localcrag.backends.store.index_file import Growth, IndexFile, fingerprint
from localcrag.backends.store.index_rows import IndexRow
from localcrag.records.errors import IndexFileError

FORGOTTEN = 3600.0
"""Seconds after which a whole file that the database does not know is what a killed process left."""

FULL = 2**16
"""Bytes that are free on a disk which was written to until it was full, at most; file systems write in blocks."""


class IndexFolder:
    """The files of one collection in a folder. No name is used twice: a file is the one its row tells, or not ours."""

    def __init__(self, folder: Path, collection: int) -> None:
        self._folder, self._collection = folder, collection

    def write(self, growth: Growth, dimension: int) -> tuple[IndexFile, str]:
        """Write a file and return it, mapped, with its fingerprint. Raises IndexFileError, and leaves nothing then."""
        path = self._folder / f"collection-{self._collection}-{secrets.token_hex(8)}.usearch"
        temporary = path.with_suffix(".tmp")
        with self.failing():
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                temporary.touch(0o600)
                with held(temporary):
                    growth.write(temporary)
                told = fingerprint(temporary)
                temporary.replace(path)
            except BaseException as error:
                full = isinstance(error, Exception) and shutil.disk_usage(self._folder).free < FULL
                temporary.unlink(missing_ok=True)
                if full:
                    # usearch says “Failed to serialize into stream” or “Invalid argument”, numpy counts bytes.
                    raise OSError("the disk is full") from error
                raise
            return IndexFile(path, growth.rows, dimension), told

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Say what it comes to where a file cannot be written. Raises IndexFileError."""
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:
            raise IndexFileError(
                f"The vector index could not be written to {self._folder}: {error}. The documents are stored, and "
                "found without it; until it is written, localcrag takes longer to start and to search. Check that the "
                "folder is writable and the disk not full: the next change, or `localcrag doctor`, writes it."
            ) from error

    def trusted(self, row: IndexRow) -> bool:
        """Return whether a file lies there as it was written."""
        try:
            return fingerprint(self._folder / row.name) == row.fingerprint
        except OSError:
            return False

    def mapped(self, row: IndexRow, dimension: int) -> IndexFile | None:
        """Return the file, or None when it is missing, torn or not ours: it is a cache, and is made again."""
        if self.trusted(row):
            with suppress(OSError, RuntimeError, ValueError):
                return IndexFile(self._folder / row.name, row.rows, dimension)
        return None

    def forget(self, name: str | None) -> None:
        """Remove a file that another one has taken the place of, if there is one."""
        with suppress(OSError):  # Windows removes none that is mapped.
            if name:
                (self._folder / name).unlink()

    def clean(self, row: IndexRow | None, forgotten: float = FORGOTTEN) -> None:
        """Remove what killed processes left beside the file in use.

        Files that nobody has written to for so many seconds.
        """
        for path in self._files():
            with suppress(OSError):
                # Another process may be writing one now, or may not have said yet that it has.
                age = abs(time.time() - path.stat().st_mtime)
                left = is_abandoned(path) if path.suffix == ".tmp" else age >= forgotten
                if left and not (row and path.name == row.name):
                    path.unlink()

    def remove(self) -> None:
        """Remove all files. Raises IndexFileError."""
        for path in self._files():
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise IndexFileError(f"The vector index {path} could not be removed: {error}. Remove it.") from error

    def _files(self) -> Iterator[Path]:
        return self._folder.glob(f"collection-{self._collection}[-.]*")
