"""The chunks that an index file does not have yet: in memory, each compared with what is looked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localcrag.backends.store.index_file import Ids
from localcrag.records.protocols import Vectors


class RecentChunks:
    """A few thousand chunks with their documents and vectors."""

    def __init__(self, dimension: int) -> None:
        self.chunks: Ids = np.empty(0, np.int64)
        self.documents: Ids = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, dimension), np.float32)

    def add(self, chunks: Ids, documents: Ids, vectors: Vectors) -> None:
        """Add chunks that are not there; `vectors` has a row for each."""
        self.chunks = np.concatenate([self.chunks, chunks])
        self.documents = np.concatenate([self.documents, documents])
        self._vectors = np.concatenate([self._vectors, vectors])

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Remove all but these, shape (chunks,)."""
        self.chunks, self.documents, self._vectors = self.chunks[which], self.documents[which], self._vectors[which]

    def nearest(self, vector: Vectors, k: int, allowed: NDArray[np.bool_]) -> list[tuple[int, float]]:
        """Return up to `k` (chunk, cosine) of those that are allowed, shape (chunks,), best first."""
        cosines = np.where(allowed, self._vectors @ vector, -np.inf)
        top = np.argsort(-cosines, kind="stable")[: min(k, int(allowed.sum()))]
        return list(zip(self.chunks[top].tolist(), cosines[top].tolist(), strict=True))
