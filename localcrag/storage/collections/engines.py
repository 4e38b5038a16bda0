"""The protocol of a vector engine.

An engine is a graph of vectors (HNSW), each identified by its row number. It knows nothing about chunks, documents or
deletions; index_files.py keeps the columns of the chunks next to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from localcrag.records.protocols import Vectors

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]
"""Vectors with eight bits per number, each scaled by its own factor. Their cosines are accurate to a hundredth."""
NearestRows = tuple[Ids, Vectors]
"""Rows, nearest first, and the cosine of each row."""

# hnswlib recommends M = 16 and ef_construction = 200 for high recall at this dimension (ALGO_PARAMS.md). With 100,
# usearch built a file of 100,000 vectors in half the CPU time (38 s instead of 81 s), but a search found a share of
# 0.994 of the ten nearest vectors instead of 0.999.
LINKS = 16
CONSTRUCTION_CANDIDATES = 200
LEAST_CANDIDATES = 200
"""Minimum number of candidates to keep during a search (ef), however few results are requested."""
LARGEST_CODE = 127
"""Largest number in a rounded vector (int8)."""


class Engine(Protocol):
    """A graph of unit vectors."""

    suffix: ClassVar[str]
    """Suffix of its files."""
    compared: ClassVar[int]
    """How many vectors can be compared one by one in the time that the graph needs per result
    (scripts/lab/scale/bench_scale.py)."""

    def __init__(self, dimension: int) -> None:
        """Create an empty graph."""

    @classmethod
    def open(cls, path: Path, dimension: int, *, to_add: bool) -> Self:
        """Open a saved graph; with `to_add`, load a copy into memory. Raises OSError and RuntimeError."""

    def add(self, rows: Ids, vectors: Vectors) -> None:
        """Add unit vectors under new row numbers. Raises RuntimeError and MemoryError."""

    def search(self, vector: Vectors, number: int, candidates: int) -> NearestRows | None:
        """Return the nearest rows, nearest first, or None if the graph leads to fewer than `number` of them.

        `candidates` is the number of candidates to keep during the search (ef); it is raised to LEAST_CANDIDATES.
        """

    def save(self, path: Path) -> None:
        """Write the graph to a file. Raises OSError and RuntimeError."""

    def __len__(self) -> int: ...


def quantised(vectors: Vectors) -> Codes:
    """Return vectors rounded to eight bits per number, each scaled by its own factor, in the same shape."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (LARGEST_CODE / np.where(largest == 0, 1, largest))).astype(np.int8)
