"""Open collections: each with its embedder, its chunks and its vector index, made once and kept."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.app.homes import Homes, Index, Store
from localcrag.app.lazy_cache import LazyCache
from localcrag.app.own_embedders import OwnEmbedders
from localcrag.backends.store.document_store import DocumentStore
from localcrag.backends.store.sqlite_errors import said_by
from localcrag.records.errors import IndexFileError, StoreError
from localcrag.records.protocols import Embedder


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
