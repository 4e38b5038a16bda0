"""Work ahead: in the order of the jobs, never further than the bounds, and over when nobody wants more."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from localcrag.documents.prefetch import Bounds, OrderedPrefetch
from tests.support.threads import DEADLOCK, start


def taken(ahead: OrderedPrefetch[int, str]) -> list[str]:
    with ahead:
        return [item for item in ahead.items() if item is not None]


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_what_comes_of_the_jobs_comes_in_their_order_however_long_each_takes(workers: int) -> None:
    late = threading.Event()

    def work(job: int) -> Generator[str, None, None]:
        if job == 0 and workers > 1:
            assert late.wait(DEADLOCK), "the others are begun meanwhile"
        if job == 1:
            late.set()
        yield f"{job}a"
        yield f"{job}b"

    done = start(lambda: taken(OrderedPrefetch(range(9), work, Bounds(workers, 9, 100)))).result(DEADLOCK)
    assert done == [f"{job}{part}" for job in range(9) for part in "ab"]


def test_no_more_jobs_are_begun_than_may_be_ahead() -> None:
    begun: list[int] = []
    full, go = threading.Event(), threading.Event()

    def jobs() -> Iterator[int]:
        for job in range(50):
            begun.append(job)
            if len(begun) == 4:
                full.set()
            yield job

    def work(job: int) -> Generator[str, None, None]:
        if job == 0:
            assert go.wait(DEADLOCK)
        yield str(job)

    with OrderedPrefetch(jobs(), work, Bounds(2, 4, 100)) as ahead:
        items = ahead.items()
        assert next(items) is None, "the first one is not there yet"
        assert full.wait(DEADLOCK)
        assert next(items) is None, "said again, so that whoever waits can stop"
        assert begun == [0, 1, 2, 3]
        go.set()
        assert [item for item in items if item is not None] == [str(job) for job in range(50)]


def test_what_waits_is_bounded_but_for_the_job_whose_turn_it_is() -> None:
    waiting, most, lock = [0], [0], threading.Lock()

    def work(job: int) -> Generator[str, None, None]:
        for part in range(20):
            with lock:
                waiting[0] += 1
                most[0] = max(most[0], waiting[0])
            yield f"{job}.{part}"

    def read() -> list[str]:
        found = []
        with OrderedPrefetch(range(6), work, Bounds(3, 6, 5)) as ahead:
            for item in ahead.items():
                if item is not None:
                    with lock:
                        waiting[0] -= 1
                    found.append(item)
        return found

    assert start(read).result(DEADLOCK) == [f"{job}.{part}" for job in range(6) for part in range(20)]
    # Five that wait, one that each worker holds in its hands, and the one that is always let through.
    assert most[0] <= 5 + 3 + 1


def test_one_item_larger_than_all_that_may_wait_comes_all_the_same() -> None:
    def work(job: int) -> Generator[str, None, None]:
        yield "x" * (1000 if job == 2 else 1)

    found = start(lambda: taken(OrderedPrefetch(range(5), work, Bounds(2, 5, 10), size_of=len))).result(DEADLOCK)
    assert [len(item) for item in found] == [1, 1, 1000, 1, 1]


def test_what_a_job_raises_is_raised_in_its_turn_and_no_other_is_begun() -> None:
    begun: list[int] = []

    def work(job: int) -> Generator[str, None, None]:
        begun.append(job)
        yield f"{job}"
        if job == 1:
            raise ZeroDivisionError

    found: list[str] = []
    with pytest.raises(ZeroDivisionError), OrderedPrefetch(range(99), work, Bounds(1, 2, 100)) as ahead:
        found.extend(item for item in ahead.items() if item is not None)
    assert found[:1] == ["0"]
    assert max(begun) <= 1


def test_jobs_that_cannot_be_found_any_further_are_an_error_behind_those_before() -> None:
    def jobs() -> Iterator[int]:
        yield 0
        raise FileNotFoundError("gone")

    def work(job: int) -> Generator[str, None, None]:
        yield str(job)

    found: list[str] = []
    with pytest.raises(FileNotFoundError), OrderedPrefetch(jobs(), work, Bounds(2, 9, 9)) as ahead:
        found.extend(item for item in ahead.items() if item is not None)
    assert found == ["0"]


def test_when_it_is_closed_what_is_under_way_is_abandoned_and_what_nobody_got_is_discarded() -> None:
    stuck, freed = threading.Event(), threading.Event()
    made: list[str] = []
    discarded: list[str] = []
    closed: list[int] = []

    def work(job: int) -> Generator[str, None, None]:
        try:
            if job == 3:
                stuck.set()
                assert freed.wait(DEADLOCK), "nobody ended it"
            made.append(str(job))
            yield str(job)
        finally:
            closed.append(job)

    before = threading.active_count()
    got: list[str] = []
    with OrderedPrefetch(range(99), work, Bounds(3, 20, 50), discard=discarded.append, abandon=freed.set) as ahead:
        for item in ahead.items():
            if item is not None:
                got.append(item)
            if item == "1":
                assert stuck.wait(DEADLOCK)
                break
    assert threading.active_count() == before
    assert sorted(got + discarded) == sorted(made), "each is somebody's"
    assert 3 in closed
