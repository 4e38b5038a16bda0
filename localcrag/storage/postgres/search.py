"""Documents of a PostgreSQL collection, and searches by BM25 and pgvector's HNSW graph."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localcrag.records.documents import StoredChunk
from localcrag.records.errors import UnknownCollection
from localcrag.records.ingest import OriginalFile
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.chunks import COLUMNS, chunk_from, vector_bytes
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.full_text import MOST_CHUNKS, rarest
from localcrag.storage.collections.queries import embedder_mismatch
from localcrag.storage.collections.stored_collection import NAMED, OpenStore, StoredCollection
from localcrag.storage.files import read_pieces
from localcrag.storage.postgres.address import PostgresAddress
from localcrag.storage.postgres.connection import CollectionSession, PostgresDatabase, Row
from localcrag.storage.postgres.rows import (
    DOCUMENTS_QUERY,
    put_chunks,
    release_chunks,
    search_language,
    vector_from,
    vector_text,
)
from localcrag.storage.postgres.schema import UNSTEMMED, graph_condition
from localcrag.text.lexicon import stems
from localcrag.text.titles import passage_context, title_from_name
from localcrag.text.words import is_function_word

K1, B = 1.2, 0.75
"""Parameters of BM25, the same as in SQLite's bm25()."""
MOST_SCORED_SHARE = 0.2
"""Share of chunks above which a term is not scored: it weighs little, but must be looked up in each chunk."""
INFINITE_SUM = 1.64493406685
"""Sum of 1 / i² over all i (π² / 6), with the digits that PostgreSQL uses."""
HIGHEST_RANK = 0.997
"""Rank of a term that is in a chunk 200 times. More occurrences count as 200."""
MOST_SCORED = 2000
"""Maximum number of chunks to score for a question, as far as its words allow."""
WITHIN = " AND (CAST(:within AS bigint[]) IS NULL OR document_id = ANY(CAST(:within AS bigint[])))"
"""SQL condition that restricts rows to the documents :within (NULL: all)."""
_WORD = re.compile(r"\w+")


def within_values(within: Collection[int] | None) -> list[int] | None:
    """Return the ids of documents as a value for WITHIN; None stands for all documents."""
    return None if within is None else sorted(within)


def _weights(terms: Iterable[str], counts: Mapping[str, int], chunks: int) -> dict[str, float]:
    """Return the weight of each term (BM25's idf), leaving out terms of very many chunks, unless no others exist."""
    weights = {term: math.log(1 + (chunks - counts[term] + 0.5) / (counts[term] + 0.5)) for term in terms}
    informative = {term: weight for term, weight in weights.items() if counts[term] <= MOST_SCORED_SHARE * chunks}
    return informative or weights


def _score(weights: Sequence[float], mean: float) -> str:
    """Return the SQL of a chunk's BM25 score, from the ranks r0, r1, … of single terms and its number of words.

    A term's number of occurrences follows from its rank. The rank is the sum of 1 / i² over that number of places,
    divided by the sum over infinitely many (calc_rank_or in PostgreSQL's tsrank.c). The part of the infinite sum that
    is missing is about 1 / (occurrences + 1 / 2). Any other way of counting has to list all terms of a chunk, which is
    ten times as slow.
    """
    length = f"{K1} * ({1 - B} + {B} * words / {max(mean, 1.0)})"
    parts = []
    for at, weight in enumerate(weights):
        times = f"round(1 / ({INFINITE_SUM} * (1 - least(r{at}, {HIGHEST_RANK}))) - 0.5)"
        parts.append(f"CASE WHEN r{at} > 0 THEN {weight} * {times} * {K1 + 1} / ({times} + {length}) ELSE 0 END")
    return " + ".join(parts)


def _terms(database: PostgresDatabase, language: str, question: str) -> dict[str, str]:
    """Return a mapping of a question's words to their terms in a language.

    If a word has several terms, each has its own entry, with the term added to the key.
    """
    found = stems(question, "zh") if language == UNSTEMMED else [word.lower() for word in _WORD.findall(question)]
    rows = database.rows(
        "SELECT w AS word, tsvector_to_array(localcrag.terms(:language, w)) AS terms "
        "FROM unnest(CAST(:words AS text[])) w",
        language=language, words=list(dict.fromkeys(found)),
    )  # fmt: skip
    return {row["word"]: row["terms"][0] for row in rows if len(row["terms"]) == 1} | {
        f"{row['word']} {term}": term for row in rows if len(row["terms"]) > 1 for term in row["terms"]
    }


def _query(words: Mapping[str, str], counts: Mapping[str, int]) -> str:
    """Return the tsquery for chunks that contain any of these words, each given with its term.

    If too many chunks would match, the query requires a rare word, or all the frequent words without function words.
    """
    terms = list(dict.fromkeys(words.values()))
    if sum(counts[term] for term in terms) <= MOST_SCORED:
        return _any(terms)
    known = sorted(terms, key=counts.__getitem__)
    content_terms = {term for word, term in words.items() if not is_function_word(word)}
    informative = [term for term in known if term in content_terms] or known[:1]
    rare = rarest(informative, counts, MOST_SCORED)
    together = " & ".join(map(_quoted, informative[len(rare) :]))
    return f"({_any(rare)}) | ({together})" if rare and together else _any(rare) or together


def _any(terms: Iterable[str]) -> str:
    return " | ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    """Return a term quoted for a tsquery, with special characters escaped."""
    doubled = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


IN_COLLECTION = "collection_id = :collection"
"""SQL condition for rows of the collection."""


class PostgresDocuments(StoredCollection[CollectionSession]):
    """The documents of a collection. `name` is its name on this computer; on the server its name may differ."""

    documents_query = DOCUMENTS_QUERY
    column_prefix, value_prefix, condition_prefix = "collection_id, ", ":collection, ", f"{IN_COLLECTION} AND "
    is_inside = "starts_with(name, :name || '/')"
    temporary_name = "\x01"  # A PostgreSQL text cannot contain NUL.
    chunk_vectors = "vector_send(vector) AS vector FROM chunks"
    new_document = (
        "INSERT INTO documents (collection_id, id, name, sha256, media_type, pages, text, added_at, dated, title, "
        "language) VALUES (:collection, nextval('localcrag.ids'), :name, :sha256, :media_type, "
        "CAST(:pages AS integer), :text, :added_at, :dated, :title, '') RETURNING id"
    )

    def __init__(self, database: PostgresDatabase, collection: int, name: str) -> None:
        self.database, self.id, self.name = database, collection, name

    @property
    def server(self) -> PostgresAddress:
        """The address of the server's database."""
        return self.database.address

    def row(self) -> Row:
        """Return the collection's row. Raises UnknownCollection and StoreError."""
        for row in self.rows("SELECT * FROM collections WHERE id = :collection"):
            return row
        raise UnknownCollection(f"There is no collection “{self.name}” at {self.database.address.at} any more.")

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """Return the rows of a query, in which :collection is this collection's id. Raises StoreError."""
        return self.database.rows(sql, collection=self.id, **values)

    @contextmanager
    def writing(self) -> Iterator[CollectionSession]:
        """Begin a transaction; see `PostgresDatabase.transaction`. Raises the errors of `row`."""
        with self.database.transaction(self.id) as session:
            self.row()
            yield CollectionSession(session, self.id)

    def put_chunks(self, session: CollectionSession, document: int, chunks: Sequence[StoredChunk]) -> None:
        """Add chunks to a document that has none, and index them."""
        put_chunks(session, document, chunks)

    def delete_chunks(self, session: CollectionSession, document: int) -> None:
        """Remove all chunks of a document."""
        release_chunks(session, document)
        session.run(f"DELETE FROM chunks WHERE {IN_COLLECTION} AND document_id = :document", document=document)

    def delete_row(self, session: CollectionSession, name: str) -> bool:
        """Remove a document; return whether it existed."""
        rows = session.rows(f"SELECT id FROM documents WHERE {NAMED}", name=name)
        for row in rows:
            release_chunks(session, row["id"])
            session.run(f"DELETE FROM documents WHERE {IN_COLLECTION} AND id = :id", id=row["id"])
        return bool(rows)

    def index_new_name(self, session: CollectionSession, document: int, name: str, *, titled: bool) -> None:
        """Re-index the chunks of a document without its own title under its new name, and count the change."""
        session.run("UPDATE collections SET changes = changes + 1 WHERE id = :collection")
        if titled:
            return
        columns, title = f"{COLUMNS}, {self.chunk_vectors}", title_from_name(name)
        sql = f"SELECT {columns} WHERE {IN_COLLECTION} AND document_id = :document ORDER BY id"
        chunks = []
        for row in session.rows(sql, document=document):
            front = passage_context(title, row["text"], section=row["section"], lead=row["lead"])
            chunks.append(StoredChunk(chunk_from(row), front, vector_bytes(vector_from(row["vector"]))))
        self.delete_chunks(session, document)
        self.put_chunks(session, document, chunks)

    def read_vector(self, stored: bytes) -> Vectors:
        """Return a vector, given the column `vector`."""
        return vector_from(stored)

    def existing(self, names: Iterable[str]) -> set[str]:
        """Return the names in `names` that belong to documents."""
        sql = f"SELECT name FROM documents WHERE {IN_COLLECTION} AND name = ANY(CAST(:names AS text[]))"
        # A PostgreSQL text cannot contain NUL.
        return {row["name"] for row in self.rows(sql, names=[one for one in names if "\0" not in one])}


class PostgresStore(PostgresDocuments, OpenStore[CollectionSession]):
    """The documents and chunks of a collection that is open with its embedding model."""

    def __init__(
        self, database: PostgresDatabase, collection: int, name: str, *, embedder: str, dimension: int
    ) -> None:
        """Open the collection with that id. Raises UnknownCollection, EmbedderMismatch and StoreError."""
        super().__init__(database, collection, name)
        self.embedder, self.dimension = embedder, dimension
        self._counted: tuple[int, dict[str, int]] | None = None
        self.row()

    def row(self) -> Row:
        """Return the collection's row. Raises UnknownCollection, EmbedderMismatch and StoreError."""
        row = super().row()
        if (row["embedder"], row["dimension"]) != (self.embedder, self.dimension):
            raise embedder_mismatch(self.name, row, self.embedder, self.dimension)
        return row

    def open_index(self, _folder: Path, _engines: EngineChoice) -> PgVectorIndex:
        """Open the vector index. The server keeps it, so it has no files here."""
        return PgVectorIndex(self)

    def keep_file(self, session: CollectionSession, document: int, file: OriginalFile) -> None:
        """Store the file of a document. Raises UnreadableDocument."""
        data = b"".join(read_pieces(file))
        session.run("INSERT INTO originals VALUES (:collection, :document, :data)", document=document, data=data)

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or only of those in the documents `within`, in ascending order."""
        sql = f"SELECT id FROM chunks WHERE {IN_COLLECTION}{WITHIN} ORDER BY id"
        return [row["id"] for row in self.rows(sql, within=within_values(within))]

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return the number of all chunks, or only of those in the documents `within`."""
        if within is None:
            return int(super().row()["chunks"])
        sql = f"SELECT count(*) AS number FROM chunks WHERE {IN_COLLECTION}{WITHIN}"
        return int(self.rows(sql, within=within_values(within))[0]["number"])

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""
        rows = self.chunk_rows("c.id, vector_send(c.vector) AS vector", ids)
        return {row["id"]: vector_from(row["vector"]) for row in rows}

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, restricted to the documents `within` if given.

        BM25 is that of Robertson and Zaragoza 2009, with k1 = 1.2 and b = 0.75. Documents in each language are searched
        by the question's terms in that language. If more than MOST_SCORED chunks contain words of the question, only
        chunks with its rare words are scored. Raises StoreError.
        """
        scored: list[tuple[float, int]] = []
        for language in self._searched():
            words = _terms(self.database, language, question)
            counts = self._counts(list(dict.fromkeys(words.values())))
            known = {word: term for word, term in words.items() if term in counts}
            if not known:
                continue
            (about,) = self.rows(
                "SELECT chunks, words::float8 / greatest(chunks, 1) AS mean FROM localcrag.collections "
                "WHERE id = :collection"
            )
            weights = _weights(known.values(), counts, about["chunks"])
            score = _score(list(weights.values()), about["mean"])
            rank = "ts_rank('{{1,1,1,1}}', s, CAST(:term_{0} AS tsquery)) AS r{0}"
            ranks = ", ".join(map(rank.format, range(len(weights))))
            rows = self.rows(
                f"SELECT id, {score} AS score FROM (SELECT id, words, {ranks} FROM ("
                # The concatenation with an empty tsvector decompresses the stored one only once per row. OFFSET 0 keeps
                # the planner from merging the subqueries, which would undo that.
                "SELECT id, words, search || ''::tsvector AS s FROM localcrag.chunks WHERE collection_id = :collection "
                f"AND language = :language AND search @@ CAST(:query AS tsquery){WITHIN} "
                "OFFSET 0) c OFFSET 0) ranked ORDER BY score DESC, id LIMIT :k",
                language=language, query=_query(known, counts), within=within_values(within), k=k,
                **{f"term_{at}": _quoted(term) for at, term in enumerate(weights)},
            )  # fmt: skip
            scored += [(-row["score"], row["id"]) for row in rows]
        return [chunk for _, chunk in sorted(scored)[:k]]

    def documents_containing(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that contain a word, or None if more than MOST_CHUNKS chunks contain it."""
        found: list[int] = []
        for language in self._searched():
            rows = self.database.rows(
                "SELECT u.lexeme, p.at FROM unnest(localcrag.terms(:language, :text)) u, unnest(u.positions) AS p (at) "
                "ORDER BY p.at",
                language=language, text=" ".join(stems(word, "zh")) if language == UNSTEMMED else word,
            )  # fmt: skip
            if not rows:
                continue
            rows = self.rows(
                "SELECT document_id AS id FROM localcrag.chunks WHERE collection_id = :collection "
                "AND language = :language AND search @@ CAST(:query AS tsquery) LIMIT :most",
                language=language, query=" <-> ".join(_quoted(row["lexeme"]) for row in rows),
                most=MOST_CHUNKS + 1,
            )  # fmt: skip
            found += [row["id"] for row in rows]
        return None if len(found) > MOST_CHUNKS else frozenset(found)

    def _counts(self, terms: list[str]) -> dict[str, int]:
        """Return the number of chunks with each of these terms, without terms that no chunk has."""
        wanted = f"{IN_COLLECTION} AND term = ANY(CAST(:terms AS text[]))"
        rows = self.rows(f"SELECT term, chunks FROM localcrag.term_counts WHERE {wanted}", terms=terms)
        return {row["term"]: row["chunks"] for row in rows}

    def languages(self) -> dict[str, int]:
        """Return the number of documents per language, without unknown ones; counted again only after changes."""
        return {language: number for language, number in self._languages().items() if language}

    def chunk_rows(self, columns: str, ids: Sequence[int], **values: Any) -> list[Row]:
        """Return columns of the chunks (c) with these ids, and of their documents (d), if they still exist."""
        return self.rows(
            f"SELECT {columns} FROM localcrag.chunks c JOIN localcrag.documents d ON (d.collection_id, d.id) = "
            "(c.collection_id, c.document_id) WHERE c.collection_id = :collection "
            "AND c.id = ANY(CAST(:ids AS bigint[]))",
            ids=list(ids), **values,
        )  # fmt: skip

    def _languages(self) -> dict[str, int]:
        changes = int(super().row()["changes"])
        if self._counted is None or self._counted[0] != changes:
            sql = (
                f"SELECT language, count(*) AS number FROM localcrag.documents WHERE {IN_COLLECTION} GROUP BY language"
            )
            self._counted = changes, {row["language"]: row["number"] for row in self.rows(sql)}
        return self._counted[1]

    def _searched(self) -> list[str]:
        """Return the languages that the documents are indexed by, as the SQL function localcrag.terms names them."""
        return sorted(set(map(search_language, self._languages())))


MOST_COMPARED = 20_000
"""Maximum number of chunks to compare one by one if documents are restricted; with more, the graph is searched."""
SPARE = 1.25
"""Factor by which more chunks are requested from the graph, whose half precision may change the order."""


class PgVectorIndex:
    """The vector index of one collection."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._crowded: tuple[int, frozenset[int]] | None = None

    def refresh(self) -> None:
        """Check that the collection is there and has the same embedding model. The server itself updates the index."""
        self._store.row()

    def save(self) -> None:
        """Do nothing: the server saves the index."""

    def rebuild(self) -> None:
        """Do nothing: the server rebuilds the index when the collection is vacuumed."""

    def remove_file(self) -> None:
        """Do nothing: the server removes the index with the collection."""

    def is_consistent(self) -> bool:
        """Return True, because the server keeps the index consistent."""
        return True

    def __len__(self) -> int:
        return self._store.number_of_chunks()

    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine) pairs, best first, for a unit vector of shape (dimension,).

        The results are restricted to the documents `within`, if given. Raises EmbedderMismatch and StoreError.
        """
        if k < 1:
            return []
        row = self._store.row()
        number = row["chunks"] if within is None else self._store.number_of_chunks(within)
        found = self.search_graph(vector, k, within, row["changes"]) if within is None or number > MOST_COMPARED else []
        return found if len(found) >= min(k, number) else self._compared(vector, k, within)

    def search_graph(
        self, vector: Vectors, k: int, within: Collection[int] | None, changes: int
    ) -> list[tuple[int, float]]:
        """Return the chunks that the graph leads to, which may be fewer than `k` even if more exist.

        Chunks that share their vector with one of these, but are not in the graph, are added. `changes` is the
        collection's counter of changes.
        """
        half, crowded = f"halfvec({self._store.dimension})", self._crowded_likenesses(changes)
        allowed = "(document_id = ANY(CAST(:within AS bigint[])) OR likeness = ANY(CAST(:crowded AS bigint[])))"
        near = self._store.rows(
            "SELECT id, document_id, likeness, -(vector <#> CAST(:vector AS vector)) AS cosine FROM (SELECT id, "
            "document_id, likeness, vector FROM localcrag.chunks WHERE collection_id = :collection AND "
            f"{graph_condition(self._store.dimension)} {'' if within is None else f'AND {allowed}'} "
            # The parameter is first cast to a full vector, because the server takes its first cast as its type.
            f"ORDER BY CAST(vector AS {half}) <#> CAST(CAST(:vector AS vector) AS {half}) LIMIT :more) near",
            vector=vector_text(vector), more=int(k * SPARE) + 1,
            **({} if within is None else {"within": within_values(within), "crowded": sorted(crowded)}),
        )  # fmt: skip
        cosines = {row["likeness"]: float(row["cosine"]) for row in near if row["likeness"] in crowded}
        more = self._store.rows(
            "SELECT id, document_id, likeness FROM localcrag.chunks WHERE collection_id = :collection AND NOT in_graph "
            "AND likeness = ANY(CAST(:numbers AS bigint[]))",
            numbers=sorted(cosines),
        ) if cosines else []  # fmt: skip
        wanted = None if within is None else frozenset(within)
        found = [
            (row["id"], float(row["cosine"]) if "cosine" in row else cosines[row["likeness"]])
            for row in (*near, *more)
            if wanted is None or row["document_id"] in wanted
        ]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:k]

    def _crowded_likenesses(self, changes: int) -> frozenset[int]:
        """Return the likeness of each vector whose chunks are not all in the graph; cached until `changes` grows."""
        if self._crowded is None or self._crowded[0] != changes:
            rows = self._store.rows(
                "SELECT DISTINCT likeness FROM localcrag.chunks WHERE collection_id = :collection AND NOT in_graph"
            )
            self._crowded = changes, frozenset(row["likeness"] for row in rows)
        return self._crowded[1]

    def _compared(self, vector: Vectors, k: int, within: Collection[int] | None) -> list[tuple[int, float]]:
        # MATERIALIZED keeps the planner from searching the graph.
        rows = self._store.rows(
            "WITH own AS MATERIALIZED (SELECT id, -(vector <#> CAST(:vector AS vector)) AS cosine FROM "
            f"localcrag.chunks WHERE collection_id = :collection{WITHIN}) "
            "SELECT id, cosine FROM own ORDER BY cosine DESC, id LIMIT :k",
            vector=vector_text(vector), k=k, within=within_values(within),
        )  # fmt: skip
        return [(row["id"], float(row["cosine"])) for row in rows]
