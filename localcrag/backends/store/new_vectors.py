"""Vectors of another embedder, kept beside those in use until a collection has all of them."""

from __future__ import annotations

from collections.abc import Mapping

from localcrag.backends.store.database import Database
from localcrag.backends.store.stored_vectors import chunk_texts, packed
from localcrag.records.protocols import Vectors

_OF_COLLECTION = (
    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id JOIN collections k ON k.id = d.collection_id "
    "WHERE k.name = ?"
)


def begin(database: Database, collection: str, embedder: str) -> None:
    """Forget what another embedder than this one had made for a collection. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute(
            f"DELETE FROM new_vectors WHERE embedder != ? AND chunk_id IN ({_OF_COLLECTION})",  # noqa: S608 - ours
            (embedder, collection),
        )


def begun(database: Database) -> list[str]:
    """Return the names of the collections that have some, in order: embedding them was stopped. Raises StoreError."""
    rows = database.rows(
        "SELECT name FROM collections k WHERE EXISTS (SELECT 1 FROM new_vectors n JOIN chunks c ON c.id = n.chunk_id "
        "JOIN documents d ON d.id = c.document_id WHERE d.collection_id = k.id) ORDER BY name"
    )
    return [row["name"] for row in rows]


def missing(database: Database, collection: str) -> tuple[list[tuple[int, str]], int]:
    """Return id and text of the chunks that have no new vector, shortest first, and how many chunks there are."""
    there = {row["chunk_id"] for row in database.rows("SELECT chunk_id FROM new_vectors")}
    texts = chunk_texts(database, collection)
    return [one for one in texts if one[0] not in there], len(texts)


def put(database: Database, embedder: str, vectors: Mapping[int, Vectors]) -> None:
    """Keep new vectors of chunks, of those that are still there. Raises StoreError."""
    with database.transaction() as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO new_vectors SELECT id, ?2, ?3 FROM chunks WHERE id = ?1",
            [(chunk, embedder, packed(vector)) for chunk, vector in vectors.items()],
        )


def take_over(database: Database, collection: str, *, embedder: str, dimension: int) -> bool:
    """Put the new vectors in the place of the old ones, in one transaction; do nothing where some are missing.

    Return whether that was done. Raises StoreError.
    """
    with database.transaction() as connection:
        lacking = connection.execute(
            f"SELECT 1 FROM ({_OF_COLLECTION}) WHERE id NOT IN (SELECT chunk_id FROM new_vectors WHERE embedder = ?) "  # noqa: S608
            "LIMIT 1",
            (collection, embedder),
        ).fetchone()
        if lacking:
            return False
        connection.execute(
            "UPDATE vectors SET vector = (SELECT n.vector FROM new_vectors n WHERE n.chunk_id = vectors.chunk_id) "  # noqa: S608
            f"WHERE chunk_id IN ({_OF_COLLECTION})",
            (collection,),
        )
        connection.execute(f"DELETE FROM new_vectors WHERE chunk_id IN ({_OF_COLLECTION})", (collection,))  # noqa: S608
        connection.execute(
            "UPDATE collections SET embedder = ?, dimension = ? WHERE name = ?", (embedder, dimension, collection)
        )
        connection.execute(
            "DELETE FROM index_files WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", (collection,)
        )
        return True
