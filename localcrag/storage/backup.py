"""Backups: write one while the app is running, check it, and replace the database with it.

A backup is one SQLite file with everything that cannot be computed again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from localcrag.privacy.private_folder import flush_to_disk
from localcrag.records.documents import BackupSummary
from localcrag.records.errors import StoreError
from localcrag.storage.files import atomic_file
from localcrag.storage.schema import APPLICATION_ID, IS_VISIBLE, SCHEMA_VERSION, SQLITE_ERRORS, Header, error_reason

REQUIRED_TABLES = frozenset({"collections", "documents", "chunks", "runs"})
"""Tables that the database of every version has."""
FILES_TABLE = "files_beside"
"""Table of a backup with the other files of the data folder. After a restore, the database keeps this table until the
files are written."""
_MAKE_FILES = f"CREATE TABLE IF NOT EXISTS {FILES_TABLE} (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT"


def write(database: sqlite3.Connection, path: Path, files: Mapping[str, bytes]) -> BackupSummary:
    """Write the database and `files` to a new private file, and check the result. Raises StoreError."""
    try:
        with atomic_file(path) as temporary:
            # VACUUM INTO copies only pages in use, so the backup contains nothing that was deleted.
            database.execute("VACUUM INTO ?", (str(temporary),))
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode = MEMORY")
                copy.execute("BEGIN")
                copy.execute(_MAKE_FILES)
                copy.executemany(f"INSERT OR REPLACE INTO {FILES_TABLE} VALUES (?, ?)", files.items())  # noqa: S608
                copy.execute("COMMIT")
            return check(temporary, called=path)
    except FileExistsError as error:
        raise StoreError(f"{path} already exists and was not changed. Choose another name for the backup.") from error
    except (*SQLITE_ERRORS, OSError) as error:
        reason = error_reason(error)
        raise StoreError(
            f"The backup {path} could not be written: {reason}. The partial file was removed. Check that the folder is "
            "writable and the disk not full."
        ) from error


def check(path: Path, called: Path | None = None) -> BackupSummary:
    """Read a whole backup and return its counts. Raises StoreError if it is damaged or not from localcrag."""
    called = called or path
    if not path.is_file():
        raise StoreError(
            f"There is no file {called}. Nothing was changed. Name a backup: `localcrag backup FILE` writes one."
        )
    try:
        with closing(open_read_only(path)) as copy:
            kind, version = (
                copy.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            tables = {row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables >= REQUIRED_TABLES and Header(kind, version).is_before_first_release:
                raise StoreError(
                    f"{called} was made by a localcrag older than 0.1.0, which this version cannot read. Nothing was "
                    "changed. Choose another file, or add your documents again."
                )
            if not tables >= REQUIRED_TABLES or kind != APPLICATION_ID:
                raise StoreError(f"{called} is not a localcrag backup. Nothing was changed. Choose another file.")
            if version > SCHEMA_VERSION:
                raise StoreError(
                    f"{called} was written by a newer localcrag (schema {version}, this one knows {SCHEMA_VERSION}). "
                    "Nothing was changed. Update localcrag, or choose another file."
                )
            wrong = [*_find_damage(copy)]
            if wrong:
                raise StoreError(
                    f"{called} is damaged: {wrong[0]}. Nothing was changed. Choose another file, or rescue its "
                    "content with `localcrag doctor --repair`."
                )
            return _summary(copy, called, path.stat().st_size)
    except MemoryError as error:
        raise StoreError(
            f"{called} could not be read: {error_reason(error)}. Nothing was changed. Close other programs, then try "
            "again."
        ) from error
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{called} is damaged, or is not a localcrag backup: {error}. Nothing was changed. Choose another file."
        ) from error


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a backup read-only, even in a folder that is not writable. Raises sqlite3.Error."""
    # localcrag's backups have no WAL. A file with one is a manual copy of a data folder, whose WAL has to be read, too.
    unchanging = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{unchanging}", uri=True)


def missing_files(connection: sqlite3.Connection, data_dir: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files stored in a restored database, except files that already exist; see `forget_files`."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (FILES_TABLE,)).fetchone():
        for name, data in connection.execute(f"SELECT name, data FROM {FILES_TABLE}"):  # noqa: S608 - our own table name
            path = (data_dir / name).absolute()
            # A backup may come from a stranger, so nothing is written outside the data folder.
            if path.is_relative_to(data_dir.absolute()) and ".." not in path.parts and not path.exists():
                yield path, data


def forget_files(connection: sqlite3.Connection) -> None:
    """Remove the files from the database, once they are in the data folder."""
    connection.execute(f"DROP TABLE IF EXISTS {FILES_TABLE}")


def _find_damage(copy: sqlite3.Connection) -> Iterator[str]:
    yield from (row[0] for row in copy.execute("PRAGMA integrity_check(3)") if row[0] != "ok")
    yield from (f"a row of {row[0]} belongs to nothing" for row in copy.execute("PRAGMA foreign_key_check"))


def _summary(copy: sqlite3.Connection, path: Path, size: int) -> BackupSummary:
    def number(source: str) -> int:
        return int(copy.execute(f"SELECT count(*) FROM {source}").fetchone()[0])  # noqa: S608 - our own table name

    rows = copy.execute(
        "SELECT k.name FROM collection_homes h JOIN collections k ON k.id = h.collection_id "
        "WHERE h.state = 'there' ORDER BY k.name"
    )
    on_servers = [row[0] for row in rows]
    # Leave out documents of an unfinished import, which are removed when the backup is opened as the database.
    documents = number(f"documents d JOIN collections k ON k.id = d.collection_id WHERE {IS_VISIBLE}")
    return BackupSummary(path, size, documents, number("chats"), number("runs"), tuple(on_servers))


STAGED = ".new"
"""Suffix of the name of a database that will replace another one."""
WAL_SUFFIXES = ("-wal", "-shm")
"""Suffixes of the files that SQLite keeps next to a database in WAL mode."""
LOCK_SECONDS = 2.0
"""Seconds to wait for the database, in case another process is about to end."""


@contextmanager
def exclusive_lock(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Lock a database against all other processes, and yield its connection, or None if it is missing or unreadable.

    Raises StoreError if another process has it open: in WAL mode, every open connection has a shared lock.
    """
    if not path.exists():
        yield None
        return
    connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise StoreError(
                    f"Another localcrag has {path} open. Nothing was changed. Quit it (the app, `localcrag serve`, "
                    "`localcrag mcp` or a command), and try again."
                ) from error
            yield None
            return
        yield connection
    finally:
        connection.close()


def restore(path: Path, copy: Path, migrate: Callable[[Path], None]) -> BackupSummary:
    """Replace the database `path` with a backup, and return the backup's counts; `migrate` migrates a database.

    The entries of the connection log are added to those of the backup. If the process is killed, either the old or the
    new database remains. An unreadable old database is kept in a folder `damaged-…` next to the new one. Raises
    StoreError; then nothing has changed.
    """
    summary = check(copy)
    with _explaining_errors(path), exclusive_lock(path) as live, staged(path) as new:
        with closing(open_read_only(copy)) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        migrate(new)
        if live is not None:
            _copy_connection_log(live, new)
        replace_database(new, path, live)
    return summary


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """Yield the path of an empty private file next to a database, and remove it afterwards. Raises OSError."""
    new = path.with_name(f"{path.name}{STAGED}")
    remove_staged(path)
    new.touch(0o600)
    try:
        yield new
    finally:
        remove_staged(path)


def remove_staged(path: Path) -> None:
    """Remove the staged files that a killed process left next to a database."""
    for leftover in path.parent.glob(f"{path.name}{STAGED}*"):
        with suppress(OSError):
            leftover.unlink()


def replace_database(new: Path, path: Path, live: sqlite3.Connection | None) -> Path | None:
    """Replace a database with a complete one, in one step; return the folder of an unreadable old one, or None.

    `live` is the connection to the old database, None if it cannot be read. Raises sqlite3.Error and OSError.
    """
    if live is not None:
        with closing(sqlite3.connect(new)) as source:
            source.backup(live)  # one transaction, so all of it is copied, or nothing
        # The copy is complete. If moving it from the log into the file fails, the next write moves it.
        with suppress(*SQLITE_ERRORS):
            live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return None
    kept = _keep_damaged(path) if path.exists() else None
    # SQLite would apply the old WAL to the new file.
    for end in WAL_SUFFIXES:
        path.with_name(path.name + end).unlink(missing_ok=True)
    # Sync the folder first: otherwise, after a power cut, the new file could exist next to the old WAL.
    flush_to_disk(path.parent)
    flush_to_disk(new)
    new.replace(path)
    flush_to_disk(path.parent)
    return kept


def _keep_damaged(path: Path) -> Path:
    """Link a damaged database and its WAL into a new folder next to it, and return the folder."""
    folder = path.with_name(f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}-{time.monotonic_ns() % 10**6:06}")
    folder.mkdir(mode=0o700)
    for end in ("", *WAL_SUFFIXES):
        one = path.with_name(path.name + end)
        if one.exists():
            try:
                (folder / one.name).hardlink_to(one)
            except OSError:  # the file system has no hard links
                (folder / one.name).write_bytes(one.read_bytes())
                flush_to_disk(folder / one.name)
    for one in (folder, folder.parent):
        flush_to_disk(one)
    return folder


def _copy_connection_log(live: sqlite3.Connection, new: Path) -> None:
    """Copy the readable entries of the connection log into the new database. Raises sqlite3.Error."""
    rows: list[sqlite3.Row] = []
    with suppress(sqlite3.Error):  # The old database may be damaged; lost entries must not prevent the restore.
        rows = live.execute("SELECT * FROM egress ORDER BY rowid").fetchall()
    with closing(sqlite3.connect(new)) as target, target:
        target.executemany("INSERT OR IGNORE INTO egress VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


@contextmanager
def _explaining_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (*SQLITE_ERRORS, OSError) as error:
        reason = error_reason(error)
        raise StoreError(
            f"The database {path} could not be replaced: {reason}. It is unchanged. Check that the folder is writable "
            "and that the disk has room for twice the size of the backup."
        ) from error
