"""Search by words in PostgreSQL: chunks by BM25, and the documents that have a word."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from localcrag.backends.postgres.connection import PostgresDatabase
from localcrag.backends.postgres.schema import PLAIN
from localcrag.text.lexicon.stems import stems
from localcrag.text.words import is_function_word

K1, B = 1.2, 0.75
"""As SQLite's bm25() has them."""
MOST_CHUNKS = 2000
"""With a word; one that more chunks have tells no documents apart, and takes long to look up."""
MOST_WEIGHED = 0.2
"""Share of the chunks: a term that more have weighs little, and each costs a look into every chunk that is compared."""
ALL_PLACES = 1.64493406685
"""The sum of 1 / i² over all i (π² / 6), as PostgreSQL has it."""
HIGHEST_RANK = 0.997
"""Of a term that is in a chunk 200 times: more are counted as so many."""
MOST_SCORED = 2000
"""Chunks that a question is compared with, as far as its words allow."""
WITHIN = " AND (CAST(:within AS bigint[]) IS NULL OR {0} = ANY(CAST(:within AS bigint[])))"
_WORD = re.compile(r"\w+")


def ids(within: Collection[int] | None) -> list[int] | None:
    """Return the ids of documents as WITHIN takes them; None: all documents."""
    return None if within is None else sorted(within)


def best_by_words(
    database: PostgresDatabase,
    collection: int,
    question: str,
    *,
    k: int,
    within: Collection[int] | None,
    languages: Iterable[str],
) -> list[int]:
    """Return up to `k` chunk ids by BM25 (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75), best first.

    Documents in each of the `languages` (as localcrag.terms has them) are searched by the terms of the question in it.
    In a collection so large that more than MOST_SCORED chunks have words of the question, those are compared that have
    its rare ones. Raises StoreError.
    """
    scored: list[tuple[float, int]] = []
    for language in languages:
        words = _terms(database, language, question)
        counts = _counts(database, collection, list(dict.fromkeys(words.values())))
        known = {word: term for word, term in words.items() if term in counts}
        if not known:
            continue
        (about,) = database.rows(
            "SELECT chunks, words::float8 / greatest(chunks, 1) AS mean FROM localcrag.collections WHERE id = :id",
            id=collection,
        )
        weights = _weights(known.values(), counts, about["chunks"])
        score = _score(list(weights.values()), about["mean"])
        rank = "ts_rank('{{1,1,1,1}}', s, CAST(:term_{0} AS tsquery)) AS r{0}"
        ranks = ", ".join(map(rank.format, range(len(weights))))
        rows = database.rows(
            f"SELECT id, {score} AS score FROM (SELECT id, words, {ranks} FROM ("
            # Joined to nothing, a vector of terms is taken out of its compressed row once; OFFSET 0 keeps it so.
            "SELECT id, words, search || ''::tsvector AS s FROM localcrag.chunks WHERE collection_id = :collection "
            f"AND language = :language AND search @@ CAST(:query AS tsquery){WITHIN.format('document_id')} OFFSET 0) c "
            "OFFSET 0) ranked ORDER BY score DESC, id LIMIT :k",
            collection=collection, language=language, query=_query(known, counts), within=ids(within), k=k,
            **{f"term_{at}": _quoted(term) for at, term in enumerate(weights)},
        )  # fmt: skip
        scored += [(-row["score"], row["id"]) for row in rows]
    return [chunk for _, chunk in sorted(scored)[:k]]


def _weights(terms: Iterable[str], counts: Mapping[str, int], chunks: int) -> dict[str, float]:
    """Return what each term weighs (BM25's idf); not those that very many chunks have, unless all are such."""
    weights = {term: math.log(1 + (chunks - counts[term] + 0.5) / (counts[term] + 0.5)) for term in terms}
    telling = {term: weight for term, weight in weights.items() if counts[term] <= MOST_WEIGHED * chunks}
    return telling or weights


def _score(weights: Sequence[float], mean: float) -> str:
    """Return BM25 in SQL, of the ranks r0, r1, … of single terms and a chunk's number of words.

    How often a term is in a chunk is told by its rank: that is the sum of 1 / i² over so many places, divided by the
    one over infinitely many (calc_rank_or in PostgreSQL's tsrank.c), and what is missing of that is nearly
    1 / (times + 1 / 2). To count them otherwise, all terms of a chunk would have to be listed, ten times as slowly.
    """
    length = f"{K1} * ({1 - B} + {B} * words / {max(mean, 1.0)})"
    parts = []
    for at, weight in enumerate(weights):
        times = f"round(1 / ({ALL_PLACES} * (1 - least(r{at}, {HIGHEST_RANK}))) - 0.5)"
        parts.append(f"CASE WHEN r{at} > 0 THEN {weight} * {times} * {K1 + 1} / ({times} + {length}) ELSE 0 END")
    return " + ".join(parts)


def documents_with(
    database: PostgresDatabase, collection: int, word: str, languages: Iterable[str]
) -> frozenset[int] | None:
    """Return the ids of the collection's documents that have a word; None where more than MOST_CHUNKS have it.

    Raises StoreError.
    """
    found: list[int] = []
    for language in languages:
        rows = database.rows(
            "SELECT u.lexeme, p.at FROM unnest(localcrag.terms(:language, :text)) u, unnest(u.positions) AS p (at) "
            "ORDER BY p.at",
            language=language,
            text=_as_searched(language, word),
        )
        if not rows:
            continue
        rows = database.rows(
            "SELECT document_id AS id FROM localcrag.chunks WHERE collection_id = :collection "
            "AND language = :language AND search @@ CAST(:query AS tsquery) LIMIT :most",
            collection=collection, language=language, query=" <-> ".join(_quoted(row["lexeme"]) for row in rows),
            most=MOST_CHUNKS + 1,
        )  # fmt: skip
        found += [row["id"] for row in rows]
    return None if len(found) > MOST_CHUNKS else frozenset(found)


def _terms(database: PostgresDatabase, language: str, question: str) -> dict[str, str]:
    """Return a question's words, each with its term in a language."""
    found = stems(question, "zh") if language == PLAIN else [word.lower() for word in _WORD.findall(question)]
    rows = database.rows(
        "SELECT w AS word, tsvector_to_array(localcrag.terms(:language, w)) AS terms "
        "FROM unnest(CAST(:words AS text[])) w",
        language=language, words=list(dict.fromkeys(found)),
    )  # fmt: skip
    return {row["word"]: row["terms"][0] for row in rows if len(row["terms"]) == 1} | {
        f"{row['word']} {term}": term for row in rows if len(row["terms"]) > 1 for term in row["terms"]
    }


def _as_searched(language: str, text: str) -> str:
    return " ".join(stems(text, "zh")) if language == PLAIN else text


def _counts(database: PostgresDatabase, collection: int, terms: list[str]) -> dict[str, int]:
    rows = database.rows(
        "SELECT term, chunks FROM localcrag.term_counts WHERE collection_id = :collection "
        "AND term = ANY(CAST(:terms AS text[]))",
        collection=collection, terms=terms,
    )  # fmt: skip
    return {row["term"]: row["chunks"] for row in rows}


def _query(words: Mapping[str, str], counts: Mapping[str, int]) -> str:
    """Return the query for chunks that have any of these words, each given with its term.

    Where that would be too many, for those that have a rare one, or all the frequent ones that tell something.
    """
    terms = list(dict.fromkeys(words.values()))
    if sum(counts[term] for term in terms) <= MOST_SCORED:
        return _any(terms)
    known = sorted(terms, key=counts.__getitem__)
    said = {term for word, term in words.items() if not is_function_word(word)}
    telling = [term for term in known if term in said] or known[:1]
    rare: list[str] = []
    for term in telling:
        if sum(map(counts.__getitem__, rare)) + counts[term] > MOST_SCORED:
            break
        rare.append(term)
    together = " & ".join(map(_quoted, telling[len(rare) :]))
    return f"({_any(rare)}) | ({together})" if rare and together else _any(rare) or together


def _any(terms: Iterable[str]) -> str:
    return " | ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    """Return a term as a tsquery has it, whatever is in it."""
    doubled = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
