"""The time budget of a question, for slow machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from localcrag.text.translation import gettext as _

FEWER_PASSAGES, NO_SECOND_LOOK, NO_STRIPS, NO_ANSWER = 0.2, 0.4, 0.6, 0.8
"""Shares of the budget after which no more passages are scored, neither documents nor web are looked through again,
whole passages take the place of strips, and the evidence is quoted in place of an answer: each leaves time for what
comes after it. On two cores all of it takes a second."""


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

    @property
    def running_out(self) -> str:
        """Why something is left out, in words."""
        return _("the time budget of %(seconds)g s (time_budget) is running out", seconds=self.seconds)

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
