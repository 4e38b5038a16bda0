"""Curves of an evaluation: how far relevances can be trusted, sweeps of thresholds, and strips.

The first part measures the quality of probabilities, from arrays to numbers: AUC, calibration error, log loss, Brier
score. The second part applies it to the runs of an evaluation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from localcrag.crag.grading import is_scored
from localcrag.evaluation.metrics import action_not_opposite, action_right, contains_answer, local
from localcrag.evaluation.wording import Estimate, estimate
from localcrag.records.enums import Action, Policy, StripReason
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import GradedPassage, Thresholds
from localcrag.records.run import Run
from localcrag.runs.threshold_explorer import DecisionRules, decide_action

Floats = NDArray[np.floating]
Marks = NDArray[np.bool_]
Places = NDArray[np.intp]

BINS = 10
"""Number of bins of equal width in a reliability curve; Guo et al. (2017) take 15, for sets of ten thousand."""


def auc(marks: Marks, scores: Floats) -> float:
    """Return the probability that a marked score is above an unmarked one; ties count half (NaN for a single kind).

    It is computed from the sum of ranks (Mann and Whitney 1947). scikit-learn's roc_auc_score gives the same, but takes
    100 times as long for a few hundred scores, and a bootstrap needs thousands.
    """
    positives = int(marks.sum())
    negatives = len(marks) - positives
    if not positives or not negatives:
        return float("nan")
    above = rankdata(scores)[marks].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def bin_numbers(probabilities: Floats) -> Places:
    """Return the number of the bin of each probability, among BINS bins of equal width from 0 to 1."""
    return np.minimum((probabilities * BINS).astype(np.intp), BINS - 1)


def calibration_error(probabilities: Floats, marks: Marks) -> float:
    """Return the expected calibration error over BINS bins of equal width (Guo et al. 2017, equation 3)."""
    gaps = np.bincount(bin_numbers(probabilities), probabilities - marks)
    return float(np.abs(gaps).sum() / len(marks))


def log_losses(probabilities: Floats, marks: Marks) -> Floats:
    """Return each row's negative log likelihood in nats; probabilities are clipped to a millionth from 0 and 1."""
    likely = np.where(marks, probabilities, 1.0 - probabilities)
    return np.asarray(-np.log(np.clip(likely, 1e-6, 1.0)))


def squared_errors(probabilities: Floats, marks: Marks) -> Floats:
    """Return each row's squared error; their mean is the Brier score (Brier 1950)."""
    return np.asarray((probabilities - marks) ** 2)


Pairs = Sequence[tuple[Question, Run]]
UPPERS = tuple(step / 100 for step in range(2, 99, 2))
"""Upper thresholds of a sweep."""
LENGTHS = ((1, 1), (2, 3), (4, 6), (7, 10), (11, None))
"""Ranges of the number of strips in a passage; the last range is open."""


@dataclass(frozen=True, slots=True)
class RelevanceBin:
    """Passages with a relevance in low..high: their number, mean relevance, and the share that contains an answer."""

    low: float
    high: float
    n: int
    predicted: float | None
    held: Estimate | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Relevances compared with the share of passages that contain an answer.

    `error` is the expected calibration error (Guo et al. 2017, section 2) over `passages` of `questions`.
    """

    bins: tuple[RelevanceBin, ...]
    error: float
    passages: int
    questions: int
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The decisions under a pair of thresholds; all shares refer to the same questions."""

    upper: float
    lower: float
    accuracy: float
    not_opposite: float
    web_rate: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """The decisions under thresholds other than the active ones.

    Along `uppers`, the active lower threshold is kept, or lowered with upper.
    """

    policy: Policy
    thresholds: Thresholds
    in_force: ThresholdPoint
    uppers: tuple[ThresholdPoint, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Length:
    """Passages of `least` to `most` strips: the share kept of all strips, and of strips with an answer."""

    least: int
    most: int | None
    passages: int
    retention: Estimate | None
    recall: Estimate | None


def relevance_reliability(pairs: Pairs) -> Reliability | None:
    """Return relevances compared with the share of passages that contain an answer; None if no passage was scored.

    A document's passage contains an answer if it contains an accepted string and comes from one of the documents that
    the question names, if any. If the documents do not answer the question, no passage contains an answer.
    """
    scored = [(question, run) for question, run in pairs if local(run) and is_scored(run.passages)]
    if not scored:
        return None
    found = [(passage.relevance, _answers(question, passage)) for question, run in scored for passage in local(run)]
    relevances, held = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    places = bin_numbers(relevances)
    bins = tuple(_bin(number, relevances[places == number], held[places == number]) for number in range(BINS))
    error = calibration_error(relevances, held)
    return Reliability(bins, error, len(found), len(scored), scored[0][1].thresholds)


def _bin(number: int, relevances: Floats, held: Marks) -> RelevanceBin:
    predicted = float(relevances.mean()) if len(relevances) else None
    return RelevanceBin(
        number / BINS, (number + 1) / BINS, len(relevances), predicted, estimate(held.astype(float).tolist())
    )


def _answers(question: Question, passage: GradedPassage) -> bool:
    if question.held_by is not AnswerLocation.DOCUMENTS:
        return False
    from_named = not question.documents or passage.document in question.documents
    return from_named and contains_answer(passage.text, question.answers)


def sweep(pairs: Pairs) -> Sweep | None:
    """Return what other thresholds would have decided on the stored relevances; None if no run was decided."""
    decided = [(question, run) for question, run in pairs if run.action is not None and is_scored(local(run))]
    if not decided:
        return None
    in_force, policy = decided[0][1].thresholds, decided[0][1].policy
    lower, upper = in_force.lower, in_force.upper
    return Sweep(
        policy,
        in_force,
        _point(decided, upper, lower),
        tuple(_point(decided, each, min(each, lower)) for each in UPPERS),
        len(decided),
    )


def _point(pairs: Pairs, upper: float, lower: float) -> ThresholdPoint:
    accuracy, not_opposite, web = 0.0, 0.0, 0
    for question, run in pairs:
        rules = DecisionRules(run.policy, upper, lower, float(run.settings.get("relevance_threshold") or 0.0))
        action = decide_action(rules, [passage.relevance for passage in local(run)])
        moved = dataclasses.replace(run, action=action)
        accuracy += action_right(question, moved) or 0.0
        not_opposite += action_not_opposite(question, moved) or 0.0
        web += action is not Action.CORRECT
    n = len(pairs)
    return ThresholdPoint(upper, lower, accuracy / n, not_opposite / n, web / n)


def retention(pairs: Pairs) -> tuple[Length, ...]:
    """Return the share of strips kept, by the number of strips in a passage; empty if no passage was cut."""
    kept: dict[tuple[int, int | None], list[float]] = {}
    recalled: dict[tuple[int, int | None], list[float]] = {}
    for question, run in pairs:
        for strips in _strips_by_passage(run):
            of = next(length for length in LENGTHS if length[1] is None or len(strips) <= length[1])
            kept.setdefault(of, []).append(sum(is_kept for is_kept, _ in strips) / len(strips))
            good = [is_kept for is_kept, text in strips if question.answers and contains_answer(text, question.answers)]
            recalled.setdefault(of, []).extend(map(float, good))
    lengths = [of for of in LENGTHS if of in kept]
    return tuple(Length(of[0], of[1], len(kept[of]), estimate(kept[of]), estimate(recalled[of])) for of in lengths)


def _strips_by_passage(run: Run) -> Iterable[list[tuple[bool, str]]]:
    passages: dict[str, list[tuple[bool, str]]] = {}
    for strip in run.strips:
        passages.setdefault(strip.passage, []).append((strip.kept, strip.text))
    # Passages that were used whole tell nothing about the selection of strips.
    whole = any(strip.reason is StripReason.WHOLE for strip in run.strips)
    return [] if whole else passages.values()
