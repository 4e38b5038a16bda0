"""A rate limit: so many queries or uploads within any 60 seconds, over all threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MINUTE = 60.0


class SlidingMinute:
    """A RateLimit that remembers when what was let through in the last minute came."""

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`now` gives seconds that never go back."""
        self._now = now
        self._sleep = sleep
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()

    def claim(self, per_minute: int) -> float:
        """Return 0.0 when one more may go now, which then counts; else the seconds until one may."""
        with self._lock:
            now = self._now()
            while self._taken and self._taken[0] <= now - MINUTE:
                self._taken.popleft()
            if len(self._taken) < per_minute:
                self._taken.append(now)
                return 0.0
            # When the limit was lowered, more than one has to grow old.
            return self._taken[-per_minute] + MINUTE - now

    def pause(self, seconds: float) -> None:
        """Return after so many seconds."""
        self._sleep(seconds)
