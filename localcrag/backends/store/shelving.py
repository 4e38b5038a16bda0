"""Renaming, moving and deleting collections and documents. No model is needed: vectors go along."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from localcrag.backends.store import stem_index
from localcrag.backends.store.chunk_rows import COLUMNS
from localcrag.backends.store.database import Database
from localcrag.records.errors import EmbedderMismatch, NameRefused, UnknownCollection, UnknownDocument
from localcrag.text.titles import in_front, named

LONGEST_NAME = 100
_BY_NAME = ("collection_settings", "labels", "pins", "calibrations", "chats")
"""Tables that know a collection by its name; runs do too, in their record as well."""


def rename_collection(database: Database, old: str, new: str) -> None:
    """Give a collection another name, with everything that is kept under it. Raises NameRefused, UnknownCollection."""
    new = checked(new, "collection")
    with database.transaction() as connection:
        collection_row(connection, old)
        if new == old:
            return
        require_free(connection, new)
        connection.execute("UPDATE collections SET name = ? WHERE name = ?", (new, old))
        # What was once chosen for a collection of that name, which is gone, is not this one's.
        connection.execute("DELETE FROM collection_settings WHERE collection = ?", (new,))
        give_past(connection, old, new, _BY_NAME)


def give_past(
    connection: sqlite3.Connection, old: str, new: str, tables: Sequence[str] = ("labels", "pins", "chats")
) -> None:
    """Have questions that were asked of one collection, and what is kept by its name in these tables, be another's."""
    for table in tables:
        connection.execute(f"UPDATE {table} SET collection = ? WHERE collection = ?", (new, old))  # noqa: S608
    connection.execute(
        "UPDATE runs SET collection = ?1, record = json_set(record, '$.collection', ?1) WHERE collection = ?2",
        (new, old),
    )


def make_collection(
    connection: sqlite3.Connection, name: str, *, embedder: str, dimension: int, created_at: str
) -> str:
    """Make an empty collection of an embedder, and return its name. Raises NameRefused, also when there is one."""
    name = checked(name, "collection")
    require_free(connection, name)
    connection.execute("DELETE FROM collection_settings WHERE collection = ?", (name,))
    connection.execute(
        "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?)",
        (name, embedder, dimension, created_at),
    )
    return name


def require_free(connection: sqlite3.Connection, name: str) -> None:
    """Raise NameRefused where there is a collection of that name."""
    if connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).fetchone():
        raise NameRefused(f"There is a collection “{name}” already. Choose another name.")


def delete_collection(database: Database, name: str) -> None:
    """Remove a collection with its documents and what was chosen for it; chats, runs and labels stay.

    Raises UnknownCollection.
    """
    with database.transaction() as connection:
        connection.execute("DELETE FROM collections WHERE id = ?", (collection_row(connection, name)["id"],))
        connection.execute("DELETE FROM collection_settings WHERE collection = ?", (name,))
        connection.execute("DELETE FROM calibrations WHERE collection = ?", (name,))


def delete_attachments(connection: sqlite3.Connection, collection: int, name: str) -> int:
    """Remove the documents that came within another one, as a letter's attachments do; return how many there were."""
    within = f"{name}/"
    gone = connection.execute(
        "DELETE FROM documents WHERE collection_id = ? AND substr(name, 1, ?) = ?", (collection, len(within), within)
    )
    return gone.rowcount


def rename_document(database: Database, collection: str, old: str, new: str) -> None:
    """Give a document another name. Raises NameRefused, UnknownCollection and UnknownDocument."""
    new = checked(new, "document")
    with database.transaction() as connection:
        shelf = collection_row(connection, collection)["id"]
        if new == old:
            return
        if connection.execute("SELECT 1 FROM documents WHERE collection_id = ? AND name = ?", (shelf, new)).fetchone():
            raise name_taken(collection, new)
        changed = connection.execute(
            "UPDATE documents SET name = ? WHERE collection_id = ? AND name = ?", (new, shelf, old)
        )
        if not changed.rowcount:
            raise UnknownDocument(f"The collection “{collection}” has no document “{old}” any more.")
        search_by_name(connection, shelf, new)


def search_by_name(connection: sqlite3.Connection, shelf: int, name: str) -> None:
    """Have the chunks of a document that is called as its file is found by its new name."""
    for row in connection.execute(
        "SELECT c.id, c.text, c.section, c.lead, c.front FROM chunks c JOIN documents d ON d.id = c.document_id "
        "WHERE d.collection_id = ? AND d.name = ? AND d.title IS NULL",
        (shelf, name),
    ).fetchall():
        front = in_front(named(name), row["text"], section=row["section"], lead=row["lead"])
        delete = "INSERT INTO chunks_fts (chunks_fts, rowid, text, front) VALUES ('delete', ?, ?, ?)"
        connection.execute(delete, (row["id"], row["text"], row["front"]))
        connection.execute("UPDATE chunks SET front = ? WHERE id = ?", (front, row["id"]))
        insert = "INSERT INTO chunks_fts (rowid, text, front) VALUES (?, ?, ?)"
        connection.execute(insert, (row["id"], row["text"], front))
    sql = "SELECT id FROM documents WHERE collection_id = ? AND name = ?"
    stem_index.put(connection, connection.execute(sql, (shelf, name)).fetchone()["id"])


def move_documents(database: Database, names: Sequence[str], origin: str, target: str) -> None:
    """Put documents into another collection, all or none.

    Raises NameRefused, EmbedderMismatch when the other one was indexed with another embedder, UnknownCollection and
    UnknownDocument.
    """
    with database.transaction() as connection:
        old, new = collection_row(connection, origin), collection_row(connection, target)
        if (old["embedder"], old["dimension"]) != (new["embedder"], new["dimension"]):
            raise other_embedders(origin, old["embedder"], target, new["embedder"])
        for name in names:
            if connection.execute(
                "SELECT 1 FROM documents WHERE collection_id = ? AND name = ?", (new["id"], name)
            ).fetchone():
                raise name_taken(target, name)
            _move(connection, name, origin, old["id"], new["id"])


def _move(connection: sqlite3.Connection, name: str, origin: str, old: int, new: int) -> None:
    row = connection.execute("SELECT id FROM documents WHERE collection_id = ? AND name = ?", (old, name)).fetchone()
    if row is None:
        raise UnknownDocument(f"The collection “{origin}” has no document “{name}” any more.")
    connection.execute("UPDATE documents SET collection_id = ? WHERE id = ?", (new, row["id"]))
    # Under new ids: an index that has deleted an entry does not take it back.
    columns = f"{COLUMNS}, front"
    chunks = connection.execute(f"SELECT id, {columns} FROM chunks WHERE document_id = ?", (row["id"],))  # noqa: S608
    for chunk_id, *fields in chunks.fetchall():
        added = connection.execute(
            f"INSERT INTO chunks (document_id, {columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (row["id"], *fields),
        ).lastrowid
        connection.execute("UPDATE vectors SET chunk_id = ? WHERE chunk_id = ?", (added, chunk_id))
        connection.execute("DELETE FROM chunks WHERE id = ?", (chunk_id,))
    stem_index.put(connection, row["id"])


def collection_row(connection: sqlite3.Connection, name: str) -> sqlite3.Row:
    """Return what is known of a collection itself. Raises UnknownCollection."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM collections WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise UnknownCollection(f"There is no collection “{name}” any more. Choose another from the list.")
    return row


def other_embedders(origin: str, of_origin: str, target: str, of_target: str) -> EmbedderMismatch:
    """Return the error for two collections that different embedders have indexed."""
    return EmbedderMismatch(
        f"“{origin}” was indexed with {of_origin} and “{target}” with {of_target}: their vectors cannot be in one "
        f"collection. Embed one of them anew: localcrag ingest --re-embed --collection {target}"
    )


def name_taken(collection: str, name: str) -> NameRefused:
    """Return the error for a name that a document of a collection has already."""
    return NameRefused(f"The collection “{collection}” has a document “{name}” already. Choose another name.")


def checked(name: str, what: str) -> str:
    """Return a name without needless spaces. Raises NameRefused when it is empty or too long."""
    name = " ".join(name.split())
    if not name:
        raise NameRefused(f"A {what} needs a name. Write one.")
    if len(name) > LONGEST_NAME and what == "collection":
        raise NameRefused(f"The name has {len(name)} characters; {LONGEST_NAME} are the most. Shorten it.")
    return name
