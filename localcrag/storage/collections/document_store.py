"""Documents, chunks and scanned pages of one SQLite collection.

A scanned page is a picture: it is waiting for text recognition, was recognised, or failed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localcrag.records.documents import Chunk, Document, ScannedPage
from localcrag.records.errors import StoreError, UnknownCollection
from localcrag.records.ingest import OriginalFile
from localcrag.records.protocols import Vectors
from localcrag.storage.collections import admin, full_text, index_folder, queries
from localcrag.storage.collections.chunks import (
    NAMES_AND_TITLES,
    chunk_from,
    embedded_texts,
    put_chunks,
    stored_chunks,
    title_to_store,
    titles_of,
)
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.index_folder import IndexRow
from localcrag.storage.collections.queries import (
    DOCUMENTS_QUERY,
    document_from,
    documents_of,
    embedder_mismatch,
    no_document,
)
from localcrag.storage.database import Database, now
from localcrag.storage.files import keep_file
from localcrag.storage.schema import IS_VISIBLE
from localcrag.text.titles import BEGINNING, find_title

if TYPE_CHECKING:
    from localcrag.storage.collections.vector_index import ChunkIndex


class ScanStore:
    """The scanned pages of one collection's documents."""

    def __init__(self, database: Database, collection: str) -> None:
        self._database, self._collection = database, collection

    def documents(self) -> list[Document]:
        """Return documents with pages to recognise, or recognised pages missing from their text, oldest first."""
        to_do = "EXISTS (SELECT 1 FROM scans s WHERE s.document_id = d.id AND s.error IS NULL AND NOT s.in_text)"
        rows = self._database.rows(f"{DOCUMENTS_QUERY} AND {to_do} ORDER BY d.id", self._collection)
        return [document_from(row) for row in rows]

    def original(self, document: Document) -> bytes | None:
        """Return a document's file, or None if the document is gone."""
        data: bytes | None = self._database.value("SELECT data FROM originals WHERE document_id = ?", document.id)
        return data

    def text(self, document: Document) -> str:
        """Return a document's text, or "" if the document is gone."""
        return str(self._database.value("SELECT text FROM documents WHERE id = ?", document.id) or "")

    def waiting(self, document: Document) -> list[int]:
        """Return the numbers of the pages that still wait for text recognition, in order."""
        sql = "SELECT page FROM scans WHERE document_id = ? AND read IS NULL AND error IS NULL ORDER BY page"
        return self._database.column(sql, document.id)

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return the recognised pages of a document, by page number."""
        rows = self._database.rows("SELECT * FROM scans WHERE document_id = ? AND read IS NOT NULL", document.id)
        return {row["page"]: ScannedPage.of(json.loads(row["read"])) for row in rows}

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None:
        """Store the recognised content of a page, unless the document is gone. Raises StoreError."""
        content = json.dumps(read.plain(), ensure_ascii=False)
        sql = "UPDATE scans SET read = ?, confidence = ?, seconds = ? WHERE document_id = ? AND page = ?"
        self._database.run(sql, content, read.confidence, seconds, document.id, page)

    def record_failure(self, document: Document, page: int, error: str) -> None:
        """Store why a page could not be recognised, unless the document is gone. Raises StoreError."""
        self._database.run("UPDATE scans SET error = ? WHERE document_id = ? AND page = ?", error, document.id, page)

    def retry_failed(self) -> None:
        """Queue the pages that failed for text recognition again. Raises StoreError."""
        self._database.run(
            "UPDATE scans SET error = NULL WHERE document_id IN (SELECT d.id FROM documents d "
            "JOIN collections k ON k.id = d.collection_id WHERE k.name = ?)",
            self._collection,
        )

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, keyed by the embedded text."""
        texts = embedded_texts(self._database, document.id)
        rows = self._database.rows(
            "SELECT v.* FROM vectors v JOIN chunks c ON c.id = v.chunk_id WHERE c.document_id = ?", document.id
        )
        return {texts[row["chunk_id"]]: np.frombuffer(row["vector"], "<f4") for row in rows if row["chunk_id"] in texts}

    def replace_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None:
        """Replace a document's text and chunks in one transaction; the new text includes the scanned `pages`.

        Does nothing if the document is gone. `vectors` has a row per chunk. Raises StoreError.
        """
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE documents SET text = ?, title = ? WHERE id = ?",
                (text, title_to_store(title, document.name), document.id),
            )
            if not changed.rowcount:
                return
            connection.execute("DELETE FROM chunks WHERE document_id = ?", (document.id,))
            put_chunks(connection, document.id, stored_chunks(title, chunks, vectors))
            connection.executemany(
                "UPDATE scans SET in_text = 1 WHERE document_id = ? AND page = ?",
                [(document.id, page) for page in pages],
            )


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


def recognised_pages(connection: sqlite3.Connection, collection: int, name: str, sha256: str) -> dict[int, sqlite3.Row]:
    """Return the recognised pages of a document, by page, if the stored file has this checksum."""
    rows = connection.execute(
        "SELECT s.* FROM scans s JOIN documents d ON d.id = s.document_id "
        "WHERE d.collection_id = ? AND d.name = ? AND d.sha256 = ? AND s.read IS NOT NULL",
        (collection, name, sha256),
    )
    return {row["page"]: row for row in rows}


def queue_pages(
    connection: sqlite3.Connection, document: int, pages: Sequence[int], read: Mapping[int, sqlite3.Row]
) -> None:
    """Queue these pages of a document for text recognition; pages in `read` keep their recognised content."""
    columns = ("read", "confidence", "seconds")
    connection.executemany(
        "INSERT INTO scans (document_id, page, read, confidence, seconds) VALUES (?, ?, ?, ?, ?)",
        [(document, page, *(read[page][column] if page in read else None for column in columns)) for page in pages],
    )


_IDS_PER_STATEMENT = 500
"""Ids per statement; SQLite's oldest limit on variables is 999."""
_COLLECTION = (
    "SELECT k.*, h.address FROM collections k LEFT JOIN collection_homes h ON h.collection_id = k.id "
    "AND h.state = 'there' WHERE k.id = ?"
)
"""Query for a collection's row, with the server's address if the collection is on a server."""


class DocumentStore:
    """The documents and chunks of one collection."""

    server = None
    """Address of the server's database; None, because this collection is on no server."""

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
        self.languages = full_text.UntilChanged(database, self._count_languages)
        self._chunks = full_text.UntilChanged(database, self._count_chunks)

    def documents(self) -> list[Document]:
        """Return all documents, sorted by name."""
        return documents_of(self._database, self.name)

    def find(self, name: str) -> Document | None:
        """Return the document of that name, or None."""
        rows = self._database.rows(DOCUMENTS_QUERY + " AND d.name = ?", self.name, name)
        return document_from(rows[0]) if rows else None

    def twin(self, sha256: str, exclude: str) -> str | None:
        """Return the first document (by name) with that checksum, leaving out `exclude`; None if there is none."""
        sql = "SELECT name FROM documents WHERE collection_id = ? AND sha256 = ? AND name != ? ORDER BY name LIMIT 1"
        name: str | None = self._database.value(sql, self.id, sha256, exclude)
        return name

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
        title: str | None = None,
        dated: str | None = None,
        original: OriginalFile | None = None,
        unread: Sequence[int] = (),
    ) -> None:
        """Store a document in one transaction, with its file if given; replace an earlier one of the same name.

        `vectors` has a row per chunk. Searches find a chunk by its text and by the headings in front of it. Without a
        title, the document gets one from its text and name. The pages in `unread` wait for text recognition, unless
        they were recognised for the same file before. Existing tags are kept. Raises StoreError, and UnreadableDocument
        if the file is gone or has changed; then nothing is stored.
        """
        title = title or find_title(text[:BEGINNING], name)
        with self._database.transaction() as connection:
            # Another process may have re-indexed the collection with another model since it was opened.
            self._require_embedder(connection.execute(_COLLECTION, (self.id,)).fetchone())
            # Both queries need the earlier document, so they come before its deletion.
            read = recognised_pages(connection, self.id, name, sha256)
            tags = queries.tags_of(connection, self.id, name)
            self._delete(connection, name)
            own_title = title_to_store(title, name)
            document: int = connection.execute(
                "INSERT INTO documents (collection_id, name, sha256, media_type, pages, text, added_at, dated, title, "
                "characters) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (self.id, name, sha256, media_type, pages, text, now(), dated, own_title, len(text)),
            ).fetchone()["id"]
            put_chunks(connection, document, stored_chunks(title, chunks, vectors))
            queue_pages(connection, document, unread, read)
            queries.add_tags(connection, document, tags)
            if original:
                keep_file(connection, document, original)

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        sql = "SELECT text FROM documents WHERE collection_id = ? AND name = ?"
        text: str | None = self._database.value(sql, self.id, name)
        if text is None:
            raise no_document(self.name, name)
        return text

    def title(self, name: str) -> str | None:
        """Return a document's title, or None if it is made from the name."""
        sql = "SELECT title FROM documents WHERE collection_id = ? AND name = ?"
        title: str | None = self._database.value(sql, self.id, name)
        return title

    def recut(self, document: Document, *, chunks: Sequence[Chunk], vectors: Vectors, title: str) -> None:
        """Add chunks to a document that has none, in one transaction; `vectors` has a row per chunk.

        The document's checksum becomes that of its text, from which the chunks were made. If its file is added again,
        it is therefore read again. Raises StoreError, UnknownCollection and EmbedderMismatch.
        """
        with self._database.transaction() as connection:
            self._require_embedder(connection.execute(_COLLECTION, (self.id,)).fetchone())
            sha256 = hashlib.sha256(self.text(document.name).encode()).hexdigest()
            connection.execute(
                "UPDATE documents SET title = ?, sha256 = ? WHERE id = ?",
                (title_to_store(title, document.name), sha256, document.id),
            )
            put_chunks(connection, document.id, stored_chunks(title, chunks, vectors))

    def delete(self, name: str) -> int:
        """Remove a document and its attachments; return the number of attachments. Raises UnknownDocument."""
        with self._database.transaction() as connection:
            if not self._delete(connection, name):
                raise no_document(self.name, name)
            return admin.delete_attachments(connection, self.id, name)

    def _delete(self, connection: sqlite3.Connection, name: str) -> bool:
        sql = "DELETE FROM documents WHERE collection_id = ? AND name = ?"
        return connection.execute(sql, (self.id, name)).rowcount > 0

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or only of those in the documents `within`, in ascending order."""
        sql = f"SELECT c.id {self._of(within)} ORDER BY c.id"
        return self._database.column(sql, self.id, chosen=full_text.fast_container(within))

    def _count_languages(self) -> dict[str, int]:
        """Return the number of documents per language (as `detect_text_language` names it), without unknown ones."""
        sql = (
            "SELECT l.language, count(*) AS number FROM document_languages l JOIN documents d "
            "ON d.id = l.document_id WHERE d.collection_id = ? AND l.language != '' GROUP BY l.language"
        )
        return {row["language"]: row["number"] for row in self._database.rows(sql, self.id)}

    def _count_chunks(self) -> int:
        return int(self._database.value(f"SELECT count(*) {self._of(None)}", self.id))

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return the number of all chunks, or only of those in the documents `within`."""
        if within is None:
            return self._chunks()
        sql = f"SELECT count(*) {self._of(within)}"
        return int(self._database.value(sql, self.id, chosen=full_text.fast_container(within)))

    def _of(self, within: Collection[int] | None) -> str:
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

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return the document name and the chunk of each id that still exists."""
        sql = "SELECT c.*, d.name FROM chunks c JOIN documents d ON d.id = c.document_id WHERE c.id IN ({})"
        return {row["id"]: (row["name"], chunk_from(row)) for row in self._by_id(sql, ids)}

    def neighbour(self, chunk_id: int, *, behind: bool) -> tuple[int, Chunk] | None:
        """Return the previous or (`behind`) next chunk of the same document, with its id, or None."""
        document = "document_id = (SELECT document_id FROM chunks WHERE id = ?1)"
        before, after = "SELECT max(id) FROM chunks WHERE id < ?1 AND ", "SELECT min(id) FROM chunks WHERE id > ?1 AND "
        identifier = self._database.value((after if behind else before) + document, chunk_id)
        found = self.chunks([identifier]) if identifier is not None else {}
        return (identifier, found[identifier][1]) if found else None

    def excerpt(self, chunk_id: int, start: int, end: int) -> str:
        """Return the characters from `start` to `end` of a chunk's document, or "" if it is gone."""
        sql = "SELECT substr(text, ?, ?) FROM documents WHERE id = (SELECT document_id FROM chunks WHERE id = ?)"
        return str(self._database.value(sql, start + 1, end - start, chunk_id) or "")

    def chunks_within(self, chunk_id: int, start: int, end: int) -> list[int]:
        """Return the ids of the chunks that overlap these characters of a chunk's document, in order."""
        sql = (
            "SELECT id FROM chunks WHERE document_id = (SELECT document_id FROM chunks WHERE id = ?) "
            'AND start < ? AND "end" > ? ORDER BY id'
        )
        return self._database.column(sql, chunk_id, end, start)

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the date of each chunk's document; documents without a date are left out."""
        sql = (
            "SELECT c.id, d.dated FROM chunks c JOIN documents d ON d.id = c.document_id "
            "WHERE d.dated IS NOT NULL AND c.id IN ({})"
        )
        return {row["id"]: row["dated"] for row in self._by_id(sql, ids)}

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""
        documents = self.documents_of(ids)
        titles = titles_of(self._by_id(f"{NAMES_AND_TITLES} WHERE d.id IN ({{}})", sorted(set(documents.values()))))
        return {chunk: titles[document] for chunk, document in documents.items() if document in titles}

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""
        rows = self._by_id("SELECT chunk_id, vector FROM vectors WHERE chunk_id IN ({})", ids)
        return {row["chunk_id"]: np.frombuffer(row["vector"], dtype="<f4") for row in rows}

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, restricted to the documents `within` if given."""
        return full_text.keyword_search(self._database, self.id, question, k, within)

    def documents_containing(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that contain a word, or None if very many chunks contain it."""
        return full_text.documents_containing(self._database, self.id, word)

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the document id of each chunk that still exists."""
        rows = self._by_id("SELECT id, document_id FROM chunks WHERE id IN ({})", ids)
        return {row["id"]: row["document_id"] for row in rows}

    def number_of_documents(self) -> int:
        """Return the number of documents."""
        return int(self._database.value("SELECT count(*) FROM documents WHERE collection_id = ?", self.id))

    def open_index(self, folder: Path, engines: EngineChoice) -> ChunkIndex:
        """Open the vector index; its files are in `folder`. Raises StoreError."""
        from localcrag.storage.collections.vector_index import ChunkIndex  # noqa: PLC0415 - takes a while to import

        return ChunkIndex(self, folder, engines=engines)

    def index_file(self) -> IndexRow | None:
        """Return the row of the vector index file that was written last, or None."""
        return index_folder.read_index_row(self._database, self.id)

    def set_index_file(self, row: IndexRow | None) -> str | None:
        """Record the vector index file that was just written, and return the name of the previous one."""
        return index_folder.write_index_row(self._database, self.id, row)

    def _by_id(self, sql: str, ids: Sequence[int]) -> Iterator[sqlite3.Row]:
        for at in range(0, len(ids), _IDS_PER_STATEMENT):
            some = ids[at : at + _IDS_PER_STATEMENT]
            yield from self._database.rows(sql.format(", ".join("?" * len(some))), *some)

    def _require_embedder(self, row: sqlite3.Row | None) -> None:
        if row is None:
            raise UnknownCollection(f"There is no collection “{self.name}” any more.")
        if row["address"]:
            raise StoreError(f"The collection “{self.name}” has been moved to {row['address']}. Try again.")
        if (row["embedder"], row["dimension"]) != (self.embedder, self.dimension):
            raise embedder_mismatch(self.name, row, self.embedder, self.dimension)
