"""Another database in the place of a data folder's: made whole beside it, then put there in one step."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from localcrag.backends.store import backup_file
from localcrag.backends.store.sqlite_errors import SQLITE_FAILED, said_by
from localcrag.privacy.private_folder import to_disk
from localcrag.records.backed_up import BackedUp
from localcrag.records.errors import StoreError

STAGED = ".new"
"""The end of a database's name that is to take the place of another, until it has."""
BESIDE = ("-wal", "-shm")
SOON = 2.0
"""Seconds to wait for a process that is just ending."""


@contextmanager
def held_alone(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Hold a database so that no other process can open it; yield None where it cannot be read, or there is none.

    Raises StoreError where another process has it open: in WAL mode SQLite holds the file for each.
    """
    if not path.exists():
        yield None
        return
    connection = sqlite3.connect(path, timeout=SOON, isolation_level=None)
    try:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreError(
                    f"Another localcrag has {path} open. Nothing was changed. End it (the page, `localcrag serve`, "
                    "`localcrag mcp` or a command), and try again."
                ) from error
            yield None
            return
        except sqlite3.DatabaseError:
            yield None
            return
        yield connection
    finally:
        connection.close()


def replace(path: Path, copy: Path, bring_up: Callable[[Path], None]) -> BackedUp:
    """Put a backup in the place of the database `path`, and return what it held; `bring_up` brings one up to date.

    What left this computer stays in the ledger, whatever the copy knows of. Killed at any moment, the old database is
    there or the new one. One that cannot be read is kept beside, in a folder `damaged-…`. Raises StoreError, and has
    changed nothing then.
    """
    told = backup_file.check(copy)
    with _said(path), held_alone(path) as live, staged(path) as new:
        with closing(backup_file.opened(copy)) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        bring_up(new)
        if live is not None:
            _keep_ledger(live, new)
        put_in_place(new, path, live)
    return told


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """Yield the path of an empty private file beside a database; nothing is left of it afterwards. Raises OSError."""
    new = path.with_name(f"{path.name}{STAGED}")
    remove_staged(path)
    new.touch(0o600)
    try:
        yield new
    finally:
        remove_staged(path)


def remove_staged(path: Path) -> None:
    """Remove what a killed process left of a database that was to take the place of this one."""
    for left in path.parent.glob(f"{path.name}{STAGED}*"):
        with suppress(OSError):
            left.unlink()


def put_in_place(new: Path, path: Path, live: sqlite3.Connection | None) -> Path | None:
    """Put a whole database in the place of another, in one step; return where one that cannot be read is kept.

    Raises sqlite3.Error and OSError.
    """
    if live is not None:
        with closing(sqlite3.connect(new)) as source:
            source.backup(live)  # in one transaction: it is all there, or nothing of it
        # It is done; what moves it from the log into the file comes again with every write.
        with suppress(*SQLITE_FAILED):
            live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return None
    kept = _kept_beside(path) if path.exists() else None
    # A WAL of before would be taken for the new file's.
    for end in BESIDE:
        path.with_name(path.name + end).unlink(missing_ok=True)
    # Also after a power cut, of which the new name would be there and the WAL, too.
    to_disk(path.parent)
    to_disk(new)
    new.replace(path)
    to_disk(path.parent)
    return kept


def _kept_beside(path: Path) -> Path:
    """Give a damaged database a second name, in a folder of its own, with its WAL; return the folder."""
    folder = path.with_name(f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}-{time.monotonic_ns() % 10**6:06}")
    folder.mkdir(mode=0o700)
    for end in ("", *BESIDE):
        one = path.with_name(path.name + end)
        if one.exists():
            try:
                (folder / one.name).hardlink_to(one)
            except OSError:  # a disk without links
                (folder / one.name).write_bytes(one.read_bytes())
                to_disk(folder / one.name)
    for one in (folder, folder.parent):
        to_disk(one)
    return folder


def _keep_ledger(live: sqlite3.Connection, new: Path) -> None:
    """Put the lines of the ledger, those that can be read, into a database that is to come. Raises sqlite3.Error."""
    rows: list[sqlite3.Row] = []
    with suppress(sqlite3.Error):  # damaged
        rows = live.execute("SELECT * FROM egress ORDER BY rowid").fetchall()
    with closing(sqlite3.connect(new)) as target, target:
        target.executemany("INSERT OR IGNORE INTO egress VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


@contextmanager
def _said(path: Path) -> Iterator[None]:
    try:
        yield
    except (*SQLITE_FAILED, OSError) as error:
        said = said_by(error)
        raise StoreError(
            f"The database {path} could not be replaced: {said}. It is as it was. Check that the folder is writable "
            "and that the disk has room for twice the size of the copy."
        ) from error
