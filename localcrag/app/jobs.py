"""Jobs: a generator run in a thread of its own, whose events any number of readers follow.

A page that is loaded again in the midst of an answer finds it where it is; a tab that is closed stops nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Generic, TypeVar

Event = TypeVar("Event")


class Job(Generic[Event]):
    """A generator that is run to its end, whoever reads its events."""

    def __init__(self, events: Callable[[], Generator[Event, None, None]], *, name: str) -> None:
        """Start. The generator is made in the job's thread."""
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._ended = False
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(events,), name=name, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether more events may come."""
        with self._changed:
            return not self._ended

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Have the generator closed before its next event."""
        self._stopped.set()

    def follow(self, beginning: int = 0) -> Iterator[tuple[Event, ...]]:
        """Yield the events from number `beginning` on as they come, all that there are at once; ends with the job.

        Raises what the generator raised.
        """
        seen = beginning
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._events) > seen or self._ended)  # noqa: B023 - called at once
                new, ended = tuple(self._events[seen:]), self._ended
            if new:
                seen += len(new)
                yield new
            elif ended:
                if self._error:
                    raise self._error
                return

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; return whether it has come."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self, events: Callable[[], Generator[Event, None, None]]) -> None:
        try:
            with closing(events()) as made:
                for event in made:
                    self._add(event)
                    if self.stopped:
                        break
        except BaseException as error:  # noqa: BLE001 - raised where the events are read
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _add(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()
