"""Grading by the cross-encoder: relevance and grade of each passage, in one batch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from localcrag.records.enums import Grade
from localcrag.records.passages import GradedPassage, Passage, Thresholds
from localcrag.records.protocols import Scorer, Vectors
from localcrag.text.span import Span

PLACE_COST = 0.09
"""What a place further down in retrieval's order takes from the log-odds of a passage's relevance, when the best are
kept: two judges who err differently. Of the needed lines of 346 questions on everyday/dev, 24 passages each, 0.93 are
among the first six so, and 0.90 by relevance alone (docs/evaluation.md)."""
NEAREST = 3
"""Passages that are shown, and are evidence, whole, where none is sure to answer."""
SMALLEST = 1e-6
"""Relevances beyond are all as sure."""


def evaluate(
    question: str, passages: Sequence[Passage], *, scorer: Scorer, thresholds: Thresholds
) -> tuple[GradedPassage, ...]:
    """Return the passages graded, in the order given, each scored in context: with its document's title in front.

    Web results are scored like any other passage.
    """
    if not passages:
        return ()
    logits = scorer.logits(question, [passage.in_context for passage in passages])
    cosines = np.array([passage.cosine for passage in passages], dtype=np.float32)
    overlaps = np.array([passage.overlap or 0.0 for passage in passages], dtype=np.float32)
    relevances = scorer.calibration.passages(logits, cosines, overlaps)
    return tuple(
        graded(passage, logit=float(logit), relevance=float(relevance), thresholds=thresholds)
        for passage, logit, relevance in zip(passages, logits, relevances, strict=True)
    )


def best(passages: Sequence[GradedPassage], k: int) -> tuple[GradedPassage, ...]:
    """Return `k` passages in the order given, the most relevant one and those that retrieval, too, puts in front.

    Of passages without a score the first. After a second look as many as after one: under policies that count shares,
    that must not look like finding worse.
    """

    def standing(place: int) -> float:
        relevance = min(max(passages[place].relevance, SMALLEST), 1.0 - SMALLEST)
        before = sum(other.origin is passages[place].origin for other in passages[:place])
        return math.log(relevance / (1.0 - relevance)) - PLACE_COST * before

    first = max(range(len(passages)), key=lambda place: passages[place].relevance, default=0)
    order = sorted(range(len(passages)), key=lambda place: (place != first, -standing(place)))
    return tuple(passages[place] for place in sorted(order[:k]))


def nearest(passages: Sequence[GradedPassage]) -> tuple[GradedPassage, ...]:
    """Return the NEAREST best passages, the most relevant first."""
    return tuple(sorted(best(passages, NEAREST), key=lambda passage: -passage.relevance))


def nearest_of_doubtful(passages: Sequence[GradedPassage]) -> tuple[GradedPassage, ...]:
    """Return the same where no passage is graded correct, else ()."""
    return () if any(passage.grade is Grade.CORRECT for passage in passages) else nearest(passages)


def strip_logits(
    question: str, passages: Sequence[Passage], cut: Sequence[Sequence[Span]], *, scorer: Scorer
) -> list[Vectors]:
    """Return for each passage one logit per strip of it, each read within its passage, in context as above.

    The strips count in the passage's own characters. Raises ModelError.
    """
    before = [len(passage.in_context) - len(passage.text) for passage in passages]
    moved = [
        [Span(span.start + by, span.end + by, span.text) for span in spans]
        for spans, by in zip(cut, before, strict=True)
    ]
    return scorer.strip_logits(question, [passage.in_context for passage in passages], moved)


def unscored(passages: Sequence[Passage], *, thresholds: Thresholds) -> tuple[GradedPassage, ...]:
    """Return the passages as they are when no model could score them: ambiguous, each at the lowest relevance that is.

    In the order of retrieval, which is all that is known of them.
    """
    return tuple(
        graded(passage, logit=0.0, relevance=thresholds.lower, thresholds=thresholds, scored=False)
        for passage in passages
    )


class Judged(Protocol):
    """What an action is decided on: a passage's relevance, its grade, and whether a model scored it."""

    @property
    def relevance(self) -> float: ...

    @property
    def grade(self) -> Grade: ...

    @property
    def scored(self) -> bool: ...


def is_scored(passages: Sequence[Judged]) -> bool:
    """Whether these passages have a relevance that a model gave them."""
    return all(passage.scored for passage in passages)


def graded(
    passage: Passage,
    *,
    logit: float,
    relevance: float,
    thresholds: Thresholds,
    reason: str | None = None,
    scored: bool = True,
) -> GradedPassage:
    """Return the passage with its relevance, and the grade that this earns."""
    return GradedPassage(
        **{field.name: getattr(passage, field.name) for field in dataclasses.fields(Passage)},
        logit=logit,
        relevance=relevance,
        grade=grade(relevance, thresholds),
        reason=reason,
        scored=scored,
    )


def grade(relevance: float, thresholds: Thresholds) -> Grade:
    """Return the grade that a relevance earns."""
    if relevance >= thresholds.upper:
        return Grade.CORRECT
    return Grade.INCORRECT if relevance < thresholds.lower else Grade.AMBIGUOUS
