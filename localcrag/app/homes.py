"""Where collections live: in the data folder, or in a PostgreSQL server of the user's own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Union

from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.postgres import registry, schema
from localcrag.backends.postgres.address import parse_postgres
from localcrag.backends.postgres.connection import PostgresDatabase
from localcrag.backends.postgres.document_store import PostgresStore
from localcrag.backends.postgres.home import PostgresHome
from localcrag.backends.postgres.vector_index import PgVectorIndex
from localcrag.backends.store import collection_homes, collection_queries, scan_store, shelving
from localcrag.backends.store.collection_homes import Elsewhere, HomeState
from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import DocumentStore
from localcrag.backends.store.local_home import LocalHome
from localcrag.backends.store.vectors.engine_choice import EngineChoice
from localcrag.records.enums import Preset
from localcrag.records.errors import NameRefused, StoreError, UnknownCollection
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _

if TYPE_CHECKING:
    from localcrag.backends.store.vector_index import ChunkIndex

SILENT_SECONDS = 60.0
"""For which a server that did not answer is not asked what is left to do for its collections."""
Home = LocalHome | PostgresHome
Store = DocumentStore | PostgresStore
Index = Union["ChunkIndex", PgVectorIndex]


class Homes:
    """The homes of all collections. A server is connected to when one of its collections is needed."""

    def __init__(self, settings: SettingsInUse, database: Database) -> None:
        self._settings, self._database = settings, database
        self._servers: dict[str, PostgresDatabase] = {}
        self._silent: dict[str, float] = {}
        self._lock = threading.Lock()

    def of(self, collection: str) -> Home:
        """Return where a collection lives. Raises StoreError."""
        elsewhere = collection_homes.of(self._database, collection)
        if elsewhere is None or elsewhere.state is not HomeState.THERE:
            return self.local(collection)
        return PostgresHome(self._connected(elsewhere.address), elsewhere.number, collection)

    def local(self, collection: str) -> LocalHome:
        """Return a collection's place in the data folder, wherever it lives."""
        return LocalHome(self._database, collection, self._indexes)

    def elsewhere(self) -> list[PostgresHome]:
        """Return the collections that live elsewhere."""
        homes = map(self.of, collection_homes.there(self._database))
        return [home for home in homes if isinstance(home, PostgresHome)]

    def index(self, store: Store) -> Index:
        """Return the vector index of a collection's documents."""
        if isinstance(store, PostgresStore):
            return PgVectorIndex(store)
        from localcrag.backends.store.vector_index import ChunkIndex  # noqa: PLC0415 - takes a while to import

        return ChunkIndex(store, self._indexes, engines=EngineChoice(self._settings.now.index_engine))

    def to_recognise(self, embeds: Callable[[str], bool]) -> list[str]:
        """Return the names of the collections with pages whose text is to be recognised.

        Of those alone whose embedder, by its name, `embeds`: it is there.
        """
        here = scan_store.collections(self._database)
        there = self._elsewhere(lambda home: home.to_recognise() and embeds(home.embedder()[0]))
        return [*(name for name, embedder in here.items() if embeds(embedder)), *there]

    def of_other_embedders(self) -> list[str]:
        """Return the names of the collections that another embedder than the one in use has indexed."""
        own, there = self._settings.now.embedder, collection_homes.there(self._database)
        here = [one for one in collection_queries.of_other_embedders(self._database, own) if one not in there]
        return [*here, *self._elsewhere(lambda home: home.embedder()[0] != own)]

    def _elsewhere(self, fits: Callable[[PostgresHome], bool]) -> list[str]:
        """Return the names of the collections elsewhere that fit.

        Servers that do not answer are left out, for a while without being asked: whoever asks their collections is told
        why.
        """
        names = []
        for home in self.elsewhere():
            if time.monotonic() < self._silent.get(str(home.server), 0):
                continue
            self._silent[str(home.server)] = time.monotonic() + SILENT_SECONDS
            with suppress(StoreError):
                if fits(home):
                    names.append(home.name)
                del self._silent[str(home.server)]
        return names

    def key(self, collection: str) -> str:
        """Return a text that is another one when the collection lives elsewhere than before."""
        elsewhere = collection_homes.of(self._database, collection)
        there = elsewhere is not None and elsewhere.state is HomeState.THERE
        return f"{collection} at {elsewhere.address} {elsewhere.number}" if elsewhere and there else collection

    def server(self, address: str) -> PostgresDatabase:
        """Return a database with the tables for collections, made if need be. Raises StoreError."""
        database = self._connected(str(parse_postgres(address)))
        schema.prepare(database)
        return database

    def connect(self, collection: str, address: str, there: str | None = None) -> PostgresHome:
        """Use a collection that lives in a server, and is called `there`, under a name of one's own.

        Raises NameRefused when there is one of that name, UnknownCollection and StoreError.
        """
        name = shelving.checked(collection, "collection")
        if name in collection_queries.collection_names(self._database):
            raise NameRefused(f"There is a collection “{name}” already. Choose another name.")
        server = self.server(address)
        row = registry.require(server, there or name)
        home = Elsewhere(str(server.address), row["id"], HomeState.THERE)
        collection_homes.make(
            self._database, name, home, embedder=row["embedder"], dimension=row["dimension"],
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
        return PostgresHome(server, row["id"], name)

    def disconnect(self, collection: str) -> None:
        """Use a collection of a server no more; it stays there. Raises UnknownCollection, also when it lives here."""
        if not isinstance(self.of(collection), PostgresHome):
            raise UnknownCollection(f"The collection “{collection}” lives on this computer: there is nothing to leave.")
        shelving.delete_collection(self._database, collection)

    def vacuum(self, collection: str) -> None:
        """Have what was deleted from a collection be in its server no more. Raises UnknownCollection and StoreError."""
        home = self.of(collection)
        if not isinstance(home, PostgresHome):
            raise UnknownCollection(
                f"The collection “{collection}” lives on this computer, where deleting leaves nothing behind."
            )
        home.vacuum()

    def check_allowed(self, collection: str, settings: Settings) -> None:
        """Return where a collection may be asked under these settings. Raises StoreError."""
        home = self.of(collection)
        if settings.preset is Preset.DOCUMENTS_ONLY and home.server and not home.server.here:
            raise StoreError(
                _(
                    "The collection “%(name)s” was not asked: it lives at %(place)s, and under the preset "
                    "documents-only nothing leaves this computer. Choose another preset or collection, or move it "
                    "here: localcrag collection move %(name)s --to local",
                    name=collection,
                    place=home.server.at,
                )
            )

    @property
    def _indexes(self) -> Path:
        return self.data_dir / "index"

    @property
    def data_dir(self) -> Path:
        """The data folder."""
        return self._settings.now.data_dir

    def close(self) -> None:
        """Close the connections to servers."""
        with self._lock:
            for server in self._servers.values():
                server.close()

    def _connected(self, address: str) -> PostgresDatabase:
        with self._lock:
            if address not in self._servers:
                self._servers[address] = PostgresDatabase(parse_postgres(address))
            return self._servers[address]
