"""Platt scaling (Platt 1999) fitted to labelled scores. Arrays in, coefficients out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from localcrag.evaluation.probability_metrics import Floats, Marks, Places
from localcrag.steps.evaluate.calibration import Logistic


@dataclass(frozen=True, slots=True)
class Form:
    """A logistic calibration over the columns of Rows.features; without `bias` it is temperature scaling."""

    columns: tuple[int, ...]
    bias: bool = True


@dataclass(frozen=True)
class Rows:
    """Scored texts: `features`, shape (rows, 3), holds the logit, cosine and overlap.

    `questions` numbers the questions from 0 within each set, `sets` the sets from 0; `marks` says what is relevant.
    """

    features: Floats
    marks: Marks
    questions: Places
    sets: Places

    @property
    def weights(self) -> Floats:
        """Return a weight for each row, so that sets count the same; their mean is 1."""
        counts = np.bincount(self.sets)
        return np.asarray(len(self.sets) / (np.count_nonzero(counts) * counts[self.sets]))

    def only(self, chosen: Marks) -> Rows:
        return Rows(self.features[chosen], self.marks[chosen], self.questions[chosen], self.sets[chosen])


def fit(rows: Rows, form: Form, *, smoothed: bool = False) -> Logistic:
    """Return the coefficients of Platt scaling (Platt 1999). Raises ValueError when a higher logit is worse.

    `smoothed` takes Platt's targets (section 2.2), (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), in place of 1 and 0: with few
    rows nothing is certain, and without them the slope has no end where the logits part the rows without a fault.
    """
    features, marks, weights = rows.features[:, form.columns], rows.marks, rows.weights
    if smoothed:
        positives = int(np.count_nonzero(marks))
        targets = np.where(marks, (positives + 1) / (positives + 2), 1 / (len(marks) - positives + 2))
        # A row with a target between 0 and 1 is one of each kind, so weighted.
        features = np.concatenate([features, features])
        weights = np.concatenate([weights * targets, weights * (1 - targets)])
        marks = np.repeat([True, False], len(targets))
    # The penalty is as good as none; scikit-learn's default of 1 pulls the slopes towards 0.
    model = LogisticRegression(C=1e6, fit_intercept=form.bias, max_iter=1000)
    model.fit(features, marks, sample_weight=weights)
    slopes = dict(zip(form.columns, model.coef_[0], strict=True))
    bias = float(model.intercept_[0]) if form.bias else 0.0
    more = (round(float(slopes.get(column, 0.0)), 4) for column in (1, 2))
    return Logistic(round(float(slopes[0]), 4), round(bias, 4), *more)


def predict(fitted: Logistic, rows: Rows) -> Floats:
    """Return the probabilities of rows by logit, cosine and overlap, shape (rows,)."""
    return fitted.probabilities(*rows.features.astype(np.float32).T)


def standard_error(values: Floats, rows: Rows) -> float:
    """Return the standard error of the mean over sets of each set's mean, the questions being independent."""
    variances = []
    for number in np.unique(rows.sets):
        inside = rows.sets == number
        questions, place = np.unique(rows.questions[inside], return_inverse=True)
        sums = np.bincount(place, weights=values[inside] - values[inside].mean())
        variances.append(len(questions) * sums.var() / inside.sum() ** 2)
    return float(np.sqrt(np.sum(variances)) / len(variances))
