"""Ratios of two versions' seconds: the interval over pairs, and what the whole of it says."""

from __future__ import annotations

import random

import pytest
from lab.speed.ratios import ALLOWED, LEAST_PAIRS, Pair, Verdict, ratio


def pairs(*ratios: float, machine: float = 1.0) -> list[Pair]:
    """Pairs of seconds with these ratios; what the machine does hits both."""
    return [(machine * number, machine * number * one) for number, one in enumerate(ratios, start=1)]


def test_the_ratio_is_the_median_of_the_pairs_ratios() -> None:
    found = ratio("evaluate", pairs(1.0, 1.1, 1.2, 1.3, 9.0))
    assert found is not None
    assert (found.step, found.pairs) == ("evaluate", 5)
    assert found.median == pytest.approx(1.2)
    assert [found.before, found.now] == pytest.approx([3.0, 3.6])


def test_the_interval_holds_the_median_and_lies_within_the_ratios() -> None:
    chance = random.Random(3)
    given = [1.1 + chance.gauss(0, 0.1) for _ in range(20)]
    found = ratio("evaluate", pairs(*given))
    assert found is not None
    assert min(given) <= found.low < found.median < found.high <= max(given)


def test_the_same_pairs_give_the_same_interval() -> None:
    given = pairs(1.0, 1.4, 0.9, 1.1, 1.2, 1.3)
    assert ratio("evaluate", given) == ratio("evaluate", given)


def test_equal_ratios_have_an_interval_of_one_point() -> None:
    found = ratio("evaluate", [(1.0, 2.0)] * LEAST_PAIRS)
    assert found is not None
    assert (found.low, found.high) == (2.0, 2.0)


def test_a_machine_that_is_ten_times_as_busy_changes_no_ratio() -> None:
    given = (1.0, 1.3, 0.8, 1.1, 1.0, 1.2)
    quiet, busy = ratio("evaluate", pairs(*given)), ratio("evaluate", pairs(*given, machine=10))
    assert quiet is not None
    assert busy is not None
    assert [busy.median, busy.low, busy.high] == pytest.approx([quiet.median, quiet.low, quiet.high])


def test_a_step_that_took_no_time_has_no_ratio() -> None:
    assert ratio("decide", [(0.0, 0.0), (0.0, 1.0)]) is None


SAID = {
    "slower": ([1.5, 1.6, 1.4, 1.5, 1.7, 1.6], Verdict.SLOWER),
    "as fast": ([1.0, 1.1, 0.9, 1.0, 1.1, 1.2], Verdict.AS_FAST),
    "a little slower, and that is allowed": ([1.2] * 6, Verdict.AS_FAST),
    "faster": ([0.5, 0.6, 0.7, 0.6, 0.5, 0.6], Verdict.FASTER),
    "slower, but for one pair of few": ([1.1, 1.6, 1.4, 1.5, 1.7, 1.6], Verdict.UNCLEAR),
    "one pair much slower of many": ([1.0] * 11 + [30.0], Verdict.AS_FAST),
    "scattered": ([0.5, 2.0, 0.6, 1.9, 1.0, 1.8], Verdict.UNCLEAR),
    "too few pairs": ([5.0] * (LEAST_PAIRS - 1), Verdict.UNCLEAR),
}


@pytest.mark.parametrize(("ratios", "verdict"), SAID.values(), ids=SAID.keys())
def test_only_a_whole_interval_says_something(ratios: list[float], verdict: Verdict) -> None:
    found = ratio("evaluate", pairs(*ratios))
    assert found is not None
    assert found.verdict() is verdict


def test_a_step_that_a_commit_calls_slower_is_accepted_and_no_other() -> None:
    slow = [(1.0, 2 * ALLOWED)] * LEAST_PAIRS
    meant, other = ratio("evaluate", slow), ratio("refine", slow)
    assert meant is not None
    assert other is not None
    accepted = frozenset({"evaluate"})
    assert meant.verdict(accepted=accepted) is Verdict.ACCEPTED
    assert other.verdict(accepted=accepted) is Verdict.SLOWER
