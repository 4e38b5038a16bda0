"""hnswlib as vector engine: graph and vectors are in memory, in full precision (float32)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import hnswlib
import numpy as np

from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engines import CONSTRUCTION, LEAST_LOOKED_AT, LINKS, Found, Ids

ROOM = 1.25
"""A full graph is given room for so many times what it must hold: to resize it copies all of it."""


class HnswlibEngine:
    """A graph of hnswlib. Nothing is marked as deleted in it, so that `element_count` is the number of live entries."""

    suffix: ClassVar[str] = ".hnsw"
    compared: ClassVar[int] = 20

    def __init__(self, dimension: int) -> None:
        """Begin an empty graph."""
        # Of unit vectors the inner product is the cosine; the space "cosine" would copy and normalise them again.
        self._graph = hnswlib.Index(space="ip", dim=dimension)
        self._graph.init_index(max_elements=1, M=LINKS, ef_construction=CONSTRUCTION, random_seed=1)

    @classmethod
    def open(cls, path: Path, dimension: int, *, to_add: bool) -> HnswlibEngine:
        """Read a graph that was saved. Raises RuntimeError."""
        engine = cls.__new__(cls)
        # Always a new object: one whose loading failed once refers to memory that hnswlib has freed.
        engine._graph = hnswlib.Index(space="ip", dim=dimension)
        # A loaded graph is full, because `save` leaves it no more room than it needs: `add` resizes it.
        engine._graph.load_index(str(path))
        return engine

    def add(self, rows: Ids, vectors: Vectors) -> None:
        """Add unit vectors under the numbers of rows that are not there yet. Raises RuntimeError and MemoryError."""
        needed = len(self) + len(rows)
        # A full graph refuses what is added; it does not grow by itself.
        if needed > self._graph.max_elements:
            self._graph.resize_index(int(needed * ROOM))
        self._graph.add_items(vectors, rows)

    def search(self, vector: Vectors, number: int, candidates: int) -> Found | None:
        """Return the nearest rows, or None if the graph leads to fewer than `number` of them."""
        number = min(number, len(self))  # More than there are would be an error.
        self._graph.set_ef(max(LEAST_LOOKED_AT, number, candidates))
        try:
            rows, distances = self._graph.knn_query(vector[None], k=number, num_threads=1)
        except RuntimeError:  # It reached fewer.
            return None
        return rows[0].astype(np.int64), np.asarray(1.0 - distances[0], np.float32)

    def save(self, path: Path) -> None:
        """Write the graph. Raises OSError and RuntimeError."""
        self._graph.resize_index(len(self))
        self._graph.save_index(str(path))
        # hnswlib reports no error, whether the disk is full or the file cannot be written at all.
        written, whole = path.stat().st_size, self._graph.index_file_size()
        if written != whole:
            raise OSError(f"{written:,} of {whole:,} bytes of the graph were written")

    def __len__(self) -> int:
        return int(self._graph.element_count)
