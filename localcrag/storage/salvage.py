"""What can still be read of a damaged database, put into a new one; full-text indexes made anew."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from localcrag.storage.collections import full_text
from localcrag.storage.database import Database

TABLES = (
    "collections", "collection_homes", "collection_settings", "documents", "document_tags", "folder_tags", "originals",
    "chunks", "vectors", "scans", "chats", "chat_turns", "runs", "labels", "pins", "calibrations", "web_cache",
    "egress",
)  # fmt: skip
"""What is copied, in an order in which no row comes before the one that it belongs to; the rest is made of it."""
NARROWEST = 1
"""Rows: of a stretch that cannot be read, its halves are tried, down to single rows."""


def salvaged(damaged: Path, new: Path) -> Counter[str]:
    """Write what can be read of a damaged database into a new one, and return how many rows came of each table.

    Rows are read table by table, around what cannot be read. SQLite's `.recover`, which finds rows whose table is lost
    as well, is of its shell alone, and the app starts no programs. Raises sqlite3.Error, OSError and StoreError.
    """
    Database(new).close()
    came: Counter[str] = Counter()
    with closing(sqlite3.connect(new, isolation_level=None)) as target, closing(_to_read(damaged)) as read:
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN")
        for table in TABLES:
            columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
            there = _columns(read, table)
            common = [f'"{name}"' for name in columns if name in there]
            if common:
                came[table] = _copied(read, target, table, ", ".join(common))
        _tidy(target)
        target.execute("COMMIT")
        target.execute("PRAGMA journal_mode = DELETE")
    return came


def _to_read(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # A damaged text is better than none.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _columns(read: sqlite3.Connection, table: str) -> set[str]:
    with suppress(sqlite3.Error):
        return {row[1] for row in read.execute(f"PRAGMA table_info({table})")}
    return set()


def _copied(read: sqlite3.Connection, target: sqlite3.Connection, table: str, columns: str) -> int:
    """Copy the rows of a table that can be read, and return how many these are."""
    marks = ", ".join("?" * (columns.count(",") + 1))
    put = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - tables and columns of ours
    before = target.total_changes
    for row in _rows(read, table, columns):
        with suppress(sqlite3.Error):  # of another kind than its column: damaged
            target.execute(put, row)
    return target.total_changes - before


def _rows(read: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[object, ...]]:
    whole = f"SELECT {columns} FROM {table}"  # noqa: S608 - as above

    def within(low: int, high: int) -> list[tuple[object, ...]]:
        return read.execute(f"{whole} WHERE rowid BETWEEN ? AND ?", (low, high)).fetchall()

    # Up to the damage, and then what is behind it; a row that comes twice is put once.
    with suppress(sqlite3.Error):
        yield from read.execute(whole)
        return
    with suppress(sqlite3.Error):  # a table without rowids, or without an end
        last = read.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0  # noqa: S608 - as above
        yield from _stretch(within, 1, last)


def _stretch(rows: Callable[[int, int], list[tuple[object, ...]]], low: int, high: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows with these ids, around those that cannot be read."""
    if low > high:
        return
    try:
        yield from rows(low, high)
    except sqlite3.Error:
        if high - low >= NARROWEST:
            middle = (low + high) // 2
            yield from _stretch(rows, low, middle)
            yield from _stretch(rows, middle + 1, high)


def _tidy(target: sqlite3.Connection) -> None:
    """Remove rows that belong to nothing, and all chunks of documents of which a chunk has no vector.

    Documents without chunks are cut again from their text (app/health.py).
    """
    while orphans := target.execute("PRAGMA foreign_key_check").fetchall():
        for table, rowid, *_ in orphans:
            if rowid is not None:
                target.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))  # noqa: S608 - a table of ours
        if any(rowid is None for _, rowid, *_ in orphans):  # of tables without rowids
            target.execute("DELETE FROM chat_turns WHERE chat_id NOT IN (SELECT id FROM chats)")
            target.execute("DELETE FROM document_tags WHERE document_id NOT IN (SELECT id FROM documents)")
            target.execute("DELETE FROM folder_tags WHERE collection_id NOT IN (SELECT id FROM collections)")
    # A turn whose parent is lost follows the last one before it that is left.
    target.execute(
        "UPDATE chat_turns SET parent = (SELECT max(number) FROM chat_turns AS earlier WHERE earlier.chat_id = "
        "chat_turns.chat_id AND earlier.number < chat_turns.parent) WHERE parent IS NOT NULL AND "
        "(chat_id, parent) NOT IN (SELECT chat_id, number FROM chat_turns)"
    )
    target.execute(
        "DELETE FROM vectors WHERE chunk_id IN (SELECT id FROM chunks WHERE document_id IN "
        "(SELECT document_id FROM chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)))"
    )
    target.execute("DELETE FROM chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)")


def full_text_anew(database: Database) -> int:
    """Make the full-text index, and that of stems, anew from the chunks; return of how many. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        connection.execute("DELETE FROM chunks_fts_stems")
        connection.execute("DELETE FROM document_languages")
        for row in connection.execute("SELECT id FROM documents").fetchall():
            full_text.put(connection, row["id"])
        return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])
