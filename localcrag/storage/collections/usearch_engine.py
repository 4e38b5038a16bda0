"""usearch as a vector engine: its file is mapped into memory, and vectors have eight bits per number."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import numpy as np

from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engines import (
    CONSTRUCTION_CANDIDATES,
    LEAST_CANDIDATES,
    LINKS,
    Codes,
    Ids,
    NearestRows,
    quantised,
)

if sys.platform == "linux":
    # This must run before usearch is imported. usearch's wheels for Linux contain a copy of the C++ library, which
    # numbers the facets of a locale again, in the same memory as the system's library. Facets that the system's library
    # has not yet numbered are then mixed up, and llama.cpp finds no character classes (“std::bad_cast” when a model
    # loads). A request for the classic locale makes the system's library number all of its facets once and for all.
    with suppress(OSError, AttributeError):
        # The mangled name of std::locale::classic().
        ctypes.CDLL("libstdc++.so.6")._ZNSt6locale7classicEv()

from usearch.compiled import MetricKind
from usearch.index import Index, search


class UsearchEngine:
    """A graph of usearch."""

    suffix: ClassVar[str] = ".usearch"
    compared: ClassVar[int] = 40

    def __init__(self, dimension: int) -> None:
        """Create an empty graph."""
        # Entries are never looked up by their row number, and building the table for such look-ups takes time.
        self._graph = Index(
            ndim=dimension, metric=MetricKind.Cos, dtype="i8", connectivity=LINKS,
            expansion_add=CONSTRUCTION_CANDIDATES, enable_key_lookups=False,
        )  # fmt: skip

    @classmethod
    def open(cls, path: Path, dimension: int, *, to_add: bool) -> UsearchEngine:
        """Map a saved graph, or read it into memory with `to_add`. Raises OSError and RuntimeError."""
        engine = cls(dimension)
        if to_add:
            engine._graph.load(path)
        else:
            engine._graph.view(path)
        return engine

    def add(self, rows: Ids, vectors: Vectors) -> None:
        """Add unit vectors under new row numbers. Raises RuntimeError."""
        self._graph.add(rows, quantised(vectors))

    def search(self, vector: Vectors, number: int, candidates: int) -> NearestRows | None:
        """Return the nearest rows, or None if the graph leads to fewer than `number` of them."""
        number = min(number, len(self))
        self._graph.expansion_search = max(LEAST_CANDIDATES, number, candidates)  # type: ignore[misc]  # it has a setter
        found = self._graph.search(quantised(vector[None])[0], number, threads=1)
        rows, cosines = np.asarray(found.keys).astype(np.int64), np.asarray(1.0 - found.distances, np.float32)
        return (rows, cosines) if len(rows) == number else None

    def save(self, path: Path) -> None:
        """Write the graph to a file. Raises OSError and RuntimeError."""
        self._graph.save(path)

    def __len__(self) -> int:
        return len(self._graph)


def nearest_codes(codes: Codes, vector: Vectors, number: int) -> NearestRows:
    """Compare each of these vectors; return the positions of the nearest ones, nearest first, and their cosines."""
    found = search(codes, quantised(vector[None])[0], min(number, len(codes)), MetricKind.Cos, exact=True, threads=1)
    return np.asarray(found.keys).astype(np.int64), np.asarray(1.0 - found.distances, np.float32)
