"""A data folder with a document for each of some words, as an app leaves it that has ended."""

from __future__ import annotations

from pathlib import Path

from localcrag.records.documents import Chunk
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from tests.support.fakes import FakeEmbedder

EMBEDDER = FakeEmbedder()
NAME = "localcrag.sqlite3"


def filled(data: Path, *words: str) -> None:
    """Put a document into a data folder for each word, as an app does that has ended since."""
    database = Database(data / NAME)
    put(database, *words)
    database.close()


def put(database: Database, *words: str) -> None:
    """Put a document into a database for each word."""
    store = DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    for word in words:
        text = f"The {word} keeps its lamp lit."
        store.put(
            f"{word}.txt", sha256=word, media_type="text/plain", pages=None, text=text,
            chunks=[Chunk(None, 0, len(text), text)], vectors=EMBEDDER.embed([text]),
        )  # fmt: skip
