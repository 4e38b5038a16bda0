"""Thresholds as they are shown."""

from __future__ import annotations

import pytest

from localcrag.text.decimals import decimals


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.13, "0.13"),
        (0.015, "0.015"),
        (0.2071, "0.2071"),
        (0.3300001, "0.33"),
        (0.0, "0.00"),
        (0.006, "0.006"),
        (1.0, "1.00"),
    ],
)
def test_as_many_decimals_as_it_takes_and_at_least_two(number: float, shown: str) -> None:
    assert decimals(number) == shown
