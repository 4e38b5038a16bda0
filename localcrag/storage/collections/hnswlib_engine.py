"""hnswlib as a vector engine: the graph and the vectors are in memory, in full precision (float32)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import hnswlib
import numpy as np

from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engines import CONSTRUCTION_CANDIDATES, LEAST_CANDIDATES, LINKS, Ids, NearestRows

GROWTH_FACTOR = 1.25
"""Factor by which a full graph's new capacity exceeds the need, because each enlargement copies the whole graph."""


class HnswlibEngine:
    """A graph of hnswlib. No entry is ever marked as deleted, so `element_count` is the number of its entries."""

    suffix: ClassVar[str] = ".hnsw"
    compared: ClassVar[int] = 20

    def __init__(self, dimension: int) -> None:
        """Create an empty graph."""
        # For unit vectors the inner product is the cosine; the space "cosine" would copy and normalise them again.
        self._graph = hnswlib.Index(space="ip", dim=dimension)
        self._graph.init_index(max_elements=1, M=LINKS, ef_construction=CONSTRUCTION_CANDIDATES, random_seed=1)

    @classmethod
    def open(cls, path: Path, dimension: int, *, to_add: bool) -> HnswlibEngine:
        """Read a saved graph into memory. Raises RuntimeError."""
        engine = cls.__new__(cls)
        # Always use a new object: after a failed load, an object refers to memory that hnswlib has freed.
        engine._graph = hnswlib.Index(space="ip", dim=dimension)
        # A loaded graph is full, because `save` shrinks it to its size. `add` enlarges it.
        engine._graph.load_index(str(path))
        return engine

    def add(self, rows: Ids, vectors: Vectors) -> None:
        """Add unit vectors under new row numbers. Raises RuntimeError and MemoryError."""
        needed = len(self) + len(rows)
        # A full graph rejects new entries, because hnswlib does not enlarge it automatically.
        if needed > self._graph.max_elements:
            self._graph.resize_index(int(needed * GROWTH_FACTOR))
        self._graph.add_items(vectors, rows)

    def search(self, vector: Vectors, number: int, candidates: int) -> NearestRows | None:
        """Return the nearest rows, or None if the graph leads to fewer than `number` of them."""
        number = min(number, len(self))  # hnswlib raises an error if more results are requested than there are entries.
        self._graph.set_ef(max(LEAST_CANDIDATES, number, candidates))
        try:
            rows, distances = self._graph.knn_query(vector[None], k=number, num_threads=1)
        except RuntimeError:  # The search reached fewer entries.
            return None
        return rows[0].astype(np.int64), np.asarray(1.0 - distances[0], np.float32)

    def save(self, path: Path) -> None:
        """Write the graph to a file. Raises OSError and RuntimeError."""
        self._graph.resize_index(len(self))
        self._graph.save_index(str(path))
        # hnswlib reports no error, even if the disk is full or the file cannot be written at all.
        written, whole = path.stat().st_size, self._graph.index_file_size()
        if written != whole:
            raise OSError(f"{written:,} of {whole:,} bytes of the graph were written")

    def __len__(self) -> int:
        return int(self._graph.element_count)
