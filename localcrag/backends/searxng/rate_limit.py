"""A rate limit: so many queries within any 60 seconds, over all threads of this process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MINUTE = 60.0


class SlidingMinute:
    """A RateLimit that remembers when the queries of the last minute left."""

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`now` gives seconds that never go back."""
        self._now = now
        self._sleep = sleep
        self._left: deque[float] = deque()
        self._lock = threading.Lock()

    def claim(self, per_minute: int) -> float:
        """Return 0.0 when a query may leave now, which then counts; else the seconds until one may."""
        with self._lock:
            now = self._now()
            while self._left and self._left[0] <= now - MINUTE:
                self._left.popleft()
            if len(self._left) < per_minute:
                self._left.append(now)
                return 0.0
            # When the limit was lowered, more than one has to grow old.
            return self._left[-per_minute] + MINUTE - now

    def pause(self, seconds: float) -> None:
        """Return after so many seconds."""
        self._sleep(seconds)
