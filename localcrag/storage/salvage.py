"""Repair: copy the readable rows of a damaged database to a new one, and rebuild full-text indexes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from localcrag.storage.collections import full_text
from localcrag.storage.database import Database

TABLES = (
    "collections", "collection_homes", "collection_settings", "documents", "document_tags", "folder_tags", "originals",
    "chunks", "vectors", "scans", "chats", "chat_turns", "runs", "labels", "pins", "calibrations", "web_cache",
    "egress",
)  # fmt: skip
"""Tables to copy, each after the tables that its rows refer to. Everything else is derived from them."""


def copy_readable_rows(damaged: Path, new: Path) -> Counter[str]:
    """Copy the readable rows of a damaged database to a new one, and return the number of rows per table.

    Rows are read table by table, skipping unreadable ones. SQLite's `.recover` also finds the rows of a lost table, but
    only SQLite's shell has it, and the app starts no programs. Raises sqlite3.Error, OSError and StoreError.
    """
    Database(new).close()
    counts: Counter[str] = Counter()
    with closing(sqlite3.connect(new, isolation_level=None)) as target, closing(_open_damaged(damaged)) as read:
        # Rows may come without their parents. _tidy removes them at the end.
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN")
        for table in TABLES:
            columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
            existing: set[str] = set()
            with suppress(sqlite3.Error):
                existing = {row[1] for row in read.execute(f"PRAGMA table_info({table})")}
            common = [f'"{name}"' for name in columns if name in existing]
            if common:
                counts[table] = _copy_table(read, target, table, ", ".join(common))
        _tidy(target)
        target.execute("COMMIT")
        target.execute("PRAGMA journal_mode = DELETE")
    return counts


def _open_damaged(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # Keep damaged texts, with replacement characters, instead of losing their rows.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _copy_table(read: sqlite3.Connection, target: sqlite3.Connection, table: str, columns: str) -> int:
    """Copy the readable rows of a table, and return their number."""
    marks = ", ".join("?" * (columns.count(",") + 1))
    insert = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - our own table and column names
    before = target.total_changes
    for row in _rows(read, table, columns):
        with suppress(sqlite3.Error):  # A damaged value may have the wrong type for its column.
            target.execute(insert, row)
    return target.total_changes - before


def _rows(read: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[object, ...]]:
    whole = f"SELECT {columns} FROM {table}"  # noqa: S608 - as above
    # Read up to the damage, then by ranges of ids around it. Rows that are read twice are inserted only once.
    with suppress(sqlite3.Error):
        yield from read.execute(whole)
        return
    with suppress(sqlite3.Error):  # The table may have no rowids, or its last row may be unreadable.
        last = read.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0  # noqa: S608 - as above
        yield from _readable_range(read, f"{whole} WHERE rowid BETWEEN ? AND ?", 1, last)


def _readable_range(read: sqlite3.Connection, sql: str, low: int, high: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows with ids from `low` to `high`, skipping unreadable ones."""
    if low > high:
        return
    try:
        yield from read.execute(sql, (low, high)).fetchall()
    except sqlite3.Error:
        if low < high:
            middle = (low + high) // 2
            yield from _readable_range(read, sql, low, middle)
            yield from _readable_range(read, sql, middle + 1, high)


def _tidy(target: sqlite3.Connection) -> None:
    """Remove rows whose parent is missing, and all chunks of a document if one of them has no vector.

    The app later makes new chunks from the text of documents without any (app/health.py).
    """
    while orphans := target.execute("PRAGMA foreign_key_check").fetchall():
        for table, rowid, *_ in orphans:
            if rowid is not None:
                target.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))  # noqa: S608 - our own table name
        if any(rowid is None for _, rowid, *_ in orphans):  # in a table without rowids
            target.execute("DELETE FROM chat_turns WHERE chat_id NOT IN (SELECT id FROM chats)")
            target.execute("DELETE FROM document_tags WHERE document_id NOT IN (SELECT id FROM documents)")
            target.execute("DELETE FROM folder_tags WHERE collection_id NOT IN (SELECT id FROM collections)")
    # A turn whose parent is lost now follows the last remaining turn before the lost one.
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


def rebuild_full_text(database: Database) -> int:
    """Rebuild the full-text index and the index of stems; return the number of chunks. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        connection.execute("DELETE FROM chunks_fts_stems")
        connection.execute("DELETE FROM document_languages")
        for row in connection.execute("SELECT id FROM documents").fetchall():
            full_text.index_stems(connection, row["id"])
        return int(database.value("SELECT count(*) FROM chunks"))
