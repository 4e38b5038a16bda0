"""Sweeps of the thresholds lower and strip over labelled relevances. Arrays in, a sweep out.

What is in force stays where it meets its criterion and comes within AS_GOOD of the best objective. `lower`: most
questions without their answer called INCORRECT, at most MISSED_BY_INCORRECT of those with it. `strip`: most sentences
dropped, and at most LOST_WITH_STRIPS of the passages without any of the sentences that hold the answer; a passage's
best sentence is kept in any case, as in refine.py. For `upper` see criteria.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localcrag.evaluation.probability_metrics import Floats, Marks, Places

MISSED_BY_INCORRECT = 0.1
"""The documents are left aside then, and an answer in them is lost."""
LOST_WITH_STRIPS = 0.1
"""An answer dropped is lost; a sentence too many only makes the prompt longer."""
AS_GOOD = 0.01
"""About a standard error of 1,600 decisions: sqrt(0.85 * 0.15 / 1600) = 0.009."""
STEPS = np.round(np.arange(0.02, 0.985, 0.01), 2)


@dataclass(frozen=True, slots=True)
class Step:
    """A threshold and its figures: `objective` should be high; `constraint` decides whether it is admissible."""

    threshold: float
    objective: float
    constraint: float
    admissible: bool


def sweep_lower(best: Floats, there: Marks, weights: Floats) -> list[Step]:
    """Return, per threshold, the shares called INCORRECT of the questions without and with their answer."""
    steps = []
    for threshold in STEPS:
        said = best < threshold
        found = float(np.average(said[~there], weights=weights[~there]))
        missed = float(np.average(said[there], weights=weights[there]))
        steps.append(Step(float(threshold), found, missed, missed <= MISSED_BY_INCORRECT))
    return steps


def sweep_strip(relevances: Floats, marks: Marks, passages: Places, weights: Floats) -> list[Step]:
    """Return, per threshold, the share of sentences dropped, and of passages without a sentence that holds the answer.

    `passages` numbers the passage of each sentence from 0; each has a marked sentence.
    """
    of_passage = np.bincount(passages, weights=weights)
    best = np.full(len(of_passage), -np.inf)
    np.maximum.at(best, passages, relevances)
    steps = []
    for threshold in STEPS:
        kept = (relevances >= threshold) | (relevances == best[passages])
        answered = np.zeros(len(best), dtype=bool)
        answered[passages[kept & marks]] = True
        dropped, lost = float(np.average(~kept, weights=weights)), float(np.average(~answered, weights=of_passage))
        steps.append(Step(float(threshold), dropped, lost, lost <= LOST_WITH_STRIPS))
    return steps


def choose(steps: list[Step], default: float) -> float:
    """Return the admissible threshold with the highest objective (of equal ones the highest).

    The default stays where it is admissible and as good, and where no threshold is admissible.
    """
    allowed = [step for step in steps if step.admissible]
    if not allowed:
        return default
    chosen = max(allowed, key=lambda step: (step.objective, step.threshold))
    for step in allowed:
        if step.threshold == default and step.objective >= chosen.objective - AS_GOOD:
            return default
    return chosen.threshold
