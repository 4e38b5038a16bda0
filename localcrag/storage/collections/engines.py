"""The protocol of a vector engine.

An engine is a graph of vectors (HNSW), each under the number of its row. It knows nothing of chunks, documents or
deletions: index_files.py keeps the chunks' columns next to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from localcrag.records.protocols import Vectors

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]
"""Vectors with eight bits a number, each by a factor of its own. Their cosines are right to within a hundredth."""
Found = tuple[Ids, Vectors]
"""Rows, nearest first, and the cosine of each."""

# hnswlib recommends M 16 and ef_construction 200 for high recall at this dimension (ALGO_PARAMS.md). With 100, usearch
# built a file of 100,000 in half of the time (38 s of a processor, not 81), and of the ten nearest 0.994 were found,
# not 0.999.
LINKS = 16
CONSTRUCTION = 200
LEAST_LOOKED_AT = 200
"""Candidates kept while a graph is searched (ef), however few are asked for."""
LARGEST_CODE = 127


class Engine(Protocol):
    """A graph of unit vectors."""

    suffix: ClassVar[str]
    """The ending of its file's name."""
    compared: ClassVar[int]
    """Vectors compared one by one in the time the graph takes to find one more (scripts/lab/scale/bench_scale.py)."""

    def __init__(self, dimension: int) -> None:
        """Begin an empty graph."""

    @classmethod
    def open(cls, path: Path, dimension: int, *, to_add: bool) -> Self:
        """Open a graph that was saved; one `to_add` to is a copy in memory. Raises OSError and RuntimeError."""

    def add(self, rows: Ids, vectors: Vectors) -> None:
        """Add unit vectors under the numbers of rows that are not there yet. Raises RuntimeError and MemoryError."""

    def search(self, vector: Vectors, number: int, candidates: int) -> Found | None:
        """Return the nearest rows, nearest first, or None if the graph leads to fewer than `number` of them.

        `candidates` are kept during the search (ef), at least LEAST_LOOKED_AT.
        """

    def save(self, path: Path) -> None:
        """Write the graph. Raises OSError and RuntimeError."""

    def __len__(self) -> int: ...


def coded(vectors: Vectors) -> Codes:
    """Return vectors with eight bits a number, of the same directions as far as that goes; shape as given."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (LARGEST_CODE / np.where(largest == 0, 1, largest))).astype(np.int8)
