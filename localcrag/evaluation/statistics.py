"""Figures of questions -> their mean with an interval, and the difference of two configurations on the same questions.

Questions are what is drawn, so intervals say what other questions of the same kind would bring, not what another model
or other documents would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap, permutation_test

RESAMPLES = 2000
"""Of a bootstrap; for percentile intervals 1,000 are taken to be enough (Efron and Tibshirani 1993, chapter 13)."""
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
    changed = [value for value in differences if value]
    if len(differences) < 2:
        return None
    if not changed:
        return 1.0
    found = permutation_test(
        (np.asarray(changed, dtype=float),),
        lambda values, axis: np.sum(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=5 * RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)
