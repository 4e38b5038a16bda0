"""Means with intervals, paired differences on the same questions, and their wording in reports.

A bootstrap resamples questions: intervals show what other questions of the same kind would give, not what another model
or other documents would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, bootstrap, permutation_test

from localcrag.evaluation.metrics import BY_NAME, Better

RESAMPLES = 2000
"""Number of resamples of a bootstrap; 1,000 are considered enough for percentile intervals (Efron and Tibshirani
1993, chapter 13)."""
SIGNS = 10_000
"""Number of draws in a permutation test: p is then accurate to 0.004 near 0.05."""
ROUNDING = 1e-12
"""Relative rounding error when the same numbers are summed in another order: sums within it count as equal."""
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
class PairedDifference(Estimate):
    """The mean of paired differences, its interval, and `p`: how often chance alone would be as large."""

    p: float | None

    @property
    def significant(self) -> bool:
        """Whether chance alone would give such a difference in fewer than 5 of 100 cases."""
        return self.p is not None and self.p < 1 - CONFIDENCE


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean with its percentile bootstrap interval; None without values."""
    if not values:
        return None
    return Estimate(*_interval(values), len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference | None:
    """Return second - first of pairs, shape (n,) each, by a bootstrap and a two-sided paired permutation test."""
    if not first:
        return None
    values = [after - before for before, after in zip(first, second, strict=True)]
    return PairedDifference(*_interval(values), len(values), _chance(values))


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
    """Return the p of a mean difference under random signs, which is how a paired permutation acts on differences."""
    changed = np.array([value for value in differences if value], dtype=float)
    if len(differences) < 2:
        return None
    if not len(changed):
        return 1.0
    sizes = np.abs(changed)
    if sizes.min() == sizes.max():
        # Right or wrong answers all change by the same amount, so the number of gains is binomial (McNemar 1947,
        # exact).
        return float(binomtest(int((changed > 0).sum()), len(changed)).pvalue)
    if 2 ** len(changed) <= SIGNS:
        return float(permutation_test((changed,), _sums, permutation_type="samples", vectorized=True).pvalue)
    # These are the same draws as in permutation_test, but 20 times as fast: a report has hundreds of them.
    signs = np.random.default_rng(SEED).integers(0, 2, (SIGNS, len(changed)), dtype=np.int8) * 2 - 1
    as_large = np.abs(signs @ changed) >= abs(changed.sum()) * (1 - ROUNDING)
    return float((as_large.sum() + 1) / (SIGNS + 1))


def _sums(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(values.sum(axis=axis))


NONE = "–"
_SECONDS, _CALLS = "seconds", "llm_calls"
_WHOLE = ("prompt_tokens", "completion_tokens")
_SMALL_P = 0.001
_FEW = 30
"""Number of questions below which a difference that is not significant means almost nothing."""


def is_share(metric: str) -> bool:
    """Return whether a metric is a share in 0..1, rather than a number of seconds, calls or tokens."""
    return metric not in (_SECONDS, _CALLS, *_WHOLE)


def number(metric: str, value: float | None, *, signed: bool = False) -> str:
    """Return a metric's value with a sensible number of digits: "0.68", "1.42", "312"; with a sign if `signed`."""
    if value is None:
        return NONE
    digits = 0 if metric in _WHOLE else 2
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+-")  # A value that rounds to zero has no sign.


def interval(metric: str, one: Estimate, *, signed: bool = False) -> str:
    """Return the 95 % interval, such as "0.64 to 0.72"; empty if there is none.

    Equal values have no interval: resampling them shows no spread, however few they are.
    """
    if one.low is None or one.high is None or one.low == one.high:
        return ""
    return f"{number(metric, one.low, signed=signed)} to {number(metric, one.high, signed=signed)}"


def chance(p: float | None) -> str:
    """Return p in the usual notation: "p = 0.03", "p < 0.001"; empty without p."""
    if p is None:
        return ""
    return f"p < {_SMALL_P}" if p < _SMALL_P else f"p = {p:.{3 if p < 0.1 else 2}f}"


def direction(metric: str, difference: PairedDifference) -> Better | None:
    """Return HIGHER for a significant gain, LOWER for a significant loss, NEITHER for a neutral change; otherwise None.

    The metric's `better` tells which direction is a gain.
    """
    better = BY_NAME[metric].better
    if not difference.significant or not difference.mean:
        return None
    if better is Better.NEITHER:
        return Better.NEITHER
    return Better.HIGHER if (difference.mean > 0) == (better is Better.HIGHER) else Better.LOWER


def unproved_reason(metric: str, difference: PairedDifference | None) -> str | None:
    """Return why a difference is not proved, and how large a difference would have to be to show.

    Returns None if the difference is proved, or if there is none.
    """
    if difference is None or difference.significant:
        return None
    if difference.low is None or difference.high is None:
        return "one question shows nothing"
    if difference.low == difference.high == 0:
        reasons = [f"the two are alike in all {difference.n} questions"]
    elif difference.low <= 0 <= difference.high:
        reasons = ["the interval includes 0"]
    else:
        reasons = [f"{chance(difference.p)} is not below 0.05"]
    if difference.n < _FEW:
        reasons.append(f"{difference.n} questions are too few")
    if width := (difference.high - difference.low) / 2:
        reasons.append(f"with these questions a difference below about {_size(metric, width)} does not show")
    return "; ".join(reasons)


def plain(value: object) -> str:
    """Return a setting's value in words."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    return str(value)


def _size(metric: str, value: float) -> str:
    if is_share(metric):
        return f"{100 * value:.0f} points"
    return {_SECONDS: f"{value:.2f} s", _CALLS: f"{value:.2f} calls"}.get(metric, f"{value:.0f} tokens")
