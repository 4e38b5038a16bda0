"""Pages that are pictures: which wait for text recognition, and what it has read of the others."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np

from localcrag.backends.store.chunk_rows import own_title, put_chunks, with_front
from localcrag.backends.store.collection_queries import DOCUMENT, document_from
from localcrag.backends.store.database import Database
from localcrag.backends.store.shown_collections import SHOWN
from localcrag.backends.store.stored_vectors import embedded_texts
from localcrag.records.documents import Chunk, Document, ScannedPage
from localcrag.records.protocols import Vectors

_SCAN = "SELECT s.* FROM scans s WHERE s.document_id = ?"


class ScanStore:
    """The scanned pages of one collection's documents."""

    def __init__(self, database: Database, collection: str) -> None:
        self._database, self._collection = database, collection

    def documents(self) -> list[Document]:
        """Return the documents with pages that wait, or that were read and are not in the text yet, oldest first."""
        to_do = "EXISTS (SELECT 1 FROM scans s WHERE s.document_id = d.id AND s.error IS NULL AND NOT s.in_text)"
        rows = self._database.rows(f"{DOCUMENT} AND {to_do} ORDER BY d.id", self._collection)
        return [document_from(row) for row in rows]

    def original(self, document: Document) -> bytes | None:
        """Return a document's file; None when the document is gone."""
        rows = self._database.rows("SELECT data FROM originals WHERE document_id = ?", document.id)
        return rows[0]["data"] if rows else None

    def text(self, document: Document) -> str:
        """Return a document's text; nothing when it is gone."""
        rows = self._database.rows("SELECT text FROM documents WHERE id = ?", document.id)
        return str(rows[0]["text"]) if rows else ""

    def waiting(self, document: Document) -> list[int]:
        """Return the pages that are still to be read, in order."""
        rows = self._database.rows(f"{_SCAN} AND read IS NULL AND error IS NULL ORDER BY page", document.id)
        return [row["page"] for row in rows]

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return what was read of a document's pages, by their numbers."""
        rows = self._database.rows(f"{_SCAN} AND read IS NOT NULL", document.id)
        return {row["page"]: ScannedPage.of(json.loads(row["read"])) for row in rows}

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None:
        """Keep what was read of a page, unless the document is gone. Raises StoreError."""
        said = json.dumps(read.plain(), ensure_ascii=False)
        sql = "UPDATE scans SET read = ?, confidence = ?, seconds = ? WHERE document_id = ? AND page = ?"
        with self._database.transaction() as connection:
            connection.execute(sql, (said, read.confidence, seconds, document.id, page))

    def give_up(self, document: Document, page: int, error: str) -> None:
        """Keep why a page cannot be read, unless the document is gone. Raises StoreError."""
        sql = "UPDATE scans SET error = ? WHERE document_id = ? AND page = ?"
        with self._database.transaction() as connection:
            connection.execute(sql, (error, document.id, page))

    def try_again(self) -> None:
        """Have pages that could not be read wait again. Raises StoreError."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE scans SET error = NULL WHERE document_id IN (SELECT d.id FROM documents d "
                "JOIN collections k ON k.id = d.collection_id WHERE k.name = ?)",
                (self._collection,),
            )

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, by the text that each was made of."""
        texts = embedded_texts(self._database, document.id)
        rows = self._database.rows(
            "SELECT v.* FROM vectors v JOIN chunks c ON c.id = v.chunk_id WHERE c.document_id = ?", document.id
        )
        return {texts[row["chunk_id"]]: np.frombuffer(row["vector"], "<f4") for row in rows if row["chunk_id"] in texts}

    def put_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None:
        """Put this text and these chunks in the place of a document's, in one transaction; they have these `pages`.

        A document that is gone stays gone. `vectors` has a row per chunk. Raises StoreError.
        """
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE documents SET text = ?, title = ? WHERE id = ?",
                (text, own_title(title, document.name), document.id),
            )
            if not changed.rowcount:
                return
            connection.execute("DELETE FROM chunks WHERE document_id = ?", (document.id,))
            put_chunks(connection, document.id, with_front(title, chunks, vectors))
            connection.executemany(
                "UPDATE scans SET in_text = 1 WHERE document_id = ? AND page = ?",
                [(document.id, page) for page in pages],
            )


def collections(database: Database) -> dict[str, str]:
    """Return which collections have pages to be read, or read and not in the text, by name, with their embedders."""
    rows = database.rows(
        "SELECT DISTINCT k.name, k.embedder FROM scans s JOIN documents d ON d.id = s.document_id "  # noqa: S608 - ours
        "JOIN collections k ON k.id = d.collection_id WHERE s.error IS NULL AND NOT s.in_text "
        f"AND {SHOWN} ORDER BY k.name"
    )
    return {row["name"]: row["embedder"] for row in rows}


def of_page(database: Database, collection: str, name: str, page: int) -> ScannedPage | None:
    """Return what was read of a document's page, if it was."""
    rows = database.rows(
        "SELECT s.read FROM scans s JOIN documents d ON d.id = s.document_id "
        "JOIN collections k ON k.id = d.collection_id "
        "WHERE k.name = ? AND d.name = ? AND s.page = ? AND s.read IS NOT NULL",
        collection,
        name,
        page,
    )
    return ScannedPage.of(json.loads(rows[0]["read"])) if rows else None


def of_same_file(connection: sqlite3.Connection, collection: int, name: str, sha256: str) -> dict[int, sqlite3.Row]:
    """Return what text recognition has read of a document as long as its file was the same, by page."""
    rows = connection.execute(
        "SELECT s.* FROM scans s JOIN documents d ON d.id = s.document_id "
        "WHERE d.collection_id = ? AND d.name = ? AND d.sha256 = ? AND s.read IS NOT NULL",
        (collection, name, sha256),
    )
    return {row["page"]: row for row in rows}


def put(connection: sqlite3.Connection, document: int, pages: Sequence[int], read: Mapping[int, sqlite3.Row]) -> None:
    """Have these pages of a document wait for text recognition, but for those that it has read already."""
    columns = ("read", "confidence", "seconds")
    connection.executemany(
        "INSERT INTO scans (document_id, page, read, confidence, seconds) VALUES (?, ?, ?, ?, ?)",
        [(document, page, *(read[page][column] if page in read else None for column in columns)) for page in pages],
    )
