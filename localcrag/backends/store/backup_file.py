"""A backup: one SQLite file with all that cannot be made again, written during use and read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from localcrag.backends.store.database_header import Header
from localcrag.backends.store.durable_files import whole_or_not_at_all
from localcrag.backends.store.schema import APPLICATION_ID, SCHEMA_VERSION
from localcrag.backends.store.shown_collections import SHOWN
from localcrag.backends.store.sqlite_errors import SQLITE_FAILED, said_by
from localcrag.records.backed_up import BackedUp
from localcrag.records.errors import StoreError

OUR_TABLES = frozenset({"collections", "documents", "chunks", "runs"})
"""What every version's database has."""
FILES = "files_beside"
"""The table of a backup with files that lay beside the database; a database has it until they are put back."""
_MAKE_FILES = f"CREATE TABLE IF NOT EXISTS {FILES} (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT"


def write(database: sqlite3.Connection, path: Path, files: Mapping[str, bytes]) -> BackedUp:
    """Write a database, as it is now, and files into a new one, private, and read it back. Raises StoreError."""
    try:
        with whole_or_not_at_all(path) as temporary:
            # In pages that are in use alone: what was deleted is not in it.
            database.execute("VACUUM INTO ?", (str(temporary),))
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode = MEMORY")
                copy.execute("BEGIN")
                copy.execute(_MAKE_FILES)
                copy.executemany(f"INSERT OR REPLACE INTO {FILES} VALUES (?, ?)", files.items())  # noqa: S608
                copy.execute("COMMIT")
            return check(temporary, called=path)
    except FileExistsError as error:
        raise StoreError(f"{path} is there already, and was not touched. Choose another name for the copy.") from error
    except (*SQLITE_FAILED, OSError) as error:
        said = said_by(error)
        raise StoreError(
            f"The copy {path} cannot be written: {said}. Nothing is left of it. Check that the folder is writable and "
            "the disk not full."
        ) from error


def check(path: Path, called: Path | None = None) -> BackedUp:
    """Return what a backup holds, once all of it was read. Raises StoreError where it is damaged or none of ours."""
    called = called or path
    if not path.is_file():
        raise StoreError(
            f"There is no file {called}. Nothing was changed. Name a backup: `localcrag backup FILE` writes one."
        )
    try:
        with closing(opened(path)) as copy:
            kind, version = (
                copy.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            tables = {row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables >= OUR_TABLES and Header(kind, version).is_before_first_release:
                raise StoreError(
                    f"{called} was made by a localcrag before 0.1.0, which this version cannot read. Nothing was "
                    "changed. Choose another file, or add your documents again."
                )
            if not tables >= OUR_TABLES or kind != APPLICATION_ID:
                raise StoreError(f"{called} is no backup of localcrag. Nothing was changed. Choose another file.")
            if version > SCHEMA_VERSION:
                raise StoreError(
                    f"{called} was written by a newer localcrag (schema {version}, this one knows {SCHEMA_VERSION}). "
                    "Nothing was changed. Update localcrag, or choose another file."
                )
            wrong = [*_wrong(copy)]
            if wrong:
                raise StoreError(
                    f"{called} is damaged: {wrong[0]}. Nothing was changed. Choose another file, or see what "
                    "`localcrag doctor --repair` can save of what is there."
                )
            return _counted(copy, called, path.stat().st_size)
    except MemoryError as error:
        raise StoreError(
            f"{called} could not be read: {said_by(error)}. Nothing was changed. Close other programs, then try again."
        ) from error
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{called} is damaged, or no backup of localcrag: {error}. Nothing was changed. Choose another file."
        ) from error


def opened(path: Path) -> sqlite3.Connection:
    """Open a backup to be read alone, also where nothing may be written beside it. Raises sqlite3.Error."""
    # What has a WAL beside it is no backup of ours, but a copy of the files by hand, and is read with it.
    unchanging = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{unchanging}", uri=True)


def put_back(connection: sqlite3.Connection, data_dir: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a backup that was put in a database's place, but those that are there; see `forget_files`."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (FILES,)).fetchone():
        for name, data in connection.execute(f"SELECT name, data FROM {FILES}"):  # noqa: S608 - a table of ours
            path = (data_dir / name).absolute()
            # A backup may come from anybody: nothing goes anywhere else.
            if path.is_relative_to(data_dir.absolute()) and ".." not in path.parts and not path.exists():
                yield path, data


def forget_files(connection: sqlite3.Connection) -> None:
    """Remove the files from the database: they lie beside it again."""
    connection.execute(f"DROP TABLE IF EXISTS {FILES}")


def _wrong(copy: sqlite3.Connection) -> Iterator[str]:
    yield from (row[0] for row in copy.execute("PRAGMA integrity_check(3)") if row[0] != "ok")
    yield from (f"a row of {row[0]} belongs to nothing" for row in copy.execute("PRAGMA foreign_key_check"))


def _counted(copy: sqlite3.Connection, path: Path, size: int) -> BackedUp:
    def number(of: str) -> int:
        return int(copy.execute(f"SELECT count(*) FROM {of}").fetchone()[0])  # noqa: S608 - a table of ours

    rows = copy.execute(
        "SELECT k.name FROM collection_homes h JOIN collections k ON k.id = h.collection_id "
        "WHERE h.state = 'there' ORDER BY k.name"
    )
    elsewhere = [row[0] for row in rows]
    # Those of a collection that was being imported meanwhile are removed when the backup is in use.
    documents = number(f"documents d JOIN collections k ON k.id = d.collection_id WHERE {SHOWN}")
    return BackedUp(path, size, documents, number("chats"), number("runs"), tuple(elsewhere))
