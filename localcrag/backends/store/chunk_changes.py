"""What became of a collection's chunks since a vector index looked, without reading all ids."""

from __future__ import annotations

import sqlite3

from localcrag.backends.store.database import Database

Changes = tuple[set[int], set[int]]
"""The ids of chunks that came, some of which may have been there before, and of those that went."""
State = tuple[int, int]
"""The newest change, and the highest id of any chunk. Ids only grow: what was put since is above the one, and what left
or moved (by the triggers of schema.py) above the other."""
KEPT = 100_000
"""Changes: an index that lacks more reads all ids."""


def state(database: Database) -> State:
    """Return how things stand now: no two different sets of chunks have had the same. Raises StoreError."""
    newest, highest = database.rows(
        "SELECT (SELECT coalesce(max(number), 0) FROM chunk_changes), (SELECT coalesce(max(id), 0) FROM chunks)"
    )[0]
    return newest, highest


class Count:
    """How many chunks a collection has, counted anew when any came or went: a question says on how many it rests."""

    def __init__(self, database: Database, collection: int) -> None:
        self._database, self._collection = database, collection
        self._counted: tuple[State, int] | None = None

    def __call__(self) -> int:
        """Return the number. Raises StoreError."""
        now = state(self._database)
        if self._counted is None or self._counted[0] != now:
            sql = "SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ?"
            self._counted = now, int(self._database.rows(sql, self._collection)[0][0])
        return self._counted[1]


def since(database: Database, collection: int, before: State) -> Changes | None:
    """Return what came to a collection and went after a state. Raises StoreError.

    None where it is not known any more: the state is too old, or of a database that this one was put in the place of.
    """
    number, highest = before
    newest, oldest = database.rows("SELECT max(number), min(number) FROM chunk_changes")[0]
    if (newest or 0) < number or (oldest or 0) > number + 1:
        return None
    changed = "SELECT chunk_id FROM chunk_changes WHERE number > ?2 AND collection_id = ?1"
    there = "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ?1 AND c.id"
    came = {row[0] for row in database.rows(f"{there} > ?2", collection, highest)}
    came |= {row[0] for row in database.rows(f"{there} IN ({changed})", collection, number)}
    return came, {row[0] for row in database.rows(changed, collection, number)} - came


def prune(connection: sqlite3.Connection) -> None:
    """Remove all but the newest changes."""
    connection.execute("DELETE FROM chunk_changes WHERE number <= (SELECT max(number) FROM chunk_changes) - ?", (KEPT,))
