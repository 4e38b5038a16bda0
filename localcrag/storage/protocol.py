"""The protocols of a collection in SQLite or PostgreSQL: its documents, its chunks and its index.

`SqliteCollection` and `PostgresCollection` have these methods. Callers use a collection only through these protocols;
only app/collections/locator.py names the two classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from localcrag.records.documents import Document, ResidueLocation, ResidueSignature, StoredDocument
from localcrag.records.protocols import ChunkStore, DocumentShelf, SavableIndex, ScannedPages, VectorIndex, Vectors
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.stored_collection import StoredCollection
from localcrag.storage.postgres.address import PostgresAddress


class Index(VectorIndex, SavableIndex, Protocol):
    """The vector index of a collection. A server maintains its own, so that most methods have nothing to do there."""

    def rebuild(self) -> None:
        """Write the index again, without anything that was deleted. Raises StoreError."""

    def remove_file(self) -> None:
        """Remove the index file."""

    def is_consistent(self) -> bool:
        """Return whether the index file is intact; True if there is none."""

    def __len__(self) -> int: ...


class Store(ChunkStore, DocumentShelf, Protocol):
    """The documents and chunks of a collection that is open with its embedding model."""

    @property
    def server(self) -> PostgresAddress | None:
        """The address of the server's database; None if the collection is on no server."""

    def find(self, name: str) -> Document | None:
        """Return the document of that name, or None."""

    def delete(self, name: str) -> int:
        """Remove a document and its attachments; return the number of attachments. Raises UnknownDocument."""

    def open_index(self, folder: Path, engines: EngineChoice) -> Index:
        """Open the vector index; its files, if it has any, are in `folder`. Raises StoreError."""


class CollectionBackend(StoredCollection[Any], Protocol):
    """A collection, wherever it is stored: all operations that need no embedding model. All raise StoreError."""

    @property
    def server(self) -> PostgresAddress | None:
        """The address of the server's database; None if the collection is on no server.

        A collection on a server takes part in no transaction of the data folder's database.
        """

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension. Raises UnknownCollection."""

    def open(self, embedder: str, dimension: int) -> Store:
        """Return the store of its documents and chunks. Raises EmbedderMismatch."""

    def transaction(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""

    def scans(self) -> ScannedPages:
        """Return the scanned pages of its documents."""

    def as_stored(self, document: StoredDocument) -> StoredDocument:
        """Return a document as it would be stored, because not every database can store every character."""

    def delete(self) -> None:
        """Delete the collection at its location, for everyone who uses it."""


class ServerCollection(CollectionBackend, Protocol):
    """A collection on a PostgreSQL server. All methods raise StoreError."""

    @property
    def server(self) -> PostgresAddress: ...

    def writer(self) -> str:
        """Return who else is writing to the collection right now; "" if no one is."""

    def has_pages_to_recognise(self) -> bool:
        """Return whether pages wait for text recognition, or recognised pages are missing from the text."""

    def replace_vectors(self, *, embedder: str, dimension: int, vectors: Mapping[int, Vectors]) -> None:
        """Replace all vectors with those of another embedding model, in one transaction."""

    def vacuum(self) -> None:
        """Remove deleted content from the server's table and index files."""

    def tables_containing(self, marks: Sequence[ResidueSignature]) -> list[ResidueLocation]:
        """Return the server's tables, of any collection, that contain the text of a mark."""
