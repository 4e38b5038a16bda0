"""Calibration: fit relevances and thresholds to labels, and measure the change on other labels.

The first part chooses the threshold `upper` by a criterion: F1, web rate or cost. The next parts fit the probabilities
(Platt scaling), choose `lower` and `strip`, and compare the new calibration with the active one by cross-validation.
`fit_calibration` does all of this.

A question is judged by its best passage, as under the policy `max`: it is CORRECT if the relevance of this passage
reaches `upper`. In this module, `answerable` tells whether one of the retrieved passages answers the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from localcrag.evaluation.curves import Floats, Marks, Places, auc, calibration_error, log_losses, squared_errors
from localcrag.records.errors import EvaluationError
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import FittedCalibration, Logistic
from localcrag.runs.labels import LabelledScore, LabelledStrip

UPPERS = np.round(np.arange(0.005, 1.0, 0.005), 3)
"""Candidates for the threshold `upper`."""


class CriterionKind(StrEnum):
    """The criterion by which the threshold `upper` is chosen; see `f1`, `cost` and `choose_upper`."""

    F1 = "f1"
    WEB_RATE = "web-rate"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion and its parameters.

    `target` is the share of questions that may go to the web; `cost` is the number of needless fallbacks that one wrong
    CORRECT is worth. Raises ValueError for a target outside 0..1 and a cost that is not above 0.
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
        return {
            CriterionKind.F1: "f1",
            CriterionKind.WEB_RATE: f"web-rate, target {self.target:g}",
            CriterionKind.COST: f"cost, {self.cost:g} for a wrong CORRECT",
        }[self.kind]


def accuracy(correct: Marks, answerable: Marks) -> float:
    """Return the share of questions that are CORRECT exactly if a retrieved passage answers them."""
    return float(np.mean(correct == answerable))


def web_rate(correct: Marks) -> float:
    """Return the share of questions that are not CORRECT, and so go to the web if web search is allowed."""
    return float(np.mean(~correct))


def f1(correct: Marks, answerable: Marks) -> float:
    """Return 2 TP / (2 TP + FP + FN) of CORRECT (van Rijsbergen 1979, chapter 7); 0.0 if there are no positives."""
    right = int(np.count_nonzero(correct & answerable))
    wrong = int(np.count_nonzero(correct != answerable))
    return 2 * right / (2 * right + wrong) if right + wrong else 0.0


def cost(correct: Marks, answerable: Marks, wrong_cost: float) -> float:
    """Return the mean cost of a question: `wrong_cost` for a wrong CORRECT, 1 for a needless fallback (Elkan 2001)."""
    return float(np.mean(wrong_cost * (correct & ~answerable) + (~correct & answerable)))


def choose_upper(best: Floats, answerable: Marks, criterion: Criterion) -> float:
    """Return the best of UPPERS by the criterion; `best` is each question's best relevance.

    F1 chooses the highest F1, COST the lowest cost; in a tie, the middle threshold is returned, which is farthest from
    both kinds of question. WEB_RATE chooses the highest threshold whose web rate does not exceed the target, or the
    lowest threshold if all exceed it.
    """
    decided = best[None, :] >= UPPERS[:, None]
    if criterion.kind is CriterionKind.WEB_RATE:
        affordable = UPPERS[np.mean(~decided, axis=1) <= criterion.target]
        return float(affordable[-1] if len(affordable) else UPPERS[0])
    if criterion.kind is CriterionKind.COST:
        values = -np.array([cost(correct, answerable, criterion.cost) for correct in decided])
    else:
        values = np.array([f1(correct, answerable) for correct in decided])
    equal = UPPERS[np.isclose(values, values.max(), rtol=0, atol=1e-12)]
    return float(equal[len(equal) // 2])


def fit(features: Floats, marks: Marks) -> Logistic:
    """Return the coefficients of Platt scaling (Platt 1999). Raises ValueError if a higher logit is worse.

    The columns of `features` are the logit and, for passages, cosine and overlap. The targets are Platt's (section
    2.2), (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), in place of 1 and 0. A few rows make nothing certain, and if the logits
    separate the rows perfectly, the slope would otherwise grow without limit.
    """
    positives = int(np.count_nonzero(marks))
    targets = np.where(marks, (positives + 1) / (positives + 2), 1 / (len(marks) - positives + 2))
    # This penalty has practically no effect; scikit-learn's default of 1 pulls the slopes towards 0.
    model = LogisticRegression(C=1e6, max_iter=1000)
    # A row with a target between 0 and 1 becomes a row of each kind, weighted by the target.
    model.fit(
        np.concatenate([features, features]),
        np.repeat([True, False], len(targets)),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    bias, slope, *others = (round(float(number), 4) for number in (model.intercept_[0], *model.coef_[0]))
    return Logistic(slope, bias, *others)


def predict(fitted: Logistic, features: Floats) -> Floats:
    """Return the probabilities of rows, computed from logit, cosine and overlap, shape (rows,)."""
    return fitted.probabilities(*features.astype(np.float32).T).astype(np.float64)


MOST_MISSED = 0.1
"""Maximum share of answerable questions that may be called INCORRECT: then the documents are ignored, and the answer
is lost."""
MOST_LOST = 0.1
"""Maximum share of passages whose answer may be dropped: that loses the answer, while a needless sentence only
lengthens the prompt."""
NEGLIGIBLE_DIFFERENCE = 0.01
"""Difference in the objective that is ignored: about one standard error for 1,600 decisions, sqrt(0.85 * 0.15 /
1600) = 0.009."""
STEPS = np.round(np.arange(0.02, 0.985, 0.01), 2)
"""Candidates for the thresholds `lower` and `strip`."""


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """A threshold and its figures: `objective` should be high; `constraint` decides whether it is `admissible`."""

    threshold: float
    objective: float
    constraint: float
    admissible: bool


def sweep_lower(best: Floats, answerable: Marks, weights: Floats) -> list[ThresholdStep]:
    """Return for each threshold the shares of questions, without and with an answer, that are called INCORRECT."""
    steps = []
    for threshold in STEPS:
        below = best < threshold
        found = float(np.average(below[~answerable], weights=weights[~answerable]))
        missed = float(np.average(below[answerable], weights=weights[answerable]))
        steps.append(ThresholdStep(float(threshold), found, missed, missed <= MOST_MISSED))
    return steps


def sweep_strip(relevances: Floats, marks: Marks, passages: Places, weights: Floats) -> list[ThresholdStep]:
    """Return for each threshold the share of sentences dropped, and the share of passages that lose their answer.

    `passages` numbers the passage of each sentence from 0; each passage has a marked sentence.
    """
    passage_weights = np.bincount(passages, weights=weights)
    best = np.full(len(passage_weights), -np.inf)
    np.maximum.at(best, passages, relevances)
    steps = []
    for threshold in STEPS:
        # The best sentence of a passage is always kept.
        kept = (relevances >= threshold) | (relevances == best[passages])
        answered = np.zeros(len(best), dtype=bool)
        answered[passages[kept & marks]] = True
        dropped, lost = float(np.average(~kept, weights=weights)), float(np.average(~answered, weights=passage_weights))
        steps.append(ThresholdStep(float(threshold), dropped, lost, lost <= MOST_LOST))
    return steps


def choose(steps: list[ThresholdStep], default: float) -> float:
    """Return the admissible threshold with the highest objective; in a tie, the highest one.

    The default is kept if it is admissible and about as good, or if no threshold is admissible.
    """
    allowed = [step for step in steps if step.admissible]
    if not allowed:
        return default
    chosen = max(allowed, key=lambda step: (step.objective, step.threshold))
    for step in allowed:
        if step.threshold == default and step.objective >= chosen.objective - NEGLIGIBLE_DIFFERENCE:
            return default
    return chosen.threshold


SEED = 1
FOLDS = 5
"""Number of folds of the cross-validation."""
RESAMPLES = 1000
"""Number of resamples of a bootstrap: the number that Efron and Tibshirani (1993, chapter 13) recommend for a
percentile interval."""


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure before (active calibration) and after (new calibration), and its change's 95 % interval `low`..`high`.

    `error` is the standard error of the change; interval and error are estimated by a bootstrap over questions.
    """

    name: str
    before: float
    after: float
    low: float
    high: float
    error: float


@dataclass(frozen=True)
class ScoredQuestions:
    """Scored passages, and which of them are relevant.

    `features`, shape (rows, 3), are logit, cosine and overlap. `questions` numbers the question of each row from 0.
    `own` has for each question the numbers of the rows that decide its action.
    """

    features: Floats
    marks: Marks
    questions: Places
    own: list[Places]
    answerable: Marks

    @property
    def counted(self) -> Places:
        """Indices of the questions that have passages to decide on."""
        return np.array([number for number, own in enumerate(self.own) if len(own)], dtype=np.intp)

    def best(self, relevances: Floats) -> Floats:
        """Return each question's best relevance; NaN if it has no passage to decide on."""
        return np.array([relevances[own].max() if len(own) else np.nan for own in self.own])


@dataclass(frozen=True)
class Predicted:
    """Predictions: a relevance for each row, and whether each counted question is CORRECT."""

    relevances: Floats
    correct: Marks


def to_arrays(scores: Sequence[LabelledScore]) -> ScoredQuestions:
    """Return labelled scores as arrays, with the questions that they belong to."""
    features = np.array([[score.logit, score.cosine, score.overlap] for score in scores], dtype=np.float64)
    marks = np.array([score.relevant for score in scores])
    local = np.array([score.local for score in scores])
    names, questions = np.unique([score.question for score in scores], return_inverse=True)
    own = [np.flatnonzero((questions == number) & local) for number in range(len(names))]
    return ScoredQuestions(features, marks, questions, own, np.array([marks[places].any() for places in own]))


def calibrated_predictions(data: ScoredQuestions, calibration: FittedCalibration) -> Predicted:
    """Return the predictions of a calibration."""
    relevances = predict(calibration.passage, data.features)
    return Predicted(relevances, data.best(relevances)[data.counted] >= calibration.thresholds.upper)


def cross_validated(data: ScoredQuestions, criterion: Criterion) -> Predicted:
    """Return cross-validated predictions: each question is predicted by a fit to other questions. Raises ValueError.

    Every fold has both kinds of question; GroupKFold would divide the rows without regard to the kinds.
    """
    relevances = np.zeros(len(data.marks))
    correct = np.zeros(len(data.own), dtype=bool)
    counted = data.counted
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for known, asked in folds.split(np.zeros((len(data.answerable), 1)), data.answerable):
        is_known, is_asked = np.isin(data.questions, known), np.isin(data.questions, asked)
        predicted = predict(fit(data.features[is_known], data.marks[is_known]), data.features)
        best = data.best(predicted)
        deciding = np.intersect1d(known, counted)
        upper = choose_upper(best[deciding], data.answerable[deciding], criterion)
        relevances[is_asked] = predicted[is_asked]
        correct[asked] = best[asked] >= upper
    return Predicted(relevances, correct[counted])


def changes(
    data: ScoredQuestions, before: Predicted, after: Predicted, criterion: Criterion
) -> tuple[FigureChange, ...]:
    """Return each figure before and after, with the interval of its change from a bootstrap over questions."""
    marks, answerable = data.marks, data.answerable[data.counted]
    rows = [np.flatnonzero(data.questions == number) for number in range(len(data.own))]
    place = {int(number): at for at, number in enumerate(data.counted)}

    def row_values(text: Predicted, drawn: Places) -> tuple[Any, Marks]:
        chosen = np.concatenate([rows[number] for number in drawn])
        return text.relevances[chosen], marks[chosen]

    def question_values(text: Predicted, drawn: Places) -> tuple[Any, Marks]:
        chosen = np.array([place[number] for number in drawn.tolist() if number in place], dtype=np.intp)
        return text.correct[chosen], answerable[chosen]

    figures: dict[str, _Figure] = {
        "log loss": (row_values, lambda given, true: float(log_losses(given, true).mean())),
        "calibration error": (row_values, calibration_error),
        "Brier score": (row_values, lambda given, true: float(squared_errors(given, true).mean())),
        "AUC": (row_values, lambda given, true: auc(true, given)),
        "action accuracy": (question_values, accuracy),
        "web rate": (question_values, lambda given, _: web_rate(given)),
        "F1 of CORRECT": (question_values, f1),
    }
    if criterion.kind is CriterionKind.COST:
        figures["cost of a question"] = (question_values, lambda given, true: cost(given, true, criterion.cost))
    every = np.arange(len(data.own))
    return tuple(_change(name, every, figure, before, after) for name, figure in figures.items())


_Figure = tuple[Callable[[Predicted, Places], tuple[Any, Marks]], Callable[[Any, Marks], float]]
"""A function that returns the predictions and marks of the questions drawn, and one that computes a figure of them."""


def _change(name: str, every: Places, figure: _Figure, before: Predicted, after: Predicted) -> FigureChange:
    choose, measure = figure

    def difference(drawn: Places) -> float:
        # A draw with only one kind of row has no AUC (NaN), which counts as no change.
        return float(np.nan_to_num(measure(*choose(after, drawn)) - measure(*choose(before, drawn))))

    drawn = stats.bootstrap(
        (every,), difference, n_resamples=RESAMPLES, vectorized=False, method="percentile", rng=SEED
    )
    interval = drawn.confidence_interval
    was, now = (measure(*choose(predicted, every)) for predicted in (before, after))
    return FigureChange(name, was, now, float(interval.low), float(interval.high), float(drawn.standard_error))


FEWEST_ROWS = 50
"""Minimum number of labelled passages, and of labelled strips: with fewer, the four coefficients reflect chance more
than the documents."""
FEWEST_QUESTIONS = FOLDS
"""Minimum number of questions of each kind, so that each fold has one."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted calibration, the labels it was fitted to, and `notes` for the reader."""

    calibration: FittedCalibration
    changes: tuple[FigureChange, ...]
    passages: int
    relevant: int
    questions: int
    answered: int
    strips: int
    notes: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether its probabilities are worse on held-out questions than those of the active calibration."""
        loss = self.changes[0]
        return loss.after > loss.before


def fit_calibration(
    scores: Sequence[LabelledScore],
    strips: Sequence[LabelledStrip],
    *,
    active: FittedCalibration,
    criterion: Criterion,
) -> Fitted:
    """Return the calibration that fits the labels best; `active` is the calibration in use.

    Raises EvaluationError if there are too few labels, or if a higher logit would mean a lower relevance.
    """
    require_enough(scores)
    data = to_arrays(scores)
    try:
        passage = fit(data.features, data.marks)
        before, after = calibrated_predictions(data, active), cross_validated(data, criterion)
    except ValueError as error:
        raise EvaluationError(
            "These labels cannot calibrate the scorer: passages that are labelled relevant have lower scores than the "
            f"others ({error}). Check the labels: they contradict the scorer."
        ) from error
    counted = data.counted
    best, answerable = data.best(predict(passage, data.features))[counted], data.answerable[counted]
    upper = choose_upper(best, answerable, criterion)
    lower = min(choose(sweep_lower(best, answerable, np.ones(len(best))), active.thresholds.lower), upper)
    strip, strip_threshold, notes = _strips(strips, passage, active)
    if criterion.kind is CriterionKind.WEB_RATE and (rate := web_rate(best >= upper)) > criterion.target:
        notes = (*notes, f"No threshold brings the web rate down to {criterion.target:g}: it is {rate:.2f} at best.")
    if lower == upper:
        notes = (*notes, "The threshold lower is as high as upper: no question is AMBIGUOUS any more.")
    return Fitted(
        FittedCalibration(passage, strip, Thresholds(upper=upper, lower=lower, strip=strip_threshold)),
        changes(data, before, after, criterion),
        passages=len(scores),
        relevant=sum(score.relevant for score in scores),
        questions=len(counted),
        answered=int(answerable.sum()),
        strips=len(strips),
        notes=notes,
    )


def require_enough(scores: Sequence[LabelledScore]) -> None:
    """Raise EvaluationError, naming what is missing, if there are too few labels to fit a calibration and check it."""
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
    strips: Sequence[LabelledStrip], passage: Logistic, active: FittedCalibration
) -> tuple[Logistic, float, tuple[str, ...]]:
    """Return the calibration and the threshold of strips; the active ones, with a note, if they cannot be fitted."""
    kept = active.strip, active.thresholds.strip
    relevant = sum(strip.relevant for strip in strips)
    if len(strips) < FEWEST_ROWS or not 0 < relevant < len(strips):
        return *kept, ("What is in force for strips stays: there are too few labelled ones.",)
    logits = np.array([[strip.logit] for strip in strips])
    marks = np.array([strip.relevant for strip in strips])
    try:
        fitted = fit(logits, marks)
    except ValueError:
        return *kept, ("What is in force for strips stays: those that hold an answer have no higher scores.",)
    passages = np.array([[strip.passage_logit, strip.passage_cosine, strip.passage_overlap] for strip in strips])
    relevances = predict(fitted, logits) * predict(passage, passages)
    numbers = np.unique([f"{strip.question}\0{strip.passage}" for strip in strips], return_inverse=True)[1]
    steps = sweep_strip(relevances, marks, numbers, np.ones(len(strips)))
    return fitted, choose(steps, active.thresholds.strip), ()
