"""The figures of scripts/lab/relevance/metrics.py against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lab.relevance import metrics

from localcrag.evaluation import probability_metrics


@pytest.mark.parametrize(
    ("scores", "own", "expected"),
    [
        pytest.param([0.9, 0.5, 0.1], 0, 1.0, id="first"),
        pytest.param([0.9, 0.5, 0.1], 2, 1 / 3, id="last"),
        pytest.param([0.1, 0.5, 0.9], 1, 1 / 2, id="not in order"),
        pytest.param([0.5, 0.5, 0.5], 1, 1 / 2, id="of equal scores the earlier is better"),
        pytest.param([0.9, 0.5], None, 0.0, id="not among them"),
    ],
)
def test_the_reciprocal_rank_is_that_of_the_own_passage(scores: list[float], own: int | None, expected: float) -> None:
    assert metrics.reciprocal_rank(np.array(scores), own) == pytest.approx(expected)


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
    found = probability_metrics.auc(np.array(marks, dtype=bool), np.array(scores, dtype=float))
    assert found == pytest.approx(expected, nan_ok=True)


def test_the_calibration_error_is_the_mean_distance_of_said_and_true_over_the_bins() -> None:
    said = np.array([0.1, 0.1, 0.1, 0.1, 0.85, 0.85])
    true = np.array([False, False, False, True, True, True])
    # |0.10 - 0.25| on four of six and |0.85 - 1| on two.
    assert probability_metrics.calibration_error(said, true) == pytest.approx(0.15)
    low, high = probability_metrics.reliability(said, true)
    assert [low.count, low.said, low.relevant] == pytest.approx([4, 0.1, 0.25])
    assert [high.count, high.share] == pytest.approx([2, 1 / 3])


def test_weights_count_in_the_calibration_error_and_certainty_has_a_bin() -> None:
    said, true = np.array([1.0, 0.0]), np.array([False, False])
    assert probability_metrics.calibration_error(said, true, np.array([1.0, 3.0])) == pytest.approx(0.25)


def test_log_losses_are_finite_where_a_certain_prediction_is_wrong() -> None:
    losses = probability_metrics.log_losses(np.array([1.0, 0.5]), np.array([False, True]))
    assert losses == pytest.approx([-np.log(1e-6), np.log(2)])


def test_a_bootstrap_interval_holds_the_value_and_draws_whole_groups() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    groups = metrics.grouped(np.array([0, 0, 1, 1, 2, 3]))
    assert [list(group) for group in groups] == [[0, 1], [2, 3], [4], [5]]
    sizes = set()

    def mean(drawn: probability_metrics.Places) -> float:
        sizes.add(len(drawn))
        assert np.count_nonzero(drawn == 0) == np.count_nonzero(drawn == 1)
        return float(values[drawn].mean())

    figure = metrics.bootstrap(groups, mean)
    assert figure.value == pytest.approx(0.5)
    assert figure.low < 0.5 < figure.high
    assert figure == metrics.bootstrap(groups, mean)
    assert min(sizes) >= len(groups)
