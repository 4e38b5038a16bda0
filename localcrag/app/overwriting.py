"""Overwriting what deleted, changed and vanished things said: in the background, and at the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from localcrag.app.regular_looks import RegularLooks
from localcrag.backends.store import deleted_words
from localcrag.backends.store.database import Database
from localcrag.records.errors import StoreError

BETWEEN_LOOKS = 2.0
"""Seconds between two looks whether there is anything to overwrite."""
BETWEEN_STEPS = 0.02
"""Seconds between two steps: about as long as one takes."""
LONGEST = 600.0
"""Seconds that files which are being added are waited for: each would leave words again."""
RESTS = 50
"""Times as long as it took, that it is left alone then: 2 % of a core at most, however often files change."""
PATIENCE = 0.2
"""Seconds that a process which reads is waited for in the background: the next look tries again."""


class Overwriting(RegularLooks):
    """The words of one database that are to be overwritten; what is left when it closes is noted in the database."""

    def __init__(
        self,
        database: Database,
        *,
        asked: Callable[[], bool] = lambda: False,
        working: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Rest while a question is `asked`, and begin when nobody is `working` at files; `clock` gives seconds."""
        self._database, self._asked, self._working, self._clock = database, asked, working, clock
        super().__init__(self.look, BETWEEN_LOOKS, "overwriting")
        self._since: float | None = None
        self._not_before = -float("inf")

    def look(self) -> bool:
        """Overwrite what there is if it is time, and return whether that was done. Raises StoreError."""
        now = self._clock()
        if not deleted_words.are_left(self._database):
            self._since = None
            return False
        self._since = now if self._since is None else self._since
        if now < self._not_before or self._asked() or (self._working() and now - self._since < LONGEST):
            return False
        try:
            deleted_words.overwrite(self._database, go_on=self._go_on, patience=PATIENCE)
        except _Closing:
            return False
        finally:
            done = self._clock()
            self._not_before, self._since = done + RESTS * (done - now), None
        return True

    def _go_on(self) -> None:
        """Let others have the database, and a question that is asked be answered."""
        while not self.closing.wait(BETWEEN_STEPS):
            if not self._asked():
                return
        raise _Closing


class _Closing(Exception):
    """The app is being closed."""


def finish(database: Database) -> str | None:
    """Overwrite what is left, and return why that could not be done, where it could not: it stays noted then."""
    try:
        if deleted_words.are_left(database):
            deleted_words.overwrite(database, patience=PATIENCE)
    except StoreError as error:
        return str(error)
    return None
