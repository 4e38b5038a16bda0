"""Growth: the slope of each figure over the questions, with an interval. Numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PER = 1_000
"""Number of questions that growth is given for."""
RESAMPLED, BLOCKS = 2_000, 20
"""Bootstrap samples, and number of blocks of neighbouring points. Successive measurements are correlated, so resampling
single points would make the interval too narrow (Künsch, 1989)."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth per thousand questions, with the interval that contains 95 % of the resampled slopes."""

    slope: float
    low: float
    high: float

    def verdict(self, tolerated: float) -> str:
        """Return in words whether each thousand questions add more than `tolerated`."""
        if self.low > tolerated:
            return "GROWS"
        return "flat" if self.high <= tolerated else "not told"


def growth(questions: Sequence[float], values: Sequence[float], *, seed: int = 0) -> Growth:
    """Return how much `values` grow in a thousand questions; 0 with fewer than four values."""
    x, y = np.asarray(questions, dtype=float), np.asarray(values, dtype=float)
    if len(x) < 4 or np.ptp(x) == 0:
        return Growth(0.0, 0.0, 0.0)
    blocks = np.array_split(np.arange(len(x)), min(BLOCKS, len(x)))
    chosen = np.random.default_rng(seed)
    slopes = []
    for _ in range(RESAMPLED):
        places = np.concatenate([blocks[at] for at in chosen.integers(0, len(blocks), len(blocks))])
        if np.ptp(x[places]) > 0:
            slopes.append(_slope(x[places], y[places]))
    low, high = np.percentile(slopes, (2.5, 97.5))
    return Growth(_slope(x, y) * PER, float(low) * PER, float(high) * PER)


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    away = x - x.mean()
    return float((away * (y - y.mean())).sum() / (away**2).sum())
