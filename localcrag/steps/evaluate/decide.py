"""Policies: relevances become an action, with the rule in words.

The policies' numbers are those of the corrective systems they come from; where such a number is a probability on the
scale of 0.7 / 0.3, it follows the thresholds in force instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from localcrag.records.enums import Action, Grade, Policy
from localcrag.records.passages import GradedPassage, Thresholds
from localcrag.steps.evaluate.evaluate import Judged, is_scored
from localcrag.text.decimals import decimals
from localcrag.text.translation import gettext as _

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
        return Action.INCORRECT, _("no passage found")
    if not is_scored(passages):
        return Action.AMBIGUOUS, _("the passages could not be scored")
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
        return _("No passage was found.")
    if not is_scored(passages):
        return _("The passages could not be scored, so nobody knows.")
    correct, number = _count(passages, Grade.CORRECT), len(passages)
    match policy:
        case Policy.MAX:
            best = _shown(max(passage.relevance for passage in passages), thresholds)
            return _(
                "The best passage has a relevance of %(best)s; CORRECT begins at %(upper)s.",
                best=best,
                upper=decimals(thresholds.upper),
            )
        case Policy.FRACTION:
            needed = math.ceil(ENOUGH_CORRECT * number)
            return _(
                "%(some)s of %(all)s passages are graded correct; CORRECT asks for %(needed)s.",
                some=correct,
                all=number,
                needed=needed,
            )
        case Policy.RATIO:
            relevant = number - _count(passages, Grade.INCORRECT)
            needed = max(1, math.ceil(enough_relevant * number))
            return _(
                "%(some)s of %(all)s passages are relevant; CORRECT asks for %(needed)s.",
                some=relevant,
                all=number,
                needed=needed,
            )
        case Policy.COUNT:
            return _(
                "%(some)s of %(all)s passages are graded correct; CORRECT asks for %(needed)s.",
                some=correct,
                all=number,
                needed=ENOUGH,
            )
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
        or not passage.scored
        or (passage.grade is Grade.AMBIGUOUS and passage.relevance >= floor)
    )


def confidence_floor(thresholds: Thresholds) -> float:
    """Return the relevance below which `count` does not use an ambiguous passage: 0.5 for 0.7 / 0.3, the middle."""
    return (thresholds.upper + thresholds.lower) / 2


def _by_best(passages: Sequence[Judged], thresholds: Thresholds) -> tuple[Action, str]:
    """CRAG's own rule (arXiv 2401.15884, section 4.3): the best passage alone decides."""
    best = max(passage.relevance for passage in passages)
    rule = _("best passage %(compared)s", compared=compared(best, thresholds))
    if best >= thresholds.upper:
        return Action.CORRECT, rule
    return (Action.INCORRECT if best < thresholds.lower else Action.AMBIGUOUS), rule


def _by_fraction(passages: Sequence[Judged]) -> tuple[Action, str]:
    """Aggregate confidence: the share of passages graded correct."""
    correct = _count(passages, Grade.CORRECT)
    share, counted = correct / len(passages), _("%(some)s of %(all)s passages correct", some=correct, all=len(passages))
    if share >= ENOUGH_CORRECT:
        return Action.CORRECT, f"{counted}: {share:.2f} ≥ {ENOUGH_CORRECT:.2f}"
    if share <= TOO_FEW_CORRECT:
        return Action.INCORRECT, f"{counted}: {share:.2f} ≤ {TOO_FEW_CORRECT:.2f}"
    return Action.AMBIGUOUS, f"{counted}: {_between(f'{share:.2f}', TOO_FEW_CORRECT, ENOUGH_CORRECT)}"


def _by_ratio(passages: Sequence[Judged], enough: float) -> tuple[Action, str]:
    """Ratio-based correction: the web joins in when too many passages are irrelevant."""
    relevant = len(passages) - _count(passages, Grade.INCORRECT)
    share, counted = (
        relevant / len(passages),
        _("%(some)s of %(all)s passages relevant", some=relevant, all=len(passages)),
    )
    if not relevant:
        return Action.INCORRECT, counted
    if share < enough:
        return Action.AMBIGUOUS, f"{counted}: {share:.2f} < {enough:.2f}"
    return Action.CORRECT, f"{counted}: {share:.2f} ≥ {enough:.2f}"


def _by_count(passages: Sequence[Judged], thresholds: Thresholds) -> tuple[Action, str]:
    """Count-based quality: two passages carry an answer, one does not."""
    correct = _count(passages, Grade.CORRECT)
    ambiguous = _count(passages, Grade.AMBIGUOUS)
    rule = _(
        "%(correct)s correct and %(ambiguous)s ambiguous of %(all)s passages, %(needed)s are enough",
        correct=correct,
        ambiguous=ambiguous,
        all=len(passages),
        needed=ENOUGH,
    )
    if ambiguous:
        rule += _("; ambiguous ones are used from %(floor)s on", floor=decimals(confidence_floor(thresholds)))
    if correct >= ENOUGH:
        return Action.CORRECT, rule
    return (Action.AMBIGUOUS if correct + ambiguous >= ENOUGH else Action.INCORRECT), rule


def _count(passages: Sequence[Judged], grade: Grade) -> int:
    return sum(passage.grade is grade for passage in passages)


def compared(relevance: float, thresholds: Thresholds) -> str:
    """Return where a relevance stands, which is the reason for a grade: "0.41 ≥ 0.33"."""
    shown = _shown(relevance, thresholds)
    if relevance >= thresholds.upper:
        return f"{shown} ≥ {decimals(thresholds.upper)}"
    if relevance < thresholds.lower:
        return f"{shown} < {decimals(thresholds.lower)}"
    return _between(shown, thresholds.lower, thresholds.upper)


def _between(shown: str, low: float, high: float) -> str:
    return _("%(shown)s, between %(low)s and %(high)s", shown=shown, low=decimals(low), high=decimals(high))


def _shown(relevance: float, thresholds: Thresholds) -> str:
    """Two digits, or as many as it takes to be seen on the right side of a threshold (0.698 is not 0.70)."""
    for digits in (2, 3, 4):
        text = f"{relevance:.{digits}f}"
        if all((float(text) >= limit) == (relevance >= limit) for limit in (thresholds.lower, thresholds.upper)):
            return text
    return f"{relevance:.6f}"
