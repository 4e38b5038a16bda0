"""Open collections, the embedding model that each is searched with, and re-indexing with another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from localcrag.app.collections.locator import CollectionLocator
from localcrag.app.models.lifecycle import LoadedModels
from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.app.tasks import BackgroundList, Task, TaskState, UpdateTask
from localcrag.documents.chunking import EMBED_BATCH
from localcrag.records.errors import IndexFileError, ModelError, StoreError
from localcrag.records.protocols import Embedder
from localcrag.storage.collections import chunks as new_vectors
from localcrag.storage.collections import queries
from localcrag.storage.database import Database
from localcrag.storage.protocol import Index, ServerCollection, Store
from localcrag.storage.schema import error_reason


class CollectionEmbedders:
    """The embedding models of all collections."""

    def __init__(
        self, settings: CurrentSettings, database: Database, models: LoadedModels, homes: CollectionLocator
    ) -> None:
        self._settings, self._database, self._models, self._locator = settings, database, models, homes

    def wanted(self, collection: str) -> str:
        """Return the name of the embedding model that a collection should have: its own, or the current one."""
        return queries.chosen_embedders(self._database).get(collection) or self._settings.now.embedder

    def name_of(self, collection: str) -> str:
        """Return the name of the embedding model of a collection's vectors; for a new collection, the target model.

        Raises StoreError.
        """
        if collection not in queries.collection_names(self._database):
            return self.wanted(collection)
        return self._locator.locate(collection).embedder()[0]

    def get(self, collection: str) -> Embedder:
        """Return the embedding model to search a collection with: the one that made its vectors.

        If that model is missing, return the target model; opening the collection then raises an error with advice.
        Raises ModelError.
        """
        name, wanted = self.name_of(collection), self.wanted(collection)
        if name != wanted:
            with suppress(ModelError):
                return self._models.embedder_named(name)
        return self._models.embedder_named(wanted)

    def is_there(self, embedder: str) -> bool:
        """Return whether this model can embed more chunks of a collection. Loads no model."""
        return embedder == self._settings.now.embedder or self._models.has_embedder(embedder)

    def to_reindex(self) -> list[str]:
        """Return the names of the collections whose vectors are not from their target model.

        Collections on servers that do not answer are left out. As long as the old model is present, searches keep using
        it.
        """
        in_use = self._settings.now.embedder
        own = {name: one for name, one in queries.chosen_embedders(self._database).items() if one != in_use}
        others = set(self._locator.with_other_embedder())
        there = queries.collection_names(self._database)
        return [name for name in there if (self.name_of(name) != own[name] if name in own else name in others)]

    def pending(self) -> list[str]:
        """Return the collections of `to_reindex` to re-index without asking the user.

        The user chose their model, or their re-indexing was interrupted.
        """
        asked_for = {*queries.chosen_embedders(self._database), *new_vectors.interrupted_collections(self._database)}
        return [name for name in self.to_reindex() if name in asked_for]

    def reindex(self, collection: str) -> Iterator[tuple[int, int]]:
        """Re-index a collection with its target model; yield (done, total).

        Searches use the old vectors until it is complete. Finished work is kept and the same call resumes it; chunks
        that are added in between are embedded too, before the new vectors replace the old ones. In PostgreSQL it starts
        over each time, and the collection must not change in between. If the user chooses another model in between,
        re-indexing continues with that model, unless it made the old vectors. Raises ModelError and StoreError.
        """
        embedder = self._models.embedder_named(self.wanted(collection))
        if home := self._locator.on_server(collection):
            yield from _reindex_on_server(home, embedder)
            return
        new_vectors.discard_outdated(self._database, collection, embedder.name)
        while True:
            texts = self._locator.local(collection).chunk_texts()
            left, total = new_vectors.missing_vectors(self._database, texts), len(texts)
            yield total - len(left), total
            for at in range(0, len(left), EMBED_BATCH):
                some = left[at : at + EMBED_BATCH]
                vectors = embedder.embed([text for _, text in some])
                made = {chunk: vector for (chunk, _), vector in zip(some, vectors, strict=True)}
                new_vectors.add_new_vectors(self._database, embedder.name, made)
                # The user may have chosen another model while these chunks were being embedded.
                if self.wanted(collection) != embedder.name:
                    yield from self._restart(collection, total)
                    return
                yield total - len(left) + at + len(some), total
            # It is False if chunks were added in between; then the next round embeds them.
            if new_vectors.use_new_vectors(
                self._database, collection, embedder=embedder.name, dimension=embedder.dimension
            ):
                return

    def _restart(self, collection: str, total: int) -> Iterator[tuple[int, int]]:
        """Continue re-indexing with the newly chosen model, or stop if the vectors are already from that model."""
        wanted = self.wanted(collection)
        new_vectors.discard_outdated(self._database, collection, wanted)
        if self.name_of(collection) == wanted:
            yield total, total
        else:
            yield from self.reindex(collection)


def _reindex_on_server(home: ServerCollection, embedder: Embedder) -> Iterator[tuple[int, int]]:
    chunks = home.chunk_texts()
    vectors = {}
    for at in range(0, len(chunks), EMBED_BATCH):
        yield at, len(chunks)
        some = chunks[at : at + EMBED_BATCH]
        embedded = embedder.embed([text for _, text in some])
        vectors.update({chunk_id: vector for (chunk_id, _), vector in zip(some, embedded, strict=True)})
    home.replace_vectors(embedder=embedder.name, dimension=embedder.dimension, vectors=vectors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing(Task):
    """The re-indexing of a collection and its progress; after a failure nothing has changed."""

    done: int = 0
    total: int | None = None


class ReindexingTasks(BackgroundList[Reindexing]):
    """All re-indexing requested since the start of the app."""

    def __init__(self, embed: Callable[[str], Iterator[tuple[int, int]]]) -> None:
        """`embed` re-indexes a collection, and yields the number of chunks done and in total."""
        super().__init__(self._embed_all, "“{name}” was not embedded", at_once=1)
        self._embed = embed

    def reindex(self, collection: str) -> None:
        """Re-index a collection, unless that is already under way."""
        self.start(Reindexing(name=collection))

    def _embed_all(self, one: Reindexing, tell: UpdateTask[Reindexing]) -> Reindexing:
        for done, total in self._embed(one.name):
            one = dataclasses.replace(one, done=done, total=total)
            tell(one)
        return dataclasses.replace(one, state=TaskState.DONE)


class ResilientIndex:
    """A collection's index for code that changes documents: a failed write is recorded, not raised."""

    def __init__(self, index: Index, collection: str, index_errors: dict[str, str]) -> None:
        """Wrap an index; `index_errors` maps collections to the reason why their index file was not written."""
        self._index, self._collection, self._index_errors = index, collection, index_errors

    def refresh(self) -> None:
        """Update the index from the database. Raises StoreError."""
        self._index.refresh()

    def save(self) -> None:
        """Save the index file if enough has changed. Raises StoreError, except for a file that cannot be written."""
        try:
            self._index.save()
        except IndexFileError as error:
            self._index_errors[self._collection] = str(error)
        else:
            self._index_errors.pop(self._collection, None)


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """Everything that a question needs from a collection."""

    embedder: Embedder
    store: Store
    index: Index


class OpenCollections:
    """Open collections. `index_errors` maps a collection to the reason its last index update failed."""

    def __init__(self, homes: CollectionLocator, embedders: CollectionEmbedders, made: LazyCache) -> None:
        self._locator, self._embedders, self._made = homes, embedders, made
        self.index_errors: dict[str, str] = {}

    def get(self, name: str) -> OpenCollection:
        """Return an open collection, created if needed. Raises EmbedderMismatch, ModelError and StoreError."""
        embedder = self._embedders.get(name)
        store = self._store(name, embedder)
        index: Index = self._made.get(f"index {self._locator.key(name)}", lambda: self._locator.index(store))
        return OpenCollection(embedder, store, index)

    def store(self, name: str) -> Store:
        """Return the store of a collection's chunks, without its index, which takes a while to open; see `get`."""
        return self._store(name, self._embedders.get(name))

    def _store(self, name: str, embedder: Embedder) -> Store:
        key = f"store {self._locator.key(name)}"
        there = self._made.peek(key)
        if there and there.embedder != embedder.name:
            self.forget(name)  # The collection was re-indexed since, perhaps by another process.
        made: Store = self._made.get(key, lambda: self._locator.locate(name).open(embedder.name, embedder.dimension))
        return made

    def forget(self, name: str) -> None:
        """Close a collection, so that the next access opens it again."""
        # Both the plain name and the key are dropped: the key changes when a collection moves to or from a server.
        key = self._locator.key(name)
        self._made.drop(f"store {name}", f"index {name}", f"store {key}", f"index {key}")
        self.index_errors.pop(name, None)

    def following(self, name: str) -> ResilientIndex:
        """Return the index of a collection for code that changes its documents. Raises the errors of `get`."""
        return ResilientIndex(self.get(name).index, name, self.index_errors)

    def follow(self, name: str) -> None:
        """Update the vector index of a collection from the database, after a change.

        A failure here does not undo the change: `index_errors` records it, and the next question or change tries again.
        Searches work even if the index file cannot be written. A server maintains its own index.
        """
        try:
            if not self.store(name).server:
                index = self.following(name)
                index.refresh()
                index.save()
        except StoreError as error:
            self.index_errors[name] = (
                f"What was to be changed in “{name}” is changed, but its vector index could not be read anew: "
                f"{error_reason(error.__cause__ or error).rstrip('.')}. The next question or change tries again."
            )
