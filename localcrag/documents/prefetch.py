"""Read-ahead: worker threads run jobs in parallel and yield the results in order.

The number of begun jobs and the size of waiting results are limited. Results of the job that is next in order are
always accepted, so that no deadlock is possible. The module knows neither files nor models.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

POLL_SECONDS = 0.5
"""Seconds after which a waiting consumer gets None again, so that it can stop."""

Job = TypeVar("Job")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far to read ahead: jobs run at once (`workers`), jobs begun but not consumed, size of waiting items."""

    workers: int
    jobs: int
    size: int


class _Stopped(Exception):
    """The consumer has closed the read-ahead."""


@dataclass(slots=True)
class _RunningJob(Generic[Item]):
    items: deque[Item] = field(default_factory=deque)
    done: bool = False
    error: BaseException | None = None


class OrderedPrefetch(Generic[Job, Item]):
    """Jobs that run ahead. `close` ends the running ones, and discards results that were not consumed."""

    def __init__(
        self,
        jobs: Iterable[Job],
        work: Callable[[Job], Generator[Item, None, None]],
        bounds: Bounds,
        *,
        size_of: Callable[[Item], int] = lambda _: 1,
        discard: Callable[[Item], None] = lambda _: None,
        abandon: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the jobs; `work` yields the results of a job, in a worker thread.

        `discard` gets results that were not consumed; `abandon` must end anything that a thread may be waiting for.
        """
        self._jobs, self._work, self._bounds = iter(jobs), work, bounds
        self._size_of, self._discard, self._abandon = size_of, discard, abandon
        self._changed, self._pulling = threading.Condition(), threading.Lock()
        self._order: deque[_RunningJob[Item]] = deque()
        self._size = 0
        self._exhausted = self._stopped = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def items(self) -> Iterator[Item | None]:
        """Yield the results job by job; None if no result is ready, and again every POLL_SECONDS.

        Raises the error of a job when its turn comes.
        """
        for number in range(self._bounds.workers):
            self._threads.append(threading.Thread(target=self._run, name=f"ahead {number}", daemon=True))
            self._threads[-1].start()
        waiting = False
        while True:
            with self._changed:
                if waiting:
                    self._changed.wait_for(self._is_ready, POLL_SECONDS)
                if not self._order and self._exhausted:
                    return
                found = self._pop_ready()
            waiting = found is None
            yield found

    def close(self) -> None:
        """End the running jobs, and discard results that were not consumed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            unfinished = any(not begun.done for begun in self._order)
        if unfinished:
            self._abandon()
        for thread in self._threads:
            thread.join()
        while self._order:
            for item in self._order.popleft().items:
                self._discard(item)

    def _is_ready(self) -> bool:
        if not self._order:
            return self._exhausted
        return bool(self._order[0].items) or self._order[0].done

    def _pop_ready(self) -> Item | None:
        """Remove and return the next item, or return None if it is not ready."""
        while self._order:
            first = self._order[0]
            if first.items:
                item = first.items.popleft()
                self._size -= self._size_of(item)
                self._changed.notify_all()
                return item
            if not first.done:
                return None
            self._order.popleft()
            self._changed.notify_all()
            if first.error:
                raise first.error
        return None

    def _run(self) -> None:
        while begun := self._begin():
            job, there = begun
            error = None
            try:
                with closing(self._work(job)) as items:
                    for item in items:
                        self._put(there, item)
            except _Stopped:
                return
            except BaseException as caught:  # noqa: BLE001 - raised again by `items`
                error = caught
            self._end(there, error)

    def _begin(self) -> tuple[Job, _RunningJob[Item]] | None:
        """Begin the next job as soon as there is room for its results; return None if there are no more jobs."""
        with self._pulling:  # The next job may be slow to arrive, and the consumer need not wait for it.
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._exhausted or self._has_room())
                if self._stopped or self._exhausted:
                    return None
            there = _RunningJob[Item]()
            try:
                job = next(self._jobs)
            except BaseException as caught:  # noqa: BLE001 - raised again by `items`
                error = None if isinstance(caught, StopIteration) else caught
                with self._changed:
                    self._exhausted = True
                    self._order += [there] if error else []
                self._end(there, error)
                return None
            with self._changed:
                self._order.append(there)
            return job, there

    def _has_room(self) -> bool:
        return not self._order or (len(self._order) < self._bounds.jobs and self._size < self._bounds.size)

    def _put(self, there: _RunningJob[Item], item: Item) -> None:
        size = self._size_of(item)

        def may_go() -> bool:
            is_next = self._order[0] is there and not there.items
            # The item that the consumer waits for is always accepted; otherwise both would wait forever.
            return self._stopped or is_next or self._size + size <= self._bounds.size

        with self._changed:
            self._changed.wait_for(may_go)
            if not self._stopped:
                there.items.append(item)
                self._size += size
                self._changed.notify_all()
                return
        self._discard(item)
        raise _Stopped

    def _end(self, there: _RunningJob[Item], error: BaseException | None) -> None:
        with self._changed:
            there.done, there.error = True, error
            # An error ends everything: no other job begins.
            self._exhausted = self._exhausted or error is not None
            self._changed.notify_all()
