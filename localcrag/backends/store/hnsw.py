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
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

import hnswlib
import numpy as np

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
        self._state: tuple[int, int] | None = None
        self._live: set[int] = set()
        self._deleted: set[int] = set()
        self._crowded: bool | None = None
        self._unsaved = False
        self._index = self._read() or self._empty(ROOM)

    def refresh(self) -> bool:
        """Bring the index to what the database holds, and return whether anything was different."""
        with self._lock:
            state = self._store.state()
            if state == self._state:
                return False
            wanted = set(self._store.chunk_ids())
            gone, new = self._live - wanted, wanted - self._live
            if not gone and not new:
                self._state = state
                return False
            self._crowded = None
            if len(self._deleted) + len(gone) > MOST_DELETED * (len(wanted) + 1):
                self._index = self._empty(len(wanted) + ROOM)
                self._live, self._deleted, new = set(), set(), wanted
            else:
                for label in gone:
                    self._index.mark_deleted(label)
                self._live -= gone
                self._deleted |= gone
            self._add(sorted(new))
            # Last: what failed half-way is taken up again.
            self._state = state
            self._unsaved = True
            return True

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

    def nearest(self, vector: Vectors, k: int, among: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine), best first, for a unit vector of shape (dimension,).

        Where `among` gives the chunks to look at, each of them is compared: the graph, searched under a condition,
        loses the more the fewer fulfil it.
        """
        with self._lock:
            self.refresh()
            if among is not None:
                return self._nearest_of(self._live & set(among), vector, k)
            k = min(k, len(self._live))
            if k < 1:
                return []
            if self._crowded is None:
                self._crowded = self._most_alike() > MOST_ALIKE
            if not self._crowded:
                # hnswlib's error when it reaches fewer than k.
                with suppress(RuntimeError):
                    return self._nearest_in_graph(vector, k)
            return self._nearest_of(self._live, vector, k)

    def _nearest_in_graph(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        # Deleted entries take places among the candidates: without room for them hnswlib finds fewer than k.
        self._index.set_ef(max(SEARCH, 2 * k) + min(len(self._deleted), SEARCH))
        labels, distances = self._index.knn_query(vector.reshape(1, -1), k=k, num_threads=1)
        return [(int(label), 1.0 - float(distance)) for label, distance in zip(labels[0], distances[0], strict=True)]

    def _nearest_of(self, labels: set[int], vector: Vectors, k: int) -> list[tuple[int, float]]:
        best: list[tuple[int, float]] = []
        ids = sorted(labels)
        for at in range(0, len(ids), BATCH):
            some = ids[at : at + BATCH]
            cosines = np.asarray(self._index.get_items(some)) @ vector
            best = heapq.nlargest(k, [*best, *zip(some, cosines.tolist(), strict=True)], key=itemgetter(1))
        return best

    def _most_alike(self) -> int:
        """Return how many chunks the most frequent vector has."""
        # Hashes, not vectors: a large collection's would take as much memory again.
        alike = Counter(hash(stored.tobytes()) for _, stored in self._vectors(sorted(self._live)))
        return max(alike.values(), default=0)

    def _vectors(self, ids: list[int]) -> Iterator[tuple[int, Vectors]]:
        for at in range(0, len(ids), BATCH):
            yield from self._store.vectors(ids[at : at + BATCH]).items()

    def __len__(self) -> int:
        return len(self._live)

    def consistent(self) -> bool:
        """Whether the index file as it lies there is the one that was written last."""
        return self._path.exists() and _sha256(self._path) == self._store.index_checksum()

    def _add(self, ids: list[int]) -> None:
        needed = self._index.get_current_count() + len(ids)
        if needed > self._index.get_max_elements():
            self._index.resize_index(needed + ROOM)
        for at in range(0, len(ids), BATCH):
            vectors = self._store.vectors(ids[at : at + BATCH])
            if vectors:
                self._index.add_items(np.stack(list(vectors.values())), list(vectors))
                self._live |= set(vectors)

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
            labels = _labels(index)
        except RuntimeError:
            return None
        # Entries deleted in the file stay deleted after loading, but hnswlib does not say which they are: those that
        # the database does not know any more are marked here, and marking twice is an error that means just that.
        wanted = set(self._store.chunk_ids())
        for label in labels - wanted:
            try:
                index.mark_deleted(label)
            except RuntimeError:
                continue
        self._live, self._deleted = labels & wanted, labels - wanted
        return index


def _labels(index: hnswlib.Index) -> set[int]:
    labels: Iterable[int] = index.get_ids_list()
    return {int(label) for label in labels}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
