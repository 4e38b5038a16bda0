"""A collection's documents in PostgreSQL, as they are listed."""

from __future__ import annotations

import json

from localcrag.backends.postgres.connection import PostgresDatabase, Row
from localcrag.records.documents import Document
from localcrag.records.errors import UnknownCollection

_OWN = "collection_id = d.collection_id AND document_id = d.id"
DOCUMENT = f"""
SELECT d.id, d.name, d.sha256, d.media_type, d.pages, d.characters, d.added_at, d.dated,
       (SELECT count(*) FROM localcrag.chunks WHERE {_OWN}) AS chunks, d.language, s.waiting, s.recognised, s.illegible,
       s.confidence,
       (SELECT coalesce(json_agg(tag ORDER BY tag COLLATE "C"), '[]')::text FROM (
            SELECT tag FROM localcrag.document_tags WHERE {_OWN}
            UNION SELECT f.tag FROM localcrag.folder_tags f WHERE f.collection_id = d.collection_id
            AND starts_with(d.name, f.folder || '/')
       ) t) AS tags
FROM localcrag.documents d CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE read IS NULL AND error IS NULL) AS waiting,
           count(*) FILTER (WHERE read IS NOT NULL) AS recognised,
           count(*) FILTER (WHERE error IS NOT NULL) AS illegible, avg(confidence) AS confidence
    FROM localcrag.scans WHERE {_OWN}
) s WHERE d.collection_id = :collection
"""
"""Ends in a condition, so that others can follow."""

NAMES_AND_TITLES = "SELECT id, name, title FROM localcrag.documents WHERE collection_id = :collection"
"""The query for the rows that stored_vectors.titles_of needs; ends in a condition as well."""


def collection_row(database: PostgresDatabase, collection: int, name: str) -> Row:
    """Return what is known of a collection, which is called so here. Raises UnknownCollection and StoreError."""
    rows = database.rows("SELECT * FROM localcrag.collections WHERE id = :id", id=collection)
    if not rows:
        raise UnknownCollection(f"There is no collection “{name}” at {database.address.at} any more.")
    return rows[0]


def document_from(row: Row) -> Document:
    """Return the document of a row of `DOCUMENT`."""
    return Document(**{**row, "tags": tuple(json.loads(row["tags"]))})
