"""Means with intervals, and paired differences of two configurations on the same questions.

Questions are what is drawn, so intervals say what other questions of the same kind would bring, not what another model
or other documents would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, bootstrap, permutation_test

RESAMPLES = 2000
"""Of a bootstrap; for percentile intervals 1,000 are taken to be enough (Efron and Tibshirani 1993, chapter 13)."""
SIGNS = 10_000
"""Draws of a permutation test: p is then right to 0.004 near 0.05."""
ROUNDING = 1e-12
"""Of sums in another order, relative: an equal one counts as equal."""
CONFIDENCE = 0.95
SEED = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` questions, and its 95 % interval; None with fewer than two questions."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences, its interval, and `p`, how often chance alone would bring one as large."""

    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int

    @property
    def significant(self) -> bool:
        """Whether chance alone would bring it in fewer than 5 of 100 cases."""
        return self.p is not None and self.p < 1 - CONFIDENCE


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean with its percentile bootstrap interval; None without values."""
    if not values:
        return None
    mean, low, high = _interval(values)
    return Estimate(mean, low, high, len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """Return second - first of pairs, shape (n,) each, by bootstrap and a paired permutation test (two-sided)."""
    if not first:
        return None
    values = [after - before for before, after in zip(first, second, strict=True)]
    mean, low, high = _interval(values)
    return Difference(mean, low, high, _chance(values), len(values))


def _interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    if min(values) == max(values):
        return mean, mean, mean
    found = bootstrap(
        (np.asarray(values, dtype=float),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return mean, float(found.low), float(found.high)


def _chance(differences: Sequence[float]) -> float | None:
    """Return the p of the mean under random signs: what a paired permutation does to a difference."""
    changed = np.array([value for value in differences if value], dtype=float)
    if len(differences) < 2:
        return None
    if not len(changed):
        return 1.0
    sizes = np.abs(changed)
    if sizes.min() == sizes.max():
        # All as large, as where a question is either right or wrong: how many go up is binomial (McNemar 1947, exact).
        return float(binomtest(int((changed > 0).sum()), len(changed)).pvalue)
    if 2 ** len(changed) <= SIGNS:
        return float(permutation_test((changed,), _sums, permutation_type="samples", vectorized=True).pvalue)
    # What permutation_test would draw, but 20 times as fast: a report has some hundred of these.
    signs = np.random.default_rng(SEED).integers(0, 2, (SIGNS, len(changed)), dtype=np.int8) * 2 - 1
    as_large = np.abs(signs @ changed) >= abs(changed.sum()) * (1 - ROUNDING)
    return float((as_large.sum() + 1) / (SIGNS + 1))


def _sums(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(values.sum(axis=axis))
