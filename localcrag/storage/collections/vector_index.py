"""The vector index of a collection: files with a graph (vectors/), and the chunks added since.

The files are a cache that can always be rebuilt from SQLite. They are not written for every change: new chunks are
compared one by one, and deleted chunks are removed from the graph's results. A change therefore costs the same in a
large collection as in a small one, and a small collection has no files at all.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localcrag.records.errors import IndexFileError
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.engines import LEAST_CANDIDATES, Ids, NearestRows
from localcrag.storage.collections.full_text import CHANGES_KEPT, Changes, State
from localcrag.storage.collections.index_files import IndexBuilder, IndexFile
from localcrag.storage.collections.index_folder import IndexFolder, IndexRow

MOST_RECENT = 5_000
"""Maximum number of chunks outside the file before it is written again; comparing so many takes a millisecond."""
SEARCH_WRITES_FACTOR = 4
"""Multiple of MOST_RECENT at which a search itself writes the file, if nothing was saved before."""
ROWS_PER_WRITE = 50_000
"""Chunks to add before the growing file is written, so that a killed process resumes from there. In a large file, a
quarter of the rows written so far counts instead."""
EXTRA = 32
"""Extra chunks to fetch, up to EXACT in all: the file's vectors are rounded, and the exact vectors decide the order."""
EXACT = 64
"""Nearest chunks of the file whose exact vectors are read from SQLite; the rounded ones suffice for the others."""
BATCH = 5_000
"""Chunks whose vectors are read from SQLite at once."""
UNUSED_SECONDS = 60.0
"""Seconds since the last write after which an unused file is removed when the index is rebuilt."""
MOST_DELETED = 0.3
"""Share of deleted chunks above which the file is rewritten without them, because they cost time and memory."""
MOST_IN_GRAPH = 5_000
"""Maximum number of nearest vectors to request from the graph."""
OVERSAMPLING = 1.25
"""Factor on the number of vectors that are first requested from the graph if documents are restricted. A factor of 1
would yield enough allowed vectors only if they were spread evenly."""


class _RecentChunks:
    """The few thousand chunks that are not in the files yet, in memory. A search compares each of them."""

    def __init__(self, dimension: int) -> None:
        self.chunks: Ids = np.empty(0, np.int64)
        self.documents: Ids = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, dimension), np.float32)

    def add(self, chunks: Ids, documents: Ids, vectors: Vectors) -> None:
        """Add new chunks; `vectors` has a row for each."""
        self.chunks = np.concatenate([self.chunks, chunks])
        self.documents = np.concatenate([self.documents, documents])
        self._vectors = np.concatenate([self._vectors, vectors])

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Remove all chunks but those marked in `which`, shape (chunks,)."""
        self.chunks, self.documents, self._vectors = self.chunks[which], self.documents[which], self._vectors[which]

    def nearest(self, vector: Vectors, k: int, allowed: NDArray[np.bool_]) -> list[tuple[int, float]]:
        """Return up to `k` (chunk, cosine) pairs, best first, of the chunks marked in `allowed`, shape (chunks,)."""
        cosines = np.where(allowed, self._vectors @ vector, -np.inf)
        top = np.argsort(-cosines, kind="stable")[: min(k, int(allowed.sum()))]
        return list(zip(self.chunks[top].tolist(), cosines[top].tolist(), strict=True))


class IndexedChunks(Protocol):
    """The chunks of a collection, their changes, and the record of its index file; see DocumentStore."""

    id: int
    dimension: int

    def number_of_documents(self) -> int: ...

    def chunk_ids(self) -> list[int]: ...

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]: ...

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]: ...

    def changes(self, since: State | None) -> tuple[State, Changes | None]: ...

    def index_file(self) -> IndexRow | None: ...

    def set_index_file(self, row: IndexRow | None) -> str | None: ...


class ChunkIndex:
    """The vector index of one collection."""

    def __init__(
        self,
        store: IndexedChunks,
        folder: Path,
        *,
        engines: EngineChoice = EngineChoice(),  # noqa: B008 - a frozen record
        most_recent: int = MOST_RECENT,
        rows_per_write: int = ROWS_PER_WRITE,
    ) -> None:
        """Open the index file if it can be trusted; the first `refresh` adds the chunks that it lacks."""
        self._store, self._most_recent, self._written_after = store, most_recent, rows_per_write
        self._engines = engines
        self._folder = IndexFolder(folder, store.id)
        self._lock = threading.RLock()
        self._documents, self._writable = 0, True
        self._open()
        self._folder.clean(store.index_file())

    def _open(self) -> None:
        """Start with the file that was written last, by any process, or with no file."""
        row = self._store.index_file()
        self._known = row.name if row else None
        self._file: IndexFile | None = None
        self._recent = _RecentChunks(self._store.dimension)
        self._gone: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._state: State | None = None
        if row and (file := self._folder.open(row, self._store.dimension)):
            self._file, self._state = file, row.state
            self._gone = np.zeros(row.rows, np.bool_)
            self._gone[np.frombuffer(row.gone, "<i4")] = True

    def is_consistent(self) -> bool:
        """Return whether the file that was written last is intact; True if there is none."""
        row = self._store.index_file()
        return row is None or self._folder.is_intact(row)

    def refresh(self) -> None:
        """Update the index to the content of the database. Raises StoreError.

        If the index file should be written but cannot be, all chunks are still found: new ones are compared one by one.
        """
        with self._lock:
            try:
                self._follow(growing=self._writable)
            except IndexFileError:
                # Leave the next attempt to `save`, which reports the failure: retrying in each question would slow all
                # of them down.
                self._writable = False
                self._follow(growing=False)

    def _follow(self, *, growing: bool) -> None:
        state, changes = self._store.changes(self._state)
        if state == self._state:
            return
        if changes is None:
            # The changes are unknown: there were too many, or a backup has replaced the database.
            self._open()
            state, changes = self._store.changes(self._state)
        self._documents = self._store.number_of_documents()
        added, removed = changes if changes is not None else (set(self._store.chunk_ids()), None)
        if removed is None:
            in_file = self._file.chunks[~self._gone] if self._file else np.empty(0, np.int64)
            lost = np.setdiff1d(np.concatenate([in_file, self._recent.chunks]), _ids(added))
        else:
            lost = _ids(removed)
        new = np.setdiff1d(_ids(added), self._searchable(_ids(added)), assume_unique=True)
        self._exclude(lost)
        if growing and len(self._recent.chunks) + len(new) > SEARCH_WRITES_FACTOR * self._most_recent:
            if self._overtaken():
                self._follow(growing=True)
                return
            self._grow(new, state)
        else:
            # Read everything before adding anything, so that a failure leaves the index as it was for the next attempt.
            for some, documents, vectors in list(self._read_stored(new)):
                self._recent.add(np.array(some), np.array(documents), vectors)
        self._state = state

    def _overtaken(self) -> bool:
        """Switch to the file that another process has written since, if any, and return whether there was one."""
        row = self._store.index_file()
        if row is None or row.name == self._known:
            return False
        self._open()
        return True

    def _searchable(self, chunks: Ids) -> Ids:
        """Return the chunks among these that a search can already find."""
        searchable = np.isin(chunks, self._recent.chunks)
        if self._file:
            rows = self._file.rows_of(chunks)
            searchable |= (rows >= 0) & ~self._gone[rows]
        return chunks[searchable]

    def _exclude(self, chunks: Ids) -> None:
        """Exclude these chunks from results."""
        found = self._searchable(chunks)
        self._recent.keep(~np.isin(self._recent.chunks, found))
        if self._file:
            rows = self._file.rows_of(found)
            self._gone[rows[rows >= 0]] = True

    def save(self) -> None:
        """Write the index file if much has changed since it was written last. Raises StoreError."""
        with self._lock:
            if self._overtaken():
                self.refresh()
            many = len(self._recent.chunks) > self._most_recent or self._many_gone()
            if self._state and (many or self._other_engine()):
                self._grow(np.empty(0, np.int64), self._state)
                return
            row = self._store.index_file()
            if row and self._file is None:
                self._folder.forget(self._keep(None))  # The file is damaged, and so few chunks need no file.
            elif self._state and self._state[0] - (row.state[0] if row else 0) > CHANGES_KEPT // 10:
                # Record the newer state before the changes up to it are pruned. The highest id stays that of the file,
                # so that the next start reads the chunks outside the file again.
                if row is None:
                    self._keep(None)
                elif self._file and row.name == self._file.path.name:
                    self._keep(replace(row, state=(self._state[0], row.state[1]), gone=_deleted_rows(self._gone)))

    def rebuild(self) -> None:
        """Rebuild the file if it contains vectors of deleted chunks. Raises StoreError."""
        with self._lock:
            self._overtaken()
            self.refresh()
            if self._file and self._state and self._gone.any():
                self._grow(np.empty(0, np.int64), self._state, from_scratch=True)
            self._folder.clean(self._store.index_file(), UNUSED_SECONDS)

    def _grow(self, new: Ids, state: State, *, from_scratch: bool = False) -> None:
        """Write a file that also contains the new and the recent chunks; rebuild it from scratch if that is better."""
        chunks, previous = np.union1d(self._recent.chunks, new), self._file
        # The ids in a file must ascend. After a backup was restored, new chunks may have lower ids than the file has.
        stale = previous is not None and len(chunks) > 0 and chunks[0] <= previous.chunks[-1]
        if from_scratch or stale or self._many_gone() or self._other_engine():
            chunks, previous = np.array(self._store.chunk_ids(), np.int64), None
        if previous is None and len(chunks) <= self._most_recent:
            self._keep_in_memory(chunks, state)
            return
        with self._folder.explained_errors():
            builder = IndexBuilder(self._store.dimension, previous, self._engines)
        written = builder.rows
        for some, documents, vectors in self._read_stored(chunks):
            with self._folder.explained_errors():
                builder.add(some, documents, vectors)
            if builder.rows - written > max(self._written_after, written // 4):
                self._write(builder, (state[0], some[-1]))
                written = builder.rows
        if builder.rows > written:
            self._write(builder, state)

    def _keep_in_memory(self, chunks: Ids, state: State) -> None:
        """Keep only these few chunks, in memory, and remove the file."""
        recent = _RecentChunks(self._store.dimension)
        for some, documents, vectors in self._read_stored(chunks):
            recent.add(np.array(some), np.array(documents), vectors)
        self._recent, self._file, self._gone, self._state = recent, None, np.zeros(0, np.bool_), state
        self._folder.forget(self._keep(None))

    def _write(self, builder: IndexBuilder, state: State) -> None:
        """Write a new file next to the current one, record it in the database, and use it. Raises IndexFileError."""
        deleted = self._gone if builder.before is self._file else np.zeros(0, np.bool_)
        deleted = np.concatenate([deleted, np.zeros(builder.rows - len(deleted), np.bool_)])
        file, digest = self._folder.write(builder, self._store.dimension)
        row = IndexRow(file.path.name, digest, builder.rows, state, _deleted_rows(deleted))
        try:
            before = self._keep(row)
        except IndexFileError:
            self._folder.forget(row.name)
            raise
        self._file, self._gone, self._state, self._writable = file, deleted, state, True
        builder.continue_from(file)
        self._recent.keep(self._recent.chunks > file.chunks[-1])
        self._folder.forget(before)
        self._folder.clean(row)

    def _keep(self, row: IndexRow | None) -> str | None:
        """Record the file in the database; return the name of the previous file if it is now unused."""
        before = self._store.set_index_file(row)
        self._known = row.name if row else None
        return None if before == self._known else before

    def _many_gone(self) -> bool:
        return bool(self._gone.sum() > MOST_DELETED * len(self._gone))

    def _other_engine(self) -> bool:
        """Return whether the file was written by a different engine from the one that should serve it now."""
        return self._file is not None and self._file.engine is not self._engines.engine(self._file.different)

    def remove_file(self) -> None:
        """Remove the index files of a deleted collection. Raises StoreError."""
        self._folder.remove()

    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine) pairs, best first, for a unit vector of shape (dimension,).

        The results are restricted to the documents `within`, if given. After the first EXACT results, cosines may be
        off by a hundredth.
        """
        with self._lock:
            self.refresh()
            if k < 1 or not len(self):
                return []
            chosen = None if within is None else self._chosen(within)
            documents = self._recent.documents
            allowed = np.ones(len(documents), np.bool_) if chosen is None else chosen[documents]
            found = self._recent.nearest(vector, k, allowed)
            if self._file:
                share = 1.0 if within is None else min(1.0, len(within) / max(1, self._documents))
                number = max(k, min(k + EXTRA, EXACT))
                rows, rounded = _nearest_rows(self._file, self._gone, vector, number, chosen=chosen, share=share)
                chunks = self._file.chunks[rows].tolist()
                found += zip(chunks[EXACT:], rounded[EXACT:].tolist(), strict=True)
                stored = self._store.vectors(chunks[:EXACT])
                if stored:
                    cosines = np.stack(list(stored.values())) @ vector
                    found += zip(stored, cosines.tolist(), strict=True)
            return heapq.nlargest(k, found, key=itemgetter(1))

    def _chosen(self, within: Collection[int]) -> NDArray[np.bool_]:
        """Return a mask over document ids that is True for the documents `within`."""
        highest = max(self._file.highest_document if self._file else 0, self._recent.documents.max(initial=0))
        chosen = np.zeros(highest + 1, np.bool_)
        documents = np.fromiter(within, np.int64, len(within))
        chosen[documents[documents <= highest]] = True
        return chosen

    def _read_stored(self, chunks: Ids) -> Iterator[tuple[list[int], list[int], Vectors]]:
        """Yield the chunks that still exist, their documents, and vectors of shape (up to BATCH, dimension)."""
        for at in range(0, len(chunks), BATCH):
            some = chunks[at : at + BATCH].tolist()
            vectors, documents = self._store.vectors(some), self._store.documents_of(some)
            existing = sorted(vectors.keys() & documents.keys())
            if existing:
                yield existing, [documents[one] for one in existing], np.stack([vectors[one] for one in existing])

    def __len__(self) -> int:
        return int((~self._gone).sum()) + len(self._recent.chunks)


def _nearest_rows(
    file: IndexFile,
    deleted: NDArray[np.bool_],
    vector: Vectors,
    number: int,
    *,
    chosen: NDArray[np.bool_] | None,
    share: float,
) -> NearestRows:
    """Return up to `number` rows of existing chunks in chosen documents, nearest first, with their cosines.

    `deleted` is a mask over rows. `chosen` is a mask over document ids (None: all), and `share` is the approximate
    share of documents that it selects. The graph is asked for more rows than needed, and again for three times as many
    while too few of them are allowed. If that would take longer than comparing all allowed rows, all allowed rows are
    compared.
    """

    def allowed(rows: Ids | slice) -> NDArray[np.bool_]:
        existing = ~deleted[rows]
        return existing if chosen is None else existing & chosen[file.documents[rows]]

    evenly = number if chosen is None else OVERSAMPLING * number / max(share, 1 / file.rows)
    wanted = math.ceil(evenly / (1.0 - min(MOST_DELETED, deleted.mean())))
    while wanted <= MOST_IN_GRAPH and file.engine.compared * max(wanted, LEAST_CANDIDATES) < share * file.rows:
        found = file.nearest(vector, wanted, 2 * number)
        if found is None:
            break
        rows, cosines = found
        mask = allowed(rows)
        if mask.sum() >= number:
            return rows[mask][:number], cosines[mask][:number]
        wanted *= 3
    return file.nearest_among(np.flatnonzero(allowed(slice(None))), vector, number)


def _deleted_rows(mask: NDArray[np.bool_]) -> bytes:
    return np.flatnonzero(mask).astype("<i4").tobytes()


def _ids(values: Collection[int]) -> Ids:
    return np.sort(np.fromiter(values, np.int64, len(values)))
