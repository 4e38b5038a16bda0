"""The index files of a collection."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from localcrag.records.errors import IndexFileError
from localcrag.storage.collections import full_text
from localcrag.storage.collections.index_files import COLUMNS, IndexBuilder, IndexFile, fingerprint
from localcrag.storage.files import is_abandoned, locked_file

UNRECORDED_SECONDS = 3600.0
"""Seconds after which a complete but unrecorded file counts as left behind by a killed process."""
TEMPORARY = ".tmp"
"""Suffix of a file while it is being written."""
FULL_DISK_BYTES = 2**16
"""Maximum number of free bytes on a full disk; file systems allocate whole blocks."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """The record of a collection's index files, with the chunks deleted since they were written."""

    name: str
    """Name of the graph's file. Its suffix gives the engine; the columns' file differs only in the suffix."""
    fingerprint: str
    """Fingerprint of both files (index_files.fingerprint): the index is used only if both are intact."""
    rows: int
    state: full_text.State
    """State of the collection's chunks that the files match, apart from the rows in `gone`."""
    gone: bytes
    """Rows of deleted chunks, as little-endian int32."""


class IndexFolder:
    """The index files of one collection. No name is used twice, so a file is either the recorded one or unused."""

    def __init__(self, folder: Path, collection: int) -> None:
        self._folder, self._collection = folder, collection

    def write(self, builder: IndexBuilder, dimension: int) -> tuple[IndexFile, str]:
        """Write both files; return them, opened, with their fingerprint.

        Raises IndexFileError; then both files are removed.
        """
        graph = self._folder / f"collection-{self._collection}-{secrets.token_hex(8)}{builder.suffix}"
        columns = graph.with_suffix(COLUMNS)
        files = {path: path.with_name(f"{path.name}{TEMPORARY}") for path in (columns, graph)}
        with self.explained_errors():
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                with ExitStack() as held_files:
                    for temporary in files.values():
                        temporary.touch(0o600)
                        held_files.enter_context(locked_file(temporary))
                    builder.write(files[graph], files[columns])
                for path, temporary in files.items():
                    temporary.replace(path)
                return IndexFile(graph, builder.rows, dimension), fingerprint(graph)
            except BaseException as error:
                full = isinstance(error, Exception) and shutil.disk_usage(self._folder).free < FULL_DISK_BYTES
                for path in (*files, *files.values()):
                    with suppress(OSError):  # The original error is more useful than an error of this clean-up.
                        path.unlink(missing_ok=True)
                if full:
                    # The engines report “Failed to serialize into stream” or “Invalid argument”, and numpy only the
                    # number of bytes, so replace their message.
                    raise OSError("the disk is full") from error
                raise

    @contextmanager
    def explained_errors(self) -> Iterator[None]:
        """Turn a failure to write a file into an IndexFileError that explains the consequences."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            raise IndexFileError(
                f"The vector index could not be written to {self._folder}: {error or 'out of memory'}. The documents "
                "are stored, and searches find them without it, but localcrag starts and searches more slowly. Check "
                "that the folder is writable and the disk not full. The next change, or `localcrag doctor`, will "
                "write the index."
            ) from error

    def is_intact(self, row: IndexRow) -> bool:
        """Return whether both files are intact."""
        try:
            return fingerprint(self._folder / row.name) == row.fingerprint
        except OSError:
            return False

    def open(self, row: IndexRow, dimension: int) -> IndexFile | None:
        """Open the files; return None if one of them is missing or damaged, or if their engine is missing.

        The files are a cache, so the caller rebuilds them.
        """
        if self.is_intact(row):
            with suppress(OSError, RuntimeError, ValueError, MemoryError):
                return IndexFile(self._folder / row.name, row.rows, dimension)
        return None

    def forget(self, name: str | None) -> None:
        """Remove the files of this name, which have been replaced; do nothing for None."""
        for path in self._files_of(name) if name else ():
            with suppress(OSError):  # Windows does not remove a file that is mapped into memory.
                path.unlink(missing_ok=True)

    def clean(self, row: IndexRow | None, unused_for: float = UNRECORDED_SECONDS) -> None:
        """Remove files that killed processes left: unlocked temporary ones, and unused ones of a certain age.

        `unused_for` is that age: seconds since the last write.
        """
        ours = self._files_of(row.name) if row else ()
        for path in self._files():
            with suppress(OSError):
                # Another process may be writing a file now, or may not have recorded it yet.
                age = abs(time.time() - path.stat().st_mtime)
                abandoned = is_abandoned(path) if path.suffix == TEMPORARY else age >= unused_for
                if abandoned and path not in ours:
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

    def _files_of(self, name: str) -> tuple[Path, Path]:
        return self._folder / name, (self._folder / name).with_suffix(COLUMNS)
