"""Criteria for the threshold upper: F1, web rate, cost. Arrays in, a threshold out.

A question counts by its best passage, as the policy `max` counts it: CORRECT when that one's relevance reaches `upper`.
`there` says whether one of the retrieved passages answers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np

from localcrag.evaluation.probability_metrics import Floats, Marks

UPPERS = np.round(np.arange(0.005, 1.0, 0.005), 3)
"""Thresholds that are tried."""


class CriterionKind(StrEnum):
    """What the threshold upper is chosen by; see `f1`, `cost` and `choose_upper`."""

    F1 = "f1"
    WEB_RATE = "web-rate"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Criterion:
    """`target` is the share of questions that may go to the web, `cost` that of a wrong CORRECT in needless fallbacks.

    Raises ValueError for a target outside 0..1 and a cost that is not above 0.
    """

    kind: CriterionKind = CriterionKind.F1
    target: float = 0.2
    cost: float = 5.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.target <= 1.0:
            raise ValueError(f"the target ({self.target:g}) must be within 0..1: it is a share of the questions")
        if not 0.0 < self.cost < np.inf:
            raise ValueError(f"the cost ({self.cost:g}) must be a number above 0")

    def __str__(self) -> str:
        match self.kind:
            case CriterionKind.F1:
                return "f1"
            case CriterionKind.WEB_RATE:
                return f"web-rate, target {self.target:g}"
            case CriterionKind.COST:
                return f"cost, {self.cost:g} for a wrong CORRECT"
            case _:
                assert_never(self.kind)


def accuracy(correct: Marks, there: Marks) -> float:
    """Return the share of questions for which CORRECT means that a retrieved passage answers."""
    return float(np.mean(correct == there))


def web_rate(correct: Marks) -> float:
    """Return the share of questions that are not CORRECT, and so go to the web where it may be asked."""
    return float(np.mean(~correct))


def f1(correct: Marks, there: Marks) -> float:
    """Return 2 TP / (2 TP + FP + FN) of CORRECT (van Rijsbergen 1979, chapter 7); 0.0 where nothing is either."""
    right = int(np.count_nonzero(correct & there))
    wrong = int(np.count_nonzero(correct != there))
    return 2 * right / (2 * right + wrong) if right + wrong else 0.0


def cost(correct: Marks, there: Marks, of_wrong: float) -> float:
    """Return the mean cost of a question: `of_wrong` for a wrong CORRECT, 1 for a needless fallback (Elkan 2001)."""
    return float(np.mean(of_wrong * (correct & ~there) + (~correct & there)))


def choose_upper(best: Floats, there: Marks, criterion: Criterion) -> float:
    """Return the best of UPPERS by the criterion; `best` is each question's best relevance.

    F1: the highest F1; COST: the lowest cost; of equal ones the middle, which is the farthest from both kinds of
    question. WEB_RATE: the highest threshold whose web rate does not exceed the target, the lowest where all do.
    """
    decided = best[None, :] >= UPPERS[:, None]
    match criterion.kind:
        case CriterionKind.F1:
            values = np.array([f1(correct, there) for correct in decided])
        case CriterionKind.COST:
            values = -np.array([cost(correct, there, criterion.cost) for correct in decided])
        case CriterionKind.WEB_RATE:
            affordable = UPPERS[np.mean(~decided, axis=1) <= criterion.target]
            return float(affordable[-1] if len(affordable) else UPPERS[0])
        case _:
            assert_never(criterion.kind)
    equal = UPPERS[np.isclose(values, values.max(), rtol=0, atol=1e-12)]
    return float(equal[len(equal) // 2])
