"""Tags: words by which documents are chosen, given to one document or to all that lie in a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from localcrag.backends.store.database import Database
from localcrag.records.errors import NameRefused, UnknownCollection, UnknownDocument

LONGEST_TAG = 50
_ID = "SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? AND d.name = ?"


def tag(database: Database, collection: str, names: Sequence[str], tags: Sequence[str]) -> None:
    """Give tags to documents; a name that ends with "/" is a folder: all that lie in it now or later have them.

    All or none. Raises NameRefused, UnknownCollection, UnknownDocument and StoreError.
    """
    words = [_checked(one) for one in tags]
    with database.transaction() as connection:
        for name in names:
            for word in words:
                if name.endswith("/"):
                    shelf = _collection(connection, collection)
                    sql = "INSERT OR IGNORE INTO folder_tags VALUES (?, ?, ?)"
                    connection.execute(sql, (shelf, _folder(connection, shelf, name), word))
                else:
                    sql = "INSERT OR IGNORE INTO document_tags VALUES (?, ?)"
                    connection.execute(sql, (_document(connection, collection, name), word))


def untag(database: Database, collection: str, names: Sequence[str], tags: Sequence[str]) -> None:
    """Take tags from documents, or from folders as `tag` names them; a tag of its folder stays with a document.

    Raises UnknownCollection, UnknownDocument and StoreError.
    """
    with database.transaction() as connection:
        for name in names:
            for word in tags:
                if name.endswith("/"):
                    sql = "DELETE FROM folder_tags WHERE collection_id = ? AND folder = ? AND tag = ? COLLATE NOCASE"
                    connection.execute(sql, (_collection(connection, collection), name.rstrip("/"), word))
                else:
                    sql = "DELETE FROM document_tags WHERE document_id = ? AND tag = ? COLLATE NOCASE"
                    connection.execute(sql, (_document(connection, collection, name), word))


def folder_tags(database: Database, collection: str) -> dict[str, list[str]]:
    """Return the tags of a collection's folders, both in order."""
    tags: dict[str, list[str]] = {}
    for row in database.rows(
        "SELECT f.folder, f.tag FROM folder_tags f JOIN collections k ON k.id = f.collection_id WHERE k.name = ? "
        "ORDER BY f.folder, f.tag",
        collection,
    ):
        tags.setdefault(row["folder"], []).append(row["tag"])
    return tags


def tags_of(connection: sqlite3.Connection, shelf: int, name: str) -> list[str]:
    """Return a document's own tags."""
    sql = (
        "SELECT t.tag FROM document_tags t JOIN documents d ON d.id = t.document_id "
        "WHERE d.collection_id = ? AND d.name = ?"
    )
    return [row["tag"] for row in connection.execute(sql, (shelf, name))]


def put(connection: sqlite3.Connection, document_id: int, tags: Iterable[str]) -> None:
    """Give tags to a document that has none."""
    connection.executemany("INSERT INTO document_tags VALUES (?, ?)", [(document_id, one) for one in tags])


def _checked(word: str) -> str:
    word = " ".join(word.split()).lstrip("#")
    if not word:
        raise NameRefused("A tag needs a name. Write one.")
    if len(word) > LONGEST_TAG:
        raise NameRefused(f"The tag has {len(word)} characters; {LONGEST_TAG} are the most. Shorten it.")
    if "*" in word or "," in word:
        raise NameRefused(f"The tag “{word}” has a * or a comma, which part and stand for tags. Leave them out.")
    return word


def _collection(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise UnknownCollection(f"There is no collection “{name}” any more. Choose another from the list.")
    return int(row["id"])


def _document(connection: sqlite3.Connection, collection: str, name: str) -> int:
    row = connection.execute(_ID, (collection, name)).fetchone()
    if row is None:
        raise UnknownDocument(
            f"The collection “{collection}” has no document “{name}”. localcrag documents --collection {collection} "
            "lists what it has; the name of a folder ends with “/”."
        )
    return int(row["id"])


def _folder(connection: sqlite3.Connection, shelf: int, name: str) -> str:
    folder = name.rstrip("/")
    sql = "SELECT 1 FROM documents WHERE collection_id = ? AND substr(name, 1, ?) = ?"
    if not connection.execute(sql, (shelf, len(folder) + 1, f"{folder}/")).fetchone():
        raise UnknownDocument(f"No document lies in a folder “{name}”. Add the folder first: localcrag ingest PATH")
    return folder
