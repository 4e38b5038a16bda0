"""A consent that waits for a person: the question’s thread stands still until they have answered."""

from __future__ import annotations

import threading

from localcrag.records.errors import ConsentMissing

WAIT_SECONDS = 300.0
"""Long enough to read, think and come back with a coffee; the next question waits behind this one."""

STOPPED = "The web was not asked: the question was stopped before the query was sent."


class WaitingConsent:
    """One question's Consent: its thread waits in the call, and the page's buttons end the wait."""

    def __init__(self, seconds: float = WAIT_SECONDS) -> None:
        self._seconds = seconds
        self._said = threading.Event()
        self._query: str | None = None
        self._ended = False

    def __call__(self, query: str) -> str | None:
        """Return what the person said about `query`. Raises ConsentMissing when nothing, or when the wait was ended."""
        if not self._said.wait(self._seconds):
            raise ConsentMissing(
                f"The web was not asked: for {self._seconds / 60:g} minutes nobody said whether the query may be sent. "
                "Ask the question again to be asked again."
            )
        if self._ended:
            raise ConsentMissing(STOPPED)
        return self._query

    def say(self, query: str | None) -> None:
        """Send this query, or none."""
        self._query = query
        self._said.set()

    def end(self) -> None:
        """Wait no longer; what was said before this counts."""
        if not self._said.is_set():
            self._ended = True
            self._said.set()
