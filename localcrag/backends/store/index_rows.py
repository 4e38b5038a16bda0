"""What the database knows of a collection's vector index file: which it is, and what was in it."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.backends.store import chunk_changes
from localcrag.backends.store.database import Database
from localcrag.records.errors import IndexFileError, StoreError


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index file that was written, and which of its chunks are gone since."""

    name: str
    fingerprint: str
    """As index_file.fingerprint says it."""
    rows: int
    state: chunk_changes.State
    """Of the chunks, when what it holds, without `gone`, was what the collection had."""
    gone: bytes
    """Rows of chunks that were deleted, as little-endian int32."""


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
        chunk_changes.prune(connection)
    return before["name"] if before else None
