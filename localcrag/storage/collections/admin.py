"""Rename, move and delete collections and documents, and record which server holds a collection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from localcrag.records.errors import EmbedderMismatch, NameRefused, UnknownCollection, UnknownDocument
from localcrag.storage.collections import full_text
from localcrag.storage.collections.chunks import COLUMNS
from localcrag.storage.database import Database, now

LONGEST_NAME = 100
"""Maximum number of characters of a collection's name."""
_HOMES = "FROM collection_homes h JOIN collections k ON k.id = h.collection_id"
_TABLES_BY_NAME = ("collection_settings", "labels", "pins", "calibrations", "chats")
"""Tables that refer to a collection by its name. Runs do, too, and repeat the name in their record."""


def rename_collection(database: Database, old: str, new: str) -> None:
    """Rename a collection and everything stored under its name. Raises NameRefused and UnknownCollection."""
    new = normalised_name(new, "collection")
    with database.transaction() as connection:
        collection_row(database, old)
        if new == old:
            return
        require_unused_name(database, new)
        connection.execute("UPDATE collections SET name = ? WHERE name = ?", (new, old))
        # A new collection must not inherit the settings of a deleted collection with the same name.
        connection.execute("DELETE FROM collection_settings WHERE collection = ?", (new,))
        reassign_history(database, old, new, _TABLES_BY_NAME)


def reassign_history(
    database: Database, old: str, new: str, tables: Sequence[str] = ("labels", "pins", "chats")
) -> None:
    """Assign the runs of the collection `old`, and its rows in these tables, to the collection `new`."""
    with database.transaction():
        for table in tables:
            database.run(f"UPDATE {table} SET collection = ? WHERE collection = ?", new, old)  # noqa: S608
        sql = "UPDATE runs SET collection = ?1, record = json_set(record, '$.collection', ?1) WHERE collection = ?2"
        database.run(sql, new, old)


def require_unused_name(database: Database, name: str) -> None:
    """Raise NameRefused if a collection of that name exists."""
    if database.rows("SELECT 1 FROM collections WHERE name = ?", name):
        raise NameRefused(f"The collection “{name}” already exists. Choose another name.")


def delete_collection(database: Database, name: str) -> None:
    """Remove a collection with its documents, settings and calibrations; chats, runs and labels stay.

    Raises UnknownCollection.
    """
    with database.transaction() as connection:
        connection.execute("DELETE FROM collections WHERE id = ?", (collection_row(database, name)["id"],))
        connection.execute("DELETE FROM collection_settings WHERE collection = ?", (name,))
        connection.execute("DELETE FROM calibrations WHERE collection = ?", (name,))


def move_documents(database: Database, names: Sequence[str], origin: str, target: str) -> None:
    """Move documents to another collection, all or none.

    Raises NameRefused, UnknownCollection, UnknownDocument, and EmbedderMismatch if the two collections were indexed
    with different embedding models.
    """
    with database.transaction() as connection:
        old, new = collection_row(database, origin), collection_row(database, target)
        if (old["embedder"], old["dimension"]) != (new["embedder"], new["dimension"]):
            raise embedders_differ(origin, old["embedder"], target, new["embedder"])
        for name in names:
            sql = "SELECT 1 FROM documents WHERE collection_id = ? AND name = ?"
            if connection.execute(sql, (new["id"], name)).fetchone():
                raise name_taken(target, name)
            sql = "UPDATE documents SET collection_id = ? WHERE collection_id = ? AND name = ? RETURNING id"
            document = connection.execute(sql, (new["id"], old["id"], name)).fetchone()
            if document is None:
                raise document_gone(origin, name)
            _renew_chunk_ids(connection, document["id"])


def _renew_chunk_ids(connection: sqlite3.Connection, document: int) -> None:
    """Give chunks new ids, because a vector index does not add an id again that it has marked as deleted."""
    columns = f"document_id, {COLUMNS}, front"
    for (chunk_id,) in connection.execute("SELECT id FROM chunks WHERE document_id = ?", (document,)).fetchall():
        insert = f"INSERT INTO chunks ({columns}) SELECT {columns} FROM chunks WHERE id = ?"  # noqa: S608 - our columns
        added = connection.execute(insert, (chunk_id,)).lastrowid
        # Before the chunk is deleted: the deletion would cascade to its vector.
        connection.execute("UPDATE vectors SET chunk_id = ? WHERE chunk_id = ?", (added, chunk_id))
        connection.execute("DELETE FROM chunks WHERE id = ?", (chunk_id,))
    full_text.index_stems(connection, document)


def collection_row(database: Database, name: str) -> sqlite3.Row:
    """Return a collection's row. Raises UnknownCollection."""
    for row in database.rows("SELECT * FROM collections WHERE name = ?", name):
        return row
    raise UnknownCollection(f"There is no collection “{name}” any more. Choose another from the list.")


def embedders_differ(origin: str, origin_embedder: str, target: str, target_embedder: str) -> EmbedderMismatch:
    """Return the error for two collections that were indexed with different embedding models."""
    return EmbedderMismatch(
        f"“{origin}” was indexed with {origin_embedder} and “{target}” with {target_embedder}: their vectors cannot be "
        f"in one collection. Embed one of them anew: localcrag ingest --re-embed --collection {target}"
    )


def document_gone(collection: str, name: str) -> UnknownDocument:
    """Return the error for a document that was there and is gone."""
    return UnknownDocument(f"The collection “{collection}” has no document “{name}” any more.")


def name_taken(collection: str, name: str) -> NameRefused:
    """Return the error for a name that another document of the collection already has."""
    return NameRefused(f"The collection “{collection}” already has a document “{name}”. Choose another name.")


def normalised_name(name: str, what: str) -> str:
    """Return a name without needless spaces. Raises NameRefused if it is empty, or too long for a collection."""
    name = " ".join(name.split())
    if not name:
        raise NameRefused(f"A {what} needs a name. Enter a name.")
    if len(name) > LONGEST_NAME and what == "collection":
        raise NameRefused(f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed. Shorten it.")
    return name


class MoveState(StrEnum):
    """Stage of a move to or from a server.

    The documents are in this database while the collection is ARRIVING, on the server while it is THERE, and back in
    this database while it is LEAVING.
    """

    ARRIVING = "arriving"
    THERE = "there"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class ServerLocation:
    """A server's database (its address without a password), the collection's id there, and the stage of its move."""

    address: str
    number: int
    state: MoveState


def server_location(database: Database, collection: str) -> ServerLocation | None:
    """Return the server of a collection, or None if it is in this database and is not moving. Raises StoreError."""
    rows = database.rows(f"SELECT h.* {_HOMES} WHERE k.name = ?", collection)
    return ServerLocation(rows[0]["address"], rows[0]["number"], MoveState(rows[0]["state"])) if rows else None


def names_on_servers(database: Database) -> list[str]:
    """Return the names of the collections that are on a server. Raises StoreError."""
    return database.column(f"SELECT k.name {_HOMES} WHERE h.state = ? ORDER BY k.name", MoveState.THERE)


def server_addresses(database: Database) -> list[tuple[str, str]]:
    """Return the name and server address of each collection that is on a server or moving. Raises StoreError."""
    rows = database.rows(f"SELECT k.name, h.address {_HOMES} ORDER BY k.name")
    return [(row["name"], row["address"]) for row in rows]


def set_server_location(
    database: Database, collection: str, location: ServerLocation | None, embedding: tuple[str, int] | None = None
) -> None:
    """Record a collection's server (None: only here), and its embedding model and dimension if given.

    If the move to the server is complete, the local documents are removed. Raises StoreError.
    """
    with database.transaction() as connection:
        number = collection_row(database, collection)["id"]
        connection.execute("DELETE FROM collection_homes WHERE collection_id = ?", (number,))
        if location:
            sql = "INSERT INTO collection_homes VALUES (?, ?, ?, ?)"
            connection.execute(sql, (number, location.address, location.number, location.state))
            if location.state is MoveState.THERE:
                for table in ("documents", "folder_tags", "index_files"):
                    connection.execute(f"DELETE FROM {table} WHERE collection_id = ?", (number,))  # noqa: S608
        if embedding:
            connection.execute("UPDATE collections SET embedder = ?, dimension = ? WHERE id = ?", (*embedding, number))


def add_server_collection(
    database: Database, collection: str, location: ServerLocation, *, embedder: str, dimension: int
) -> None:
    """Add a collection that is already on a server. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?)",
            (collection, embedder, dimension, now()),
        )
        set_server_location(database, collection, location)
