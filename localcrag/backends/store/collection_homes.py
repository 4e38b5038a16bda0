"""Which collections live in a PostgreSQL server, or are on their way there or back."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localcrag.backends.store import shelving
from localcrag.backends.store.database import Database


class HomeState(StrEnum):
    """How far a collection is: its documents are here while it arrives there, there, and here again when it leaves."""

    ARRIVING = "arriving"
    THERE = "there"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The address of a database, without a password, and the number that the collection has there."""

    address: str
    number: int
    state: HomeState


def of(database: Database, collection: str) -> Elsewhere | None:
    """Return where a collection is, None where it is here and is not moving. Raises StoreError."""
    rows = database.rows(
        "SELECT h.* FROM collection_homes h JOIN collections k ON k.id = h.collection_id WHERE k.name = ?", collection
    )
    return Elsewhere(rows[0]["address"], rows[0]["number"], HomeState(rows[0]["state"])) if rows else None


def there(database: Database) -> list[str]:
    """Return the names of the collections that live elsewhere. Raises StoreError."""
    rows = database.rows(
        "SELECT k.name FROM collection_homes h JOIN collections k ON k.id = h.collection_id WHERE h.state = ? "
        "ORDER BY k.name",
        HomeState.THERE,
    )
    return [row["name"] for row in rows]


def addresses(database: Database) -> list[tuple[str, str]]:
    """Return the collections on a server, and those on their way there or back, with its address. Raises StoreError."""
    rows = database.rows(
        "SELECT k.name, h.address FROM collection_homes h JOIN collections k ON k.id = h.collection_id ORDER BY k.name"
    )
    return [(row["name"], row["address"]) for row in rows]


def known(database: Database, collection: str) -> Mapping[str, Any]:
    """Return the row of a collection. Raises UnknownCollection and StoreError."""
    with database.transaction() as connection:
        return dict(shelving.collection_row(connection, collection))


def put(
    database: Database, collection: str, home: Elsewhere | None, embedder: str | None = None, dimension: int = 0
) -> None:
    """Remember where a collection is, None: here alone, and of which embedder its vectors are. Raises StoreError."""
    with database.transaction() as connection:
        put_in(connection, collection, home)
        if embedder:
            sql = "UPDATE collections SET embedder = ?, dimension = ? WHERE name = ?"
            connection.execute(sql, (embedder, dimension, collection))


def put_in(connection: sqlite3.Connection, collection: str, home: Elsewhere | None) -> None:
    """Do so within a transaction. What is here of a collection that is there is removed."""
    number = shelving.collection_row(connection, collection)["id"]
    connection.execute("DELETE FROM collection_homes WHERE collection_id = ?", (number,))
    if home is None:
        return
    sql = "INSERT INTO collection_homes VALUES (?, ?, ?, ?)"
    connection.execute(sql, (number, home.address, home.number, home.state))
    if home.state is HomeState.THERE:
        for table in ("documents", "folder_tags", "index_files"):
            connection.execute(f"DELETE FROM {table} WHERE collection_id = ?", (number,))  # noqa: S608 - a table of ours


def make(
    database: Database, collection: str, home: Elsewhere, *, embedder: str, dimension: int, created_at: str
) -> None:
    """Add a collection that lives elsewhere already. Raises StoreError."""
    with database.transaction() as connection:
        number = connection.execute(
            "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?)",
            (collection, embedder, dimension, created_at),
        ).lastrowid
        connection.execute(
            "INSERT INTO collection_homes VALUES (?, ?, ?, ?)", (number, home.address, home.number, home.state)
        )
