"""Work that goes on when nobody looks."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from localcrag.app.tasks import Job

SECONDS = 30.0


def counted(most: int, goes_on: threading.Event, closed: threading.Event) -> Generator[int, None, None]:
    try:
        for number in range(most):
            if number == 2:
                assert goes_on.wait(SECONDS)
            yield number
    finally:
        closed.set()


@pytest.fixture
def goes_on() -> threading.Event:
    return threading.Event()


@pytest.fixture
def closed() -> threading.Event:
    return threading.Event()


def read(job: Job[int], beginning: int = 0) -> list[int]:
    return [event for some in job.follow(beginning) for event in some]


def test_every_reader_gets_every_event_whenever_it_comes(goes_on: threading.Event, closed: threading.Event) -> None:
    job = Job(lambda: counted(4, goes_on, closed), name="count")
    first: list[int] = []
    for some in job.follow():
        first += some
        if len(first) == 2:
            goes_on.set()
    assert first == [0, 1, 2, 3]
    assert read(job) == [0, 1, 2, 3]
    assert read(job, 3) == [3]
    assert not job.running


def test_a_job_goes_on_when_its_reader_goes_away(goes_on: threading.Event, closed: threading.Event) -> None:
    job = Job(lambda: counted(4, goes_on, closed), name="count")
    reader = job.follow()
    next(reader)
    del reader
    goes_on.set()
    assert job.wait(SECONDS)
    assert read(job) == [0, 1, 2, 3]


def test_a_stopped_job_closes_its_generator(goes_on: threading.Event, closed: threading.Event) -> None:
    job = Job(lambda: counted(1_000_000, goes_on, closed), name="count")
    assert next(job.follow())[0] == 0
    job.stop()
    goes_on.set()
    assert job.wait(SECONDS)
    assert closed.is_set()
    assert len(read(job)) <= 3


def test_an_error_reaches_every_reader_behind_the_events_before_it() -> None:
    def fails() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broken")

    job = Job(fails, name="fails")
    assert job.wait(SECONDS)
    for _ in range(2):
        reader = job.follow()
        assert next(reader) == (1,)
        with pytest.raises(ValueError, match="broken"):
            next(reader)
