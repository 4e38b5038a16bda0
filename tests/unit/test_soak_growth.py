"""What the soak calls growth: a slope whose whole interval is beyond what is tolerated."""

from __future__ import annotations

import numpy as np
import pytest
from lab.soaking.growth import Growth, growth

QUESTIONS = np.arange(0, 2_000, 5)
NOISE = np.random.default_rng(1).normal(0.0, 3.0, len(QUESTIONS))
TOLERATED = 16.0


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        pytest.param(500 + NOISE, "flat", id="noise around a level"),
        pytest.param(500 + NOISE + QUESTIONS * 0.05, "GROWS", id="50 a thousand"),
        pytest.param(500 + NOISE + QUESTIONS * 0.005, "flat", id="5 a thousand, which is tolerated"),
        pytest.param(500 + NOISE - QUESTIONS * 0.05, "flat", id="less and less"),
        pytest.param(500 + 200 * NOISE, "not told", id="noise beyond what can be told"),
    ],
)
def test_what_grows_is_told_from_noise(values: np.ndarray, verdict: str) -> None:
    assert growth(QUESTIONS.tolist(), values.tolist()).verdict(TOLERATED) == verdict


def test_the_slope_is_for_a_thousand_questions_and_lies_in_its_interval() -> None:
    found = growth(QUESTIONS.tolist(), (QUESTIONS * 0.05 + NOISE).tolist())
    assert found.slope == pytest.approx(50, abs=2)
    assert found.low < found.slope < found.high


@pytest.mark.parametrize("number", [0, 1, 3])
def test_of_a_few_values_nothing_is_said(number: int) -> None:
    assert growth(range(number), range(number)) == Growth(0.0, 0.0, 0.0)
