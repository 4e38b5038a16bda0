"""What is fitted to labelled scores, on made-up ones whose right answer is known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from localcrag.evaluation.calibration import (
    Criterion,
    CriterionKind,
    Fitted,
    choose_upper,
    cost,
    f1,
    fit_calibration,
    web_rate,
)
from localcrag.records.errors import EvaluationError
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import FittedCalibration, Logistic
from localcrag.runs.labels import LabelledScore, LabelledStrip

TRUE = FittedCalibration(Logistic(1.0, -2.0, 1.0, 0.5), Logistic(1.0, 0.5), Thresholds(upper=0.5, lower=0.1, strip=0.3))
OFF = dataclasses.replace(TRUE, passage=Logistic(0.3, 2.0))
F1 = Criterion()


def made(questions: int = 150, *, sign: float = 1.0, seed: int = 3) -> list[LabelledScore]:
    """Return six passages a question whose relevance is what TRUE says of their scores."""
    chance = np.random.default_rng(seed)
    scores = []
    for question in range(questions):
        for _ in range(6):
            logit, cosine, overlap = float(chance.normal(-1.5, 3)), float(chance.uniform(0, 1)), float(chance.random())
            (probability,) = TRUE.passage.probabilities(
                np.array([sign * logit]), np.array([cosine]), np.array([overlap])
            )
            relevant = bool(chance.random() < probability)
            scores.append(LabelledScore(f"q{question}", logit, cosine, relevant, overlap=overlap))
    return scores


def strips(number: int = 400) -> list[LabelledStrip]:
    chance = np.random.default_rng(4)
    made = []
    for at in range(number):
        logit = float(chance.normal(0, 2))
        (probability,) = TRUE.strip.probabilities(np.array([logit]))
        # The first of each passage holds the answer: no passage is without.
        relevant = at % 4 == 0 or bool(chance.random() < probability)
        made.append(LabelledStrip(f"q{at // 8}", f"{at // 4}", logit + 2 * relevant, 3.0, 0.5, relevant))
    return made


def changes(fitted: Fitted) -> dict[str, tuple[float, float]]:
    return {change.name: (change.before, change.after) for change in fitted.changes}


def test_the_coefficients_that_made_the_labels_are_found_and_better_than_others_on_unseen_questions() -> None:
    fitted = fit_calibration(made(600), strips(), active=OFF, criterion=F1)
    found = fitted.calibration.passage
    assert [found.logit, found.bias, found.cosine, found.overlap] == pytest.approx([1.0, -2.0, 1.0, 0.5], abs=0.35)
    figures = changes(fitted)
    for name in ("log loss", "calibration error", "Brier score"):
        assert figures[name][1] < figures[name][0], name
    loss = fitted.changes[0]
    assert loss.low < loss.after - loss.before < loss.high < 0
    assert loss.error > 0
    assert not fitted.worse
    assert (fitted.passages, fitted.questions, fitted.strips) == (3600, 600, 400)
    assert fitted.calibration.thresholds.lower <= fitted.calibration.thresholds.upper
    assert fitted.calibration.strip != OFF.strip
    assert not any("strips" in note for note in fitted.notes)


def test_what_is_no_better_than_what_is_in_force_is_called_worse() -> None:
    # Where the truth is in force, a fit to few labels cannot be better on questions that it has not seen.
    assert fit_calibration(made(30), (), active=TRUE, criterion=F1).worse


def test_after_is_of_questions_that_were_not_fitted_on() -> None:
    first = fit_calibration(made(30), (), active=TRUE, criterion=F1)
    # In force now is what was fitted to these very labels: that it seems better shows that the other was not.
    again = fit_calibration(made(30), (), active=first.calibration, criterion=F1)
    assert again.calibration.passage == first.calibration.passage
    assert again.changes[0].before < again.changes[0].after == first.changes[0].after


def test_a_passage_from_elsewhere_is_fitted_to_and_decides_nothing() -> None:
    scores = made()
    web = [LabelledScore(score.question, 9.0, 1.0, relevant=False, local=False) for score in scores[::6]]
    alone = fit_calibration(scores, (), active=OFF, criterion=F1)
    fitted = fit_calibration([*scores, *web], (), active=OFF, criterion=F1)
    assert fitted.calibration.passage != alone.calibration.passage
    # By what is in force, so that only the questions' passages make a difference.
    for name in ("action accuracy", "web rate", "F1 of CORRECT"):
        assert changes(fitted)[name][0] == changes(alone)[name][0]


def test_without_labelled_strips_theirs_stay_and_it_is_said() -> None:
    fitted = fit_calibration(made(), strips(20), active=OFF, criterion=F1)
    assert (fitted.calibration.strip, fitted.calibration.thresholds.strip) == (OFF.strip, OFF.thresholds.strip)
    assert fitted.notes[0] == "What is in force for strips stays: there are too few labelled ones."


def test_a_calibration_that_would_turn_the_scores_round_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"labelled relevant have lower scores .*above 0"):
        fit_calibration(made(600, sign=-1.0), (), active=OFF, criterion=F1)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param([], r"50 more labelled passages .*5 more questions with .*5 more questions whose", id="none"),
        pytest.param(
            made(150)[:30],
            r"20 more labelled passages \(\d+ relevant and \d+ not relevant ones are there, 50 are the least\)",
            id="too few",
        ),
        pytest.param(
            [dataclasses.replace(score, relevant=False) for score in made(20)],
            r"Needed: 5 more questions with a passage that is labelled relevant\.",
            id="none relevant",
        ),
        pytest.param(
            [dataclasses.replace(score, relevant=True) for score in made(20)],
            r"Needed: 5 more questions whose passages are all labelled not relevant\.",
            id="all relevant",
        ),
        pytest.param(
            [dataclasses.replace(score, relevant=score.question in ("q1", "q2")) for score in made(20)],
            r"Needed: 3 more questions with a passage that is labelled relevant\.",
            id="too few of a kind for cross-validation",
        ),
    ],
)
def test_too_few_labels_are_refused_and_it_is_said_what_is_missing(scores: list[LabelledScore], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        fit_calibration(scores, (), active=TRUE, criterion=F1)


BEST = np.array([0.95, 0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
THERE = np.array([True, True, True, False, True, False, False, False, False, False])


@pytest.mark.parametrize(
    ("criterion", "between"),
    [
        # From 0.5 down four answers are found and one is wrong: F1 8/9; above 0.6 three and none: 6/7.
        pytest.param(Criterion(CriterionKind.F1), (0.4, 0.5), id="f1"),
        pytest.param(Criterion(CriterionKind.COST, cost=5), (0.6, 0.8), id="a wrong CORRECT costs five fallbacks"),
        pytest.param(Criterion(CriterionKind.COST, cost=0.5), (0.4, 0.5), id="a wrong CORRECT costs half a fallback"),
        pytest.param(Criterion(CriterionKind.WEB_RATE, target=0.7), (0.79, 0.8), id="three of ten may be CORRECT"),
        pytest.param(Criterion(CriterionKind.WEB_RATE, target=0.0), (0.04, 0.05), id="none to the web"),
    ],
)
def test_upper_is_chosen_by_the_named_criterion(criterion: Criterion, between: tuple[float, float]) -> None:
    low, high = between
    upper = choose_upper(BEST, THERE, criterion)
    assert low < upper <= high
    if criterion.kind is CriterionKind.WEB_RATE:
        assert web_rate(upper <= BEST) <= criterion.target


def test_the_criteria_are_what_their_formulae_say() -> None:
    correct = BEST >= 0.5
    assert f1(correct, THERE) == pytest.approx(8 / 9)
    assert cost(correct, THERE, 5.0) == pytest.approx(0.5)
    assert cost(BEST >= 0.7, THERE, 5.0) == pytest.approx(0.1)
    assert web_rate(correct) == pytest.approx(0.5)
    assert f1(np.array([False]), np.array([False])) == 0.0


def test_a_web_rate_that_cannot_be_reached_is_said() -> None:
    hopeless = [LabelledScore(f"none {number}", -40.0, 0.0, relevant=False) for number in range(5)]
    criterion = Criterion(CriterionKind.WEB_RATE, target=0.0)
    fitted = fit_calibration([*made(), *hopeless], (), active=TRUE, criterion=criterion)
    assert fitted.calibration.thresholds.upper == 0.005
    assert any("No threshold brings the web rate down to 0: it is 0.03 at best." in note for note in fitted.notes)


@pytest.mark.parametrize("wrong", [{"target": 1.2}, {"target": -0.1}, {"cost": 0.0}, {"cost": float("nan")}])
def test_a_criterion_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Criterion(**wrong)  # type: ignore[arg-type]


def test_that_nothing_is_ambiguous_any_more_is_said() -> None:
    cheap = Criterion(CriterionKind.COST, cost=0.01)
    fitted = fit_calibration(made(), (), active=OFF, criterion=cheap)
    limits = fitted.calibration.thresholds
    assert any("no question is AMBIGUOUS" in note for note in fitted.notes) == (limits.lower == limits.upper)
    assert limits.lower == limits.upper
