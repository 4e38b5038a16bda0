"""Collections where they may live: in SQLite with an index file, or in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.collections.vector_index import MOST_RECENT, ChunkIndex
from localcrag.storage.database import Database
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import parse_postgres
from localcrag.storage.postgres.collection import PostgresCollection
from localcrag.storage.postgres.connection import PostgresDatabase
from localcrag.storage.postgres.search import PgVectorIndex, PostgresStore
from localcrag.storage.protocol import CollectionBackend, Store
from tests.support.fakes import FakeEmbedder
from tests.support.postgres import opened

Index = ChunkIndex | PgVectorIndex


class Homes(Protocol):
    def store(self, name: str = "c", *, embedder: str | None = None, dimension: int | None = None) -> Store:
        """Return a collection, of the fake embedder unless another is named, made if there is none."""

    def index(self, store: Store) -> Index: ...

    def home(self, name: str = "c") -> CollectionBackend:
        """Return a collection by itself."""


class LocalHomes:
    def __init__(self, folder: Path, most_recent: int = MOST_RECENT, engines: EngineChoice | None = None) -> None:
        self._folder, self.database, self._most_recent = folder, Database(folder / "db.sqlite3"), most_recent
        self._engines = engines or EngineChoice()

    def store(self, name: str = "c", *, embedder: str | None = None, dimension: int | None = None) -> DocumentStore:
        fake = FakeEmbedder()
        return DocumentStore(self.database, name, embedder=embedder or fake.name, dimension=dimension or fake.dimension)

    def home(self, name: str = "c") -> SqliteCollection:
        return SqliteCollection(self.database, name, self._folder)

    def index(self, store: Store) -> ChunkIndex:
        assert isinstance(store, DocumentStore)
        return ChunkIndex(store, self._folder, engines=self._engines, most_recent=self._most_recent)


class PostgresHomes:
    def __init__(self, address: str) -> None:
        self.database = PostgresDatabase(parse_postgres(address))

    def close(self) -> None:
        self.database.close()

    def store(self, name: str = "c", *, embedder: str | None = None, dimension: int | None = None) -> PostgresStore:
        fake = FakeEmbedder()
        return opened(self.database, name, embedder=embedder or fake.name, dimension=dimension or fake.dimension)

    def home(self, name: str = "c") -> PostgresCollection:
        row = schema.find_collection(self.database, name)
        assert row
        return PostgresCollection(self.database, row["id"], name)

    def index(self, store: Store) -> PgVectorIndex:
        assert isinstance(store, PostgresStore)
        return PgVectorIndex(store)
