"""Documents and chunks of one SQLite collection."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localcrag.records.documents import DOCUMENT_COLUMNS, Chunk, Document, StoredChunk
from localcrag.records.errors import IndexFileError, StoreError, UnknownCollection
from localcrag.records.ingest import OriginalFile
from localcrag.records.protocols import Vectors
from localcrag.storage.collections import admin, full_text
from localcrag.storage.collections.chunks import COLUMNS, chunk_values, stored_chunks, title_to_store
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.index_folder import IndexRow
from localcrag.storage.collections.queries import embedder_mismatch
from localcrag.storage.collections.stored_collection import NAMED, OpenStore, StoredCollection
from localcrag.storage.database import Database, now
from localcrag.storage.files import changed_file, read_pieces
from localcrag.storage.schema import IS_VISIBLE
from localcrag.text.titles import passage_context, title_from_name

if TYPE_CHECKING:
    from localcrag.storage.collections.vector_index import ChunkIndex


def collections_to_recognise(database: Database) -> dict[str, str]:
    """Return the collections with pages to recognise or to add to the text, with their embedding models.

    The keys are the collections' names.
    """
    rows = database.rows(
        "SELECT DISTINCT k.name, k.embedder FROM scans s JOIN documents d ON d.id = s.document_id "  # noqa: S608 - our own SQL
        "JOIN collections k ON k.id = d.collection_id WHERE s.error IS NULL AND NOT s.in_text "
        f"AND {IS_VISIBLE} ORDER BY k.name"
    )
    return {row["name"]: row["embedder"] for row in rows}


_COLLECTION = (
    "SELECT k.*, h.address FROM collections k LEFT JOIN collection_homes h ON h.collection_id = k.id "
    "AND h.state = 'there' WHERE k.id = ?"
)
"""Query for a collection's row, with the server's address if the collection is on a server."""


DOCUMENTS_QUERY = """
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
FROM documents d WHERE d.collection_id = :collection
"""


class SqliteSession:
    """A transaction of one collection; see stored_collection.Session."""

    def __init__(self, connection: sqlite3.Connection, collection: int) -> None:
        self.connection, self._collection = connection, collection

    def rows(self, sql: str, **values: Any) -> list[sqlite3.Row]:
        """Run a statement, with values for its :names, and return its rows."""
        return self.connection.execute(sql, {"collection": self._collection, **values}).fetchall()

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement, and return the number of rows that it changed."""
        return self.connection.execute(sql, {"collection": self._collection, **values}).rowcount


class SqliteDocuments(StoredCollection[SqliteSession]):
    """The documents of one collection in SQLite."""

    server = None
    """Address of the server's database; None, because this collection is on no server."""
    documents_query = DOCUMENTS_QUERY
    column_prefix = value_prefix = condition_prefix = ""
    # “0” is the next character after “/”. The database's index finds such a range quickly.
    is_inside = "name > :name || '/' AND name < :name || '0'"
    temporary_name = "\0"
    chunk_vectors = "vector FROM chunks JOIN vectors ON chunk_id = id"
    new_document = (
        f"INSERT INTO documents (collection_id, {', '.join(DOCUMENT_COLUMNS)}, characters) VALUES (:collection, "  # noqa: S608
        f"{', '.join(f':{name}' for name in DOCUMENT_COLUMNS)}, :characters) RETURNING id"
    )
    _database: Database

    def _id(self) -> int | None:
        """Return the collection's id, or None if there is no such collection."""
        number: int | None = self._database.value("SELECT id FROM collections WHERE name = ?", self.name)
        return number

    def rows(self, sql: str, **values: Any) -> list[sqlite3.Row]:
        """Return the rows of a query; none if there is no such collection."""
        return self._database.rows(sql, collection=self._id(), **values)

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """Begin a transaction. Raises UnknownCollection."""
        with self._database.transaction() as connection:
            yield SqliteSession(connection, admin.collection_row(self._database, self.name)["id"])

    def put_chunks(self, session: SqliteSession, document: int, chunks: Sequence[StoredChunk]) -> None:
        """Add chunks with their vectors to a document, and index all of its chunks for full-text search."""
        insert = f"INSERT INTO chunks (document_id, {COLUMNS}, front) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        for stored in chunks:
            values = (document, *chunk_values(stored.chunk), stored.front)
            number = session.connection.execute(insert, values).lastrowid
            session.connection.execute("INSERT INTO vectors VALUES (?, ?)", (number, stored.vector))
        full_text.index_stems(session.connection, document)

    def delete_chunks(self, session: SqliteSession, document: int) -> None:
        """Remove all chunks of a document."""
        session.run("DELETE FROM chunks WHERE document_id = :document", document=document)

    def delete_row(self, session: SqliteSession, name: str) -> bool:
        """Remove a document; return whether it existed."""
        return session.run(f"DELETE FROM documents WHERE {NAMED}", name=name) > 0  # noqa: S608 - our own SQL

    def index_new_name(self, session: SqliteSession, document: int, name: str, *, titled: bool) -> None:
        """Re-index the chunks of a document without its own title under its new name."""
        if titled:
            return
        title = title_from_name(name)
        sql = "SELECT id, text, section, lead, front FROM chunks WHERE document_id = :document"
        for row in session.rows(sql, document=document):
            front = passage_context(title, row["text"], section=row["section"], lead=row["lead"])
            # The index has no copy of the text, so FTS5 needs the old values to find the words to remove.
            delete = "INSERT INTO chunks_fts (chunks_fts, rowid, text, front) VALUES ('delete', :id, :text, :front)"
            session.run(delete, **row)
            session.run("UPDATE chunks SET front = :front WHERE id = :id", id=row["id"], front=front)
            insert = "INSERT INTO chunks_fts (rowid, text, front) VALUES (:id, :text, :front)"
            session.run(insert, id=row["id"], text=row["text"], front=front)
        full_text.index_stems(session.connection, document)

    def read_vector(self, stored: bytes) -> Vectors:
        """Return a vector, given the column `vector`."""
        return np.frombuffer(stored, "<f4")

    def existing(self, names: Iterable[str]) -> set[str]:
        """Return the names in `names` that belong to documents."""
        # CROSS JOIN keeps SQLite from reading all documents.
        sql = (
            "SELECT d.name FROM json_each(:names) j CROSS JOIN documents d "
            "ON d.collection_id = :collection AND d.name = j.value"
        )
        return {row["name"] for row in self.rows(sql, names=json.dumps([*names]))}


class DocumentStore(SqliteDocuments, OpenStore[SqliteSession]):
    """The documents and chunks of one collection."""

    def __init__(self, database: Database, collection: str, *, embedder: str, dimension: int) -> None:
        """Open the collection, creating it if it does not exist. Raises EmbedderMismatch and StoreError."""
        self._database = database
        self.name = collection
        self.embedder = embedder
        self.dimension = dimension
        with database.transaction() as connection:
            connection.execute(
                "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name) DO NOTHING",
                (collection, embedder, dimension, now()),
            )
            row = connection.execute("SELECT id FROM collections WHERE name = ?", (collection,)).fetchone()
            self.id: int = row["id"]
            row = connection.execute(_COLLECTION, (self.id,)).fetchone()
        self._require_embedder(row)
        self.languages = full_text.CachedValue(database, self._count_languages)
        self._chunks = full_text.CachedValue(
            database, lambda: int(database.value(f"SELECT count(*) {self._chunks_sql(None)}", self.id))
        )

    def recut(self, document: Document, *, chunks: Sequence[Chunk], vectors: Vectors, title: str) -> None:
        """Add chunks to a document that has none, in one transaction; `vectors` has a row per chunk.

        The document's checksum becomes that of its text, from which the chunks were made. If its file is added again,
        it is therefore read again. Raises StoreError, UnknownCollection and EmbedderMismatch.
        """
        with self.writing() as session:
            sha256 = hashlib.sha256(self.text(document.name).encode()).hexdigest()
            sql = "UPDATE documents SET title = :title, sha256 = :sha256 WHERE id = :document"
            session.run(sql, title=title_to_store(title, document.name), sha256=sha256, document=document.id)
            self.put_chunks(session, document.id, stored_chunks(title, chunks, vectors))

    def _id(self) -> int:
        return self.id

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """Begin a transaction. Raises UnknownCollection and EmbedderMismatch, and StoreError if it has been moved."""
        with self._database.transaction() as connection:
            # Another process may have re-indexed the collection with another model since it was opened.
            self._require_embedder(connection.execute(_COLLECTION, (self.id,)).fetchone())
            yield SqliteSession(connection, self.id)

    def keep_file(self, session: SqliteSession, document: int, file: OriginalFile) -> None:
        """Store the file of a document. Raises UnreadableDocument."""
        try:
            size = file.path.stat().st_size
            session.run("INSERT INTO originals VALUES (:document, zeroblob(:size))", document=document, size=size)
            with session.connection.blobopen("originals", "data", document) as blob:
                for piece in read_pieces(file):
                    blob.write(piece)
        except (OSError, ValueError) as error:  # ValueError: the file has grown beyond the size of the blob
            raise changed_file(file) from error

    def chunk_rows(self, columns: str, ids: Sequence[int], **values: Any) -> list[sqlite3.Row]:
        """Return columns of the chunks (c) with these ids, and of their documents (d), if they still exist."""
        sql = (
            f"SELECT {columns} FROM chunks c JOIN documents d ON d.id = c.document_id "  # noqa: S608 - our own SQL
            "WHERE c.id IN (SELECT value FROM json_each(:ids))"
        )
        return self.rows(sql, ids=json.dumps([*ids]), **values)

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or only of those in the documents `within`, in ascending order."""
        sql = f"SELECT c.id {self._chunks_sql(within)} ORDER BY c.id"
        return self._database.column(sql, self.id, chosen=full_text.fast_container(within))

    def _count_languages(self) -> dict[str, int]:
        """Return the number of documents per language (as `detect_text_language` names it), without unknown ones."""
        sql = (
            "SELECT l.language, count(*) AS number FROM document_languages l JOIN documents d "
            "ON d.id = l.document_id WHERE d.collection_id = ? AND l.language != '' GROUP BY l.language"
        )
        return {row["language"]: row["number"] for row in self._database.rows(sql, self.id)}

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return the number of all chunks, or only of those in the documents `within`."""
        if within is None:
            return self._chunks()
        sql = f"SELECT count(*) {self._chunks_sql(within)}"
        return int(self._database.value(sql, self.id, chosen=full_text.fast_container(within)))

    def _chunks_sql(self, within: Collection[int] | None) -> str:
        chosen = "" if within is None else " AND chosen(d.id)"
        return f"FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ?{chosen}"

    def changes(self, since: full_text.State | None) -> tuple[full_text.State, full_text.Changes | None]:
        """Return the state of the chunks, and the changes since the state `since`, or None if they are unknown.

        Raises EmbedderMismatch if another process has re-indexed the collection with another model, and
        UnknownCollection if the collection is gone.
        """
        rows = self._database.rows(_COLLECTION, self.id)
        self._require_embedder(rows[0] if rows else None)
        now = full_text.current_state(self._database)
        if now == since:
            return now, (set(), set())
        return now, full_text.changes_since(self._database, self.id, since) if since else None

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""
        sql = "SELECT chunk_id, vector FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
        rows = self._database.rows(sql, json.dumps([*ids]))
        return {row["chunk_id"]: self.read_vector(row["vector"]) for row in rows}

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, restricted to the documents `within` if given."""
        return full_text.keyword_search(self._database, self.id, question, k, within)

    def documents_containing(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that contain a word, or None if very many chunks contain it."""
        return full_text.documents_containing(self._database, self.id, word)

    def open_index(self, folder: Path, engines: EngineChoice) -> ChunkIndex:
        """Open the vector index; its files are in `folder`. Raises StoreError."""
        from localcrag.storage.collections.vector_index import ChunkIndex  # noqa: PLC0415 - takes a while to import

        return ChunkIndex(self, folder, engines=engines)

    def index_file(self) -> IndexRow | None:
        """Return the row of the vector index file that was written last, or None."""
        for row in self.rows("SELECT * FROM index_files WHERE collection_id = :collection"):
            state = row["newest"], row["highest"]
            return IndexRow(row["name"], row["fingerprint"], row["rows"], state, row["gone"])
        return None

    def set_index_file(self, row: IndexRow | None) -> str | None:
        """Record the vector index file that was just written, or that there is none; return the previous one's name.

        Also removes the records of changes that are too old for any index to need. Raises IndexFileError.
        """
        try:
            with self._database.transaction() as connection:
                delete = "DELETE FROM index_files WHERE collection_id = ? RETURNING name"
                before = connection.execute(delete, (self.id,)).fetchone()
                if row:
                    connection.execute(
                        "INSERT INTO index_files (collection_id, name, fingerprint, rows, newest, highest, gone) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?)",
                        (self.id, row.name, row.fingerprint, row.rows, *row.state, row.gone),
                    )
                prune = "DELETE FROM chunk_changes WHERE number <= (SELECT max(number) FROM chunk_changes) - ?"
                connection.execute(prune, (full_text.CHANGES_KEPT,))
        except StoreError as error:
            raise IndexFileError(f"The vector index could not be noted in the database. {error}") from error
        return before["name"] if before else None

    def _require_embedder(self, row: sqlite3.Row | None) -> None:
        if row is None:
            raise UnknownCollection(f"There is no collection “{self.name}” any more.")
        if row["address"]:
            raise StoreError(f"The collection “{self.name}” has been moved to {row['address']}. Try again.")
        if (row["embedder"], row["dimension"]) != (self.embedder, self.dimension):
            raise embedder_mismatch(self.name, row, self.embedder, self.dimension)
