"""A thread that looks every few seconds: at once, again after a busy database, and no more once it is closed."""

from __future__ import annotations

import threading

from localcrag.app.tasks import PeriodicTask
from localcrag.records.errors import StoreError


def test_it_looks_at_once_and_goes_on_after_a_busy_database() -> None:
    looked: list[int] = []
    again = threading.Event()

    def look() -> None:
        looked.append(len(looked))
        if len(looked) == 1:
            raise StoreError("busy")
        again.set()

    looks = PeriodicTask(look, 0.001, "looks").begin()
    assert again.wait(30)
    looks.close()
    assert looks.closing.is_set()


def test_closing_waits_for_the_look_that_goes_on() -> None:
    begun, ended = threading.Event(), threading.Event()

    def look() -> None:
        begun.set()
        looks.closing.wait(30)
        ended.set()

    looks = PeriodicTask(look, 60, "looks")
    looks.begin()
    assert begun.wait(30)
    looks.close()
    assert ended.is_set()


def test_one_that_never_began_can_be_closed() -> None:
    PeriodicTask(lambda: None, 60, "looks").close()
