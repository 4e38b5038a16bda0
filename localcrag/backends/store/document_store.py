"""Documents, chunks, vectors and full text of one collection, in SQLite. Knows no model and no index file."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from localcrag.backends.store.database import Database
from localcrag.records.documents import Chunk, Document
from localcrag.records.errors import (
    EmbedderMismatch,
    StoreError,
    UnknownCollection,
    UnknownDocument,
    UnreadableDocument,
)
from localcrag.records.protocols import Vectors
from localcrag.text.titles import BEGINNING, in_context, title_of

_WORD = re.compile(r"\w+")
_AT_ONCE = 500
"""Ids in one statement; SQLite's oldest limit on variables is 999."""
_PIECE = 1 << 20
"""Bytes of a file at once."""

_DOCUMENT = """
SELECT d.id, d.name, d.sha256, d.media_type, d.pages, length(d.text) AS characters, d.added_at, d.dated,
       (SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks
FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ?
"""

_BEGINNINGS = f"SELECT d.id, d.name, substr(d.text, 1, {BEGINNING}) AS beginning FROM documents d"  # noqa: S608  a number
"""What titles are made of."""


class DocumentStore:
    """One collection's part of the database."""

    def __init__(self, database: Database, collection: str, *, embedder: str, dimension: int) -> None:
        """Open the collection, making it if there is none of that name. Raises EmbedderMismatch and StoreError."""
        self._database = database
        self.name = collection
        self.embedder = embedder
        self.dimension = dimension
        with database.transaction() as connection:
            connection.execute(
                "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name) DO NOTHING",
                (collection, embedder, dimension, _now()),
            )
            row = connection.execute("SELECT * FROM collections WHERE name = ?", (collection,)).fetchone()
        self.id: int = row["id"]
        self._require_embedder(row)

    def documents(self) -> list[Document]:
        """Return all documents, by name."""
        return documents_of(self._database, self.name)

    def find(self, name: str) -> Document | None:
        """Return the document of that name, if there is one."""
        rows = self._database.rows(_DOCUMENT + " AND d.name = ?", self.name, name)
        return Document(**rows[0]) if rows else None

    def twin(self, sha256: str) -> str | None:
        """Return the first name, in order, of a document with that checksum, if there is one."""
        rows = self._database.rows(
            "SELECT name FROM documents WHERE collection_id = ? AND sha256 = ? ORDER BY name LIMIT 1", self.id, sha256
        )
        return rows[0]["name"] if rows else None

    def put(
        self,
        name: str,
        *,
        sha256: str,
        media_type: str,
        pages: int | None,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        dated: str | None = None,
        original: Path | None = None,
    ) -> None:
        """Store a document in place of the one of that name, in one transaction, with its file where that is given.

        `vectors` has a row per chunk. Raises StoreError, and UnreadableDocument when the file has gone or is another;
        then nothing has changed.
        """
        with self._database.transaction() as connection:
            # Another process may have embedded the collection anew since it was opened.
            self._require_embedder(connection.execute("SELECT * FROM collections WHERE id = ?", (self.id,)).fetchone())
            self._delete(connection, name)
            document_id = connection.execute(
                "INSERT INTO documents (collection_id, name, sha256, media_type, pages, text, added_at, dated) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self.id, name, sha256, media_type, pages, text, _now(), dated),
            ).lastrowid
            for chunk, vector in zip(chunks, vectors, strict=True):
                chunk_id = connection.execute(
                    'INSERT INTO chunks (document_id, page, start, "end", text) VALUES (?, ?, ?, ?, ?)',
                    (document_id, chunk.page, chunk.start, chunk.end, chunk.text),
                ).lastrowid
                connection.execute("INSERT INTO vectors VALUES (?, ?)", (chunk_id, _packed(vector)))
            if original:
                _keep_file(connection, document_id or 0, original)

    def delete(self, name: str) -> None:
        """Remove a document with its chunks, vectors and full text. Raises UnknownDocument and StoreError."""
        with self._database.transaction() as connection:
            if not self._delete(connection, name):
                raise self._unknown(name)

    def _delete(self, connection: sqlite3.Connection, name: str) -> bool:
        cursor = connection.execute("DELETE FROM documents WHERE collection_id = ? AND name = ?", (self.id, name))
        return cursor.rowcount > 0

    def chunk_ids(self) -> list[int]:
        """Return the ids of all chunks, ascending."""
        return [
            row["id"]
            for row in self._database.rows(
                "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ? "
                "ORDER BY c.id",
                self.id,
            )
        ]

    def state(self) -> tuple[int, int]:
        """Return number and highest id of the chunks: no two different sets of chunks have had the same.

        Ids only grow, so that adding raises the second number, and deleting alone lowers the first. Raises
        EmbedderMismatch when another process has embedded the collection anew.
        """
        self._require_embedder(self._database.rows("SELECT * FROM collections WHERE id = ?", self.id)[0])
        row = self._database.rows(
            "SELECT count(*) AS number, coalesce(max(c.id), 0) AS highest FROM chunks c "
            "JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ?",
            self.id,
        )[0]
        return row["number"], row["highest"]

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return document name and chunk of each id that still exists."""
        sql = (
            'SELECT c.id, d.name, c.page, c.start, c."end", c.text FROM chunks c '
            "JOIN documents d ON d.id = c.document_id WHERE c.id IN ({})"
        )
        return {
            row["id"]: (row["name"], Chunk(row["page"], row["start"], row["end"], row["text"]))
            for row in self._by_id(sql, ids)
        }

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the date of each chunk's document, for those that have one."""
        sql = (
            "SELECT c.id, d.dated FROM chunks c JOIN documents d ON d.id = c.document_id "
            "WHERE d.dated IS NOT NULL AND c.id IN ({})"
        )
        return {row["id"]: row["dated"] for row in self._by_id(sql, ids)}

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""
        rows = self._by_id("SELECT id, document_id FROM chunks WHERE id IN ({})", ids)
        documents = {row["id"]: row["document_id"] for row in rows}
        # Each document once: SQLite reads a text whole to cut its beginning off.
        titles = _titles(self._by_id(f"{_BEGINNINGS} WHERE d.id IN ({{}})", sorted(set(documents.values()))))
        return {chunk: titles[document] for chunk, document in documents.items() if document in titles}

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""
        rows = self._by_id("SELECT chunk_id, vector FROM vectors WHERE chunk_id IN ({})", ids)
        return {row["chunk_id"]: np.frombuffer(row["vector"], dtype="<f4") for row in rows}

    def full_text(self, question: str, k: int) -> list[int]:
        """Return up to `k` chunk ids by BM25 (FTS5's, k1 = 1.2, b = 0.75), best first."""
        # Quoted words joined by OR: nothing in a question is taken for FTS5's query language.
        words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
        if not words:
            return []
        sql = (
            "SELECT c.id FROM chunks_fts JOIN chunks c ON c.id = chunks_fts.rowid "
            "JOIN documents d ON d.id = c.document_id "
            "WHERE chunks_fts MATCH ? AND d.collection_id = ? ORDER BY bm25(chunks_fts), c.id LIMIT ?"
        )
        query = " OR ".join(f'"{word}"' for word in words)
        return [row["id"] for row in self._database.rows(sql, query, self.id, k)]

    def index_checksum(self) -> str | None:
        """Return the SHA-256 of the vector index file that was written last."""
        rows = self._database.rows("SELECT sha256 FROM index_files WHERE collection_id = ?", self.id)
        return rows[0]["sha256"] if rows else None

    def set_index_checksum(self, sha256: str) -> None:
        """Remember the vector index file that was just written."""
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO index_files VALUES (?, ?)", (self.id, sha256))

    def _by_id(self, sql: str, ids: Sequence[int]) -> Iterator[sqlite3.Row]:
        for at in range(0, len(ids), _AT_ONCE):
            some = ids[at : at + _AT_ONCE]
            yield from self._database.rows(sql.format(", ".join("?" * len(some))), *some)

    def _require_embedder(self, row: sqlite3.Row) -> None:
        if (row["embedder"], row["dimension"]) != (self.embedder, self.dimension):
            raise EmbedderMismatch(
                f"The collection “{self.name}” was indexed with {row['embedder']} ({row['dimension']} dimensions), "
                f"but the embedder in use is {self.embedder} ({self.dimension}). Either go back to the former one "
                f"(localcrag models use NAME), or embed the collection anew: "
                f"localcrag ingest --re-embed --collection {self.name}"
            )

    def _unknown(self, name: str) -> UnknownDocument:
        return UnknownDocument(
            f"The collection “{self.name}” has no document “{name}”. "
            f"localcrag documents --collection {self.name} lists what it has."
        )


def documents_of(database: Database, collection: str) -> list[Document]:
    """Return a collection's documents, by name; none when there is no such collection. Needs no embedder."""
    return [Document(**row) for row in database.rows(_DOCUMENT + " ORDER BY d.name", collection)]


def texts_of(database: Database, collection: str) -> dict[str, str]:
    """Return the text of a collection's documents, by name. Needs no embedder."""
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
    """Return the names of all collections."""
    return [row["name"] for row in database.rows("SELECT name FROM collections ORDER BY name")]


def of_other_embedders(database: Database, embedder: str) -> list[str]:
    """Return the names of the collections that another embedder than this one has indexed."""
    return [
        row["name"] for row in database.rows("SELECT name FROM collections WHERE embedder != ? ORDER BY name", embedder)
    ]


def require_collection(database: Database, name: str) -> None:
    """Raise UnknownCollection, with the names there are, when there is no collection `name`."""
    names = collection_names(database)
    if name not in names:
        there = ", ".join(names) if names else "none yet"
        raise UnknownCollection(
            f"There is no collection “{name}” (there are: {there}). Put documents into it first: "
            f"localcrag ingest PATH --collection {name}"
        )


def chunk_texts(database: Database, collection: str) -> list[tuple[int, str]]:
    """Return id and text of a collection's chunks as they are embedded, shortest first. Needs no embedder."""
    rows = database.rows(
        "SELECT c.id, c.text, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id "
        "JOIN collections k ON k.id = d.collection_id WHERE k.name = ?",
        collection,
    )
    # What is deleted between the two has no title, and replace_vectors refuses what was made of it.
    titles = _titles(
        database.rows(f"{_BEGINNINGS} JOIN collections k ON k.id = d.collection_id WHERE k.name = ?", collection)
    )
    texts = [(row["id"], in_context(titles.get(row["document_id"]), row["text"])) for row in rows]
    return sorted(texts, key=lambda text: len(text[1]))


def replace_vectors(
    database: Database, collection: str, *, embedder: str, dimension: int, vectors: dict[int, Vectors]
) -> None:
    """Give a collection's chunks the vectors of another embedder, in one transaction.

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
            [(_packed(vector), chunk_id) for chunk_id, vector in vectors.items()],
        )
        connection.execute(
            "UPDATE collections SET embedder = ?, dimension = ? WHERE name = ?", (embedder, dimension, collection)
        )
        connection.execute(
            "DELETE FROM index_files WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", (collection,)
        )


def _titles(rows: Iterable[sqlite3.Row]) -> dict[int, str]:
    """Return the titles of documents, by id, from what _BEGINNINGS selects."""
    return {row["id"]: title_of(row["beginning"], row["name"]) for row in rows}


def _keep_file(connection: sqlite3.Connection, document_id: int, path: Path) -> None:
    """Write the file in pieces: it may be larger than what is wanted in memory. Raises UnreadableDocument."""
    try:
        size = path.stat().st_size
        connection.execute("INSERT INTO originals VALUES (?, zeroblob(?))", (document_id, size))
        with connection.blobopen("originals", "data", document_id) as blob, path.open("rb") as file:
            while piece := file.read(_PIECE):
                blob.write(piece)
            whole = blob.tell() == size
    except (OSError, ValueError):  # ValueError: more than there is room for
        whole = False
    if not whole:
        raise UnreadableDocument(f"{path.name} changed while it was taken in. Take it in again.")


def _packed(vector: Vectors) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
