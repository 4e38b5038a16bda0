"""Tags: words by which documents are chosen, given to one document or to all that lie in a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from localcrag.backends.store.collection_queries import no_document
from localcrag.backends.store.database import Database
from localcrag.backends.store.shelving import checked, collection_row
from localcrag.records.errors import NameRefused, UnknownDocument

LONGEST_TAG = 50
_ID = "SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? AND d.name = ?"


def tag(database: Database, collection: str, names: Sequence[str], tags: Sequence[str]) -> None:
    """Give tags to documents; a name that ends with "/" is a folder: all that lie in it now or later have them.

    All or none. Raises NameRefused, UnknownCollection, UnknownDocument and StoreError.
    """
    words = [checked_tag(one) for one in tags]
    with database.transaction() as connection:
        for name in names if words else ():
            if name.endswith("/"):
                folder = _folder(connection, collection, name)
                sql = "INSERT OR IGNORE INTO folder_tags VALUES (?, ?, ?)"
                connection.executemany(sql, [(*folder, word) for word in words])
            else:
                document = _document(connection, collection, name)
                sql = "INSERT OR IGNORE INTO document_tags VALUES (?, ?)"
                connection.executemany(sql, [(document, word) for word in words])


def untag(database: Database, collection: str, names: Sequence[str], tags: Sequence[str]) -> None:
    """Take tags from documents, or from folders as `tag` names them; a tag of its folder stays with a document.

    Raises UnknownCollection, UnknownDocument and StoreError.
    """
    with database.transaction() as connection:
        for name in names if tags else ():
            if name.endswith("/"):
                shelf = collection_row(connection, collection)["id"]
                sql = "DELETE FROM folder_tags WHERE collection_id = ? AND folder = ? AND tag = ? COLLATE NOCASE"
                connection.executemany(sql, [(shelf, name.rstrip("/"), word) for word in tags])
            else:
                document = _document(connection, collection, name)
                sql = "DELETE FROM document_tags WHERE document_id = ? AND tag = ? COLLATE NOCASE"
                connection.executemany(sql, [(document, word) for word in tags])


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


def no_folder(name: str) -> UnknownDocument:
    """Return the error for a folder that no document of a collection lies in."""
    return UnknownDocument(f"No document lies in a folder “{name}”. Add the folder first: localcrag ingest PATH")


def checked_tag(word: str) -> str:
    """Return a tag as it is kept. Raises NameRefused."""
    word = checked(" ".join(word.split()).lstrip("#"), "tag")
    if len(word) > LONGEST_TAG:
        raise NameRefused(f"The tag has {len(word)} characters; {LONGEST_TAG} are the most. Shorten it.")
    if "*" in word or "," in word:
        raise NameRefused(f"The tag “{word}” has a * or a comma, which part and stand for tags. Leave them out.")
    return word


def _document(connection: sqlite3.Connection, collection: str, name: str) -> int:
    row = connection.execute(_ID, (collection, name)).fetchone()
    if row is None:
        raise no_document(collection, name)
    return int(row["id"])


def _folder(connection: sqlite3.Connection, collection: str, name: str) -> tuple[int, str]:
    """Return a collection's id, and the name of a folder of it without the slash at its end."""
    shelf, folder = collection_row(connection, collection)["id"], name.rstrip("/")
    sql = "SELECT 1 FROM documents WHERE collection_id = ? AND substr(name, 1, ?) = ?"
    if not connection.execute(sql, (shelf, len(folder) + 1, f"{folder}/")).fetchone():
        raise no_folder(name)
    return shelf, folder
