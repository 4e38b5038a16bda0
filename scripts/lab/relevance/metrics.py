"""Reciprocal rank, and bootstrap intervals. Arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localcrag.evaluation.curves import Floats, Places

RESAMPLES = 1000
"""Bootstrap samples, as many as Efron and Tibshirani (1993, chapter 13) recommend for a percentile interval."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def reciprocal_rank(scores: Floats, own: int | None) -> float:
    """Return 1 / rank of the score at position `own`; 0.0 if it is None.

    Among equal scores, the earlier one ranks higher, since the app keeps the order of retrieval.
    """
    if own is None:
        return 0.0
    return 1.0 / (1 + int(np.sum(scores > scores[own])) + int(np.sum(scores[:own] == scores[own])))


def bootstrap(groups: Sequence[Places], statistic: Callable[[Places], float], *, seed: int = 1) -> Figure:
    """Return `statistic` of all rows, with its interval from resampling groups (each group is one question's rows).

    `statistic` gets row numbers, each as often as it was drawn.
    """
    chosen = np.random.default_rng(seed)
    drawn = [
        statistic(np.concatenate([groups[number] for number in chosen.integers(len(groups), size=len(groups))]))
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Figure(statistic(np.concatenate(groups)), float(low), float(high))


def grouped(numbers: NDArray[np.integer]) -> list[Places]:
    """Return the row numbers of each distinct value."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
