"""Ratios of two versions' times, measured alternately: the median, its interval, the conclusion.

The two times of a pair are measured one right after the other, so that other work on the machine affects both.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.stats import bootstrap

from localcrag.evaluation.wording import CONFIDENCE, RESAMPLES, SEED

ALLOWED = 1.25
"""Largest allowed ratio of a step's times. In six comparisons of a version with itself, three of them next to a program
that kept a core busy, no interval began above 1.02 (docs/lab/measurements.md). The rest allows for features that take
time. It is about as much as people do not notice: a fifth of a wait (Seow 2008, Designing and Engineering Time)."""
LEAST_PAIRS = 6
"""Fewest pairs for an interval: the range of 6 ratios has the median with 97 % (1 - 2 / 2 ** 6), of 5 with 94 %."""

Pair = tuple[float, float]
"""Seconds of the earlier version, and of this one."""


class Verdict(StrEnum):
    """The conclusion from an interval of ratios."""

    SLOWER = "slower"
    ACCEPTED = "slower, as a commit says"
    FASTER = "faster"
    AS_FAST = "as fast"
    UNCLEAR = "cannot be told"


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of a step's times: the median of `pairs` ratios, and its 95 % interval.

    `before` and `now` are medians of the seconds.
    """

    step: str
    median: float
    low: float
    high: float
    pairs: int
    before: float
    now: float

    def verdict(self, allowed: float = ALLOWED, accepted: frozenset[str] = frozenset()) -> Verdict:
        """Return the verdict from the whole interval; never SLOWER for an `accepted` step."""
        if self.pairs < LEAST_PAIRS:
            return Verdict.UNCLEAR
        if self.low > allowed:
            return Verdict.ACCEPTED if self.step in accepted else Verdict.SLOWER
        if self.high < 1 / allowed:
            return Verdict.FASTER
        return Verdict.AS_FAST if self.high <= allowed else Verdict.UNCLEAR


def ratio(step: str, pairs: Sequence[Pair]) -> Ratio | None:
    """Return the ratio of a step, with a percentile bootstrap over pairs; None if no pair has times above zero."""
    timed = [(before, now) for before, now in pairs if before > 0 and now > 0]
    if not timed:
        return None
    ratios = np.array([now / before for before, now in timed])
    low, high = _interval(ratios)
    before, now = (statistics.median(one) for one in zip(*timed, strict=True))
    return Ratio(step, float(np.median(ratios)), low, high, len(timed), before, now)


def _interval(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    if values.min() == values.max():
        return float(values.min()), float(values.max())
    found = bootstrap(
        (values,), np.median, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)
