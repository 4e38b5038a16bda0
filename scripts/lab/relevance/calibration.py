"""Choose the form of calibration that fits a reranker best, and its threshold `upper`.

Each set has the same weight, however many rows it has. Isotonic regression (Zadrozny and Elkan, KDD 2002) is measured
together with the logistic forms but never taken: localcrag cannot store it, and will not until it is clearly better.

`upper` is the threshold with the most right decisions between CORRECT and not CORRECT, among those at which at least
PRECISION_OF_CORRECT of the CORRECT ones are right.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from lab.relevance.rows import LogisticForm, Rows, fit, predict, standard_error
from localcrag.evaluation.calibration import STEPS, ThresholdStep
from localcrag.evaluation.curves import Floats, Marks, log_losses
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import Logistic

DEFAULTS = Thresholds(upper=0.7, lower=0.3, strip=0.5)
PRECISION_OF_CORRECT = 0.8
"""Least precision of CORRECT, for which the answer comes from these passages without the web: 1 in 5 may be wrong."""
FOLDS = 5
ISOTONIC = ", isotonic"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The predictions of a form for rows that it was not fitted on; log loss in nats, lower is better.

    `worse_by` is the difference to the best form's log loss, `error` the standard error of that difference.
    """

    name: str
    probabilities: Floats
    log_loss: float
    worse_by: float = 0.0
    error: float = 0.0


def strip_relevances(fitted: Logistic, rows: Rows) -> Floats:
    """Return the relevances of strips whose second feature is their passage's relevance."""
    return fitted.probabilities(rows.features[:, 0].astype(np.float32)) * rows.features[:, 1]


def held_out(rows: Rows, forms: Mapping[str, LogisticForm]) -> list[HeldOut]:
    """Return every form, and isotonic regression on top of it, cross-validated over the questions of each set.

    The best one is first. Forms under which a higher logit means less relevance are left out, as can happen with
    temperature scaling for a model that gives most texts a logit above 0. Raises ValueError if no form is left.
    """
    guessed: dict[str, Floats] = {}
    refused = ""
    for name, form in forms.items():
        try:
            guessed[name], guessed[name + ISOTONIC] = _cross_validated(rows, form)
        except ValueError as error:
            refused = str(error)
    if not guessed:
        raise ValueError(refused)
    losses = {name: log_losses(probabilities, rows.marks) for name, probabilities in guessed.items()}
    means = {name: float(np.average(loss, weights=rows.weights)) for name, loss in losses.items()}
    best = min(means, key=lambda name: means[name])
    return [
        HeldOut(name, guessed[name], mean, mean - means[best], standard_error(losses[name] - losses[best], rows))
        for name, mean in sorted(means.items(), key=lambda item: item[1])
    ]


def _cross_validated(rows: Rows, form: LogisticForm) -> tuple[Floats, Floats]:
    """Return what the form, and isotonic regression on top of it, predict for rows of other folds."""
    fit(rows, form)  # The form must also fit all rows together; otherwise, this raises.
    fold = rows.questions % FOLDS
    platt, isotonic = np.zeros(len(fold)), np.zeros(len(fold))
    for number in np.unique(fold):
        known, asked = rows.only(fold != number), rows.only(fold == number)
        fitted = fit(known, form)
        platt[fold == number] = predict(fitted, asked)
        steps = IsotonicRegression(y_min=0.001, y_max=0.999, out_of_bounds="clip")
        steps.fit(predict(fitted, known), known.marks, sample_weight=known.weights)
        isotonic[fold == number] = steps.predict(predict(fitted, asked))
    return platt, isotonic


def best_form(results: Sequence[HeldOut], allowed: Collection[str]) -> HeldOut:
    """Return the allowed form with the lowest held-out log loss. Raises ValueError if there is none."""
    fitting = [one for one in results if one.name in allowed]
    if not fitting:
        raise ValueError("relevant texts have no higher logits than others")
    return min(fitting, key=lambda one: one.log_loss)


def sweep_upper(best: Floats, there: Marks, weights: Floats) -> list[ThresholdStep]:
    """Return, for each threshold, the share of right decisions and the precision of CORRECT.

    `best` is each question's best relevance, `there` whether its own passage is among the retrieved ones.
    """
    steps = []
    for threshold in STEPS:
        said = best >= threshold
        precision = float(np.average(there[said], weights=weights[said])) if said.any() else 1.0
        right = float(np.average(said == there, weights=weights))
        steps.append(ThresholdStep(float(threshold), right, precision, precision >= PRECISION_OF_CORRECT))
    return steps
