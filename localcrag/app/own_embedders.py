"""Which embedder a collection is searched with and which it is to have; embedding it anew."""

from __future__ import annotations

from collections.abc import Iterator

from localcrag.app.homes import Homes
from localcrag.app.loaded_models import LoadedModels
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.postgres.home import PostgresHome
from localcrag.backends.store import collection_queries, collection_settings, new_vectors
from localcrag.backends.store.database import Database
from localcrag.records.errors import ModelError
from localcrag.records.protocols import Embedder
from localcrag.steps.ingest.embed import AT_ONCE


class OwnEmbedders:
    """The embedders of all collections."""

    def __init__(self, settings: SettingsInUse, database: Database, models: LoadedModels, homes: Homes) -> None:
        self._settings, self._database, self._models, self._homes = settings, database, models, homes

    def wanted(self, collection: str) -> str:
        """Return the name of the embedder that a collection is to have: its own, or the one in use."""
        return collection_settings.embedder_of(self._database, collection) or self._settings.now.embedder

    def name_of(self, collection: str) -> str:
        """Return the name of the embedder whose vectors a collection has; of one that is not there yet, the wanted one.

        Raises StoreError.
        """
        if collection not in collection_queries.collection_names(self._database):
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
        own = collection_settings.embedders(self._database)
        in_use = self._settings.now.embedder
        of_others = set(self._homes.of_other_embedders())
        kept = [name for name, embedder in own.items() if embedder != in_use]
        there = collection_queries.collection_names(self._database)
        return [name for name in there if (self.name_of(name) != own[name] if name in kept else name in of_others)]

    def left_to_do(self) -> list[str]:
        """Return those of `to_embed` to go on with unasked: one was chosen for them, or their embedding was stopped."""
        asked_for = {*collection_settings.embedders(self._database), *new_vectors.begun(self._database)}
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
