"""Threads for tests of what waits for what."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

DEADLOCK = 120
"""Seconds after which a thread is taken to wait for ever."""
Result = TypeVar("Result")


def start(function: Callable[[], Result]) -> Future[Result]:
    """Run in a thread of its own, which the end of the tests does not wait for."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again by future.result()
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
