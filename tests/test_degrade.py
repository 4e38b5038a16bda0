"""What each fault comes to: a lesser answer, and a warning that says what failed and what to do about it."""

from __future__ import annotations

import pytest

from localcrag.budget import Budget


class Time:
    """A clock that goes on by `step` seconds whenever it is looked at."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize(
    ("seconds", "passed", "spent"),
    [(0.0, 1e9, False), (10.0, 4.9, False), (10.0, 5.0, True), (10.0, 50.0, True)],
)
def test_a_budget_tells_when_a_share_of_it_is_spent(seconds: float, passed: float, spent: bool) -> None:
    time = Time()
    budget = Budget(seconds, time)
    time.now += passed
    assert budget.spent(0.5) is spent
    assert budget.limited is (seconds > 0)


def test_what_a_person_takes_to_think_is_not_counted() -> None:
    time = Time()
    budget = Budget(10.0, time)
    with budget.paused():
        time.now += 100.0
    assert not budget.spent(0.5)
