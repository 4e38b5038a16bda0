"""Relevances -> action, and the rule that produced it in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from localcrag.datatypes import Action, GradedPassage, Policy, Thresholds


def decide(passages: Sequence[GradedPassage], *, policy: Policy, thresholds: Thresholds) -> tuple[Action, str]:
    """Return the action and its rule, as it is shown: "best passage 0.83 ≥ 0.70"."""
    match policy:
        case Policy.MAX:
            return _by_best(passages, thresholds)
        case _:
            assert_never(policy)


def _by_best(passages: Sequence[GradedPassage], thresholds: Thresholds) -> tuple[Action, str]:
    """CRAG's own rule (arXiv 2401.15884, section 4.3): the best passage alone decides."""
    if not passages:
        return Action.INCORRECT, "no passage found"
    best = max(passage.relevance for passage in passages)
    shown = _shown(best, thresholds)
    if best >= thresholds.upper:
        return Action.CORRECT, f"best passage {shown} ≥ {thresholds.upper:.2f}"
    if best < thresholds.lower:
        return Action.INCORRECT, f"best passage {shown} < {thresholds.lower:.2f}"
    return Action.AMBIGUOUS, f"best passage {shown}, between {thresholds.lower:.2f} and {thresholds.upper:.2f}"


def _shown(relevance: float, thresholds: Thresholds) -> str:
    """Two digits, or as many as it takes to be seen on the right side of a threshold (0.698 is not 0.70)."""
    for digits in (2, 3, 4):
        text = f"{relevance:.{digits}f}"
        if all((float(text) >= limit) == (relevance >= limit) for limit in (thresholds.lower, thresholds.upper)):
            return text
    return f"{relevance:.6f}"
