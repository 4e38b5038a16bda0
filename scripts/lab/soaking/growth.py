"""Growth: the slope of each figure over the questions, with an interval. Numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PER = 1_000
"""Questions that growth is said for."""
RESAMPLED, BLOCKS = 2_000, 20
"""Bootstrap samples of blocks of neighbours, of which there are so many: what is measured one after the other is alike,
and would make an interval of single points too narrow (Künsch, 1989)."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Per thousand questions, with the interval that holds 95 % of the resampled slopes."""

    slope: float
    low: float
    high: float

    def verdict(self, tolerated: float) -> str:
        """Return in words whether more than `tolerated` is added with each thousand questions."""
        if self.low > tolerated:
            return "GROWS"
        return "flat" if self.high <= tolerated else "not told"


def growth(questions: Sequence[float], values: Sequence[float], *, seed: int = 0) -> Growth:
    """Return by how much `values` grow with a thousand questions; all zero where there are fewer than four of them."""
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
