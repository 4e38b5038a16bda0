"""Moving a collection to a PostgreSQL server and back: resumable, every row compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localcrag.app.homes import Home, Homes
from localcrag.backends.postgres import registry
from localcrag.backends.postgres.home import PostgresHome
from localcrag.backends.store import collection_homes, collection_queries
from localcrag.backends.store.collection_homes import Elsewhere, HomeState
from localcrag.backends.store.collection_queries import no_document
from localcrag.backends.store.database import Database
from localcrag.backends.store.shelving import name_taken, other_embedders
from localcrag.records.documents import Document
from localcrag.records.errors import StoreError, UnknownDocument
from localcrag.records.stored_document import StoredDocument

LOCAL = "local"
"""What the data folder is called where an address may stand."""
ROUNDS = 5
"""Times that documents which changed meanwhile are copied again, before the move gives up."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a collection is: so many of its documents are copied and compared."""

    done: int
    total: int


class Moving:
    """Moves collections; `forget` has the app forget what it made of one."""

    def __init__(self, homes: Homes, database: Database, forget: Callable[[str], None]) -> None:
        self._homes, self._database, self._forget = homes, database, forget

    def move(self, collection: str, to: str) -> Generator[Moved, None, None]:
        """Move a collection to an address of a PostgreSQL database, or to LOCAL; yields how far it is.

        Whatever interrupts it, the collection is whole in its old home until it is whole in the new one; the same again
        goes on where it stopped. Raises UnknownCollection, NameRefused and StoreError.
        """
        collection_queries.require_collection(self._database, collection)
        self._forget(collection)
        homes, elsewhere = self._homes, collection_homes.of(self._database, collection)
        if elsewhere and elsewhere.state is HomeState.LEAVING:
            _leave(collection, elsewhere, homes, self._database)
            elsewhere = None
        if to != LOCAL:
            yield from _there(collection, to, elsewhere, homes, self._database)
        elif elsewhere and elsewhere.state is HomeState.THERE:
            yield from _back(collection, elsewhere, homes, self._database)
        elif elsewhere:
            # It never left: what has arrived is removed.
            _leave(collection, elsewhere, homes, self._database)
        self._forget(collection)


def _there(collection: str, to: str, elsewhere: Elsewhere | None, homes: Homes, database: Database) -> Iterator[Moved]:
    server = homes.server(to)
    address = str(server.address)
    if elsewhere and elsewhere.address != address:
        raise StoreError(
            f"The collection “{collection}” lives at {elsewhere.address}, or is on its way there. Move it here first: "
            f"localcrag collection move {collection} --to {LOCAL}"
        )
    if elsewhere and elsewhere.state is HomeState.THERE:
        return
    local, known = homes.local(collection), collection_homes.known(database, collection)
    number = registry.make(
        server, collection, embedder=known["embedder"], dimension=known["dimension"], created_at=known["created_at"],
        arriving=_token(homes.data_dir, known["id"], known["created_at"]),
    )  # fmt: skip
    arriving = Elsewhere(address, number, HomeState.ARRIVING)
    collection_homes.put(database, collection, arriving)
    there = PostgresHome(server, number, collection)
    for _ in range(ROUNDS):
        yield from _copy(local, there)
        registry.index(server, number)
        # Nobody writes here meanwhile.
        with database.transaction() as connection:
            if _signature(local) == _signature(there):
                registry.open_to_all(server, number)
                collection_homes.put_in(connection, collection, replace(arriving, state=HomeState.THERE))
                break
    else:
        raise _restless(collection)
    local.remove_index()


def _back(collection: str, elsewhere: Elsewhere, homes: Homes, database: Database) -> Iterator[Moved]:
    there, local = homes.of(collection), homes.local(collection)
    left = replace(elsewhere, state=HomeState.LEAVING)
    for _ in range(ROUNDS):
        yield from _copy(there, local)
        # Nobody writes there meanwhile.
        with homes.server(elsewhere.address).transaction(elsewhere.number):
            if _signature(local) == _signature(there):
                collection_homes.put(database, collection, left, *there.embedder())
                break
    else:
        raise _restless(collection)
    _leave(collection, left, homes, database)


def _leave(collection: str, elsewhere: Elsewhere, homes: Homes, database: Database) -> None:
    """Remove what is in the server of a collection that is here."""
    PostgresHome(homes.server(elsewhere.address), elsewhere.number, collection).delete()
    collection_homes.put(database, collection, None)


def _copy(source: Home, target: Home) -> Iterator[Moved]:
    """Bring `target` to what `source` holds, document by document, each compared when it is there."""
    wanted = {one.name: _comparable(one) for one in source.documents()}
    there = {one.name: _comparable(one) for one in target.documents()}
    target.remove([name for name in there if name not in wanted])
    target.put_folder_tags(source.folder_tags())
    yield Moved(0, len(wanted))
    for done, (name, document) in enumerate(wanted.items(), start=1):
        if there.get(name) != document:
            _copy_one(name, source, target)
        yield Moved(done, len(wanted))


def _copy_one(name: str, source: Home, target: Home) -> None:
    try:
        document = source.stored(name)
    except UnknownDocument:
        return  # Deleted meanwhile: the last look sees to it.
    _put(document, target)


def _put(document: StoredDocument, target: Home) -> None:
    """Put a document into a collection, and compare what arrived. Raises StoreError."""
    name = document.name
    target.put_stored(document)
    if target.stored(name) != target.as_kept(document):
        target.remove([name])
        raise StoreError(
            f"The document “{name}” was not the same after it was copied to {target.server or 'this computer'}, so it "
            "was removed there. Nothing has changed here. Check that disk and memory are sound, then try again."
        )


def _signature(home: Home) -> tuple[list[Document], dict[str, list[str]]]:
    """Return what tells whether a home holds the same as another one."""
    return [_comparable(one) for one in home.documents()], home.folder_tags()


def move_documents(names: Sequence[str], source: Home, target: Home) -> None:
    """Move documents into another collection, wherever it lives. Raises as shelving.move_documents does.

    Two databases share no transaction, so all documents are copied and compared before the first is removed. If that is
    interrupted, the same call finishes it: a document with the same content in both collections counts as copied, one
    that only the target has as moved.
    """
    if source.embedder() != target.embedder():
        raise other_embedders(source.name, source.embedder()[0], target.name, target.embedder()[0])
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
            _copy_one(name, source, target)
    source.remove(left)


def _complete(name: str, source: Home, target: Home) -> None:
    """Give a document that both collections have the tags of both, and the file if one of the two kept it."""
    own, other = source.stored(name), target.stored(name)
    tags = tuple(sorted({*own.tags, *other.tags}))
    wanted = replace(own, tags=tags, original=other.original if own.original is None else own.original)
    if other != target.as_kept(wanted):
        _put(wanted, target)


def _comparable(document: Document) -> Document:
    """Return what is known of a document without what may differ between homes: ids, how they count and round."""
    confidence = None if document.confidence is None else round(document.confidence, 6)
    return replace(document, id=0, characters=0, confidence=confidence)


def _token(data_dir: Path, number: int, created_at: str) -> str:
    """Return a text that no other collection on its way has; it tells nothing of this computer."""
    return hashlib.sha256(f"{data_dir.absolute()} {number} {created_at}".encode()).hexdigest()[:32]


def _restless(collection: str) -> StoreError:
    return StoreError(
        f"The collection “{collection}” kept changing while it was moved, so it stayed where it was. Wait until nobody "
        "adds documents to it, then move it again: what is copied already is not copied again."
    )
