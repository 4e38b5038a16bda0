"""Regular looks: what a thread looks at every few seconds, until it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from localcrag.records.errors import StoreError


class RegularLooks:
    """A thread that looks at once, and again so many seconds after each look."""

    def __init__(self, look: Callable[[], object], seconds: float, name: str) -> None:
        """`look` is the whole of it, and does what there is to do; `name` is the thread's."""
        self._regular_look, self._seconds = look, seconds
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self) -> Self:
        """Look from now on."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Look no more, and wait for the look that goes on."""
        self.closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.closing.is_set():
            with suppress(StoreError):  # Busy or full: the next look tries again.
                self._regular_look()
            self.closing.wait(self._seconds)
