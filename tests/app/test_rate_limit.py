"""So many queries within any 60 seconds: by a clock of the test's own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from localcrag.app.web_search import SlidingMinuteLimit


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_query_more_than_allowed_waits_until_the_oldest_is_a_minute_old() -> None:
    time = Time()
    limit = SlidingMinuteLimit(now=time, sleep=time.sleep)
    assert limit.claim(2) == 0
    time.sleep(10)
    assert limit.claim(2) == 0
    assert limit.claim(2) == 50
    limit.pause(50)
    assert limit.claim(2) == 0
    assert limit.claim(2) == 10


def test_asking_how_long_does_not_count_as_a_query() -> None:
    time = Time()
    limit = SlidingMinuteLimit(now=time, sleep=time.sleep)
    limit.claim(1)
    assert [limit.claim(1) for _ in range(5)] == [60] * 5
    time.sleep(60)
    assert limit.claim(1) == 0


def test_a_limit_that_was_lowered_holds_for_what_left_before() -> None:
    time = Time()
    limit = SlidingMinuteLimit(now=time, sleep=time.sleep)
    for _ in range(3):
        limit.claim(3)
        time.sleep(10)
    assert limit.claim(1) == 50
    assert limit.claim(3) == 30


def test_threads_together_get_no_more_than_one_alone() -> None:
    limit = SlidingMinuteLimit(now=Time())
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: limit.claim(20), range(200)))
    assert waits.count(0.0) == 20
