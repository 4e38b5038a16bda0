"""The protocols of a collection in SQLite or PostgreSQL: its documents, its chunks and its index.

`SqliteCollection` and `PostgresCollection` have these methods. Callers use a collection only through these protocols;
only app/collections/locator.py names the two classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from localcrag.records.documents import Document, ResidueLocation, ResidueSignature, ScannedPage, StoredDocument
from localcrag.records.protocols import ChunkStore, DocumentShelf, SavableIndex, ScannedPages, VectorIndex, Vectors
from localcrag.storage.collections.engine_choice import EngineChoice
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
    def name(self) -> str: ...

    @property
    def embedder(self) -> str:
        """The name of the embedding model."""

    @property
    def dimension(self) -> int: ...

    @property
    def server(self) -> PostgresAddress | None:
        """The address of the server's database; None if the collection is on no server."""

    def find(self, name: str) -> Document | None:
        """Return the document of that name, or None."""

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""

    def title(self, name: str) -> str | None:
        """Return a document's title, or None if it is made from the name."""

    def delete(self, name: str) -> int:
        """Remove a document and its attachments; return the number of attachments. Raises UnknownDocument."""

    def open_index(self, folder: Path, engines: EngineChoice) -> Index:
        """Open the vector index; its files, if it has any, are in `folder`. Raises StoreError."""


class Names(Protocol):
    """The names of a collection's documents: bulk renaming, and look-up by name or content."""

    def rename_all(self, names: Mapping[str, str]) -> None:
        """Rename several documents at once, even if they swap names; a document that has a new name is replaced."""

    def there(self, names: Iterable[str]) -> set[str]:
        """Return the names in `names` that belong to documents."""

    def within(self, name: str) -> list[str]:
        """Return the names of that document, if it exists, and of its parts (such as attachments), in order."""

    def find_by_checksum(self, sha256: str) -> str | None:
        """Return the name of the first document, by name, with that checksum; None if there is none."""


class CollectionBackend(Protocol):
    """A collection, wherever it is stored: all operations that need no embedding model. All raise StoreError."""

    @property
    def name(self) -> str:
        """The collection's name on this computer."""

    @property
    def server(self) -> PostgresAddress | None:
        """The address of the server's database; None if the collection is on no server.

        A collection on a server takes part in no transaction of the data folder's database.
        """

    @property
    def names(self) -> Names: ...

    def writer(self) -> str:
        """Return who else is writing to the collection right now; "" if no one is."""

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension. Raises UnknownCollection."""

    def open(self, embedder: str, dimension: int) -> Store:
        """Return the store of its documents and chunks. Raises EmbedderMismatch."""

    def together(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""

    def scans(self) -> ScannedPages:
        """Return the scanned pages of its documents."""

    def has_pages_to_recognise(self) -> bool:
        """Return whether pages wait for text recognition, or recognised pages are missing from the text."""

    def documents(self) -> list[Document]:
        """Return all documents, sorted by name."""

    def texts(self) -> dict[str, str]:
        """Return the text of all documents, by name."""

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""

    def original(self, name: str) -> bytes | None:
        """Return a document's file, or None if it was not kept."""

    def scanned_page(self, name: str, page: int) -> ScannedPage | None:
        """Return the recognised content of a page, or None if there is none."""

    def rename_document(self, old: str, new: str) -> None:
        """Rename a document. Raises NameRefused and UnknownDocument."""

    def tag(self, documents: Sequence[str], put: Sequence[str], take: Sequence[str]) -> None:
        """Add the tags `put` to documents or folders and remove the tags `take`, all or nothing.

        Raises NameRefused and UnknownDocument.
        """

    def folder_tags(self) -> dict[str, list[str]]:
        """Return the tags of the collection's folders; folders and tags are sorted."""

    def put_folder_tags(self, tags: Mapping[str, Sequence[str]]) -> None:
        """Replace the tags of all folders with these."""

    def chunk_texts(self) -> list[tuple[int, str]]:
        """Return the id and the text to embed of each chunk, shortest text first."""

    def replace_vectors(self, *, embedder: str, dimension: int, vectors: Mapping[int, Vectors]) -> None:
        """Replace all vectors with those of another embedding model, in one transaction."""

    def stored(self, name: str) -> StoredDocument:
        """Return a document with everything stored about it. Raises UnknownDocument."""

    def save_document(self, document: StoredDocument) -> None:
        """Store a document unchanged, replacing one of the same name, in one transaction."""

    def as_stored(self, document: StoredDocument) -> StoredDocument:
        """Return a document as it would be stored, because not every database can store every character."""

    def remove(self, documents: Iterable[str]) -> None:
        """Remove these documents, if they exist."""

    def delete(self) -> None:
        """Delete the collection at its location, for everyone who uses it."""

    def vacuum(self) -> None:
        """Remove deleted content from the server's table and index files, if the collection is on a server."""

    def tables_containing(self, marks: Sequence[ResidueSignature]) -> list[ResidueLocation]:
        """Return the tables of the collection's server, of any collection, that contain the text of a mark."""
