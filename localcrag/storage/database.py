"""The SQLite database of a data folder: opening, migration, transactions, backup and erasure.

The database is the source of truth; this module does not interpret its rows. Each process has one connection, used by
one thread at a time. WAL mode lets other processes read while one writes.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localcrag.privacy.private_folder import make_private_folder
from localcrag.records.documents import BackupSummary
from localcrag.records.errors import StoreError
from localcrag.storage import backup
from localcrag.storage import files as durable_files
from localcrag.storage.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    SCHEMA,
    SQLITE_ERRORS,
    Header,
    check_data_folder,
    check_header,
    is_full,
    refused_error,
)

FULL_TEXT = ("chunks_fts", "chunks_fts_stems")
"""Names of the full-text indexes (FTS5 tables)."""
PRAGMAS = (
    "foreign_keys = ON", "secure_delete = ON",
    # Otherwise INSERT OR REPLACE fires no delete triggers, and the old row's words would not be queued for overwriting.
    "recursive_triggers = ON",
    # A committed transaction survives a power cut; with NORMAL, the last transactions in the WAL could be lost.
    "synchronous = FULL",
    # On macOS, fsync alone leaves data in the drive's cache. On other systems this has no effect.
    "fullfsync = ON",
)  # fmt: skip
"""Settings of each connection (https://www.sqlite.org/pragma.html)."""
BUSY_TIMEOUT = 30.0
"""Seconds to wait for another process that is writing."""


def now() -> str:
    """Return the current UTC time in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Database:
    """An open database file."""

    def __init__(self, path: Path, *, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        """Open `path`, creating it and its folder if needed; `steps` are the migrations after the schema of 0.1.0.

        Raises StoreError, also for a database from before 0.1.0 or from a newer version.
        """
        self.path, self._scripts = path, (SCHEMA, *steps)
        self._lock = threading.RLock()
        self._chosen: Container[Any] = ()
        self._open()

    def _open(self) -> None:
        path = self.path
        check_data_folder(path)
        try:
            make_private_folder(path.parent)
            self._connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.create_function("chosen", 1, lambda number: number in self._chosen)
            self._check_origin()
            self._use_wal()
            for pragma in PRAGMAS:
                self._connection.execute(f"PRAGMA {pragma}")
            self._bring_up_to_date()
            # A restore keeps the database locked while its staged file exists. Because the database could be opened, a
            # killed process must have left the staged file.
            backup.remove_staged(path)
        except (*SQLITE_ERRORS, OSError) as error:
            if is_full(error) or isinstance(error, MemoryError):
                raise refused_error(path, error) from error
            raise StoreError(
                f"The database {path} cannot be opened: {error}. Check that the folder is writable and the disk not "
                "full; if the file is damaged, restore it from a backup or move it away to start over."
            ) from error

    def _check_origin(self) -> None:
        """Raise StoreError for a database that localcrag cannot use, before anything is written to it."""
        # check_data_folder reads only the main file, but the newest header may still be in the write-ahead log.
        kind, version, tables = (
            self._connection.execute(sql).fetchone()[0]
            for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        check_header(Header(kind, version), self.path, empty=not tables)

    def _use_wal(self) -> None:
        """Switch to write-ahead logging, which is not the default of a new database.

        SQLite's busy timeout does not cover this pragma. At a first start another process may be about to write, so
        this method retries until BUSY_TIMEOUT.
        """
        end = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            time.sleep(0.01)

    def _bring_up_to_date(self) -> None:
        """Create the tables of a new database, or apply the migrations an older one lacks, in one transaction."""
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            newest = len(self._scripts)
            if version > newest:
                raise StoreError(
                    f"The database {self.path} was written by a newer localcrag (schema {version}, this one knows "
                    f"{newest}). Update localcrag, or use another --data-dir."
                )
            # One by one, because executescript would commit the transaction.
            for statement in itertools.chain.from_iterable(self._scripts[version:]):
                connection.execute(statement)
            if version < newest:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {newest}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: everything in it is written, or nothing. Raises StoreError.

        Inside another transaction, the block is a savepoint of the outer one.
        """
        with self._lock:
            if self._connection.in_transaction:
                with self._savepoint():
                    yield self._connection
                return
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                finally:
                    # If the disk is full, SQLite has already rolled back.
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            except SQLITE_ERRORS as error:
                raise refused_error(self.path, error) from error

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run the block as a savepoint: if it fails, undo its changes but no earlier ones of the transaction."""
        self._connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            # If the disk is full, SQLite has already rolled back the whole transaction.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO part")
                self._connection.execute("RELEASE part")
            raise
        self._connection.execute("RELEASE part")

    def rows(self, sql: str, *values: object, chosen: Container[Any] = (), **named: object) -> list[sqlite3.Row]:
        """Return the rows of a query, with values either in order or for its :names. Raises StoreError.

        In the SQL, the function `chosen(value)` returns whether a value is in `chosen`. Thousands of ids are thus not
        passed to SQLite, which would build a table of them for each query.
        """
        with self._lock:
            self._chosen = chosen
            try:
                return self._connection.execute(sql, named or values).fetchall()
            except SQLITE_ERRORS as error:
                raise refused_error(self.path, error) from error
            finally:
                self._chosen = ()

    def column(self, sql: str, *values: object, chosen: Container[Any] = ()) -> list[Any]:
        """Return the first column of the rows of a query; see `rows`. Raises StoreError."""
        return [row[0] for row in self.rows(sql, *values, chosen=chosen)]

    def value(self, sql: str, *values: object, chosen: Container[Any] = ()) -> Any:
        """Return the first column of the first row of a query, or None if there is no row. Raises StoreError."""
        return next(iter(self.column(sql, *values, chosen=chosen)), None)

    def run(self, sql: str, *values: object) -> int:
        """Run a statement in a transaction, and return the number of rows that it changed. Raises StoreError."""
        with self.transaction() as connection:
            return connection.execute(sql, values).rowcount

    def free_bytes(self) -> int:
        """Return the number of bytes on free pages, which deletions leave in the file. Raises StoreError."""
        pages, size = (self.value(f"PRAGMA {pragma}") for pragma in ("freelist_count", "page_size"))
        return int(pages * size)

    def back_up_to(self, path: Path, files: Mapping[str, bytes] | None = None) -> BackupSummary:
        """Write a backup to a new file, including `files` from the data folder; see backup.write. Raises StoreError."""
        with self._lock:
            return backup.write(self._connection, path, files or {})

    def restore_from(self, path: Path) -> BackupSummary:
        """Replace this database's content with that of a backup; see backup.restore. Raises StoreError."""
        with self._lock:
            self._connection.close()
            try:
                return backup.restore(self.path, path, migrate)
            finally:
                try:
                    self._open()
                except StoreError:
                    # The failure may be temporary (memory, a lock). Without a second try, every later call would fail
                    # until the next start.
                    self._open()

    def restore_files(self, folder: Path) -> None:
        """Write the files of a restored backup to `folder`, except those that exist already. Raises StoreError."""
        with self.transaction() as connection:
            try:
                for path, content in backup.missing_files(connection, folder):
                    with durable_files.atomic_file(path) as file:
                        file.write_bytes(content)
            except OSError as error:
                raise StoreError(
                    f"A file of the backup could not be written to {folder}: {error.strerror or error}. Check that the "
                    "folder is writable and the disk not full, and start localcrag again: it continues from there."
                ) from error
            backup.forget_files(connection)

    def erase(self) -> None:
        """Delete all content, and remove it from the file itself as well. Raises StoreError."""
        with self.transaction() as connection:
            # The full-text tables become empty when they are rebuilt below. words_to_overwrite has to keep its one row,
            # which triggers update.
            tables = self.column(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' "
                "AND name NOT LIKE 'chunks@_fts%' ESCAPE '@' AND name != 'words_to_overwrite'"
            )
            for name in tables:
                connection.execute(f"DELETE FROM {name}")  # noqa: S608 - our own table name
            for index in FULL_TEXT:
                connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")  # noqa: S608 - as above
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except SQLITE_ERRORS as error:
                raise refused_error(self.path, error) from error

    def empty_log(self, *, vacuum: bool = False, patience: float = BUSY_TIMEOUT) -> None:
        """Empty the write-ahead log (`-wal`); with `vacuum`, first rewrite the file without free pages and gaps.

        Raises StoreError, also if another process keeps reading for longer than `patience` seconds.
        """
        with self._lock:
            try:
                if vacuum:
                    self._connection.execute("VACUUM")
                self._connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
                try:
                    (busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT * 1000)}")
            except SQLITE_ERRORS as error:
                raise refused_error(self.path, error) from error
        if busy:
            raise StoreError(
                f"Deleted data is still in {self.path}-wal, because another localcrag is reading the database. Quit "
                "it or wait for its answer, then run: localcrag forget"
            )

    def close(self) -> None:
        """Close the connection; any later use of the object raises StoreError."""
        with self._lock:
            self._connection.close()


def migrate(path: Path) -> None:
    """Migrate a database that no other process has open and that has no WAL next to it. Raises StoreError."""
    Database(path).close()
