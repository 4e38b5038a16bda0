"""Fits, thresholds and figures of calibration against made-up scores whose right answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from localcrag.evaluation import calibration, curves


def made(slope: float, bias: float, second: float, *, questions: int = 1600) -> tuple[curves.Floats, curves.Marks]:
    """Return features and marks whose relevance truly is a logistic function of the features, five rows a question."""
    chosen = np.random.default_rng(7)
    number = questions * 5
    features = np.stack([chosen.normal(0, 3, number), chosen.normal(0, 1, number)], axis=1)
    true = 1 / (1 + np.exp(-(slope * features[:, 0] + second * features[:, 1] + bias)))
    return features, chosen.random(number) < true


def test_a_fit_finds_the_coefficients_that_made_the_data() -> None:
    fitted = calibration.fit(*made(0.8, -1.0, 2.0))
    assert [fitted.logit, fitted.bias, fitted.cosine] == pytest.approx([0.8, -1.0, 2.0], abs=0.1)


def test_logits_that_fall_with_relevance_are_refused() -> None:
    features, marks = made(-0.8, 0.0, 0.0)
    with pytest.raises(ValueError, match="above 0"):
        calibration.fit(features[:, :1], marks)


def step(threshold: float, objective: float, *, admissible: bool = True) -> calibration.ThresholdStep:
    return calibration.ThresholdStep(threshold, objective, 0.0, admissible)


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
    steps: list[calibration.ThresholdStep], expected: float
) -> None:
    assert calibration.choose(steps, 0.7) == expected


def at(steps: list[calibration.ThresholdStep], threshold: float) -> calibration.ThresholdStep:
    return next(step for step in steps if step.threshold == threshold)


def measured(steps: list[calibration.ThresholdStep], threshold: float) -> list[float]:
    return [at(steps, threshold).objective, at(steps, threshold).constraint]


BEST = np.array([0.9, 0.8, 0.6, 0.4, 0.2])
THERE = np.array([True, True, False, True, False])
EQUAL = np.ones(5)


def test_lower_is_measured_by_what_is_called_incorrect_without_and_with_the_answer() -> None:
    steps = calibration.sweep_lower(BEST, THERE, EQUAL)
    assert measured(steps, 0.3) == pytest.approx([0.5, 0.0])
    assert measured(steps, 0.5) == pytest.approx([0.5, 1 / 3])
    assert calibration.choose(steps, 0.3) == 0.3


def test_an_answer_is_lost_only_when_every_sentence_that_holds_it_is_dropped() -> None:
    relevances = np.array([0.9, 0.3, 0.6, 0.4, 0.2])
    marks = np.array([True, True, False, True, False])
    passages = np.array([0, 0, 1, 1, 1])
    steps = calibration.sweep_strip(relevances, marks, passages, EQUAL)
    assert measured(steps, 0.35) == pytest.approx([0.4, 0.0])
    # Passage 1 has lost its answer, passage 0 not; weighted by their sentences.
    assert measured(steps, 0.5) == pytest.approx([0.6, 0.6])
    assert at(steps, 0.95).objective == pytest.approx(0.6), "the best sentence of a passage stays"


@pytest.mark.parametrize(
    ("marks", "scores", "expected"),
    [
        pytest.param([1, 1, 0, 0], [4, 3, 2, 1], 1.0, id="apart"),
        pytest.param([0, 0, 1, 1], [4, 3, 2, 1], 0.0, id="the wrong way round"),
        pytest.param([1, 0, 1, 0], [4, 3, 2, 1], 0.75, id="three of four pairs right"),
        pytest.param([1, 0], [2, 2], 0.5, id="a tie is half"),
        pytest.param([1, 1], [2, 1], np.nan, id="one kind only"),
    ],
)
def test_auc_is_the_share_of_pairs_in_the_right_order(marks: list[int], scores: list[int], expected: float) -> None:
    found = curves.auc(np.array(marks, dtype=bool), np.array(scores, dtype=float))
    assert found == pytest.approx(expected, nan_ok=True)


def test_the_calibration_error_is_the_mean_distance_of_said_and_true_over_the_bins() -> None:
    said = np.array([0.1, 0.1, 0.1, 0.1, 0.85, 0.85])
    true = np.array([False, False, False, True, True, True])
    # |0.10 - 0.25| on four of six and |0.85 - 1| on two.
    assert curves.calibration_error(said, true) == pytest.approx(0.15)


def test_certainty_has_a_bin() -> None:
    said, true = np.array([1.0, 0.0]), np.array([False, False])
    assert curves.calibration_error(said, true) == pytest.approx(0.5)


def test_log_losses_are_finite_where_a_certain_prediction_is_wrong() -> None:
    losses = curves.log_losses(np.array([1.0, 0.5]), np.array([False, True]))
    assert losses == pytest.approx([-np.log(1e-6), np.log(2)])
