"""A collection in SQLite: all operations that need no embedding model."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from localcrag.records.documents import StoredDocument
from localcrag.storage.collections import admin
from localcrag.storage.collections.document_store import DocumentStore, SqliteDocuments
from localcrag.storage.collections.index_folder import IndexFolder
from localcrag.storage.collections.stored_collection import Scans
from localcrag.storage.database import Database


class SqliteCollection(SqliteDocuments):
    """One collection of the database in the data folder."""

    def __init__(self, database: Database, name: str, indexes: Path) -> None:
        """Open a collection by name; `indexes` is the folder of the index files."""
        self._database, self.name, self._indexes = database, name, indexes

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension. Raises UnknownCollection."""
        row = admin.collection_row(self._database, self.name)
        return row["embedder"], row["dimension"]

    def open(self, embedder: str, dimension: int) -> DocumentStore:
        """Return the store of its documents and chunks, creating the collection if needed. Raises EmbedderMismatch."""
        return DocumentStore(self._database, self.name, embedder=embedder, dimension=dimension)

    def transaction(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""
        return self._database.transaction()

    def scans(self) -> Scans:
        """Return the scanned pages of its documents."""
        return Scans(self)

    def stored(self, name: str) -> StoredDocument:
        """Return a document with everything stored about it, as of one moment. Raises UnknownDocument."""
        with self._database.transaction():
            return super().stored(name)

    def delete(self) -> None:
        """Delete the collection and its documents. Raises UnknownCollection and StoreError."""
        admin.delete_collection(self._database, self.name)

    def remove_index(self) -> None:
        """Remove the index files, which contain vectors of texts that are no longer here."""
        IndexFolder(self._indexes, admin.collection_row(self._database, self.name)["id"]).remove()

    @staticmethod
    def as_stored(document: StoredDocument) -> StoredDocument:
        """Return a document as it would be stored: unchanged, because SQLite can store any text."""
        return document
