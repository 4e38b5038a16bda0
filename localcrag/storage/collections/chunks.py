"""Chunks and their vectors as rows of the database, and re-indexing with another embedding model.

While a collection is re-indexed, its new vectors are collected in the table `new_vectors`; searches use the old vectors
until the new ones are complete.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from localcrag.records.documents import Chunk, StoredChunk
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors
from localcrag.storage.database import Database
from localcrag.text.places import SheetRow
from localcrag.text.titles import passage_context, title_from_name, with_context

_COLLECTION_FILTER = (
    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id JOIN collections k ON k.id = d.collection_id "
    "WHERE k.name = ?"
)


def texts_in_context(rows: Iterable[sqlite3.Row | Mapping[str, Any]], titles: Mapping[int, str]) -> dict[int, str]:
    """Return the texts to embed, by chunk id."""
    return {
        row["id"]: with_context(titles.get(row["document_id"]), row["text"], section=row["section"], lead=row["lead"])
        for row in rows
    }


def concurrent_change_error(collection: str) -> StoreError:
    """Return the error for a collection whose chunks are not those that new vectors were computed for."""
    return StoreError(
        f"The collection “{collection}” changed while it was being re-indexed. Its index was not replaced. Wait until "
        "no other localcrag adds documents, and try again."
    )


def titles_of(rows: Iterable[sqlite3.Row | Mapping[str, Any]]) -> dict[int, str]:
    """Return the titles of documents, by id, from rows with `id`, `name` and `title`."""
    return {row["id"]: row["title"] or title_from_name(row["name"]) for row in rows}


def vector_bytes(vector: Vectors) -> bytes:
    """Return a vector as it is stored: little-endian float32."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


COLUMNS = 'page, start, "end", text, section, lead, confidence, rows'
"""Columns of a chunk, in the order of its fields."""


def stored_chunks(title: str | None, chunks: Sequence[Chunk], vectors: Vectors) -> list[StoredChunk]:
    """Return chunks with their vectors and the headings to search in front of them; `vectors` has a row per chunk."""
    return [
        StoredChunk(
            chunk, passage_context(title, chunk.text, section=chunk.section, lead=chunk.lead), vector_bytes(vector)
        )
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]


def chunk_values(chunk: Chunk) -> tuple[object, ...]:
    """Return the values of COLUMNS for a chunk."""
    rows = [(row.start, row.sheet, row.number) for row in chunk.rows]
    texts = (chunk.text, chunk.section, chunk.lead, chunk.confidence)
    return (chunk.page, chunk.start, chunk.end, *texts, json.dumps(rows, ensure_ascii=False) if rows else None)


def chunk_from(row: sqlite3.Row | Mapping[str, Any]) -> Chunk:
    """Return the chunk of a row with COLUMNS."""
    rows = tuple(SheetRow(*one) for one in json.loads(row["rows"] or "[]"))
    known = (row["section"], row["lead"], row["confidence"])
    return Chunk(row["page"], row["start"], row["end"], row["text"], *known, rows)


def title_to_store(title: str | None, name: str) -> str | None:
    """Return the title to store: None if it is made from the name, so that it changes with the name."""
    return None if title == title_from_name(name) else title


def discard_outdated(database: Database, collection: str, embedder: str) -> None:
    """Remove new vectors of a collection that were computed with another embedding model. Raises StoreError."""
    sql = f"DELETE FROM new_vectors WHERE embedder != ? AND chunk_id IN ({_COLLECTION_FILTER})"  # noqa: S608 - our own SQL
    database.run(sql, embedder, collection)


def interrupted_collections(database: Database) -> list[str]:
    """Return the collections with new vectors, because their re-indexing was interrupted. Raises StoreError."""
    return database.column(
        "SELECT name FROM collections k WHERE EXISTS (SELECT 1 FROM new_vectors n JOIN chunks c ON c.id = n.chunk_id "
        "JOIN documents d ON d.id = c.document_id WHERE d.collection_id = k.id) ORDER BY name"
    )


def missing_vectors(database: Database, texts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return those of the given chunks, each an id and a text, that have no new vector."""
    finished = set(database.column("SELECT chunk_id FROM new_vectors"))
    return [one for one in texts if one[0] not in finished]


def add_new_vectors(database: Database, embedder: str, vectors: Mapping[int, Vectors]) -> None:
    """Store new vectors, for the chunks that still exist. Raises StoreError."""
    with database.transaction() as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO new_vectors SELECT id, ?2, ?3 FROM chunks WHERE id = ?1",
            [(chunk, embedder, vector_bytes(vector)) for chunk, vector in vectors.items()],
        )


def use_new_vectors(database: Database, collection: str, *, embedder: str, dimension: int) -> bool:
    """Replace the old vectors with the new ones, in one transaction, unless some are missing.

    Return whether they were replaced. Raises StoreError.
    """
    with database.transaction() as connection:
        missing = connection.execute(
            f"SELECT 1 FROM ({_COLLECTION_FILTER}) "  # noqa: S608
            "WHERE id NOT IN (SELECT chunk_id FROM new_vectors WHERE embedder = ?) LIMIT 1",
            (collection, embedder),
        ).fetchone()
        if missing:
            return False
        connection.execute(
            "UPDATE vectors SET vector = (SELECT n.vector FROM new_vectors n WHERE n.chunk_id = vectors.chunk_id) "  # noqa: S608
            f"WHERE chunk_id IN ({_COLLECTION_FILTER})",
            (collection,),
        )
        connection.execute(f"DELETE FROM new_vectors WHERE chunk_id IN ({_COLLECTION_FILTER})", (collection,))  # noqa: S608
        sql = "UPDATE collections SET embedder = ?, dimension = ? WHERE name = ?"
        connection.execute(sql, (embedder, dimension, collection))
        # The index files contain the old model's vectors.
        owner = "SELECT id FROM collections WHERE name = ?"
        connection.execute(f"DELETE FROM index_files WHERE collection_id = ({owner})", (collection,))  # noqa: S608
        return True
