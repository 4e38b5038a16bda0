"""A calibration with thresholds, fitted to labelled scores.

Passages get Platt scaling over logit, cosine and overlap, strips of relevant passages over their logit; the formulae
are in localcrag/steps/evaluate/calibration.py. Knows no scorer, file or collection. How good it is: change.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localcrag.evaluation.calibration.change import (
    FOLDS,
    PASSAGE,
    Change,
    changes,
    held_out,
    predicted_by,
    rows_of,
)
from localcrag.evaluation.calibration.criteria import Criterion, CriterionKind, choose_upper, web_rate
from localcrag.evaluation.calibration.platt import Form, Rows, fit, predict
from localcrag.evaluation.calibration.threshold_sweeps import choose, sweep_lower, sweep_strip
from localcrag.records.errors import EvaluationError
from localcrag.records.passages import Thresholds
from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip
from localcrag.steps.evaluate.calibration import FittedCalibration, Logistic

FEWEST_ROWS = 50
"""Labelled passages, and strips: the four coefficients of fewer say more of chance than of the documents."""
FEWEST_QUESTIONS = FOLDS
"""Of either kind, so that each fold has one."""
_STRIP = Form((0,))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted calibration, the labels it was fitted to, and `notes` for the reader."""

    calibration: FittedCalibration
    changes: tuple[Change, ...]
    passages: int
    relevant: int
    questions: int
    answered: int
    strips: int
    notes: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether its probabilities are worse on held-out questions than those in force."""
        loss = self.changes[0]
        return loss.after > loss.before


def fit_calibration(
    scores: Sequence[LabelledScore],
    strips: Sequence[LabelledStrip],
    *,
    in_force: FittedCalibration,
    criterion: Criterion,
    seed: int = 1,
) -> Fitted:
    """Return the calibration that fits the labels best.

    Raises EvaluationError when there are too few of them, or when a higher logit would mean a lower relevance.
    """
    require_enough(scores)
    data = rows_of(scores)
    try:
        passage = fit(data.rows, PASSAGE, smoothed=True)
        before, after = predicted_by(data, in_force), held_out(data, criterion, seed)
    except ValueError as error:
        raise EvaluationError(
            "These labels cannot calibrate the scorer: passages that are labelled relevant have lower scores than the "
            f"others ({error}). Look at the labels: they say the opposite of what the scorer finds."
        ) from error
    relevances = predict(passage, data.rows)
    counted = data.counted
    best, there = data.best(relevances)[counted], data.there[counted]
    upper = choose_upper(best, there, criterion)
    lower = min(choose(sweep_lower(best, there, np.ones(len(best))), in_force.thresholds.lower), upper)
    strip, strip_threshold, notes = _strips(strips, passage, in_force)
    if criterion.kind is CriterionKind.WEB_RATE and (rate := web_rate(best >= upper)) > criterion.target:
        notes = (*notes, f"No threshold brings the web rate down to {criterion.target:g}: it is {rate:.2f} at best.")
    if lower == upper:
        notes = (*notes, "The threshold lower is as high as upper: no question is AMBIGUOUS any more.")
    return Fitted(
        FittedCalibration(passage, strip, Thresholds(upper=upper, lower=lower, strip=strip_threshold)),
        changes(data, before, after, criterion, seed),
        passages=len(scores),
        relevant=sum(score.relevant for score in scores),
        questions=len(counted),
        answered=int(there.sum()),
        strips=len(strips),
        notes=notes,
    )


def require_enough(scores: Sequence[LabelledScore]) -> None:
    """Raise EvaluationError, naming what is missing, when there are too few labels to fit and to check a fit."""
    questions: dict[str, bool] = {}
    for score in scores:
        if score.local:
            questions[score.question] = questions.get(score.question, False) or score.relevant
    answered = sum(questions.values())
    relevant = sum(score.relevant for score in scores)
    lacking = []
    if (missing := FEWEST_ROWS - len(scores)) > 0:
        lacking.append(
            f"{missing} more labelled passages ({relevant} relevant and {len(scores) - relevant} not relevant ones are "
            f"there, {FEWEST_ROWS} are the least)"
        )
    if (missing := FEWEST_QUESTIONS - answered) > 0:
        lacking.append(f"{missing} more questions with a passage that is labelled relevant")
    if (missing := FEWEST_QUESTIONS - (len(questions) - answered)) > 0:
        lacking.append(f"{missing} more questions whose passages are all labelled not relevant")
    if lacking:
        raise EvaluationError("Too few labels to calibrate on. Needed: " + "; ".join(lacking) + ".")


def _strips(
    strips: Sequence[LabelledStrip], passage: Logistic, in_force: FittedCalibration
) -> tuple[Logistic, float, tuple[str, ...]]:
    """Return the calibration and the threshold of strips; those in force, with a note, where they cannot be fitted."""
    kept = in_force.strip, in_force.thresholds.strip
    relevant = sum(strip.relevant for strip in strips)
    if len(strips) < FEWEST_ROWS or not 0 < relevant < len(strips):
        return *kept, ("What is in force for strips stays: there are too few labelled ones.",)
    features = np.array([[strip.logit, 0.0, 0.0] for strip in strips])
    marks = np.array([strip.relevant for strip in strips])
    zeros = np.zeros(len(strips), dtype=np.intp)
    try:
        fitted = fit(Rows(features, marks, zeros, zeros), _STRIP, smoothed=True)
    except ValueError:
        return *kept, ("What is in force for strips stays: those that hold an answer have no higher scores.",)
    of_passages = passage.probabilities(
        np.array([strip.passage_logit for strip in strips], dtype=np.float32),
        np.array([strip.passage_cosine for strip in strips], dtype=np.float32),
        np.array([strip.passage_overlap for strip in strips], dtype=np.float32),
    )
    relevances = fitted.probabilities(features[:, 0].astype(np.float32)) * of_passages
    numbers = np.unique([f"{strip.question}\0{strip.passage}" for strip in strips], return_inverse=True)[1]
    steps = sweep_strip(relevances, marks, numbers, np.ones(len(strips)))
    return fitted, choose(steps, in_force.thresholds.strip), ()
