"""Which calibration and thresholds are taken, on made-up scores whose right answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from lab.relevance import calibration

from localcrag.evaluation.calibration import platt
from localcrag.evaluation.calibration import threshold_sweeps as thresholds

LOGIT, BOTH = platt.Form((0,)), platt.Form((0, 1))
TEMPERATURE = platt.Form((0,), bias=False)
FORMS = {"temperature": TEMPERATURE, "logit": LOGIT, "both": BOTH}


def made(slope: float, bias: float, second: float, *, questions: int = 800, sets: int = 2) -> platt.Rows:
    """Return rows whose relevance truly is a logistic function of logit and second input, five to a question."""
    chosen = np.random.default_rng(7)
    number = questions * 5 * sets
    features = np.stack([chosen.normal(0, 3, number), chosen.normal(0, 1, number)], axis=1)
    true = 1 / (1 + np.exp(-(slope * features[:, 0] + second * features[:, 1] + bias)))
    places = np.arange(number)
    return platt.Rows(features, chosen.random(number) < true, places // 5 % questions, places // (5 * questions))


def test_a_fit_finds_the_coefficients_that_made_the_data() -> None:
    fitted = platt.fit(made(0.8, -1.0, 2.0), BOTH)
    assert [fitted.logit, fitted.bias, fitted.cosine] == pytest.approx([0.8, -1.0, 2.0], abs=0.1)
    assert platt.fit(made(0.8, 0.0, 0.0), TEMPERATURE).bias == 0.0


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(made(0.8, -1.0, 2.0), "both", id="the second input matters"),
        pytest.param(made(0.8, -1.0, 0.0), {"logit", "both"}, id="only the logit matters"),
        pytest.param(made(0.8, 0.0, 0.0), {"temperature", "logit", "both"}, id="not even a bias is needed"),
    ],
)
def test_the_form_that_made_the_data_has_the_lowest_held_out_log_loss(
    rows: platt.Rows, expected: str | set[str]
) -> None:
    results = calibration.held_out(rows, FORMS)
    best = calibration.best_form(results, FORMS)
    # Forms that hold the true one differ by chance only.
    assert best.name in expected
    assert results[0].worse_by == 0.0
    assert [one.log_loss for one in results] == sorted(one.log_loss for one in results)
    assert {one.name for one in results} == {*FORMS, *(f"{name}, isotonic" for name in FORMS)}
    assert all(((one.probabilities >= 0) & (one.probabilities <= 1)).all() for one in results)


def test_only_allowed_forms_are_taken() -> None:
    results = calibration.held_out(made(0.8, -1.0, 2.0), FORMS)
    assert calibration.best_form(results, {"logit", "temperature"}).name == "logit"


def test_held_out_means_that_a_question_is_never_predicted_from_itself() -> None:
    rows = made(0.8, -1.0, 2.0, questions=20)
    before = calibration.held_out(rows, {"both": BOTH})[0]
    first = rows.questions == 0
    turned = platt.Rows(rows.features, rows.marks ^ first, rows.questions, rows.sets)
    after = calibration.held_out(turned, {"both": BOTH})
    same = next(one for one in after if one.name == before.name)
    assert (same.probabilities[first] == before.probabilities[first]).all()
    assert not (same.probabilities[rows.questions == 1] == before.probabilities[rows.questions == 1]).all()


def test_sets_count_the_same_however_many_rows_they_have() -> None:
    marks = np.zeros(6, dtype=bool)
    rows = platt.Rows(np.zeros((6, 2)), marks, np.arange(6), np.array([0, 0, 0, 0, 2, 2]))
    assert rows.weights[:4].sum() == pytest.approx(rows.weights[4:].sum())
    assert rows.weights.mean() == pytest.approx(1.0)


def test_logits_that_fall_with_relevance_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        platt.fit(made(-0.8, 0.0, 0.0), LOGIT)


def test_a_form_that_turns_the_logit_round_is_left_out_and_the_others_are_compared() -> None:
    # All logits are high and few texts relevant: without a bias, only a negative slope makes that improbable.
    rows = made(0.8, -1.0, 0.0)
    high = platt.Rows(rows.features + np.array([9.0, 0.0]), rows.marks, rows.questions, rows.sets)
    names = {one.name for one in calibration.held_out(high, FORMS)}
    assert "temperature" not in names
    assert {"logit", "both"} <= names
    with pytest.raises(ValueError, match="above 0"):
        calibration.held_out(high, {"temperature": TEMPERATURE})


def step(threshold: float, objective: float, *, admissible: bool = True) -> thresholds.Step:
    return thresholds.Step(threshold, objective, 0.0, admissible)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step(0.3, 0.7), step(0.5, 0.9), step(0.7, 0.8)], 0.5, id="the best"),
        pytest.param([step(0.3, 0.7), step(0.5, 0.9, admissible=False), step(0.7, 0.6)], 0.3, id="that is admissible"),
        pytest.param([step(0.3, 0.7), step(0.5, 0.9), step(0.7, 0.895)], 0.7, id="the default, when as good"),
        pytest.param([step(0.5, 0.9), step(0.7, 0.9, admissible=False)], 0.5, id="not when it is not admissible"),
        pytest.param([step(0.5, 0.9), step(0.6, 0.9)], 0.6, id="of equal ones the highest"),
        pytest.param([step(0.5, 0.9, admissible=False)], 0.7, id="the default when none is admissible"),
    ],
)
def test_a_threshold_is_the_best_admissible_one_or_a_default_as_good(
    steps: list[thresholds.Step], expected: float
) -> None:
    assert thresholds.choose(steps, 0.7) == expected


def at(steps: list[thresholds.Step], threshold: float) -> thresholds.Step:
    return next(step for step in steps if step.threshold == threshold)


def measured(steps: list[thresholds.Step], threshold: float) -> list[float]:
    return [at(steps, threshold).objective, at(steps, threshold).constraint]


BEST = np.array([0.9, 0.8, 0.6, 0.4, 0.2])
THERE = np.array([True, True, False, True, False])
EQUAL = np.ones(5)


def test_upper_is_measured_by_right_decisions_and_the_precision_of_correct() -> None:
    steps = calibration.sweep_upper(BEST, THERE, EQUAL)
    assert measured(steps, 0.5) == pytest.approx([0.6, 2 / 3])
    assert not at(steps, 0.5).admissible
    assert measured(steps, 0.7) == pytest.approx([0.8, 1.0])
    assert at(steps, 0.95).constraint == 1.0, "nothing said, nothing wrong"
    assert thresholds.choose(steps, 0.7) == 0.7


def test_lower_is_measured_by_what_is_called_incorrect_without_and_with_the_answer() -> None:
    steps = thresholds.sweep_lower(BEST, THERE, EQUAL)
    assert measured(steps, 0.3) == pytest.approx([0.5, 0.0])
    assert measured(steps, 0.5) == pytest.approx([0.5, 1 / 3])
    assert thresholds.choose(steps, 0.3) == 0.3


def test_an_answer_is_lost_only_when_every_sentence_that_holds_it_is_dropped() -> None:
    relevances = np.array([0.9, 0.3, 0.6, 0.4, 0.2])
    marks = np.array([True, True, False, True, False])
    passages = np.array([0, 0, 1, 1, 1])
    steps = thresholds.sweep_strip(relevances, marks, passages, EQUAL)
    assert measured(steps, 0.35) == pytest.approx([0.4, 0.0])
    # Passage 1 has lost its answer, passage 0 not; weighted by their sentences.
    assert measured(steps, 0.5) == pytest.approx([0.6, 0.6])
    assert at(steps, 0.95).objective == pytest.approx(0.6), "the best sentence of a passage stays"
