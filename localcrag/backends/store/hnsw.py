"""The vector index: hnswlib over the vectors in SQLite; its file is a cache that can be rebuilt.

`refresh` compares the index with the ids in the database and mends the difference; building anew, catching up with
another process and following an ingest are the same operation.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

import hnswlib
import numpy as np

from localcrag.backends.store.chunk_changes import Changes, State
from localcrag.backends.store.document_store import DocumentStore
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors

# hnswlib's own recommendation for high recall at this dimension (ALGO_PARAMS.md): M 16, ef_construction 200.
LINKS = 16
CONSTRUCTION = 200
SEARCH = 100
"""Candidates kept while searching (ef); above every k in use, as hnswlib requires."""
ROOM = 1024
"""Free places that an index is given beyond what it holds, so that it is not resized for every document."""
MOST_DELETED = 0.3
"""Share of deleted entries beyond which the index is built anew: they cost search time and memory."""
BATCH = 1000
MOST_IN_GRAPH = 5000
"""Nearest that the graph is asked for; where more would be needed, so few documents are searched that comparing with
all their chunks takes no longer."""
MOST_ALIKE = 2 * LINKS
"""Chunks with the same vector (a notice on every page, an empty form) up to which the graph is searched.

An entry has at most 2 * M links at the bottom layer. More entries than that at one place link to each other only, and
a search that comes by there ends there: with 300 times the same sentence among 147 others, hnswlib found one in a
hundred of the six nearest. Such a collection is searched by comparing with every chunk.
"""


class HnswIndex:
    """The vector index of one collection."""

    def __init__(self, store: DocumentStore, folder: Path) -> None:
        """Read the index file if it can be trusted; what it lacks is added by the first `refresh`."""
        self._store = store
        self._path = folder / f"collection-{store.id}.hnsw"
        self._lock = threading.RLock()
        self._state: State | None = None
        self._live: set[int] = set()
        self._hashes: dict[int, int] = {}
        self._deleted: set[int] = set()
        self._crowded: bool | None = None
        self._unsaved = False
        self._index = self._read() or self._empty(ROOM)

    def refresh(self) -> bool:
        """Bring the index to what the database holds, and return whether anything was different."""
        with self._lock:
            state, changes = self._store.changes(self._state)
            if state == self._state:
                return False
            came, gone = changes or self._all_changes()
            came, gone = came - self._live, gone & self._live
            if not gone and not came:
                self._state = state
                return False
            self._crowded = None
            number = len(self._live) - len(gone) + len(came)
            if len(self._deleted) + len(gone) > MOST_DELETED * (number + 1):
                came = set(self._store.chunk_ids())
                self._index = self._empty(len(came) + ROOM)
                self._live, self._hashes, self._deleted, gone = set(), {}, set(), set()
            changed = self._delete(gone) or bool(came)
            self._add(sorted(came))
            # Last: what failed half-way is taken up again.
            self._state = state
            self._unsaved = self._unsaved or changed
            return changed

    def _all_changes(self) -> Changes:
        """Return what the database has, and what the index has beside it."""
        wanted = set(self._store.chunk_ids())
        return wanted, self._live - wanted

    def _delete(self, gone: set[int]) -> bool:
        """Find these no more; return whether any was found until now.

        What was deleted in the file stays deleted, but hnswlib does not say which entries these are: to delete one
        twice is an error that means just that.
        """
        any_found = False
        for label in gone:
            with suppress(RuntimeError):
                self._index.mark_deleted(label)
                any_found = True
            self._hashes.pop(label, None)
        self._live -= gone
        self._deleted |= gone
        return any_found

    def save(self) -> None:
        """Write the index file if it lacks anything: beside the old one, then in its place. Raises StoreError."""
        with self._lock:
            # Not what the last `refresh` said: a question asked meanwhile may have brought the index there before.
            if not self._unsaved and (self.consistent() or not self._live):
                return
            temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._index.save_index(str(temporary))
                checksum = _sha256(temporary)
                temporary.replace(self._path)
            except (OSError, RuntimeError) as error:
                raise StoreError(
                    f"The vector index could not be written to {self._path}: {error}. The documents are stored, and "
                    "the index is made again from them; check that the folder is writable and the disk not full."
                ) from error
            self._store.set_index_checksum(checksum)
            self._unsaved = False

    def remove_file(self) -> None:
        """Remove the index file, of a collection that is no more. Raises StoreError."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"The vector index {self._path} could not be removed: {error}. Remove it.") from error

    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine), best first, for a unit vector of shape (dimension,).

        Of the documents `within` where they are given: those among more of the nearest, if these are enough, else the
        best of all their chunks.
        """
        with self._lock:
            self.refresh()
            if not self._live or k < 1:
                return []
            if self._crowded is None:
                self._crowded = self._most_alike() > MOST_ALIKE
            if within is None:
                near = [] if self._crowded else self._nearest_in_graph(vector, k)
                return near or self._nearest_of(self._live, vector, k)
            # Twice as many as would have them if they were spread evenly.
            more = 2 * k * self._store.number_of_documents() // max(1, len(within))
            if more <= MOST_IN_GRAPH and not self._crowded:
                near = self._nearest_in_graph(vector, more)
                documents = self._store.documents_of([label for label, _ in near])
                allowed = frozenset(within)
                found = [one for one in near if documents.get(one[0]) in allowed]
                if len(found) >= k:
                    return found[:k]
            return self._nearest_of(self._live.intersection(self._store.chunk_ids(within)), vector, k)

    def _nearest_in_graph(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        """Return the nearest that the graph leads to, none where it leads to fewer than there are."""
        k = min(k, len(self._live))
        # Deleted entries take places among the candidates: without room for them hnswlib finds fewer than k.
        self._index.set_ef(max(SEARCH, 2 * k) + min(len(self._deleted), SEARCH))
        try:
            labels, distances = self._index.knn_query(vector.reshape(1, -1), k=k, num_threads=1)
        except RuntimeError:  # It reached fewer than k.
            return []
        return list(zip(labels[0].tolist(), (1.0 - distances[0]).tolist(), strict=True))

    def _nearest_of(self, labels: set[int], vector: Vectors, k: int) -> list[tuple[int, float]]:
        """Return the nearest of these, each compared."""
        best: list[tuple[int, float]] = []
        for ids, vectors in self._stored(sorted(labels)):
            cosines = vectors @ vector
            top = np.argsort(-cosines, kind="stable")[:k]
            best += [(ids[place], float(cosines[place])) for place in top]
        return heapq.nlargest(k, best, key=itemgetter(1))

    def _stored(self, ids: Sequence[int]) -> Iterator[tuple[list[int], Vectors]]:
        """Yield the chunks of these that still exist, and their vectors, shape (up to BATCH, dimension)."""
        # From the database: hnswlib hands them out as lists of Python's numbers, ten times as slowly.
        for at in range(0, len(ids), BATCH):
            if vectors := self._store.vectors(ids[at : at + BATCH]):
                yield list(vectors), np.stack(list(vectors.values()))

    def _most_alike(self) -> int:
        """Return how many chunks the most frequent vector has."""
        # Hashes, not vectors: a large collection's would take as much memory again.
        for ids, vectors in self._stored(sorted(self._live - self._hashes.keys())):
            self._hashes.update(zip(ids, map(hash, map(bytes, vectors)), strict=True))
        return max(Counter(self._hashes.values()).values(), default=0)

    def __len__(self) -> int:
        return len(self._live)

    def consistent(self) -> bool:
        """Whether the index file as it lies there is the one that was written last."""
        return self._path.exists() and _sha256(self._path) == self._store.index_checksum()

    def _add(self, ids: list[int]) -> None:
        needed = self._index.get_current_count() + len(ids)
        if needed > self._index.get_max_elements():
            self._index.resize_index(needed + ROOM)
        for some, vectors in self._stored(ids):
            self._index.add_items(vectors, some)
            # An id comes again where an earlier copy of the database is put in its place.
            self._live.update(some)
            self._deleted.difference_update(some)

    def _empty(self, size: int) -> hnswlib.Index:
        index = hnswlib.Index(space="ip", dim=self._store.dimension)
        index.init_index(max_elements=size, M=LINKS, ef_construction=CONSTRUCTION, random_seed=1)
        return index

    def _read(self) -> hnswlib.Index | None:
        """Return the file's index, or None when it is missing, torn or not ours: it is a cache, and is made again."""
        if not self.consistent():
            return None
        index = hnswlib.Index(space="ip", dim=self._store.dimension)
        try:
            index.load_index(str(self._path), max_elements=0)
            # With those that were deleted before: the first `refresh` tells them.
            self._live = _labels(index)
        except RuntimeError:
            return None
        return index


def _labels(index: hnswlib.Index) -> set[int]:
    labels: Iterable[int] = index.get_ids_list()
    return {int(label) for label in labels}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
