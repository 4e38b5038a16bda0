"""Chunks, documents and full text of one collection in PostgreSQL, as a question reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from localcrag.backends.postgres import word_search
from localcrag.backends.postgres.chunk_rows import searched_as, vector_from
from localcrag.backends.postgres.connection import PostgresDatabase, Row
from localcrag.backends.postgres.queries import DOCUMENT, NAMES_AND_TITLES, collection_row, document_from
from localcrag.backends.store.chunk_rows import COLUMNS, chunk_from
from localcrag.backends.store.collection_queries import embedder_mismatch
from localcrag.backends.store.stored_vectors import titles_of
from localcrag.records.documents import Chunk, Document
from localcrag.records.protocols import Vectors

HERE = "collection_id = :collection"


class PostgresChunks:
    """A collection's chunks. `name` is what it is called here, whatever it is called there."""

    def __init__(
        self, database: PostgresDatabase, collection: int, name: str, *, embedder: str, dimension: int
    ) -> None:
        """Open the collection of that id. Raises UnknownCollection, EmbedderMismatch and StoreError."""
        self.database, self.id, self.name = database, collection, name
        self.embedder, self.dimension = embedder, dimension
        self._counted: tuple[int, dict[str, int]] | None = None
        self.row()

    def documents(self) -> list[Document]:
        """Return all documents, by name."""
        rows = self.database.rows(f'{DOCUMENT} ORDER BY d.name COLLATE "C"', collection=self.id)
        return [document_from(row) for row in rows]

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or of those of the documents `within`, ascending."""
        rows = self._within("SELECT id FROM localcrag.chunks", within, " ORDER BY id")
        return [row["id"] for row in rows]

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return how many chunks there are, or how many the documents `within` have."""
        if within is None:
            return int(collection_row(self.database, self.id, self.name)["chunks"])
        return int(self._within("SELECT count(*) AS number FROM localcrag.chunks", within)[0]["number"])

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return document name and chunk of each id that still exists."""
        columns = ", ".join(f"c.{one.strip()}" for one in COLUMNS.split(","))
        rows = self._by_id(f"c.id, {columns}, d.name", ids)
        return {row["id"]: (row["name"], chunk_from(row)) for row in rows}

    def neighbour(self, chunk_id: int, *, behind: bool) -> tuple[int, Chunk] | None:
        """Return the chunk before or behind one in its document, with its id; None where there is none."""
        side, order = (">", "min") if behind else ("<", "max")
        (row,) = self._rows(
            f"SELECT {order}(id) AS id FROM localcrag.chunks WHERE {HERE} AND id {side} :id AND document_id = "
            f"(SELECT document_id FROM localcrag.chunks WHERE {HERE} AND id = :id)",
            id=chunk_id,
        )
        there = self.chunks([row["id"]]) if row["id"] is not None else {}
        return (row["id"], there[row["id"]][1]) if there else None

    def excerpt(self, chunk_id: int, start: int, end: int) -> str:
        """Return what stands at these places of a chunk's document; nothing when it is gone."""
        text = "substr(d.text, CAST(:start AS integer), CAST(:length AS integer)) AS excerpt"
        rows = self._by_id(text, [chunk_id], start=start + 1, length=end - start)
        return next((str(row["excerpt"]) for row in rows), "")

    def chunks_within(self, chunk_id: int, start: int, end: int) -> list[int]:
        """Return the ids of the chunks of a chunk's document that have a part of these places, in order."""
        rows = self._rows(
            f"SELECT id FROM localcrag.chunks WHERE {HERE} AND document_id = (SELECT document_id FROM "
            f'localcrag.chunks WHERE {HERE} AND id = :id) AND start < :end AND "end" > :start ORDER BY id',
            id=chunk_id, start=start, end=end,
        )  # fmt: skip
        return [row["id"] for row in rows]

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the date of each chunk's document, for those that have one."""
        return {row["id"]: row["dated"] for row in self._by_id("c.id, d.dated", ids) if row["dated"] is not None}

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""
        documents = self.documents_of(ids)
        of_these = f"{NAMES_AND_TITLES} AND id = ANY(CAST(:ids AS bigint[]))"
        titles = titles_of(self._rows(of_these, ids=sorted(set(documents.values()))))
        return {chunk: titles[document] for chunk, document in documents.items() if document in titles}

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""
        rows = self._by_id("c.id, vector_send(c.vector) AS vector", ids)
        return {row["id"]: vector_from(row["vector"]) for row in rows}

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, of the documents `within` if they are given."""
        return word_search.best_by_words(
            self.database, self.id, question, k=k, within=within, languages=self._searched()
        )

    def documents_with(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that have a word; None where very many chunks have it."""
        return word_search.documents_with(self.database, self.id, word, self._searched())

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the id of the document of each chunk that still exists."""
        return {row["id"]: row["document_id"] for row in self._by_id("c.id, c.document_id", ids)}

    def number_of_documents(self) -> int:
        """Return how many documents there are."""
        return int(self._rows(f"SELECT count(*) AS number FROM localcrag.documents WHERE {HERE}")[0]["number"])

    def languages(self) -> dict[str, int]:
        """Return how many documents are in each language, of those whose text tells it; counted after changes."""
        return {language: number for language, number in self._languages().items() if language}

    def row(self) -> Row:
        """Return what is known of the collection itself. Raises UnknownCollection, EmbedderMismatch and StoreError."""
        row = collection_row(self.database, self.id, self.name)
        if (row["embedder"], row["dimension"]) != (self.embedder, self.dimension):
            raise embedder_mismatch(self.name, row, self.embedder, self.dimension)
        return row

    def _rows(self, sql: str, **values: Any) -> list[Row]:
        return self.database.rows(sql, collection=self.id, **values)

    def _within(self, sql: str, within: Collection[int] | None, order: str = "") -> list[Row]:
        where = word_search.WITHIN.format("document_id")
        return self._rows(f"{sql} WHERE {HERE}{where}{order}", within=word_search.ids(within))

    def _by_id(self, columns: str, ids: Sequence[int], **values: Any) -> list[Row]:
        """Return columns of chunks c and their documents d, of those that still exist."""
        return self._rows(
            f"SELECT {columns} FROM localcrag.chunks c JOIN localcrag.documents d ON (d.collection_id, d.id) = "
            "(c.collection_id, c.document_id) WHERE c.collection_id = :collection "
            "AND c.id = ANY(CAST(:ids AS bigint[]))",
            ids=list(ids), **values,
        )  # fmt: skip

    def _languages(self) -> dict[str, int]:
        changes = int(collection_row(self.database, self.id, self.name)["changes"])
        if self._counted is None or self._counted[0] != changes:
            sql = f"SELECT language, count(*) AS number FROM localcrag.documents WHERE {HERE} GROUP BY language"
            self._counted = changes, {row["language"]: row["number"] for row in self._rows(sql)}
        return self._counted[1]

    def _searched(self) -> list[str]:
        """Return by whose words there are documents to be found."""
        return sorted(set(map(searched_as, self._languages())))
