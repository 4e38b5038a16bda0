"""What a new calibration changes, on questions that it was not fitted on, with intervals.

"Before" is what is in force; "after" is cross-validated: coefficients and thresholds for each fifth of the questions
come from the other four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from localcrag.evaluation.calibration.criteria import (
    Criterion,
    CriterionKind,
    accuracy,
    choose_upper,
    cost,
    f1,
    web_rate,
)
from localcrag.evaluation.calibration.platt import Form, Rows, fit, predict
from localcrag.evaluation.probability_metrics import (
    Floats,
    Marks,
    Places,
    auc,
    calibration_error,
    log_losses,
    squared_errors,
)
from localcrag.runs.labelled_scores import LabelledScore
from localcrag.steps.evaluate.calibration import FittedCalibration

FOLDS = 5
RESAMPLES = 1000
"""Efron and Tibshirani (1993, chapter 13) ask for as many for a percentile interval."""
PASSAGE = Form((0, 1, 2))
"""Logit, cosine and overlap."""


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before (in force) and after (new calibration), with the change's 95 % interval `low`..`high`.

    `error` is the change's standard error; all three by bootstrap over questions.
    """

    name: str
    before: float
    after: float
    low: float
    high: float
    error: float


@dataclass(frozen=True)
class Decided:
    """Scored rows by question: `own` are the row numbers that decide each question's action."""

    rows: Rows
    own: list[Places]
    there: Marks

    @property
    def counted(self) -> Places:
        """The numbers of the questions that have passages to decide on."""
        return np.array([number for number, own in enumerate(self.own) if len(own)], dtype=np.intp)

    def best(self, relevances: Floats) -> Floats:
        """Return each question's best relevance, NaN where nothing decides."""
        return np.array([relevances[own].max() if len(own) else np.nan for own in self.own])


@dataclass(frozen=True)
class Predicted:
    """Predictions: a relevance for every row, CORRECT or not for every question that counts."""

    relevances: Floats
    correct: Marks


def rows_of(scores: Sequence[LabelledScore]) -> Decided:
    """Return labelled scores as arrays, with the questions that they belong to."""
    features = np.array([[score.logit, score.cosine, score.overlap] for score in scores], dtype=np.float64)
    marks = np.array([score.relevant for score in scores])
    local = np.array([score.local for score in scores])
    names, questions = np.unique([score.question for score in scores], return_inverse=True)
    rows = Rows(features, marks, questions, np.zeros(len(scores), dtype=np.intp))
    own = [np.flatnonzero((questions == number) & local) for number in range(len(names))]
    return Decided(rows, own, np.array([marks[places].any() for places in own]))


def predicted_by(data: Decided, calibration: FittedCalibration) -> Predicted:
    """Return the predictions of a calibration."""
    relevances = predict(calibration.passage, data.rows).astype(np.float64)
    return Predicted(relevances, data.best(relevances)[data.counted] >= calibration.thresholds.upper)


def held_out(data: Decided, criterion: Criterion, seed: int) -> Predicted:
    """Return cross-validated predictions: each question's by a fit to others. Raises ValueError."""
    relevances = np.zeros(len(data.rows.marks))
    correct = np.zeros(len(data.own), dtype=bool)
    counted = data.counted
    for known, asked in _folds(data.there, seed):
        of_known, of_asked = np.isin(data.rows.questions, known), np.isin(data.rows.questions, asked)
        fitted = fit(data.rows.only(of_known), PASSAGE, smoothed=True)
        said = predict(fitted, data.rows).astype(np.float64)
        best = data.best(said)
        deciding = np.intersect1d(known, counted)
        upper = choose_upper(best[deciding], data.there[deciding], criterion)
        relevances[of_asked] = said[of_asked]
        correct[asked] = best[asked] >= upper
    return Predicted(relevances, correct[counted])


def _folds(there: Marks, seed: int) -> Iterator[tuple[Places, Places]]:
    """Yield numbers of questions to fit on and to ask, so that every fold has both kinds.

    The questions are what is divided, which is what GroupKFold does for rows; that one would not mind the kinds.
    """
    yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros((len(there), 1)), there)


def changes(data: Decided, before: Predicted, after: Predicted, criterion: Criterion, seed: int) -> tuple[Change, ...]:
    """Return each figure before and after, with the bootstrap interval of its change, over questions."""
    marks, counted = data.rows.marks, data.counted
    there = data.there[counted]
    rows = [np.flatnonzero(data.rows.questions == number) for number in range(len(data.own))]
    place = {int(number): at for at, number in enumerate(counted)}

    def ofrows_of(figure: Callable[[Floats, Marks], float]) -> Callable[[Predicted, Places], float]:
        def value(said: Predicted, drawn: Places) -> float:
            chosen = np.concatenate([rows[number] for number in drawn])
            return figure(said.relevances[chosen], marks[chosen])

        return value

    def of_questions(figure: Callable[[Marks, Marks], float]) -> Callable[[Predicted, Places], float]:
        def value(said: Predicted, drawn: Places) -> float:
            chosen = np.array([place[number] for number in drawn.tolist() if number in place], dtype=np.intp)
            return figure(said.correct[chosen], there[chosen])

        return value

    figures = {
        "log loss": ofrows_of(lambda said, true: float(log_losses(said, true).mean())),
        "calibration error": ofrows_of(calibration_error),
        "Brier score": ofrows_of(lambda said, true: float(squared_errors(said, true).mean())),
        "AUC": ofrows_of(lambda said, true: auc(true, said)),
        "action accuracy": of_questions(accuracy),
        "web rate": of_questions(lambda said, _: web_rate(said)),
        "F1 of CORRECT": of_questions(f1),
    }
    if criterion.kind is CriterionKind.COST:
        figures["cost of a question"] = of_questions(lambda said, true: cost(said, true, criterion.cost))
    every = np.arange(len(data.own))
    return tuple(_change(name, every, figure, (before, after), seed) for name, figure in figures.items())


def _change(
    name: str,
    every: Places,
    figure: Callable[[Predicted, Places], float],
    both: tuple[Predicted, Predicted],
    seed: int,
) -> Change:
    before, after = both

    def difference(drawn: Places) -> float:
        # Where a draw has one kind only there is no AUC, and so no change of it.
        return float(np.nan_to_num(figure(after, drawn) - figure(before, drawn)))

    drawn = stats.bootstrap(
        (every,), difference, n_resamples=RESAMPLES, vectorized=False, method="percentile", rng=seed
    )
    return Change(
        name,
        figure(before, every),
        figure(after, every),
        float(drawn.confidence_interval.low),
        float(drawn.confidence_interval.high),
        float(drawn.standard_error),
    )
