"""What collections hold, by name: documents and their texts. Needs no embedder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from localcrag.backends.store.database import Database
from localcrag.backends.store.shown_collections import SHOWN
from localcrag.records.documents import Document
from localcrag.records.errors import EmbedderMismatch, UnknownCollection, UnknownDocument

DOCUMENT = """
SELECT d.id, d.name, d.sha256, d.media_type, d.pages, d.characters, d.added_at, d.dated,
       (SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks,
       (SELECT l.language FROM document_languages l WHERE l.document_id = d.id) AS language,
       (SELECT count(*) FROM scans s WHERE s.document_id = d.id AND s.read IS NULL AND s.error IS NULL) AS waiting,
       (SELECT count(*) FROM scans s WHERE s.document_id = d.id AND s.read IS NOT NULL) AS recognised,
       (SELECT count(*) FROM scans s WHERE s.document_id = d.id AND s.error IS NOT NULL) AS illegible,
       (SELECT avg(s.confidence) FROM scans s WHERE s.document_id = d.id) AS confidence,
       (SELECT json_group_array(tag) FROM (
            SELECT t.tag FROM document_tags t WHERE t.document_id = d.id
            UNION SELECT f.tag FROM folder_tags f WHERE f.collection_id = d.collection_id
            AND substr(d.name, 1, length(f.folder) + 1) = f.folder || '/' ORDER BY 1
       )) AS tags
FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ?
"""
"""Ends in a condition, so that others can follow."""


def documents_of(database: Database, collection: str) -> list[Document]:
    """Return a collection's documents, by name; none when there is no such collection."""
    return [document_from(row) for row in database.rows(DOCUMENT + " ORDER BY d.name", collection)]


def document_from(row: sqlite3.Row) -> Document:
    """Return the document of a row of `DOCUMENT`."""
    return Document(**{**dict(row), "tags": tuple(json.loads(row["tags"]))})


def texts_of(database: Database, collection: str) -> dict[str, str]:
    """Return the text of a collection's documents, by name."""
    rows = database.rows(
        "SELECT d.name, d.text FROM documents d JOIN collections c ON c.id = d.collection_id WHERE c.name = ?",
        collection,
    )
    return {row["name"]: row["text"] for row in rows}


def text_of(database: Database, collection: str, name: str) -> str:
    """Return a document's text. Raises UnknownDocument."""
    rows = database.rows(
        "SELECT d.text FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? AND d.name = ?",
        collection,
        name,
    )
    if not rows:
        raise UnknownDocument(f"The collection “{collection}” has no document “{name}” any more.")
    text: str = rows[0]["text"]
    return text


def original_of(database: Database, collection: str, name: str) -> bytes | None:
    """Return a document's file, if it was kept."""
    rows = database.rows(
        "SELECT o.data FROM originals o JOIN documents d ON d.id = o.document_id "
        "JOIN collections k ON k.id = d.collection_id WHERE k.name = ? AND d.name = ?",
        collection,
        name,
    )
    return rows[0]["data"] if rows else None


def collection_names(database: Database) -> list[str]:
    """Return the names of all collections that are whole."""
    sql = f"SELECT k.name FROM collections k WHERE {SHOWN} ORDER BY k.name"  # noqa: S608 - ours
    return [row["name"] for row in database.rows(sql)]


def number_of(database: Database, name: str) -> int:
    """Return the id of a collection. Raises UnknownCollection."""
    rows = database.rows("SELECT id FROM collections WHERE name = ?", name)
    if not rows:
        raise UnknownCollection(f"There is no collection “{name}” any more. Choose another from the list.")
    return int(rows[0]["id"])


def of_other_embedders(database: Database, embedder: str) -> list[str]:
    """Return the names of the collections that another embedder than this one has indexed."""
    sql = f"SELECT k.name FROM collections k WHERE k.embedder != ? AND {SHOWN} ORDER BY k.name"  # noqa: S608 - ours
    return [row["name"] for row in database.rows(sql, embedder)]


def has_a_past(database: Database, name: str) -> bool:
    """Whether questions were asked, labelled or pinned in a collection of that name, which may be gone."""
    sql = """
    SELECT 1 FROM runs WHERE collection = ?1 UNION SELECT 1 FROM labels WHERE collection = ?1
    UNION SELECT 1 FROM pins WHERE collection = ?1
    """
    return bool(database.rows(sql, name))


def require_collection(database: Database, name: str) -> None:
    """Raise UnknownCollection, with the names there are, when there is no collection `name`."""
    names = collection_names(database)
    if name not in names:
        there = ", ".join(names) if names else "none yet"
        raise UnknownCollection(
            f"There is no collection “{name}” (there are: {there}). Put documents into it first: "
            f"localcrag ingest PATH --collection {name}"
        )


def embedder_mismatch(
    name: str, there: Mapping[str, Any] | sqlite3.Row, embedder: str, dimension: int
) -> EmbedderMismatch:
    """Return the error for a collection, of which `there` is the row, that another embedder has indexed."""
    return EmbedderMismatch(
        f"The collection “{name}” was indexed with {there['embedder']} ({there['dimension']} dimensions), but the "
        f"embedder in use is {embedder} ({dimension}). Either go back to the former one (localcrag models use NAME), "
        f"or embed the collection anew: localcrag ingest --re-embed --collection {name}"
    )


def no_document(collection: str, name: str) -> UnknownDocument:
    """Return the error for a document that a collection does not have."""
    return UnknownDocument(
        f"The collection “{collection}” has no document “{name}”. "
        f"localcrag documents --collection {collection} lists what it has; the name of a folder ends with “/”."
    )
