"""Vectors in SQLite: their packing, the texts that they are made of, replacing them on re-embedding."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from localcrag.backends.store.database import Database
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors
from localcrag.text.titles import in_context, named

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
