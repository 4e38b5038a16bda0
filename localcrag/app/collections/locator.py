"""The location of each collection (data folder or PostgreSQL), and moves between the two.

`CollectionLocator` finds the location of a collection. `CollectionMover` moves a whole collection to another location,
`move_documents` moves documents between two collections in different locations. Each copy is compared with its source
before the source is removed.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from localcrag.app.shared_state import CurrentSettings
from localcrag.records.documents import Document, StoredDocument
from localcrag.records.enums import Preset
from localcrag.records.errors import StoreError, UnknownCollection, UnknownDocument
from localcrag.settings import Settings
from localcrag.storage.collections import admin, document_store, queries
from localcrag.storage.collections.admin import MoveState, ServerLocation, embedders_differ, name_taken
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.queries import no_document
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.database import Database
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import parse_postgres
from localcrag.storage.postgres.collection import PostgresCollection
from localcrag.storage.postgres.connection import PostgresDatabase
from localcrag.storage.protocol import CollectionBackend, Index, ServerCollection, Store
from localcrag.text.translation import gettext as _

SILENT_SECONDS = 60.0
"""Seconds to wait after a failed connection before polling that server for pending work again."""


class CollectionLocator:
    """Finds the location of each collection; connects to a server when one of its collections is needed."""

    def __init__(self, settings: CurrentSettings, database: Database) -> None:
        self._settings, self._database = settings, database
        self._servers: dict[str, PostgresDatabase] = {}
        self._silent: dict[str, float] = {}
        self._lock = threading.Lock()

    def locate(self, collection: str) -> CollectionBackend:
        """Return a collection at its location. Raises StoreError."""
        return self.on_server(collection) or self.local(collection)

    def on_server(self, collection: str) -> ServerCollection | None:
        """Return a collection on its server, or None if it is in the data folder. Raises StoreError."""
        there = self._server_location(collection)
        return PostgresCollection(self._connected(there.address), there.number, collection) if there else None

    def local(self, collection: str) -> SqliteCollection:
        """Return the collection in the data folder, even if it is stored elsewhere."""
        return SqliteCollection(self._database, collection, self.data_dir / "index")

    def elsewhere(self) -> list[ServerCollection]:
        """Return the collections that are on a PostgreSQL server."""
        return [home for home in map(self.on_server, admin.names_on_servers(self._database)) if home]

    def index(self, store: Store) -> Index:
        """Return the vector index of a collection's documents."""
        return store.open_index(self.data_dir / "index", EngineChoice(self._settings.now.index_engine))

    def has_pages_to_recognise(self, embeds: Callable[[str], bool]) -> list[str]:
        """Return the names of the collections with pages that wait for text recognition.

        A collection is left out if `embeds` is false for its embedding model, because the model is missing here.
        """
        here = document_store.collections_to_recognise(self._database)
        there = self._elsewhere(lambda home: home.has_pages_to_recognise() and embeds(home.embedder()[0]))
        return [*(name for name, embedder in here.items() if embeds(embedder)), *there]

    def with_other_embedder(self) -> list[str]:
        """Return the names of the collections that were not indexed with the current embedding model."""
        own, there = self._settings.now.embedder, admin.names_on_servers(self._database)
        here = [one for one in queries.with_other_embedder(self._database, own) if one not in there]
        return [*here, *self._elsewhere(lambda home: home.embedder()[0] != own)]

    def _elsewhere(self, fits: Callable[[ServerCollection], bool]) -> list[str]:
        """Return the names of the collections on servers for which `fits` is true.

        Servers that do not answer are left out, and not contacted again for a while. Opening one of their collections
        reports the reason.
        """
        names = []
        for home in self.elsewhere():
            if time.monotonic() < self._silent.get(str(home.server), 0):
                continue
            # Set before the request, so that other threads skip the server while it may hang. Success removes the
            # entry.
            self._silent[str(home.server)] = time.monotonic() + SILENT_SECONDS
            with suppress(StoreError):
                if fits(home):
                    names.append(home.name)
                del self._silent[str(home.server)]
        return names

    def key(self, collection: str) -> str:
        """Return a cache key for a collection, which changes when the collection moves."""
        there = self._server_location(collection)
        return f"{collection} at {there.address} {there.number}" if there else collection

    def _server_location(self, collection: str) -> ServerLocation | None:
        """Return where in a server a collection lives; None if it lives here, even while it is being moved."""
        location = admin.server_location(self._database, collection)
        return location if location and location.state is MoveState.THERE else None

    def server(self, address: str) -> PostgresDatabase:
        """Return a server's database, with the tables for collections created if needed. Raises StoreError."""
        database = self._connected(str(parse_postgres(address)))
        schema.ensure_schema(database)
        return database

    def connect(self, collection: str, address: str, there: str | None = None) -> CollectionBackend:
        """Use a collection of a server, where it is called `there`, under a local name.

        Raises NameRefused if the name is taken, UnknownCollection and StoreError.
        """
        name = admin.normalised_name(collection, "collection")
        admin.require_unused_name(self._database, name)
        server = self.server(address)
        row = schema.require_collection(server, there or name)
        home = ServerLocation(str(server.address), row["id"], MoveState.THERE)
        admin.add_server_collection(self._database, name, home, embedder=row["embedder"], dimension=row["dimension"])
        return PostgresCollection(server, row["id"], name)

    def disconnect(self, collection: str) -> None:
        """Stop using a collection of a server; the server keeps it. Raises UnknownCollection if it is stored here."""
        if not self.on_server(collection):
            raise UnknownCollection(
                f"The collection “{collection}” is on this computer: there is nothing to disconnect."
            )
        admin.delete_collection(self._database, collection)

    def vacuum(self, collection: str) -> None:
        """Remove deleted data from a collection's tables on its server.

        Raises UnknownCollection, also if it is on this computer, and StoreError.
        """
        home = self.on_server(collection)
        if not home:
            raise UnknownCollection(
                f"The collection “{collection}” is on this computer. To erase documents, use: localcrag forget"
            )
        home.vacuum()

    def check_allowed(self, collection: str, settings: Settings) -> None:
        """Check that these settings allow questions to a collection. Raises StoreError."""
        home = self.on_server(collection)
        if settings.preset is Preset.DOCUMENTS_ONLY and home and not home.server.here:
            raise StoreError(
                _(
                    "The collection “%(name)s” was not searched: it is stored on %(place)s, and with the preset "
                    "documents-only nothing leaves this computer. Choose another preset or collection, or move it "
                    "here: localcrag collection move %(name)s --to local",
                    name=collection,
                    place=home.server.at,
                )
            )

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


LOCAL = "local"
"""Name that stands for the data folder where an address is expected."""
ROUNDS = 5
"""Number of times to copy documents that changed during the copy, before the move gives up."""


@dataclass(frozen=True, slots=True)
class TransferProgress:
    """Progress of a move: how many of the documents are copied and compared."""

    done: int
    total: int


class CollectionMover:
    """Moves collections to another location; `forget` closes an open collection."""

    def __init__(self, homes: CollectionLocator, database: Database, forget: Callable[[str], None]) -> None:
        self._locator, self._database, self._forget = homes, database, forget

    def move(self, collection: str, to: str) -> Generator[TransferProgress, None, None]:
        """Move a collection to a PostgreSQL database, given its address, or to LOCAL; yields the progress.

        At every moment, either the old or the new location has the whole collection. After an interruption, the same
        call resumes the move. Raises UnknownCollection, NameRefused and StoreError.
        """
        queries.require_collection(self._database, collection)
        self._forget(collection)
        elsewhere = admin.server_location(self._database, collection)
        if elsewhere and elsewhere.state is MoveState.LEAVING:
            self._remove_from_server(collection, elsewhere)
            elsewhere = None
        if to != LOCAL:
            yield from self._move_to_server(collection, to, elsewhere)
        elif elsewhere and elsewhere.state is MoveState.THERE:
            yield from self._move_back(collection, elsewhere)
        elif elsewhere:
            # The move never completed, so only its partial copy is removed from the server.
            self._remove_from_server(collection, elsewhere)
        self._forget(collection)

    def _move_to_server(self, collection: str, to: str, elsewhere: ServerLocation | None) -> Iterator[TransferProgress]:
        server = self._locator.server(to)
        address = str(server.address)
        if elsewhere and elsewhere.address != address:
            raise StoreError(
                f"The collection “{collection}” is at {elsewhere.address}, or is being moved there. Move it here "
                f"first: localcrag collection move {collection} --to {LOCAL}"
            )
        if elsewhere and elsewhere.state is MoveState.THERE:
            return
        local, known = self._locator.local(collection), admin.collection_row(self._database, collection)
        # The token lets a repeated call find the partial copy of an interrupted move, and reveals nothing about this
        # computer.
        source = f"{self._locator.data_dir.absolute()} {known['id']} {known['created_at']}"
        number = schema.begin_arrival(
            server, collection, embedder=known["embedder"], dimension=known["dimension"],
            created_at=known["created_at"], arriving=hashlib.sha256(source.encode()).hexdigest()[:32],
        )  # fmt: skip
        arriving = ServerLocation(address, number, MoveState.ARRIVING)
        admin.set_server_location(self._database, collection, arriving)
        there = PostgresCollection(server, number, collection)
        for _round in range(ROUNDS):
            yield from _copy(local, there)
            schema.create_index(server, number)
            # The transaction keeps others from changing this collection during the final comparison.
            with self._database.transaction():
                if _signature(local) == _signature(there):
                    schema.finish_arrival(server, number)
                    admin.set_server_location(self._database, collection, replace(arriving, state=MoveState.THERE))
                    break
        # The `else` of a loop runs if no round ended with equal contents.
        else:
            raise _kept_changing(collection)
        local.remove_index()

    def _move_back(self, collection: str, elsewhere: ServerLocation) -> Iterator[TransferProgress]:
        there, local = self._locator.locate(collection), self._locator.local(collection)
        left = replace(elsewhere, state=MoveState.LEAVING)
        for _round in range(ROUNDS):
            yield from _copy(there, local)
            # The transaction on the server keeps others from changing the collection during the final comparison.
            with self._locator.server(elsewhere.address).transaction(elsewhere.number):
                if _signature(local) == _signature(there):
                    admin.set_server_location(self._database, collection, left, there.embedder())
                    break
        else:
            raise _kept_changing(collection)
        self._remove_from_server(collection, left)

    def _remove_from_server(self, collection: str, elsewhere: ServerLocation) -> None:
        """Remove the copy in the server of a collection that now lives here."""
        # If this is interrupted, the stored state remains, and the next move repeats it.
        PostgresCollection(self._locator.server(elsewhere.address), elsewhere.number, collection).delete()
        admin.set_server_location(self._database, collection, None)


def _copy(source: CollectionBackend, target: CollectionBackend) -> Iterator[TransferProgress]:
    """Make `target` equal to `source`, one document at a time, each compared after copying."""
    wanted = {one.name: _comparable(one) for one in source.documents()}
    there = {one.name: _comparable(one) for one in target.documents()}
    target.remove([name for name in there if name not in wanted])
    target.put_folder_tags(source.folder_tags())
    yield TransferProgress(0, len(wanted))
    for done, (name, document) in enumerate(wanted.items(), start=1):
        if there.get(name) != document:
            _copy_document(name, source, target)
        yield TransferProgress(done, len(wanted))


def existing_documents(home: CollectionBackend, names: Sequence[str]) -> Iterator[StoredDocument]:
    """Yield the documents with these names, except those deleted since."""
    for name in names:
        with suppress(UnknownDocument):
            yield home.stored(name)


def _copy_document(name: str, source: CollectionBackend, target: CollectionBackend) -> None:
    # A document that was deleted while copying is left out; the final comparison notices it.
    for document in existing_documents(source, [name]):
        save_and_compare(document, target)


def save_and_compare(document: StoredDocument, target: CollectionBackend) -> None:
    """Write a document into a collection and compare the result. Raises StoreError."""
    name = document.name
    target.save_document(document)
    if target.stored(name) != target.as_stored(document):
        target.remove([name])
        raise StoreError(
            f"The document “{name}” was not the same after it was copied to {target.server or 'this computer'}, so it "
            "was removed there. Nothing has changed here. Check that disk and memory are sound, then try again."
        )


def _signature(home: CollectionBackend) -> tuple[list[Document], dict[str, list[str]]]:
    """Return a value that is equal for two locations with the same documents and folder tags."""
    return [_comparable(one) for one in home.documents()], home.folder_tags()


def move_documents(names: Sequence[str], source: CollectionBackend, target: CollectionBackend) -> None:
    """Move documents into another collection at any location. Raises the errors of admin.move_documents.

    Two databases share no transaction, so all documents are copied and compared before the first is removed. After an
    interruption, the same call finishes the move: a document with the same content in both collections counts as
    copied, a document that only the target has as moved.
    """
    if source.embedder() != target.embedder():
        raise embedders_differ(source.name, source.embedder()[0], target.name, target.embedder()[0])
    here, there = ({one.name: one.sha256 for one in home.documents()} for home in (source, target))
    for name in names:
        if name not in here and name not in there:
            raise no_document(source.name, name)
        if name in here and there.get(name, here[name]) != here[name]:
            raise name_taken(target.name, name)
    left = [name for name in names if name in here]
    for name in left:
        if name in there:
            _complete(name, source, target)
        else:
            _copy_document(name, source, target)
    source.remove(left)


def _complete(name: str, source: CollectionBackend, target: CollectionBackend) -> None:
    """Give the target's copy of a document the tags of both, and the original file if one of them has it."""
    own, other = source.stored(name), target.stored(name)
    tags = tuple(sorted({*own.tags, *other.tags}))
    wanted = replace(own, tags=tags, original=other.original if own.original is None else own.original)
    if other != target.as_stored(wanted):
        save_and_compare(wanted, target)


def _comparable(document: Document) -> Document:
    """Return a document without the fields that may differ between locations: ids, counts and rounding."""
    confidence = None if document.confidence is None else round(document.confidence, 6)
    return replace(document, id=0, characters=0, confidence=confidence)


def _kept_changing(collection: str) -> StoreError:
    return StoreError(
        f"The collection “{collection}” kept changing while it was moved, so it stayed where it was. Wait until nobody "
        "adds documents to it, then move it again: what is copied already is not copied again."
    )
