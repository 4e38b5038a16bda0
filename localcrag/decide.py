"""Relevances -> action, and the rule that produced it in words; four policies, named after what they look at.

The policies' numbers are those of the corrective systems they come from; where such a number is a probability on the
scale of 0.7 / 0.3, it follows the thresholds in force instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from localcrag.datatypes import Action, Grade, GradedPassage, Policy, Thresholds
from localcrag.evaluate import Judged, is_scored

ENOUGH_CORRECT, TOO_FEW_CORRECT = 0.6, 0.3
"""Shares of passages graded correct, for the policy `fraction`."""
ENOUGH = 2
"""Passages that carry an answer together, for the policy `count`."""


def decide(
    passages: Sequence[Judged], *, policy: Policy, thresholds: Thresholds, enough_relevant: float
) -> tuple[Action, str]:
    """Return the action and its rule, as it is shown: "best passage 0.83 ≥ 0.70".

    `enough_relevant` is the share of relevant passages that the policy `ratio` asks for.
    """
    if not passages:
        return Action.INCORRECT, "no passage found"
    if not is_scored(passages):
        return Action.AMBIGUOUS, "the passages could not be scored"
    match policy:
        case Policy.MAX:
            return _by_best(passages, thresholds)
        case Policy.FRACTION:
            return _by_fraction(passages)
        case Policy.RATIO:
            return _by_ratio(passages, enough_relevant)
        case Policy.COUNT:
            return _by_count(passages, thresholds)
        case _:
            assert_never(policy)


def why_not_correct(
    passages: Sequence[Judged], *, policy: Policy, thresholds: Thresholds, enough_relevant: float
) -> str:
    """Return in one sentence what the passages lack for CORRECT; they must not be enough for it."""
    if not passages:
        return "No passage was found."
    if not is_scored(passages):
        return "The passages could not be scored, so nobody knows."
    correct, number = _count(passages, Grade.CORRECT), len(passages)
    match policy:
        case Policy.MAX:
            best = _shown(max(passage.relevance for passage in passages), thresholds)
            return f"The best passage has a relevance of {best}; CORRECT begins at {thresholds.upper:.2f}."
        case Policy.FRACTION:
            needed = math.ceil(ENOUGH_CORRECT * number)
            return f"{correct} of {number} passages are graded correct; CORRECT asks for {needed}."
        case Policy.RATIO:
            relevant = number - _count(passages, Grade.INCORRECT)
            needed = max(1, math.ceil(enough_relevant * number))
            return f"{relevant} of {number} passages are relevant; CORRECT asks for {needed}."
        case Policy.COUNT:
            return f"{correct} of {number} passages are graded correct; CORRECT asks for {ENOUGH}."
        case _:
            assert_never(policy)


def usable(passages: Sequence[GradedPassage], *, policy: Policy, thresholds: Thresholds) -> tuple[GradedPassage, ...]:
    """Return the passages whose sentences may become evidence: all that are not graded incorrect.

    Under the policy `count`, ambiguous ones only from its floor on.
    """
    floor = confidence_floor(thresholds) if policy is Policy.COUNT else thresholds.lower
    return tuple(
        passage
        for passage in passages
        if passage.grade is Grade.CORRECT
        or not is_scored((passage,))
        or (passage.grade is Grade.AMBIGUOUS and passage.relevance >= floor)
    )


def confidence_floor(thresholds: Thresholds) -> float:
    """Return the relevance below which `count` does not use an ambiguous passage: 0.5 for 0.7 / 0.3, the middle."""
    return (thresholds.upper + thresholds.lower) / 2


def _by_best(passages: Sequence[Judged], thresholds: Thresholds) -> tuple[Action, str]:
    """CRAG's own rule (arXiv 2401.15884, section 4.3): the best passage alone decides."""
    best = max(passage.relevance for passage in passages)
    rule = f"best passage {compared(best, thresholds)}"
    if best >= thresholds.upper:
        return Action.CORRECT, rule
    return (Action.INCORRECT if best < thresholds.lower else Action.AMBIGUOUS), rule


def _by_fraction(passages: Sequence[Judged]) -> tuple[Action, str]:
    """Aggregate confidence: the share of passages graded correct."""
    correct = _count(passages, Grade.CORRECT)
    share, counted = correct / len(passages), f"{correct} of {len(passages)} passages correct"
    if share >= ENOUGH_CORRECT:
        return Action.CORRECT, f"{counted}: {share:.2f} ≥ {ENOUGH_CORRECT:.2f}"
    if share <= TOO_FEW_CORRECT:
        return Action.INCORRECT, f"{counted}: {share:.2f} ≤ {TOO_FEW_CORRECT:.2f}"
    return Action.AMBIGUOUS, f"{counted}: {share:.2f}, between {TOO_FEW_CORRECT:.2f} and {ENOUGH_CORRECT:.2f}"


def _by_ratio(passages: Sequence[Judged], enough: float) -> tuple[Action, str]:
    """Ratio-based correction: the web joins in when too many passages are irrelevant."""
    relevant = len(passages) - _count(passages, Grade.INCORRECT)
    share, counted = relevant / len(passages), f"{relevant} of {len(passages)} passages relevant"
    if not relevant:
        return Action.INCORRECT, counted
    if share < enough:
        return Action.AMBIGUOUS, f"{counted}: {share:.2f} < {enough:.2f}"
    return Action.CORRECT, f"{counted}: {share:.2f} ≥ {enough:.2f}"


def _by_count(passages: Sequence[Judged], thresholds: Thresholds) -> tuple[Action, str]:
    """Count-based quality: two passages carry an answer, one does not."""
    correct = _count(passages, Grade.CORRECT)
    ambiguous = _count(passages, Grade.AMBIGUOUS)
    rule = f"{correct} correct and {ambiguous} ambiguous of {len(passages)} passages, {ENOUGH} are enough"
    if ambiguous:
        rule += f"; ambiguous ones are used from {confidence_floor(thresholds):.2f} on"
    if correct >= ENOUGH:
        return Action.CORRECT, rule
    return (Action.AMBIGUOUS if correct + ambiguous >= ENOUGH else Action.INCORRECT), rule


def _count(passages: Sequence[Judged], grade: Grade) -> int:
    return sum(passage.grade is grade for passage in passages)


def compared(relevance: float, thresholds: Thresholds) -> str:
    """Return where a relevance stands, which is the reason for a grade: "0.41 ≥ 0.33"."""
    shown = _shown(relevance, thresholds)
    if relevance >= thresholds.upper:
        return f"{shown} ≥ {thresholds.upper:.2f}"
    if relevance < thresholds.lower:
        return f"{shown} < {thresholds.lower:.2f}"
    return f"{shown}, between {thresholds.lower:.2f} and {thresholds.upper:.2f}"


def _shown(relevance: float, thresholds: Thresholds) -> str:
    """Two digits, or as many as it takes to be seen on the right side of a threshold (0.698 is not 0.70)."""
    for digits in (2, 3, 4):
        text = f"{relevance:.{digits}f}"
        if all((float(text) >= limit) == (relevance >= limit) for limit in (thresholds.lower, thresholds.upper)):
            return text
    return f"{relevance:.6f}"
