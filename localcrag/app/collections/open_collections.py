"""Which embedder a collection is searched with and which it is to have; embedding it anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localcrag.app.collections.locator import Homes, Index, Store
from localcrag.app.models.lifecycle import LoadedModels
from localcrag.app.shared_state import LazyCache, SettingsInUse
from localcrag.app.tasks import BackgroundList, Task, TaskState, Tell
from localcrag.documents.chunking import AT_ONCE
from localcrag.records.errors import IndexFileError, ModelError, StoreError
from localcrag.records.protocols import Embedder
from localcrag.storage.collections import chunks as new_vectors
from localcrag.storage.collections import queries
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.postgres.collection import PostgresHome
from localcrag.storage.schema import said_by


class OwnEmbedders:
    """The embedders of all collections."""

    def __init__(self, settings: SettingsInUse, database: Database, models: LoadedModels, homes: Homes) -> None:
        self._settings, self._database, self._models, self._homes = settings, database, models, homes

    def wanted(self, collection: str) -> str:
        """Return the name of the embedder that a collection is to have: its own, or the one in use."""
        return queries.embedder_of(self._database, collection) or self._settings.now.embedder

    def name_of(self, collection: str) -> str:
        """Return the name of the embedder whose vectors a collection has; of one that is not there yet, the wanted one.

        Raises StoreError.
        """
        if collection not in queries.collection_names(self._database):
            return self.wanted(collection)
        return self._homes.of(collection).embedder()[0]

    def of(self, collection: str) -> Embedder:
        """Return the embedder that a collection is searched with: that of its vectors, where it is there.

        Else the one that it is to have: opening the collection then says what to do. Raises ModelError.
        """
        name, wanted = self.name_of(collection), self.wanted(collection)
        if name != wanted:
            try:
                return self._models.embedder_named(name)
            except ModelError:
                pass
        return self._models.embedder_named(wanted)

    def is_there(self, embedder: str) -> bool:
        """Return whether a collection with vectors of this embedder can get more of them. Loads no model."""
        return embedder == self._settings.now.embedder or self._models.has_embedder(embedder)

    def to_embed(self) -> list[str]:
        """Return the names of the collections that have vectors of another embedder than they are to have.

        Collections of servers that do not answer are left out. They can be asked as long as theirs is there.
        """
        own = queries.embedders(self._database)
        in_use = self._settings.now.embedder
        of_others = set(self._homes.of_other_embedders())
        kept = [name for name, embedder in own.items() if embedder != in_use]
        there = queries.collection_names(self._database)
        return [name for name in there if (self.name_of(name) != own[name] if name in kept else name in of_others)]

    def left_to_do(self) -> list[str]:
        """Return those of `to_embed` to go on with unasked: one was chosen for them, or their embedding was stopped."""
        asked_for = {*queries.embedders(self._database), *new_vectors.begun(self._database)}
        return [name for name in self.to_embed() if name in asked_for]

    def re_embed(self, collection: str) -> Iterator[tuple[int, int]]:
        """Embed a collection's chunks with the embedder that it is to have; yields (done, total).

        Meanwhile it is searched by its old vectors. What is done is kept, and the same again goes on there; documents
        that come are embedded as well, before the new vectors take the place of the old ones. In a PostgreSQL server
        it begins anew each time, and nothing may change meanwhile. Where another embedder is chosen meanwhile, that one
        goes on, unless it is the one that made the old vectors. Raises ModelError and StoreError.
        """
        home, embedder = self._homes.of(collection), self._models.embedder_named(self.wanted(collection))
        if isinstance(home, PostgresHome):
            yield from _in_server(home, embedder)
            return
        new_vectors.begin(self._database, collection, embedder.name)
        while True:
            left, total = new_vectors.missing(self._database, collection)
            yield total - len(left), total
            for at in range(0, len(left), AT_ONCE):
                some = left[at : at + AT_ONCE]
                vectors = embedder.embed([text for _, text in some])
                made = {chunk: vector for (chunk, _), vector in zip(some, vectors, strict=True)}
                new_vectors.put(self._database, embedder.name, made)
                if self.wanted(collection) != embedder.name:
                    yield from self._otherwise(collection, total)
                    return
                yield total - len(left) + at + len(some), total
            if new_vectors.take_over(self._database, collection, embedder=embedder.name, dimension=embedder.dimension):
                return

    def _otherwise(self, collection: str, total: int) -> Iterator[tuple[int, int]]:
        """Embed a collection with what was chosen meanwhile; nothing is to be done where it has that one's vectors."""
        wanted = self.wanted(collection)
        new_vectors.begin(self._database, collection, wanted)
        if self.name_of(collection) == wanted:
            yield total, total
        else:
            yield from self.re_embed(collection)


def _in_server(home: PostgresHome, embedder: Embedder) -> Iterator[tuple[int, int]]:
    chunks = home.chunk_texts()
    vectors = {}
    for at in range(0, len(chunks), AT_ONCE):
        yield at, len(chunks)
        some = chunks[at : at + AT_ONCE]
        embedded = embedder.embed([text for _, text in some])
        vectors.update({chunk_id: vector for (chunk_id, _), vector in zip(some, embedded, strict=True)})
    home.replace_vectors(embedder=embedder.name, dimension=embedder.dimension, vectors=vectors)


ReEmbed = Callable[[str], Iterator[tuple[int, int]]]
"""Embeds a collection; tells how many of how many chunks are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReEmbedding(Task):
    """A collection and how far it is; of one that failed nothing has changed."""

    done: int = 0
    total: int | None = None


class ReEmbeddings:
    """What was asked for since the start."""

    def __init__(self, re_embed: ReEmbed) -> None:
        self._re_embed = re_embed
        self._collections = BackgroundList(self._embed, "“{name}” was not embedded", at_once=1)

    def start(self, collection: str) -> None:
        """Embed a collection anew, unless that is being done."""
        self._collections.start(ReEmbedding(name=collection))

    def close(self) -> None:
        """Stop what is under way; what is done of it is kept."""
        self._collections.close()

    def items(self) -> tuple[ReEmbedding, ...]:
        """Return every collection that was asked for."""
        return self._collections.items()

    def follow(self) -> Iterator[tuple[ReEmbedding, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._collections.follow()

    def _embed(self, one: ReEmbedding, tell: Tell[ReEmbedding]) -> ReEmbedding:
        for done, total in self._re_embed(one.name):
            one = dataclasses.replace(one, done=done, total=total)
            tell(one)
        return dataclasses.replace(one, state=TaskState.DONE)


class FollowingIndex:
    """A collection's index for who changes documents: a file that cannot be written is said, and undoes no change."""

    def __init__(self, index: Index, collection: str, unwritten: dict[str, str]) -> None:
        """`unwritten` says of collections why their file could not be written last."""
        self._index, self._collection, self._unwritten = index, collection, unwritten

    def refresh(self) -> bool:
        """Bring the index to what the database holds; return whether anything was different. Raises StoreError."""
        return self._index.refresh()

    def save(self) -> None:
        """Write the index file if much has changed since. Raises StoreError, but for a file that cannot be written."""
        try:
            self._index.save()
        except IndexFileError as error:
            self._unwritten[self._collection] = str(error)
        else:
            self._unwritten.pop(self._collection, None)


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """What a question needs of a collection."""

    embedder: Embedder
    store: Store
    index: Index


class OpenCollections:
    """The collections that were opened. `unwritten` says of which the index could not follow a change last, and why."""

    def __init__(self, homes: Homes, embedders: OwnEmbedders, made: LazyCache) -> None:
        self._homes, self._embedders, self._made = homes, embedders, made
        self.unwritten: dict[str, str] = {}

    def of(self, name: str) -> OpenCollection:
        """Return a collection, made if there is none. Raises EmbedderMismatch, ModelError and StoreError."""
        embedder = self._embedders.of(name)
        store = self._store(name, embedder)
        index: Index = self._made.get(f"index {self._homes.key(name)}", lambda: self._homes.index(store))
        return OpenCollection(embedder, store, index)

    def store(self, name: str) -> Store:
        """Return where a collection's chunks are kept, without its index, which takes a while to open; see `of`."""
        return self._store(name, self._embedders.of(name))

    def _store(self, name: str, embedder: Embedder) -> Store:
        key = f"store {self._homes.key(name)}"
        there = self._made.peek(key)
        if there and there.embedder != embedder.name:
            self.forget(name)  # It was embedded anew meanwhile, maybe by another process.
        made: Store = self._made.get(key, lambda: self._homes.of(name).open(embedder.name, embedder.dimension))
        return made

    def forget(self, name: str) -> None:
        """Have a collection be opened anew."""
        key = self._homes.key(name)
        self._made.drop(f"store {name}", f"index {name}", f"store {key}", f"index {key}")
        self.unwritten.pop(name, None)

    def following(self, name: str) -> FollowingIndex:
        """Return a collection's index for who changes its documents. Raises as `of` does."""
        return FollowingIndex(self.of(name).index, name, self.unwritten)

    def follow(self, name: str) -> None:
        """Bring a collection's vector index to what the database holds, now that something was changed in it.

        What fails here does not undo the change: `unwritten` says so then, and the next question or change tries again.
        An index file that cannot be written is not needed to find what is there. A server keeps its index itself.
        """
        try:
            if isinstance(self.store(name), DocumentStore):
                index = self.following(name)
                index.refresh()
                index.save()
        except StoreError as error:
            self.unwritten[name] = (
                f"What was to be changed in “{name}” is changed, but its vector index could not be read anew: "
                f"{said_by(error.__cause__ or error).rstrip('.')}. The next question or change tries again."
            )
