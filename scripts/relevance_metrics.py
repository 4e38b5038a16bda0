"""Figures of a ranking, a separation and a calibration, with bootstrap intervals. Arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Marks = NDArray[np.bool_]
Places = NDArray[np.intp]

BINS = 10
RESAMPLES = 1000
"""Efron and Tibshirani (1993, chapter 13) ask for as many for a percentile interval."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability curve: what was said on average, what share was relevant, and its share of all."""

    said: float
    relevant: float
    share: float
    count: int


def reciprocal_rank(scores: Floats, own: int | None) -> float:
    """Return 1 / rank of the score at place `own`, 0.0 when it is None.

    Of equal scores the earlier is better, as the app leaves passages in the order they were retrieved.
    """
    if own is None:
        return 0.0
    return 1.0 / (1 + int(np.sum(scores > scores[own])) + int(np.sum(scores[:own] == scores[own])))


def auc(marks: Marks, scores: Floats) -> float:
    """Return the probability that a marked score is above one that is not, ties counting half (NaN: one kind only)."""
    positives = int(marks.sum())
    negatives = len(marks) - positives
    if not positives or not negatives:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal scores share their mean rank
    above = ranks[marks].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def reliability(probabilities: Floats, marks: Marks, weights: Floats | None = None) -> list[Bin]:
    """Return the reliability curve over BINS bins of equal width, empty ones left out."""
    weights = np.ones(len(probabilities)) if weights is None else weights
    places = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    curve = []
    for number in np.unique(places):
        inside = places == number
        share = weights[inside]
        curve.append(
            Bin(
                float(np.average(probabilities[inside], weights=share)),
                float(np.average(marks[inside], weights=share)),
                float(share.sum() / weights.sum()),
                int(inside.sum()),
            )
        )
    return curve


def calibration_error(probabilities: Floats, marks: Marks, weights: Floats | None = None) -> float:
    """Return the expected calibration error (Guo et al. 2017, equation 3)."""
    return sum(abs(one.said - one.relevant) * one.share for one in reliability(probabilities, marks, weights))


def log_losses(probabilities: Floats, marks: Marks) -> Floats:
    """Return each row's negative log likelihood in nats, probabilities kept a millionth away from 0 and 1."""
    likely = np.where(marks, probabilities, 1.0 - probabilities)
    return np.asarray(-np.log(np.clip(likely, 1e-6, 1.0)))


def bootstrap(groups: Sequence[Places], statistic: Callable[[Places], float], *, seed: int = 1) -> Figure:
    """Return `statistic` of all rows and its interval from resampling the groups (the rows of one question each).

    `statistic` is given row numbers, as often as they were drawn.
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
