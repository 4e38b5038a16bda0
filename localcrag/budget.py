"""How much time a question may take, for slow machines. Knows shares of it, not what they are spent on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Budget:
    """`seconds` from when it is made; 0 is no limit. `now` gives seconds that only grow."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._start = now()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds > 0

    def spent(self, share: float) -> bool:
        """Whether `share` of the time is over; never without a limit."""
        return self.limited and self._now() - self._start >= share * self.seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what happens inside: a person is thinking."""
        paused_at = self._now()
        try:
            yield
        finally:
            self._start += self._now() - paused_at
