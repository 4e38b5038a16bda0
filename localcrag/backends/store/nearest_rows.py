"""The rows of an index file that are nearest to a vector, among those that are allowed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localcrag.backends.store.index_file import LEAST_LOOKED_AT, Found, Ids, IndexFile
from localcrag.records.protocols import Vectors

MOST_GONE = 0.3
"""Share of a file's chunks that are gone, beyond which it is made anew without them: they cost time and memory."""
MOST_IN_GRAPH = 5_000
"""Nearest that the graph is asked for."""
MORE = 1.25
"""Times as many as would have enough that are allowed if these were spread evenly; so few are asked for first."""
COMPARED = 40
"""Chunks that are compared in the time in which the graph finds one more: 0.4 µs to 15
(scripts/lab/scale/bench_scale.py)."""


def nearest_rows(
    file: IndexFile,
    gone: NDArray[np.bool_],
    vector: Vectors,
    number: int,
    *,
    chosen: NDArray[np.bool_] | None,
    share: float,
) -> Found:
    """Return rows that are not `gone`, nearest first, of the documents chosen, which are about such a share of all.

    Those among more of the nearest, if these are enough, else the best of all that are allowed.
    """

    def allowed(rows: Ids | slice) -> NDArray[np.bool_]:
        there = ~gone[rows]
        return there if chosen is None else there & chosen[file.documents[rows]]

    evenly = number if chosen is None else MORE * number / max(share, 1 / file.rows)
    wanted = math.ceil(evenly / (1.0 - min(MOST_GONE, gone.mean())))
    while wanted <= MOST_IN_GRAPH and COMPARED * max(wanted, LEAST_LOOKED_AT) < share * file.rows:
        found = file.nearest(vector, wanted, 2 * number)
        if found is None:
            break
        rows, cosines = found
        there = allowed(rows)
        if there.sum() >= number:
            return rows[there][:number], cosines[there][:number]
        wanted *= 3
    return file.nearest_of(np.flatnonzero(allowed(slice(None))), vector, number)
