"""Search by words in a collection's full text: chunks by BM25, and the documents that have a word."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from localcrag.backends.store.database import Database

MOST_CHUNKS = 2000
"""With a word; one that more chunks have tells no documents apart, and takes long to look up."""
_WORD = re.compile(r"\w+")


WITHIN = " AND (?2 IS NULL OR d.id IN (SELECT value FROM json_each(?2)))"
"""The end of a condition, of which the second value is what `ids` returns."""


def ids(within: Collection[int] | None) -> tuple[str | None]:
    """Return the ids of the documents to search as `WITHIN` takes them; None: all documents."""
    return (None if within is None else json.dumps(sorted(within)),)


def best_by_words(
    database: Database, collection: int, question: str, k: int, within: Collection[int] | None = None
) -> list[int]:
    """Return up to `k` chunk ids by BM25 (FTS5's, k1 = 1.2, b = 0.75), best first, of the documents `within`."""
    # Quoted words joined by OR: nothing in a question is taken for FTS5's query language.
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    if not words:
        return []
    sql = (
        "SELECT c.id FROM chunks_fts JOIN chunks c ON c.id = chunks_fts.rowid "
        "JOIN documents d ON d.id = c.document_id WHERE chunks_fts MATCH ?3 AND d.collection_id = ?1"
    )
    order = "ORDER BY bm25(chunks_fts), c.id LIMIT ?4"
    query = " OR ".join(f'"{word}"' for word in words)
    return [row["id"] for row in database.rows(f"{sql}{WITHIN} {order}", collection, *ids(within), query, k)]


def documents_with(database: Database, collection: int, word: str) -> frozenset[int] | None:
    """Return the ids of the collection's documents that have a word; None where more than MOST_CHUNKS have it."""
    phrase = " ".join(_WORD.findall(word))
    if not phrase:
        return frozenset()
    sql = (
        "SELECT document_id AS id, count(*) AS chunks FROM (SELECT c.document_id FROM chunks_fts "
        "JOIN chunks c ON c.id = chunks_fts.rowid JOIN documents d ON d.id = c.document_id "
        "WHERE chunks_fts MATCH ? AND d.collection_id = ? LIMIT ?) GROUP BY document_id"
    )
    rows = database.rows(sql, f'"{phrase}"', collection, MOST_CHUNKS + 1)
    return None if sum(row["chunks"] for row in rows) > MOST_CHUNKS else frozenset(row["id"] for row in rows)
