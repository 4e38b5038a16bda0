"""The two files of a vector index: the graph, and the columns of its chunks.

The graph's file has the engine's own format (engines.py). The columns are arrays that follow each other in a file that
is mapped into memory: the chunks' ids (ascending), hashes of their vectors, the ids of their documents, the first row
with the same vector, and the vectors with eight bits per number (only the database has the exact ones). They have a
separate file, because hnswlib cannot read a graph that is followed by other data.

The graph identifies vectors by row. Of several chunks with the same vector, it contains only the first: if more entries
were at one place than an entry has links, they would link only to each other, and a search that reached them would end
there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcrag.records.protocols import Vectors
from localcrag.storage.collections.engine_choice import EngineChoice, engine_of
from localcrag.storage.collections.engines import Codes, Engine, Ids, NearestRows, quantised

ROWS_PER_COPY = 20_000
"""Rows to copy from the file at once for comparison."""
COLUMNS = ".columns"
"""Suffix of the file with the columns."""
_COLUMNS: tuple[tuple[str, type], ...] = (
    ("chunks", np.int64), ("hashes", np.uint64), ("documents", np.int32), ("firsts", np.int32),
)  # fmt: skip
_PIECES, _PIECE_BYTES = 64, 64 * 1024
"""Number and size (in bytes) of the pieces of a file that its fingerprint covers."""


class IndexFile:
    """An open graph and its columns, with `rows` rows."""

    def __init__(self, path: Path, rows: int, dimension: int) -> None:
        """Open files whose `fingerprint` was checked; `path` is that of the graph.

        Raises OSError, RuntimeError, ValueError and MemoryError.
        """
        self.path, self.rows, self._dimension = path, rows, dimension
        self.engine = engine_of(path.suffix)
        self._graph = self.engine.open(path, dimension, to_add=False)
        data = np.memmap(path.with_suffix(COLUMNS), np.uint8, mode="r")
        columns: list[NDArray[Any]] = []
        at = 0
        for _, kind in _COLUMNS:
            end = at + rows * np.dtype(kind).itemsize
            columns.append(data[at:end].view(kind))
            at = end
        self.chunks, self.hashes, self.documents, self.firsts = columns
        self.vectors: Codes = data[at:].view(np.int8).reshape(rows, dimension)
        same = np.flatnonzero(self.firsts != np.arange(rows, dtype=np.int32))
        self._same = same[np.argsort(self.firsts[same], kind="stable")]
        self._same_as = self.firsts[self._same]
        self.highest_document = int(self.documents.max(initial=0))

    @property
    def different(self) -> int:
        """The number of different vectors."""
        return len(self._graph)

    def extensible_graph(self) -> Engine:
        """Return a copy of the graph in memory, for adding vectors. Raises OSError, RuntimeError and MemoryError."""
        return self.engine.open(self.path, self._dimension, to_add=True)

    def nearest(self, vector: Vectors, number: int, candidates: int) -> NearestRows | None:
        """Return the rows that the graph finds, nearest first, and all rows with the same vectors; with their cosines.

        The result covers `number` different vectors; it is None if the graph leads to fewer. `candidates` is the number
        of candidates to keep during the search (ef).
        """
        found = self._graph.search(vector, number, candidates)
        return found and self._with_duplicates(*found)

    def nearest_among(self, rows: Ids, vector: Vectors, number: int) -> NearestRows:
        """Compare each of these rows; return up to `number` of them, nearest first, with their cosines."""
        from localcrag.storage.collections.usearch_engine import nearest_codes  # noqa: PLC0415 - takes a while

        best, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for at in range(0, len(rows), ROWS_PER_COPY):
            some = rows[at : at + ROWS_PER_COPY]
            places, found = nearest_codes(self.vectors[some], vector, number)
            best.append(some[places])
            cosines.append(found)
        every = np.concatenate(cosines)
        order = np.argsort(-every, kind="stable")[:number]
        return np.concatenate(best)[order], every[order]

    def rows_of(self, chunks: Ids) -> Ids:
        """Return the row of each chunk, or -1 if the chunk is not in the file."""
        places = np.searchsorted(self.chunks, chunks)
        there = places < self.rows
        there[there] = self.chunks[places[there]] == chunks[there]
        return np.where(there, places, -1)

    def _with_duplicates(self, rows: Ids, cosines: Vectors) -> NearestRows:
        starts, ends = (np.searchsorted(self._same_as, rows, side) for side in ("left", "right"))
        if (starts == ends).all():
            return rows, cosines
        group_sizes = 1 + ends - starts
        place = np.repeat(np.arange(len(rows)), group_sizes)
        # The position within a group of equal vectors: 0 is the row that was found, and its duplicates count from 1.
        number = np.arange(len(place)) - np.repeat(np.cumsum(group_sizes) - group_sizes, group_sizes)
        every = np.where(number == 0, rows[place], self._same[starts[place] + number - 1])
        return every, cosines[place]


class IndexBuilder:
    """New index files before they are written: the content of the previous files, if any, and added chunks."""

    def __init__(self, dimension: int, before: IndexFile | None, choice: EngineChoice) -> None:
        """Copy the previous graph into memory. Raises OSError, RuntimeError and MemoryError."""
        self.before, self._dimension, self._choice = before, dimension, choice
        names = [*(name for name, _ in _COLUMNS), "vectors"]
        self._added: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        self.rows = before.rows if before else 0
        self._graph = before.extensible_graph() if before else choice.engine(0)(dimension)
        self._hashes, self._first = np.empty(0, np.uint64), np.empty(0, np.int64)
        if before:
            first = np.flatnonzero(before.firsts == np.arange(before.rows, dtype=np.int32))
            self._first = first[np.argsort(before.hashes[first])]
            self._hashes = before.hashes[self._first]

    @property
    def suffix(self) -> str:
        """The suffix of the graph's file."""
        return self._graph.suffix

    def add(self, chunks: Sequence[int], documents: Sequence[int], vectors: Vectors) -> None:
        """Add chunks, whose ids must ascend and exceed all earlier ids; `vectors` has a row for each.

        Raises RuntimeError and MemoryError; then this object must no longer be used.
        """
        codes = quantised(vectors)
        numbers = [int.from_bytes(hashlib.blake2b(code, digest_size=8).digest(), "little") for code in codes]
        hashes = np.array(numbers, np.uint64)
        # Find the first row with each vector: an earlier row with the same hash, or the first of these chunks. Only new
        # vectors go into the graph.
        different, at, which = np.unique(hashes, return_index=True, return_inverse=True)
        places = np.searchsorted(self._hashes, different)
        known = places < len(self._hashes)
        known[known] = self._hashes[places[known]] == different[known]
        first = self.rows + at
        first[known] = self._first[places[known]]
        firsts = first[which].astype(np.int32)
        new = np.sort(at[~known])
        engine = self._choice.engine(len(self._graph) + len(new))
        if not isinstance(self._graph, engine):
            self._graph = self._converted_graph(engine)
        self._graph.add(self.rows + new, vectors[new])
        self._hashes = np.insert(self._hashes, places[~known], different[~known])
        self._first = np.insert(self._first, places[~known], first[~known])
        columns: list[NDArray[Any]] = [np.array(chunks, np.int64), hashes, np.array(documents, np.int32), firsts, codes]
        for added, column in zip(self._added.values(), columns, strict=True):
            added.append(column)
        self.rows += len(chunks)

    def write(self, graph: Path, columns: Path) -> None:
        """Write both files and sync them to disk. Raises OSError, RuntimeError and MemoryError."""
        self._graph.save(graph)
        with graph.open("rb+") as file:
            os.fsync(file.fileno())
        with columns.open("wb") as file:
            for name in self._added:
                for column in self._pieces(name):
                    column.tofile(file)
            file.flush()
            os.fsync(file.fileno())

    def continue_from(self, written: IndexFile) -> None:
        """Continue from the files that were written, and free the added columns."""
        self.before = written
        for added in self._added.values():
            added.clear()

    def _pieces(self, name: str) -> list[NDArray[Any]]:
        return [getattr(self.before, name), *self._added[name]] if self.before else self._added[name]

    def _converted_graph(self, engine: type[Engine]) -> Engine:
        """Return the graph converted to another engine."""
        other, at = engine(self._dimension), 0
        for firsts, codes in zip(self._pieces("firsts"), self._pieces("vectors"), strict=True):
            rows = at + np.flatnonzero(firsts == np.arange(at, at + len(firsts), dtype=np.int32))
            for some in range(0, len(rows), ROWS_PER_COPY):
                # The exact vectors are only in the database. The rounded ones suffice, because a growing collection
                # changes to the engine that rounds all vectors in this way.
                vectors = codes[rows[some : some + ROWS_PER_COPY] - at].astype(np.float32)
                lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
                lengths[lengths == 0] = 1
                other.add(rows[some : some + ROWS_PER_COPY], vectors / lengths)
            at += len(firsts)
        return other


def fingerprint(graph: Path) -> str:
    """Return a digest of a graph and its columns, without reading large files completely. Raises OSError.

    For each file, this is a SHA-256 of its size and of 64 pieces spread over it, including the first and last bytes; up
    to 4 MiB, it covers the whole file. It detects another file (an older one, or of another collection), a truncated
    file, and a file with zeros where the system stopped during a write. It does not detect a few changed bytes in a
    large file: an attacker who can write here can also write to the database, and disks detect their own bit errors.
    """
    return " ".join(map(_digest, (graph, graph.with_suffix(COLUMNS))))


def _digest(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode("ascii"))
    # In a file of up to 4 MiB the pieces follow each other.
    step = max(_PIECE_BYTES, (size - _PIECE_BYTES) // (_PIECES - 1))
    with path.open("rb") as file:
        for place in range(_PIECES):
            file.seek(place * step)
            digest.update(file.read(_PIECE_BYTES))
    return digest.hexdigest()
