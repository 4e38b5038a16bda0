"""The index files of a collection, in their folder and as the database knows them."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from localcrag.records.errors import IndexFileError, StoreError
from localcrag.storage.collections import full_text
from localcrag.storage.collections.index_files import COLUMNS, Growth, IndexFile, fingerprint
from localcrag.storage.database import Database
from localcrag.storage.files import held, is_abandoned

FORGOTTEN = 3600.0
"""Seconds after which a whole file that the database does not know is what a killed process left."""
TEMPORARY = ".tmp"
"""The ending of a file's name while it is written."""
FULL = 2**16
"""Bytes that are free on a disk which was written to until it was full, at most; file systems write in blocks."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """Index files that were written, and which of its chunks are gone since."""

    name: str
    """The name of the graph's file; its ending tells the engine. That of the columns differs in the ending alone."""
    fingerprint: str
    """Of both files (index_files.fingerprint): an index is known only if both are whole."""
    rows: int
    state: full_text.State
    """Of the chunks, when what it holds, without `gone`, was what the collection had."""
    gone: bytes
    """Rows of chunks that were deleted, as little-endian int32."""


class IndexFolder:
    """The files of one collection in a folder. No name is used twice: a file is the one its row tells, or not ours."""

    def __init__(self, folder: Path, collection: int) -> None:
        self._folder, self._collection = folder, collection

    def write(self, growth: Growth, dimension: int) -> tuple[IndexFile, str]:
        """Write both files and return them, opened, with their fingerprint.

        Raises IndexFileError, and leaves nothing then.
        """
        graph = self._folder / f"collection-{self._collection}-{secrets.token_hex(8)}{growth.suffix}"
        columns = graph.with_suffix(COLUMNS)
        files = {path: path.with_name(f"{path.name}{TEMPORARY}") for path in (columns, graph)}
        with self.failing():
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                with ExitStack() as held_files:
                    for temporary in files.values():
                        temporary.touch(0o600)
                        held_files.enter_context(held(temporary))
                    growth.write(files[graph], files[columns])
                for path, temporary in files.items():
                    temporary.replace(path)
                return IndexFile(graph, growth.rows, dimension), fingerprint(graph)
            except BaseException as error:
                full = isinstance(error, Exception) and shutil.disk_usage(self._folder).free < FULL
                for path in (*files, *files.values()):
                    with suppress(OSError):  # The error that is raised tells more than one of this.
                        path.unlink(missing_ok=True)
                if full:
                    # The engines say “Failed to serialize into stream” or “Invalid argument”, numpy counts bytes.
                    raise OSError("the disk is full") from error
                raise

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Say what it comes to where a file cannot be written. Raises IndexFileError."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            raise IndexFileError(
                f"The vector index could not be written to {self._folder}: {error or 'out of memory'}. The documents "
                "are stored, and found without it; until it is written, localcrag takes longer to start and to "
                "search. Check that the folder is writable and the disk not full: the next change, or `localcrag "
                "doctor`, writes it."
            ) from error

    def trusted(self, row: IndexRow) -> bool:
        """Return whether both files are there as they were written."""
        try:
            return fingerprint(self._folder / row.name) == row.fingerprint
        except OSError:
            return False

    def opened(self, row: IndexRow, dimension: int) -> IndexFile | None:
        """Return the files, or None if one is missing, torn or not ours, or of an engine that is missing.

        They are a cache, and are made again.
        """
        if self.trusted(row):
            with suppress(OSError, RuntimeError, ValueError, MemoryError):
                return IndexFile(self._folder / row.name, row.rows, dimension)
        return None

    def forget(self, name: str | None) -> None:
        """Remove the files that others have taken the place of, if there are some."""
        for path in self._files_of(name) if name else ():
            with suppress(OSError):  # Windows removes none that is mapped.
                path.unlink(missing_ok=True)

    def clean(self, row: IndexRow | None, forgotten: float = FORGOTTEN) -> None:
        """Remove what killed processes left next to the files in use: what was not written to for so many seconds."""
        ours = self._files_of(row.name) if row else ()
        for path in self._files():
            with suppress(OSError):
                # Another process may be writing one now, or may not have said yet that it has.
                age = abs(time.time() - path.stat().st_mtime)
                left = is_abandoned(path) if path.suffix == TEMPORARY else age >= forgotten
                if left and path not in ours:
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


def kept(database: Database, collection: int) -> IndexRow | None:
    """Return what is known of a collection's file, if it has one. Raises StoreError."""
    rows = database.rows("SELECT * FROM index_files WHERE collection_id = ?", collection)
    if not rows:
        return None
    row = rows[0]
    return IndexRow(row["name"], row["fingerprint"], row["rows"], (row["newest"], row["highest"]), row["gone"])


def keep(database: Database, collection: int, row: IndexRow | None) -> str | None:
    """Remember a collection's file, or that it has none, and return the name of the one before.

    What changed so long ago that no index needs to know it is forgotten. Raises IndexFileError.
    """
    try:
        return _keep(database, collection, row)
    except StoreError as error:
        raise IndexFileError(f"The vector index could not be noted in the database. {error}") from error


def _keep(database: Database, collection: int, row: IndexRow | None) -> str | None:
    with database.transaction() as connection:
        before = connection.execute("SELECT name FROM index_files WHERE collection_id = ?", (collection,)).fetchone()
        connection.execute("DELETE FROM index_files WHERE collection_id = ?", (collection,))
        if row:
            connection.execute(
                "INSERT INTO index_files (collection_id, name, fingerprint, rows, newest, highest, gone) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (collection, row.name, row.fingerprint, row.rows, *row.state, row.gone),
            )
        full_text.prune(connection)
    return before["name"] if before else None
