"""A collection in SQLite: all operations that need no embedding model."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from pathlib import Path

from localcrag.records import documents as stored_document
from localcrag.records.documents import (
    Document,
    ResidueLocation,
    ResidueSignature,
    ScannedPage,
    StoredChunk,
    StoredDocument,
    StoredScan,
)
from localcrag.records.protocols import Vectors
from localcrag.storage.collections import admin, document_store, queries
from localcrag.storage.collections import chunks as stored_vectors
from localcrag.storage.collections.admin import SqliteNames
from localcrag.storage.collections.chunks import COLUMNS, chunk_from, put_chunks
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.index_folder import IndexFolder
from localcrag.storage.database import Database

_DOCUMENTS = "FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ?1"
_SCAN_COLUMNS = "page, read, confidence, seconds, error, in_text"
"""Columns of a scanned page, named like the fields of StoredScan and in their order."""


class SqliteCollection:
    """One collection of the database in the data folder."""

    server = None
    """Address of the server's database; None, because this collection is on no server."""

    def __init__(self, database: Database, name: str, indexes: Path) -> None:
        """Open a collection by name; `indexes` is the folder of the index files."""
        self._database, self.name, self._indexes = database, name, indexes
        self.names = SqliteNames(database, name)

    def writer(self) -> str:
        """Return "", because writers wait for each other here instead of being refused."""
        return ""

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension. Raises UnknownCollection."""
        row = admin.collection_fields(self._database, self.name)
        return row["embedder"], row["dimension"]

    def open(self, embedder: str, dimension: int) -> DocumentStore:
        """Return the store of its documents and chunks, creating the collection if needed. Raises EmbedderMismatch."""
        return DocumentStore(self._database, self.name, embedder=embedder, dimension=dimension)

    def together(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""
        return self._database.transaction()

    def scans(self) -> document_store.ScanStore:
        """Return the scanned pages of its documents."""
        return document_store.ScanStore(self._database, self.name)

    def documents(self) -> list[Document]:
        """Return all documents, sorted by name."""
        return queries.documents_of(self._database, self.name)

    def texts(self) -> dict[str, str]:
        """Return the text of all documents, by name."""
        rows = self._database.rows(f"SELECT d.name, d.text {_DOCUMENTS}", self.name)
        return {row["name"]: row["text"] for row in rows}

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        text: str | None = self._database.value(f"SELECT d.text {_DOCUMENTS} AND d.name = ?2", self.name, name)
        if text is None:
            raise admin.document_gone(self.name, name)
        return text

    def original(self, name: str) -> bytes | None:
        """Return a document's file, or None if it was not kept."""
        sql = f"SELECT (SELECT data FROM originals WHERE document_id = d.id) {_DOCUMENTS} AND d.name = ?2"  # noqa: S608 - our own SQL
        data: bytes | None = self._database.value(sql, self.name, name)
        return data

    def scanned_page(self, name: str, page: int) -> ScannedPage | None:
        """Return the recognised content of a page, or None if there is none."""
        sql = f"SELECT (SELECT read FROM scans WHERE document_id = d.id AND page = ?2) {_DOCUMENTS} AND d.name = ?3"  # noqa: S608 - our own SQL
        read = self._database.value(sql, self.name, page, name)
        return ScannedPage.of(json.loads(read)) if read else None

    def has_pages_to_recognise(self) -> bool:
        """Return whether pages wait for text recognition, or recognised pages are missing from the text."""
        return self.name in document_store.collections_to_recognise(self._database)

    def rename_document(self, old: str, new: str) -> None:
        """Rename a document. Raises NameRefused and UnknownDocument."""
        admin.rename_document(self._database, self.name, old, new)

    def tag(self, documents: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> None:
        """Add the tags `add` to documents or folders and remove the tags `remove`; see queries.change_tags."""
        queries.change_tags(self._database, self.name, documents, add=add, remove=remove)

    def folder_tags(self) -> dict[str, list[str]]:
        """Return the tags of the collection's folders; folders and tags are sorted."""
        return queries.folder_tags(self._database, self.name)

    def chunk_texts(self) -> list[tuple[int, str]]:
        """Return the id and the text to embed of each chunk, shortest text first."""
        return stored_vectors.chunk_texts(self._database, self.name)

    def replace_vectors(self, *, embedder: str, dimension: int, vectors: Mapping[int, Vectors]) -> None:
        """Replace all vectors with those of another embedding model, in one transaction. Raises StoreError."""
        stored_vectors.replace_vectors(
            self._database, self.name, embedder=embedder, dimension=dimension, vectors=vectors
        )

    def stored(self, name: str) -> StoredDocument:
        """Return a document with everything stored about it. Raises UnknownDocument."""
        with self._database.transaction() as connection:
            row = connection.execute(f"SELECT d.* {_DOCUMENTS} AND d.name = ?2", (self.name, name)).fetchone()
            if row is None:
                raise queries.no_document(self.name, name)

            def of(sql: str) -> list[sqlite3.Row]:
                return connection.execute(sql, (row["id"],)).fetchall()

            chunks = of(
                f"SELECT {COLUMNS}, front, vector FROM chunks JOIN vectors ON chunk_id = id "  # noqa: S608 - our columns
                "WHERE document_id = ? ORDER BY id"
            )
            scans = of(f"SELECT {_SCAN_COLUMNS} FROM scans WHERE document_id = ? ORDER BY page")  # noqa: S608 - as above
            tags = of("SELECT tag FROM document_tags WHERE document_id = ? ORDER BY tag")
            original = of("SELECT data FROM originals WHERE document_id = ?")
        return StoredDocument(
            **{field: row[field] for field in stored_document.DOCUMENT_COLUMNS},
            chunks=tuple(StoredChunk(chunk_from(one), one["front"], bytes(one["vector"])) for one in chunks),
            tags=tuple(one["tag"] for one in tags),
            scans=tuple(StoredScan(**{**dict(one), "in_text": bool(one["in_text"])}) for one in scans),
            original=bytes(original[0]["data"]) if original else None,
        )

    def save_document(self, document: StoredDocument) -> None:
        """Store a document unchanged, replacing one of the same name, in one transaction. Raises StoreError."""
        with self._database.transaction() as connection:
            collection = admin.collection_row(connection, self.name)["id"]
            _remove(connection, collection, document.name)
            columns = ", ".join(stored_document.DOCUMENT_COLUMNS)
            places = ", ".join("?" * len(stored_document.DOCUMENT_COLUMNS))
            identifier = connection.execute(
                f"INSERT INTO documents (collection_id, {columns}) VALUES (?, {places})",  # noqa: S608 - as above
                (collection, *(getattr(document, field) for field in stored_document.DOCUMENT_COLUMNS)),
            ).lastrowid or 0  # fmt: skip
            put_chunks(connection, identifier, document.chunks)
            queries.add_tags(connection, identifier, document.tags)
            connection.executemany(
                f"INSERT INTO scans (document_id, {_SCAN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - as above
                [(identifier, *astuple(scan)) for scan in document.scans],
            )
            if document.original is not None:
                connection.execute("INSERT INTO originals VALUES (?, ?)", (identifier, document.original))

    def remove(self, documents: Iterable[str]) -> None:
        """Remove these documents, if they exist. Raises StoreError."""
        for name in documents:
            with self._database.transaction() as connection:
                _remove(connection, admin.collection_row(connection, self.name)["id"], name)

    def delete(self) -> None:
        """Delete the collection and its documents. Raises UnknownCollection and StoreError."""
        admin.delete_collection(self._database, self.name)

    def vacuum(self) -> None:
        """Do nothing: `full_text.overwrite_deleted_words` cleans the whole database at once."""

    @staticmethod
    def tables_containing(_marks: Sequence[ResidueSignature]) -> list[ResidueLocation]:
        """Return no table, because this collection is on no server."""
        return []

    def put_folder_tags(self, tags: Mapping[str, Sequence[str]]) -> None:
        """Replace the tags of all folders with these. Raises StoreError."""
        with self._database.transaction() as connection:
            collection = admin.collection_row(connection, self.name)["id"]
            connection.execute("DELETE FROM folder_tags WHERE collection_id = ?", (collection,))
            rows = [(collection, folder, word) for folder, words in tags.items() for word in words]
            connection.executemany("INSERT INTO folder_tags VALUES (?, ?, ?)", rows)

    def remove_index(self) -> None:
        """Remove the index files, which contain vectors of texts that are no longer here."""
        IndexFolder(self._indexes, admin.collection_fields(self._database, self.name)["id"]).remove()

    @staticmethod
    def as_stored(document: StoredDocument) -> StoredDocument:
        """Return a document as it would be stored: unchanged, because SQLite can store any text."""
        return document


def _remove(connection: sqlite3.Connection, collection: int, name: str) -> None:
    connection.execute("DELETE FROM documents WHERE collection_id = ? AND name = ?", (collection, name))
