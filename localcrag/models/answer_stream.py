"""An answer that a language model is writing, in this process or on a server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from localcrag.records.protocols import TokenUsage


class AnswerStream:
    """An answer being written. Closing it, or dropping the last reference to it, stops the model."""

    def __init__(self, usage: TokenUsage, pieces: Generator[str, None, None], stop: Callable[[], None]) -> None:
        """Prepare the stream; the model starts when the first piece is requested.

        `pieces` keeps `usage` up to date, and ends soon after `stop` was called. Neither may refer to this object: in
        a reference cycle, an abandoned stream would hold the model's lock until the garbage collector runs.
        """
        self.usage = usage
        self._pieces, self._stop = pieces, stop

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def close(self) -> None:
        """Stop the model if it is still writing; if another thread is iterating, it stops at the next token."""
        self._stop()
        with suppress(ValueError):  # A generator that another thread is running cannot be closed: it sees the stop.
            self._pieces.close()
