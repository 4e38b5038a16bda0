"""Compute the figures of a reranker on a sample of labelled questions. Scores in, records out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.relevance.data import RANKED
from lab.relevance.metrics import Figure, bootstrap, grouped, reciprocal_rank
from lab.relevance.rows import CalibrationBin, Rows, calibration_error, reliability
from lab.relevance.sample import Ranking
from localcrag.evaluation.curves import Floats, Places, auc
from localcrag.records.enums import Action
from localcrag.records.passages import Thresholds

POOLED = "all"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ranking figures of one score, by set, and `all`, the mean of the sets.

    `auc` is that of the best score, with the own passage there against removed. `auc_clear` leaves out questions whose
    accepted answer is also in another of the passages.
    """

    mrr: dict[str, Figure]
    hit: dict[str, float]
    auc: dict[str, Figure]
    auc_clear: dict[str, float]


@dataclass(frozen=True, slots=True)
class Decided:
    """Actions under the policy `max` with the `most` best passages: shares of questions, own passage there or removed.

    `right` is the share of both kinds for which the action is CORRECT exactly if the own passage is there; `precision`
    is the share of CORRECT for which it is there.
    """

    most: int
    right: dict[str, float]
    precision: dict[str, float]
    there: dict[str, dict[Action, float]]
    removed: dict[str, dict[Action, float]]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Expected calibration error by set and pooled, and the pooled reliability curve."""

    error: dict[str, Figure]
    curve: tuple[CalibrationBin, ...]


def ranked(names: Sequence[str], rankings: Sequence[Ranking], values: Sequence[Floats]) -> Ranked:
    """Return the ranking figures of `values`, which has an array of a ranking's shape for each set."""
    figures = Ranked({}, {}, {}, {})
    for name, ranking, scores in zip(names, rankings, values, strict=True):
        ranks = np.array(
            [
                reciprocal_rank(row[:RANKED], int(np.argmax(own[:RANKED])) if own[:RANKED].any() else None)
                for row, own in zip(scores, ranking.own, strict=True)
            ]
        )
        figures.mrr[name] = _mean_rank(ranks)
        figures.hit[name] = float(np.mean(ranks == 1.0))
        there, removed = (ranking.best(scores, there=whether) for whether in (True, False))
        figures.auc[name] = paired_separation(there, removed)
        clear = ranking.clear()
        figures.auc_clear[name] = separation(there[clear], removed[clear])
    for table in (figures.mrr, figures.auc):
        table[POOLED] = mean(list(table.values()))
    for shares in (figures.hit, figures.auc_clear):
        shares[POOLED] = float(np.mean(list(shares.values())))
    return figures


def _mean_rank(ranks: Floats) -> Figure:
    return bootstrap(grouped(np.arange(len(ranks))), lambda drawn: float(ranks[drawn].mean()))


def paired_separation(positive: Floats, negative: Floats) -> Figure:
    """Return the AUC of paired scores, one of each kind for a question; the interval resamples whole pairs."""
    pairs = grouped(np.arange(len(positive)))
    return bootstrap(pairs, lambda drawn: separation(positive[drawn], negative[drawn]))


def separation(positive: Floats, negative: Floats) -> float:
    """Return the probability that a positive score is above a negative one (the AUC)."""
    marks = np.concatenate([np.ones(len(positive), bool), np.zeros(len(negative), bool)])
    return auc(marks, np.concatenate([positive, negative]))


def decided(
    names: Sequence[str],
    rankings: Sequence[Ranking],
    relevances: Sequence[Floats],
    thresholds: Thresholds,
    *,
    most: int,
) -> Decided:
    """Return the actions under the policy `max` with the `most` best passages."""
    figures = Decided(most, {}, {}, {}, {})
    for name, ranking, values in zip(names, rankings, relevances, strict=True):
        shares = []
        for whether, table in ((True, figures.there), (False, figures.removed)):
            best = ranking.best(values, there=whether, most=most)
            correct, incorrect = float((best >= thresholds.upper).mean()), float((best < thresholds.lower).mean())
            table[name] = {
                Action.CORRECT: correct,
                Action.AMBIGUOUS: 1.0 - correct - incorrect,
                Action.INCORRECT: incorrect,
            }
            shares.append(correct)
        figures.right[name] = (shares[0] + 1.0 - shares[1]) / 2
        figures.precision[name] = shares[0] / sum(shares) if sum(shares) else math.nan
    for table in (figures.there, figures.removed):
        table[POOLED] = {action: float(np.mean([row[action] for row in table.values()])) for action in Action}
    figures.right[POOLED] = float(np.mean(list(figures.right.values())))
    figures.precision[POOLED] = float(np.nanmean(list(figures.precision.values())))
    return figures


def calibrated(names: Sequence[str], rows: Rows, probabilities: Floats) -> Calibrated:
    """Return the calibration error of probabilities for `rows`, whose sets are indices into `names`."""
    errors = {}
    for number in np.unique(rows.sets):
        inside = rows.sets == number
        errors[names[number]] = _error(probabilities[inside], rows.only(inside))
    errors[POOLED] = _error(probabilities, rows)
    return Calibrated(errors, tuple(reliability(probabilities, rows.marks, rows.weights)))


def _error(probabilities: Floats, rows: Rows) -> Figure:
    weights = rows.weights
    # Questions are numbered from 0 in each set.
    questions = grouped(rows.sets * (rows.questions.max() + 1) + rows.questions)

    def error(drawn: Places) -> float:
        return calibration_error(probabilities[drawn], rows.marks[drawn], weights[drawn])

    return bootstrap(questions, error)


def strips_auc(names: Sequence[str], rows: Rows) -> dict[str, Figure]:
    """Return, by set, the AUC of the answer's sentence against the other sentences of the own passages."""
    figures = {}
    for number in np.unique(rows.sets):
        part = rows.only(rows.sets == number)

        def value(drawn: Places, part: Rows = part) -> float:
            return auc(part.marks[drawn], part.features[drawn, 0])

        figures[names[number]] = bootstrap(grouped(part.questions), value)
    return figures


def mean(figures: Sequence[Figure]) -> Figure:
    """Return the mean of independent figures; the squares of the intervals' half widths add up."""
    values, lows, highs = (np.array([getattr(one, name) for one in figures]) for name in ("value", "low", "high"))
    value = float(values.mean())
    below, above = (math.sqrt(float(np.sum(part**2))) / len(figures) for part in (values - lows, highs - values))
    return Figure(value, value - below, value + above)
