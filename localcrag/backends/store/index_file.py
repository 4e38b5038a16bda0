"""The file of a vector index, mapped into memory: a graph, and what is known of each of its chunks.

First comes usearch's own format, then a column after the other: the chunks' ids, ascending, hashes of their vectors,
the ids of their documents, the first row with the same vector, and the vectors. Vectors have eight bits a number here:
whoever wants a cosine looks into the database. The graph knows rows, and of chunks with the same vector the first
alone: more entries at one place than an entry has links would link to each other only, and a search that comes by
there would end there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import localcrag.backends.store.cpp_locales  # noqa: F401 - before usearch is imported

# isort: split
import numpy as np
from numpy.typing import NDArray
from usearch.compiled import MetricKind
from usearch.index import Index, search

from localcrag.records.protocols import Vectors

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]
"""Vectors with eight bits a number, each by a factor of its own."""
Found = tuple[Ids, Vectors]
"""Rows, nearest first, and the cosine of each as far as eight bits a number tell it: to within a hundredth."""

# hnswlib recommends M 16 and ef_construction 200 for high recall at this dimension (ALGO_PARAMS.md). With 100, the file
# of 100,000 took half of the time (38 s of a processor, not 81), and of the ten nearest 0.994 were found, not 0.999.
LINKS = 16
CONSTRUCTION = 200
LEAST_LOOKED_AT = 200
"""Candidates kept while the graph is searched (ef), however few are asked for."""
AT_ONCE = 20_000
"""Rows copied out of the file to be compared."""
LARGEST = 127
_COLUMNS: tuple[tuple[str, type], ...] = (
    ("chunks", np.int64), ("hashes", np.uint64), ("documents", np.int32), ("firsts", np.int32),
)  # fmt: skip
_PLACES, _PIECE = 64, 64 * 1024
"""Of a file, so many pieces of so many bytes are compared."""


class IndexFile:
    """A file that was written, of so many rows."""

    def __init__(self, path: Path, rows: int, dimension: int) -> None:
        """Map a file that `fingerprint` has told to be ours. Raises OSError, RuntimeError and ValueError."""
        self.path, self.rows = path, rows
        self.graph = _empty_graph(dimension)
        self.graph.view(path)
        data = np.memmap(path, np.uint8, mode="r")
        at = len(data) - rows * (dimension + sum(np.dtype(kind).itemsize for _, kind in _COLUMNS))
        columns: dict[str, NDArray[Any]] = {}
        for name, kind in _COLUMNS:
            end = at + rows * np.dtype(kind).itemsize
            columns[name] = data[at:end].view(kind)
            at = end
        self.chunks: Ids = columns["chunks"]
        self.documents: NDArray[np.int32] = columns["documents"]
        self.hashes, self.firsts = columns["hashes"], columns["firsts"]
        self.vectors: Codes = data[at:].view(np.int8).reshape(rows, dimension)
        same = np.flatnonzero(self.firsts != np.arange(rows, dtype=np.int32))
        self._same = same[np.argsort(self.firsts[same], kind="stable")]
        self._same_as = self.firsts[self._same]
        self.highest_document = int(self.documents.max(initial=0))

    def nearest(self, vector: Vectors, number: int, looked_at: int) -> Found | None:
        """Return the rows that the graph finds, nearest first, with all that have the same vector, and their cosines.

        There are `number` different vectors among them; None where the graph leads to fewer. `looked_at` are candidates
        kept meanwhile (ef).
        """
        number = min(number, len(self.graph))
        self.graph.expansion_search = max(LEAST_LOOKED_AT, number, looked_at)  # type: ignore[misc]  # it has a setter
        found = self.graph.search(coded(vector[None])[0], number, threads=1)
        rows, cosines = np.asarray(found.keys).astype(np.int64), np.asarray(1.0 - found.distances, np.float32)
        return self._with_same(rows, cosines) if len(rows) == number else None

    def nearest_of(self, rows: Ids, vector: Vectors, number: int) -> Found:
        """Return up to `number` of these rows, nearest first, each compared, and their cosines."""
        code = coded(vector[None])[0]
        best, distances = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for at in range(0, len(rows), AT_ONCE):
            some = rows[at : at + AT_ONCE]
            found = search(self.vectors[some], code, min(number, len(some)), MetricKind.Cos, exact=True, threads=1)
            best.append(some[np.asarray(found.keys).astype(np.int64)])
            distances.append(np.asarray(found.distances))
        every = np.concatenate(distances)
        order = np.argsort(every, kind="stable")[:number]
        return np.concatenate(best)[order], 1.0 - every[order]

    def rows_of(self, chunks: Ids) -> Ids:
        """Return the row of each chunk, -1 of those that are not there."""
        places = np.searchsorted(self.chunks, chunks)
        there = places < self.rows
        there[there] = self.chunks[places[there]] == chunks[there]
        return np.where(there, places, -1)

    def _with_same(self, rows: Ids, cosines: Vectors) -> Found:
        starts, ends = (np.searchsorted(self._same_as, rows, side) for side in ("left", "right"))
        if (starts == ends).all():
            return rows, cosines
        of_each = 1 + ends - starts
        place = np.repeat(np.arange(len(rows)), of_each)
        # Of a row and those that are the same: 0 is the row itself, the others are counted from 1.
        number = np.arange(len(place)) - np.repeat(np.cumsum(of_each) - of_each, of_each)
        every = np.where(number == 0, rows[place], self._same[starts[place] + number - 1])
        return every, cosines[place]


class Growth:
    """A file to be written: that of before, if there is one, and what is added."""

    def __init__(self, dimension: int, before: IndexFile | None) -> None:
        """Copy the graph of before into memory. Raises RuntimeError."""
        self.before = before
        names = [*(name for name, _ in _COLUMNS), "vectors"]
        self._added: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        self.rows = before.rows if before else 0
        self._graph = _empty_graph(dimension)
        self._hashes, self._first = np.empty(0, np.uint64), np.empty(0, np.int64)
        if before:
            self._graph.load(before.path)
            first = np.flatnonzero(before.firsts == np.arange(before.rows, dtype=np.int32))
            self._first = first[np.argsort(before.hashes[first])]
            self._hashes = before.hashes[self._first]

    def add(self, chunks: Sequence[int], documents: Sequence[int], vectors: Vectors) -> None:
        """Add chunks, whose ids are ascending and above all of before; `vectors` has a row for each."""
        codes, hashes, firsts = coded(vectors), np.empty(len(chunks), np.uint64), np.empty(len(chunks), np.int32)
        hashes[:] = [int.from_bytes(hashlib.blake2b(code, digest_size=8).digest(), "little") for code in codes]
        different, at, which = np.unique(hashes, return_index=True, return_inverse=True)
        places = np.searchsorted(self._hashes, different)
        known = places < len(self._hashes)
        known[known] = self._hashes[places[known]] == different[known]
        first = self.rows + at
        first[known] = self._first[places[known]]
        firsts[:] = first[which]
        new = np.sort(at[~known])
        self._graph.add(self.rows + new, codes[new])
        self._hashes = np.insert(self._hashes, places[~known], different[~known])
        self._first = np.insert(self._first, places[~known], first[~known])
        columns: tuple[NDArray[Any], ...] = (
            np.array(chunks, np.int64),
            hashes,
            np.array(documents, np.int32),
            firsts,
            codes,
        )
        for name, column in zip(self._added, columns, strict=True):
            self._added[name].append(column)
        self.rows += len(chunks)

    def write(self, path: Path) -> None:
        """Write the file, so that it lasts. Raises OSError and RuntimeError."""
        self._graph.save(path)
        with path.open("ab") as file:
            # So that the numbers in the columns lie where a processor reads them at once.
            file.write(b"\0" * (-file.tell() % np.dtype(np.int64).itemsize))
            for name, added in self._added.items():
                for column in (getattr(self.before, name), *added) if self.before else added:
                    column.tofile(file)
            file.flush()
            os.fsync(file.fileno())

    def go_on_from(self, written: IndexFile) -> None:
        """Forget what is in the file that was written."""
        self.before = written
        for added in self._added.values():
            added.clear()


def coded(vectors: Vectors) -> Codes:
    """Return vectors with eight bits a number, of the same directions as far as that goes; shape as given."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (LARGEST / np.where(largest == 0, 1, largest))).astype(np.int8)


def fingerprint(path: Path) -> str:
    """Return what tells a file from others, without reading a large one whole. Raises OSError.

    A SHA-256 of its size and of 64 pieces spread over it, with the first and the last bytes; of up to 4 MiB, of all. So
    a file that is another one (of an earlier day, another collection), cut off, or filled with zeros where the system
    stopped while writing, is noticed. A few bytes changed in a large file are not: who may write here may write to the
    database as well, and a disk that changes bytes by itself is found by the disk's own checks.
    """
    size = path.stat().st_size
    told = hashlib.sha256(str(size).encode("ascii"))
    step = max(_PIECE, (size - _PIECE) // (_PLACES - 1))
    with path.open("rb") as file:
        for place in range(_PLACES):
            file.seek(min(place * step, max(0, size - _PIECE)) if size > _PLACES * _PIECE else place * _PIECE)
            told.update(file.read(_PIECE))
    return told.hexdigest()


def _empty_graph(dimension: int) -> Index:
    # Without key look-ups: rows are numbers that it need not be asked for, and a table of them takes time to make.
    return Index(
        ndim=dimension, metric=MetricKind.Cos, dtype="i8", connectivity=LINKS, expansion_add=CONSTRUCTION,
        enable_key_lookups=False,
    )  # fmt: skip
