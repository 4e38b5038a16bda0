"""Chunks as rows of the database, with their vectors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from localcrag.records.documents import Chunk, StoredChunk
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors
from localcrag.storage.collections import full_text
from localcrag.storage.database import Database
from localcrag.text.places import SheetRow
from localcrag.text.titles import in_context, in_front, named

NAMES_AND_TITLES = "SELECT d.id, d.name, d.title FROM documents d"
"""The query for the rows that `titles_of` needs; a condition can follow."""


def chunk_texts(database: Database, collection: str) -> list[tuple[int, str]]:
    """Return id and text of a collection's chunks as they are embedded, shortest first. Needs no embedder."""
    rows = database.rows(
        "SELECT c.id, c.text, c.section, c.lead, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id "
        "JOIN collections k ON k.id = d.collection_id WHERE k.name = ?",
        collection,
    )
    # What is deleted between the two has no title, and replace_vectors refuses what was made of it.
    titles = titles_of(
        database.rows(f"{NAMES_AND_TITLES} JOIN collections k ON k.id = d.collection_id WHERE k.name = ?", collection)
    )
    return sorted(_in_context(rows, titles).items(), key=lambda text: len(text[1]))


def embedded_texts(database: Database, document: int) -> dict[int, str]:
    """Return the texts that the vectors of a document's chunks were made of, by chunk."""
    rows = database.rows("SELECT id, text, section, lead, document_id FROM chunks WHERE document_id = ?", document)
    return _in_context(rows, titles_of(database.rows(f"{NAMES_AND_TITLES} WHERE d.id = ?", document)))


def _in_context(rows: Iterable[sqlite3.Row], titles: Mapping[int, str]) -> dict[int, str]:
    """Return the texts of chunks as they are embedded, by chunk."""
    return {
        row["id"]: in_context(titles.get(row["document_id"]), row["text"], section=row["section"], lead=row["lead"])
        for row in rows
    }


def replace_vectors(
    database: Database, collection: str, *, embedder: str, dimension: int, vectors: dict[int, Vectors]
) -> None:
    """Replace the vectors of a collection's chunks by those of another embedder, in one transaction.

    Raises StoreError when the chunks are no longer those that were embedded; then nothing has changed.
    """
    with database.transaction() as connection:
        now = connection.execute(
            "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id "
            "JOIN collections k ON k.id = d.collection_id WHERE k.name = ?",
            (collection,),
        )
        if {row["id"] for row in now} != set(vectors):
            raise StoreError(
                f"The collection “{collection}” changed while it was embedded anew, so nothing was changed. "
                "Wait until no other localcrag takes documents in, and try again."
            )
        connection.executemany(
            "UPDATE vectors SET vector = ? WHERE chunk_id = ?",
            [(packed(vector), chunk_id) for chunk_id, vector in vectors.items()],
        )
        connection.execute(
            "UPDATE collections SET embedder = ?, dimension = ? WHERE name = ?", (embedder, dimension, collection)
        )
        connection.execute(
            "DELETE FROM index_files WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", (collection,)
        )


def titles_of(rows: Iterable[sqlite3.Row | Mapping[str, Any]]) -> dict[int, str]:
    """Return the titles of documents, by id, from rows of NAMES_AND_TITLES."""
    return {row["id"]: row["title"] or named(row["name"]) for row in rows}


def packed(vector: Vectors) -> bytes:
    """Return a vector as it is stored: little-endian float32."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


COLUMNS = 'page, start, "end", text, section, lead, confidence, rows'
"""Of a chunk, in the order of its fields."""


def with_front(title: str | None, chunks: Sequence[Chunk], vectors: Vectors) -> list[StoredChunk]:
    """Return chunks with what stands in front of them in a document of this title, and their vectors, a row each."""
    return [
        StoredChunk(chunk, in_front(title, chunk.text, section=chunk.section, lead=chunk.lead), packed(vector))
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]


def put_chunks(connection: sqlite3.Connection, document: int, chunks: Sequence[StoredChunk]) -> None:
    """Add chunks to a document, and have all of its chunks found by their words."""
    for stored in chunks:
        chunk = stored.chunk
        rows = [(row.start, row.sheet, row.number) for row in chunk.rows]
        chunk_id = connection.execute(
            f"INSERT INTO chunks (document_id, {COLUMNS}, front) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                *(document, chunk.page, chunk.start, chunk.end, chunk.text, chunk.section, chunk.lead),
                *(chunk.confidence, json.dumps(rows, ensure_ascii=False) if rows else None, stored.front),
            ),
        ).lastrowid
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (chunk_id, stored.vector))
    full_text.put(connection, document)


def chunk_from(row: sqlite3.Row | Mapping[str, Any]) -> Chunk:
    """Return the chunk of a row that has COLUMNS."""
    rows = tuple(SheetRow(*one) for one in json.loads(row["rows"] or "[]"))
    known = (row["section"], row["lead"], row["confidence"])
    return Chunk(row["page"], row["start"], row["end"], row["text"], *known, rows)


def own_title(title: str | None, name: str) -> str | None:
    """Return a title to be kept, None where it is the name's: it changes with that."""
    return None if title == named(name) else title


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
