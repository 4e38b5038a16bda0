"""Things made once: by one thread, for all; and made again when what they are made by has changed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from localcrag.app.shared_state import LazyCache

SECONDS = 30.0


class Maker:
    """Makes numbers, from 1; each waits to be let go on."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.goes_on = threading.Semaphore(0)
        self.number = 0

    def __call__(self) -> int:
        self.number += 1
        number = self.number
        self.begun.release()
        assert self.goes_on.acquire(timeout=SECONDS)
        return number


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def test_two_threads_get_the_same_thing(threads: ThreadPoolExecutor) -> None:
    made, maker = LazyCache(), Maker()
    both = [threads.submit(made.get, "scorer", maker) for _ in range(2)]
    assert maker.begun.acquire(timeout=SECONDS)
    maker.goes_on.release()
    assert [one.result(SECONDS) for one in both] == [1, 1]


def test_nobody_waits_for_a_thing_of_another_kind(threads: ThreadPoolExecutor) -> None:
    made, maker = LazyCache(), Maker()
    slow = threads.submit(made.get, "scorer", maker)
    assert maker.begun.acquire(timeout=SECONDS)
    assert made.get("web", lambda: "client") == "client"
    assert made.drop("web") == ["client"]
    maker.goes_on.release()
    assert slow.result(SECONDS) == 1


def test_what_is_dropped_while_it_is_made_is_made_again(threads: ThreadPoolExecutor) -> None:
    made, maker = LazyCache(), Maker()
    slow = threads.submit(made.get, "llm small", maker)
    assert maker.begun.acquire(timeout=SECONDS)
    assert made.drop("llm") == []
    maker.goes_on.release(2)
    assert slow.result(SECONDS) == 2
    assert made.peek("llm small") == 2


def test_one_alone_takes_the_place_of_others_of_its_kind() -> None:
    made = LazyCache()
    made.get("llm small", lambda: 1, alone=True)
    made.get("store notes", lambda: 2)
    made.get("llm large", lambda: 3, alone=True)
    assert made.peek("llm small") is None
    assert (made.peek("store notes"), made.peek("llm large")) == (2, 3)


def test_what_cannot_be_made_is_tried_again() -> None:
    made = LazyCache()
    with pytest.raises(ValueError, match="broken"):
        made.get("scorer", lambda: int("broken"))
    assert made.get("scorer", lambda: 1) == 1
