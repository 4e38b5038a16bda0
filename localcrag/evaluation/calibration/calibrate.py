"""Labelled scores -> a calibration with thresholds, and how good it is on questions that it was not fitted on.

Passages get Platt scaling over logit, cosine and overlap, strips of relevant passages over their logit; the formulae
are in localcrag/calibration.py. Knows no scorer, file or collection. "Before" is what is in force; "after" is
cross-validated: coefficients and thresholds for each fifth of the questions come from the other four.
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
from localcrag.evaluation.calibration.threshold_sweeps import choose, sweep_lower, sweep_strip
from localcrag.evaluation.probability_metrics import (
    Floats,
    Marks,
    Places,
    auc,
    calibration_error,
    log_losses,
    squared_errors,
)
from localcrag.records.errors import EvaluationError
from localcrag.records.passages import Thresholds
from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip
from localcrag.steps.evaluate.calibration import FittedCalibration, Logistic

FEWEST_ROWS = 50
"""Labelled passages, and strips: the four coefficients of fewer say more of chance than of the documents."""
FOLDS = 5
FEWEST_QUESTIONS = FOLDS
"""Of either kind, so that each fold has one."""
RESAMPLES = 1000
"""Efron and Tibshirani (1993, chapter 13) ask for as many for a percentile interval."""
_PASSAGE, _STRIP = Form((0, 1, 2)), Form((0,))


@dataclass(frozen=True, slots=True)
class Change:
    """A figure with what is in force and with the new calibration; `low` and `high` are the change's 95 % interval.

    `error` is the change's standard error; all three by bootstrap over questions.
    """

    name: str
    before: float
    after: float
    low: float
    high: float
    error: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration that was fitted, and to what. `notes` say what is to be known about it."""

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
        """Whether its probabilities are worse on questions that it was not fitted on than those in force."""
        loss = self.changes[0]
        return loss.after > loss.before


@dataclass(frozen=True)
class _Decided:
    """Rows with the questions they belong to: `own` are the numbers of a question's rows that decide its action."""

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
class _Predicted:
    """What is said of every row, and of every question that counts."""

    relevances: Floats
    correct: Marks


def fit_calibration(
    scores: Sequence[LabelledScore],
    strips: Sequence[LabelledStrip],
    *,
    in_force: FittedCalibration,
    criterion: Criterion,
    seed: int = 1,
) -> Fitted:
    """Return the calibration that the labels ask for.

    Raises EvaluationError when there are too few of them, or when a higher logit would mean a lower relevance.
    """
    require_enough(scores)
    data = _rows(scores)
    try:
        passage = fit(data.rows, _PASSAGE, smoothed=True)
        before, after = _in_force(data, in_force), _held_out(data, criterion, seed)
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
        _changes(data, before, after, criterion, seed),
        passages=len(scores),
        relevant=sum(score.relevant for score in scores),
        questions=len(counted),
        answered=int(there.sum()),
        strips=len(strips),
        notes=notes,
    )


def require_enough(scores: Sequence[LabelledScore]) -> None:
    """Raise EvaluationError, which says what is missing, unless there are labels enough to fit and to check a fit."""
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


def _rows(scores: Sequence[LabelledScore]) -> _Decided:
    features = np.array([[score.logit, score.cosine, score.overlap] for score in scores], dtype=np.float64)
    marks = np.array([score.relevant for score in scores])
    local = np.array([score.local for score in scores])
    names, questions = np.unique([score.question for score in scores], return_inverse=True)
    rows = Rows(features, marks, questions, np.zeros(len(scores), dtype=np.intp))
    own = [np.flatnonzero((questions == number) & local) for number in range(len(names))]
    return _Decided(rows, own, np.array([marks[places].any() for places in own]))


def _in_force(data: _Decided, calibration: FittedCalibration) -> _Predicted:
    relevances = predict(calibration.passage, data.rows).astype(np.float64)
    return _Predicted(relevances, data.best(relevances)[data.counted] >= calibration.thresholds.upper)


def _held_out(data: _Decided, criterion: Criterion, seed: int) -> _Predicted:
    """Return what is said of each question by a fit to others. Raises ValueError."""
    relevances = np.zeros(len(data.rows.marks))
    correct = np.zeros(len(data.own), dtype=bool)
    counted = data.counted
    for known, asked in _folds(data.there, seed):
        of_known, of_asked = np.isin(data.rows.questions, known), np.isin(data.rows.questions, asked)
        fitted = fit(data.rows.only(of_known), _PASSAGE, smoothed=True)
        said = predict(fitted, data.rows).astype(np.float64)
        best = data.best(said)
        deciding = np.intersect1d(known, counted)
        upper = choose_upper(best[deciding], data.there[deciding], criterion)
        relevances[of_asked] = said[of_asked]
        correct[asked] = best[asked] >= upper
    return _Predicted(relevances, correct[counted])


def _folds(there: Marks, seed: int) -> Iterator[tuple[Places, Places]]:
    """Yield numbers of questions to fit on and to ask, so that every fold has both kinds.

    The questions are what is divided, which is what GroupKFold does for rows; that one would not mind the kinds.
    """
    yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros((len(there), 1)), there)


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


def _changes(
    data: _Decided, before: _Predicted, after: _Predicted, criterion: Criterion, seed: int
) -> tuple[Change, ...]:
    """Return the figures of both, and the change's interval over questions drawn again with replacement."""
    marks, counted = data.rows.marks, data.counted
    there = data.there[counted]
    rows = [np.flatnonzero(data.rows.questions == number) for number in range(len(data.own))]
    place = {int(number): at for at, number in enumerate(counted)}

    def of_rows(figure: Callable[[Floats, Marks], float]) -> Callable[[_Predicted, Places], float]:
        def value(said: _Predicted, drawn: Places) -> float:
            chosen = np.concatenate([rows[number] for number in drawn])
            return figure(said.relevances[chosen], marks[chosen])

        return value

    def of_questions(figure: Callable[[Marks, Marks], float]) -> Callable[[_Predicted, Places], float]:
        def value(said: _Predicted, drawn: Places) -> float:
            chosen = np.array([place[number] for number in drawn.tolist() if number in place], dtype=np.intp)
            return figure(said.correct[chosen], there[chosen])

        return value

    figures = {
        "log loss": of_rows(lambda said, true: float(log_losses(said, true).mean())),
        "calibration error": of_rows(calibration_error),
        "Brier score": of_rows(lambda said, true: float(squared_errors(said, true).mean())),
        "AUC": of_rows(lambda said, true: auc(true, said)),
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
    figure: Callable[[_Predicted, Places], float],
    both: tuple[_Predicted, _Predicted],
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
