"""Search by words in a collection's full text: chunks by BM25, and the documents that have a word."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from localcrag.backends.store import stem_index
from localcrag.backends.store.database import Database
from localcrag.text.words import is_function_word

MOST_CHUNKS = 2000
"""With a word; one that more chunks have tells no documents apart, and takes long to look up."""
MOST_SCORED = 5_000
"""Chunks that a question is compared with, as far as its words allow: each costs some µs, whether it is any good. Among
59,000 paragraphs the right one was found as often as among all that have a word (docs/measurements.md)."""
_WORD = re.compile(r"\w+")


WITHIN = " AND (?2 IS NULL OR d.id IN (SELECT value FROM json_each(?2)))"
"""The end of a condition, of which the second value is what `ids` returns."""


def ids(within: Collection[int] | None) -> tuple[str | None]:
    """Return the ids of the documents to search as `WITHIN` takes them; None: all documents."""
    return (None if within is None else json.dumps(sorted(within)),)


def best_by_words(
    database: Database, collection: int, question: str, k: int, within: Collection[int] | None = None
) -> list[int]:
    """Return up to `k` chunk ids by BM25 (FTS5's, k1 = 1.2, b = 0.75), best first, of the documents `within`.

    Documents in languages of `STEMMED` are searched by the stems of the question in these languages. In a collection so
    large that more than MOST_SCORED chunks have words of the question, those are compared that have its rare ones.
    """
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    if not words:
        return []
    stems = stem_index.all_stems(question, stem_index.stemmed_languages(database, collection))
    query, stemmed = _query(database, "chunks_fts", words), _query(database, "chunks_fts_stems", stems)
    if not stems and within is None and _is_alone(database, collection):
        # Whose chunk it is need not be looked up.
        sql = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY bm25(chunks_fts), rowid LIMIT ?"
        return [row["id"] for row in database.rows(sql, query, k)]
    found = _found("c.id, bm25({0}) AS score", stemmed)
    sql = f"SELECT id FROM ({found}) ORDER BY score, id LIMIT {int(k)}"  # noqa: S608 - a number, and texts of ours
    return [row["id"] for row in database.rows(sql, collection, *ids(within), query, *([stemmed] if stemmed else []))]


def _query(database: Database, index: str, words: Collection[str]) -> str:
    """Return the query for chunks that have any of these words.

    Where that would be too many, for those that have a rare one of them, or all the frequent ones, ranked by all of
    them. Quoted, nothing in a question is taken for FTS5's query language.
    """
    frequency = {word: _count(database, index, f'"{word}"') for word in words}
    if sum(frequency.values()) <= MOST_SCORED:
        return _any(words)
    known = sorted((word for word in words if frequency[word]), key=frequency.__getitem__)
    telling = [word for word in known if not is_function_word(word)] or known[:1]
    rare: list[str] = []
    for word in telling:
        if sum(map(frequency.__getitem__, rare)) + frequency[word] > MOST_SCORED:
            break
        rare.append(word)
    together = " AND ".join(f'"{word}"' for word in telling[len(rare) :])
    if not rare or not together:
        return _any(rare) or together
    if _count(database, index, together) <= MOST_SCORED:
        return f"({_any(rare)} OR ({together})) AND ({_any(telling)})"
    return f"({_any(rare)}) AND ({_any(telling)})"


def _any(words: Collection[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _count(database: Database, index: str, query: str) -> int:
    """Return how many chunks a query finds, one more than MOST_SCORED where it finds more."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT {MOST_SCORED + 1})"  # noqa: S608
    return int(database.rows(sql, query)[0][0])


def _is_alone(database: Database, collection: int) -> bool:
    """Return whether no other collection has documents."""
    sql = "SELECT 1 FROM documents WHERE collection_id < ?1 UNION ALL SELECT 1 FROM documents WHERE collection_id > ?1"
    return not database.rows(f"{sql} LIMIT 1", collection)


def documents_with(database: Database, collection: int, word: str) -> frozenset[int] | None:
    """Return the ids of the collection's documents that have a word; None where more than MOST_CHUNKS have it."""
    phrase = " ".join(_WORD.findall(word))
    if not phrase:
        return frozenset()
    stems = stem_index.phrases(word, stem_index.stemmed_languages(database, collection))
    found = _found("c.document_id", stems)
    sql = f"SELECT document_id AS id, count(*) AS chunks FROM ({found} LIMIT {MOST_CHUNKS + 1}) GROUP BY id"  # noqa: S608
    values = (collection, *ids(None), f'"{phrase}"', *([stems] if stems else []))
    rows = database.rows(sql, *values)
    return None if sum(row["chunks"] for row in rows) > MOST_CHUNKS else frozenset(row["id"] for row in rows)


def _found(columns: str, stems: str) -> str:
    """Return the query for chunks with a word (value 3), or in `stems` (value 4), where any are to be looked for.

    Values 1 and 2 are the collection and what `ids` returns; {0} in `columns` is the index that has the chunk.
    """

    def within(index: str, value: int) -> str:
        return (
            f"SELECT {columns.format(index)} FROM {index} JOIN chunks c ON c.id = {index}.rowid "  # noqa: S608
            f"JOIN documents d ON d.id = c.document_id WHERE {index} MATCH ?{value} AND d.collection_id = ?1{WITHIN}"
        )

    by_words = within("chunks_fts", 3)
    if not stems:
        return by_words
    stemmed = "SELECT document_id FROM document_languages WHERE stemmed"
    return f"{by_words} AND d.id NOT IN ({stemmed}) UNION ALL {within('chunks_fts_stems', 4)}"
