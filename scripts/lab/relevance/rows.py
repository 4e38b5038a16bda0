"""Scored texts of several sets of equal weight, fits to them, and how far their probabilities can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from localcrag.evaluation.curves import BINS, Floats, Marks, Places, bin_numbers
from localcrag.records.thresholds import Logistic


@dataclass(frozen=True, slots=True)
class LogisticForm:
    """A logistic calibration over the columns of Rows.features; without `bias` it is temperature scaling."""

    columns: tuple[int, ...]
    bias: bool = True


@dataclass(frozen=True)
class Rows:
    """Scored texts; `features`, shape (rows, 3), are logit, cosine and overlap.

    `questions` numbers the questions from 0 within each set, `sets` the sets from 0; `marks` says which rows are
    relevant.
    """

    features: Floats
    marks: Marks
    questions: Places
    sets: Places

    @property
    def weights(self) -> Floats:
        """Weights of the rows with which each set counts the same; their mean is 1."""
        counts = np.bincount(self.sets)
        return np.asarray(len(self.sets) / (np.count_nonzero(counts) * counts[self.sets]))

    def only(self, chosen: Marks) -> Rows:
        """Return the chosen rows."""
        return Rows(self.features[chosen], self.marks[chosen], self.questions[chosen], self.sets[chosen])


def fit(rows: Rows, form: LogisticForm) -> Logistic:
    """Return the coefficients of Platt scaling (Platt 1999). Raises ValueError if a higher logit is worse."""
    # This penalty has practically no effect; scikit-learn's default of 1 pulls the slopes towards 0.
    model = LogisticRegression(C=1e6, fit_intercept=form.bias, max_iter=1000)
    model.fit(rows.features[:, form.columns], rows.marks, sample_weight=rows.weights)
    slopes = dict(zip(form.columns, model.coef_[0], strict=True))
    bias = float(model.intercept_[0]) if form.bias else 0.0
    more = (round(float(slopes.get(column, 0.0)), 4) for column in (1, 2))
    return Logistic(round(float(slopes[0]), 4), round(bias, 4), *more)


def predict(fitted: Logistic, rows: Rows) -> Floats:
    """Return the probabilities of rows by logit, cosine and overlap, shape (rows,)."""
    return fitted.probabilities(*rows.features.astype(np.float32).T)


def standard_error(values: Floats, rows: Rows) -> float:
    """Return the standard error of the mean of the sets' means; questions are taken to be independent."""
    variances = []
    for number in np.unique(rows.sets):
        inside = rows.sets == number
        questions, place = np.unique(rows.questions[inside], return_inverse=True)
        sums = np.bincount(place, weights=values[inside] - values[inside].mean())
        variances.append(len(questions) * sums.var() / inside.sum() ** 2)
    return float(np.sqrt(np.sum(variances)) / len(variances))


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """One bin of a reliability curve: mean probability, share of relevant rows, and its share and number of rows."""

    predicted: float
    relevant: float
    share: float
    count: int


def reliability(probabilities: Floats, marks: Marks, weights: Floats | None = None) -> list[CalibrationBin]:
    """Return the reliability curve over BINS bins of equal width, without empty bins."""
    weights = np.ones(len(probabilities)) if weights is None else weights
    places = bin_numbers(probabilities)
    # All bins are summed at once, because a bootstrap needs thousands of curves.
    counts, bin_weights, predicted, relevant = (
        np.bincount(places, values, minlength=BINS)
        for values in (None, weights, weights * probabilities, weights * marks)
    )
    total = bin_weights.sum()
    return [
        CalibrationBin(
            float(predicted[at] / bin_weights[at]),
            float(relevant[at] / bin_weights[at]),
            float(bin_weights[at] / total),
            int(counts[at]),
        )
        for at in np.flatnonzero(counts)
    ]


def calibration_error(probabilities: Floats, marks: Marks, weights: Floats | None = None) -> float:
    """Return the expected calibration error (Guo et al. 2017, equation 3)."""
    return sum(abs(one.predicted - one.relevant) * one.share for one in reliability(probabilities, marks, weights))
