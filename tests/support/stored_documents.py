"""Documents in a data folder, as if they had been added: no model embeds them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np

from localcrag.records.documents import Chunk, Document
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.database import Database


def put(folder: Path, collection: str, **documents: str) -> None:
    """Put documents into a data folder, as if they had been added."""
    database = Database(folder / "localcrag.sqlite3")
    store = DocumentStore(database, collection, embedder="all-minilm-l6-v2", dimension=384)
    for name, text in documents.items():
        store.put(
            f"{name}.txt", sha256=sha256(text.encode()).hexdigest(), media_type="text/plain", pages=None, text=text,
            chunks=[Chunk(None, 0, len(text), text)], vectors=np.full((1, 384), 384**-0.5, dtype=np.float32),
        )  # fmt: skip
    database.close()


def documents_of(database: Database, collection: str) -> list[Document]:
    """Return a collection's documents; an empty list if there is no such collection."""
    return SqliteCollection(database, collection, Path()).documents()


def rename_document(database: Database, collection: str, old: str, new: str) -> None:
    """Rename a document of a collection."""
    SqliteCollection(database, collection, Path()).rename_document(old, new)
