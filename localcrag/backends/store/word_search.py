"""Search by words in a collection's full text: chunks by BM25, and the documents that have a word."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Sequence, Set

from localcrag.backends.store import stem_index
from localcrag.backends.store.database import Database
from localcrag.text.words import is_function_word

MOST_CHUNKS = 2000
"""With a word; one that more chunks have tells no documents apart, and takes long to look up."""
MOST_SCORED = 5_000
"""Chunks that a question is compared with, as far as its words allow: each costs some µs, whether it is any good. Among
59,000 paragraphs the right one was found as often as among all that have a word (docs/measurements.md)."""
MOST_RANKED = 20_000
"""Chunks with a word, for it to have a part in the ranking where rarer ones choose what is ranked: SQLite goes through
all of them to weigh it, for each question. Among 59,000 paragraphs the right one was found as often."""
FEW_DOCUMENTS = 2_000
"""Documents whose chunks are looked up before the words are: there are fewer of them than chunks with the words."""
AT_ONCE = 100
"""Chunks, best first, whose documents are looked up."""
_WORD = re.compile(r"\w+")


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
    if stems:
        found = _found("c.id, bm25({0}) AS score", stemmed, within)
        sql = f"SELECT id FROM ({found}) ORDER BY score, id LIMIT {int(k)}"  # noqa: S608 - a number, and texts of ours
        rows = database.rows(sql, collection, query, *([stemmed] if stemmed else []), chosen=looked_up(within))
        return [row["id"] for row in rows]
    ranked = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ?{0} ORDER BY bm25(chunks_fts), rowid LIMIT {1}"
    if within is None and _is_alone(database, collection):
        # Whose chunk it is need not be looked up.
        return [row["id"] for row in database.rows(ranked.format("", int(k)), query)]
    if within is not None and len(within) <= FEW_DOCUMENTS:
        sql = "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))"
        theirs = frozenset(_numbers(database, sql, json.dumps(list(within))))
        best = _numbers(database, ranked.format(" AND chosen(rowid)", -1), query, chosen=theirs)
    else:
        best = _numbers(database, ranked.format("", -1), query)
    return _first_of(database, collection, best, k, within)


def _numbers(database: Database, sql: str, *values: object, chosen: Container[int] = ()) -> list[int]:
    """Return the ids that a query finds, in its order, as one row: thousands would have Python look for garbage."""
    rows = database.rows(f"SELECT json_group_array(id) FROM ({sql})", *values, chosen=chosen)  # noqa: S608 - ours
    numbers: list[int] = json.loads(rows[0][0])
    return numbers


def _first_of(
    database: Database, collection: int, chunks: Sequence[int], k: int, within: Collection[int] | None
) -> list[int]:
    """Return the first `k` of these chunks that are the collection's, of the documents `within`."""
    chosen = "" if within is None else " AND chosen(c.document_id)"
    first: list[int] = []
    for at in range(0, len(chunks), AT_ONCE):
        some = chunks[at : at + AT_ONCE]
        sql = (
            f"SELECT c.id FROM chunks c CROSS JOIN documents d ON d.id = c.document_id{chosen} "  # noqa: S608
            f"WHERE c.id IN ({', '.join('?' * len(some))}) AND d.collection_id = ?"
        )
        there = {row["id"] for row in database.rows(sql, *some, collection, chosen=looked_up(within))}
        first += [one for one in some if one in there]
        if len(first) >= k:
            break
    return first[:k]


def looked_up(within: Collection[int] | None) -> Container[int]:
    """Return ids so that one is found among them at once."""
    return within if isinstance(within, (Set, dict)) else frozenset(within or ())


def _query(database: Database, index: str, words: Collection[str]) -> str:
    """Return the query for chunks that have any of these words.

    Where that would be too many, for those that have a rare one of them, or all the frequent ones, ranked by all of
    these. Quoted, nothing in a question is taken for FTS5's query language.
    """
    telling = [word for word in words if not is_function_word(word)]
    frequency = {word: _count(database, index, f'"{word}"') for word in telling}
    for word in words:
        # Of frequent ones, which say nothing, it need not be known how frequent they are.
        if word not in frequency and (sum(frequency.values()) <= MOST_SCORED or not any(frequency.values())):
            frequency[word] = _count(database, index, f'"{word}"')
    if len(frequency) == len(words) and sum(frequency.values()) <= MOST_SCORED:
        return _any(words)
    known = sorted((word for word in frequency if frequency[word]), key=frequency.__getitem__)
    telling = [word for word in known if word in telling] or known[:1]
    rare: list[str] = []
    for word in telling:
        if sum(map(frequency.__getitem__, rare)) + frequency[word] > MOST_SCORED:
            break
        rare.append(word)
    frequent = telling[len(rare) :]
    if rare:
        # What very many chunks have says as little as a function word.
        frequent = [word for word in frequent if _count(database, index, f'"{word}"', MOST_RANKED) <= MOST_RANKED]
    together = " AND ".join(f'"{word}"' for word in frequent)
    if not rare or not together:
        return _any(rare) or together
    ranked = _any([*rare, *frequent])
    if _count(database, index, together) <= MOST_SCORED:
        return f"({_any(rare)} OR ({together})) AND ({ranked})"
    return f"({_any(rare)}) AND ({ranked})"


def _any(words: Collection[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _count(database: Database, index: str, query: str, most: int | None = None) -> int:
    """Return how many chunks a query finds, one more than `most` (MOST_SCORED) where it finds more."""
    limit = (MOST_SCORED if most is None else most) + 1
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT {limit})"  # noqa: S608
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
    rows = database.rows(sql, collection, f'"{phrase}"', *([stems] if stems else []))
    return None if sum(row["chunks"] for row in rows) > MOST_CHUNKS else frozenset(row["id"] for row in rows)


def _found(columns: str, stems: str, within: Collection[int] | None = None) -> str:
    """Return the query for chunks with a word (value 2), or in `stems` (value 3), where any are to be looked for.

    Value 1 is the collection, the documents `within` are the chosen ones; {0} in `columns` is the index that has the
    chunk.
    """
    among = "" if within is None else " AND chosen(c.document_id)"

    def found(index: str, value: int) -> str:
        return (
            f"SELECT {columns.format(index)} FROM {index} JOIN chunks c ON c.id = {index}.rowid{among} "  # noqa: S608
            f"JOIN documents d ON d.id = c.document_id WHERE {index} MATCH ?{value} AND d.collection_id = ?1"
        )

    by_words = found("chunks_fts", 2)
    if not stems:
        return by_words
    stemmed = "SELECT document_id FROM document_languages WHERE stemmed"
    return f"{by_words} AND d.id NOT IN ({stemmed}) UNION ALL {found('chunks_fts_stems', 3)}"
