"""Turns at the models, of which there is one set: first come, first served, and short before long."""

from __future__ import annotations

import threading

LOOK = 0.1
"""Seconds between two looks whether an answer that waits was stopped."""


class ModelTurns:
    """Who has the models, and who waits for them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[ModelTurn] = []
        self.holder: ModelTurn | None = None

    @property
    def busy(self) -> bool:
        """Whether anybody has the models."""
        return self.holder is not None


class ModelTurn:
    """One answer's hold on the models. One that is `long` lets others go first, also once it has begun."""

    def __init__(self, turns: ModelTurns, stopping: threading.Event, *, long: bool = False) -> None:
        self._turns, self._stopping, self._long = turns, stopping, long

    @property
    def are_wanted(self) -> bool:
        """Whether others wait that go before this one."""
        with self._turns.changed:
            return self._long and any(not one._long for one in self._turns.waiting)

    def line_up(self) -> bool:
        """Stand behind those who wait; return whether the models are there at once."""
        with self._turns.changed:
            self._turns.waiting.append(self)
            return self._has_come()

    def take(self) -> bool:
        """Wait until the models are there, in line already or not; return False when the answer is stopped first."""
        with self._turns.changed:
            if self not in self._turns.waiting:
                self._turns.waiting.append(self)
            while not self._has_come():
                if self._stopping.is_set():
                    self.end()
                    return False
                self._turns.changed.wait(LOOK)
            return True

    def end(self) -> None:
        """Let others have the models, if this answer has them, or wait no longer."""
        with self._turns.changed:
            if self._turns.holder is self:
                self._turns.holder = None
            elif self in self._turns.waiting:
                self._turns.waiting.remove(self)
            self._turns.changed.notify_all()

    def _has_come(self) -> bool:
        turns = self._turns
        if turns.holder is None and self is min(turns.waiting, key=lambda one: one._long):
            turns.waiting.remove(self)
            turns.holder = self
        return turns.holder is self
