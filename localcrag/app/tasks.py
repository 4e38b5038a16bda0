"""Background tasks: threads, lists that readers follow, and periodic checks.

Tasks do not depend on a browser tab: a page that is reloaded during an answer shows the answer in progress, and closing
a tab stops nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import threading
from collections.abc import Callable, Collection, Generator, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from localcrag.privacy import process
from localcrag.records.errors import LocalcragError, StoreError

_log = logging.getLogger(__name__)


def describe_failure(error: BaseException, happened: str) -> str:
    """Return the message that the interface shows for an error.

    A LocalcragError explains itself. For any other error the message begins with `happened`, and the traceback goes to
    the terminal.
    """
    if isinstance(error, LocalcragError):
        _log.warning("background work failed", exc_info=error)
        return str(error)
    process.print_error(error)
    return f"{happened}: {type(error).__name__}: {error}. The terminal says more."


class TaskState(StrEnum):
    """State of a task."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A background task. `error` describes the failure and the remedy; `attempt` numbers each attempt."""

    name: str
    state: TaskState = TaskState.WAITING
    error: str | None = None
    attempt: int = 0

    @property
    def key(self) -> Hashable:
        """Key of the task, unique in its list."""
        return self.name

    @property
    def is_deferred(self) -> bool:
        """Whether waiting tasks go before this one."""
        return False

    @property
    def lane(self) -> str:
        """Name of the queue that the task waits in. Tasks in different lanes do not wait for each other."""
        return ""

    @property
    def open(self) -> bool:
        """Whether the task is waiting or in progress."""
        return self.state in {TaskState.WAITING, TaskState.WORKING}


AnyTask = TypeVar("AnyTask", bound=Task)
UpdateTask = Callable[[AnyTask], None]
"""Records the progress of a task; raises Cancelled if the task was cancelled."""
Work = Callable[[AnyTask, UpdateTask[AnyTask]], AnyTask]
"""Performs a task and returns it with its result."""


class Cancelled(Exception):
    """Raised inside a running task when it was cancelled."""


class BackgroundList(Generic[AnyTask]):
    """Tasks of one kind, run by background threads in the order in which they were added.

    Hold `lock` to read and then change the list in one step.
    """

    def __init__(self, work: Work[AnyTask], failure_message: str, *, at_once: int) -> None:
        """Create an empty list. At most `at_once` tasks of a lane run at the same time.

        `failure_message` is the message for an unexpected error; it contains the placeholder {name}.
        """
        self._work, self._failure_message, self._at_once = work, failure_message, at_once
        self.lock = threading.Condition()
        self._tasks: dict[Hashable, AnyTask] = {}
        self._version = 0
        self._threads: list[tuple[str, threading.Thread]] = []
        self._attempts = itertools.count(1)

    def items(self) -> tuple[AnyTask, ...]:
        """Return all tasks that were not dismissed."""
        with self.lock:
            return tuple(self._tasks.values())

    def follow(self) -> Iterator[tuple[AnyTask, ...]]:
        """Yield all tasks now and after each change, until none is waiting or in progress.

        A new follower counts as a change: followers whose reader has gone wake up and notice it.
        """
        seen = -1
        self._changed()
        while True:
            with self.lock:
                self.lock.wait_for(lambda: self._version != seen)  # noqa: B023 - called at once
                seen, items = self._version, self.items()
            yield items
            if not any(one.open for one in items):
                return

    def start(self, task: AnyTask) -> None:
        """Queue a task, unless a task with the same key is waiting or in progress."""
        with self.lock:
            there = self._tasks.get(task.key)
            if there and there.open:
                return
            self._put(task)
            # A lane has threads only while it has tasks.
            if sum(lane == task.lane for lane, _ in self._threads) < self._at_once:
                # Thread names are logged, so they must not contain a document's name.
                name = f"work {type(task).__name__}"
                thread = threading.Thread(target=self._run, args=[task.lane], name=name, daemon=True)
                self._threads.append((task.lane, thread))
                thread.start()

    def cancel(self, keys: Collection[Hashable] = ()) -> None:
        """Cancel these open tasks, or all if no keys are given. Completed work is kept."""
        with self.lock:
            for one in self._some(keys, still_open=True):
                self._put(dataclasses.replace(one, state=TaskState.CANCELLED))

    def restart(self, keys: Collection[Hashable], **fields: Any) -> None:
        """Retry these tasks if they have ended, after setting the fields in `fields`."""
        with self.lock:
            for one in self._some(keys, still_open=False):
                self.start(dataclasses.replace(one, state=TaskState.WAITING, error=None, **fields))

    def dismiss(self, keys: Collection[Hashable] = ()) -> list[AnyTask]:
        """Remove these ended tasks from the list, or all if no keys are given. Return the removed tasks."""
        with self.lock:
            gone = self._some(keys, still_open=False)
            for one in gone:
                del self._tasks[one.key]
                self._changed()
            return gone

    def ended(self, task: AnyTask) -> None:
        """Clean up after a task that is done or has failed, before it can be retried."""

    def close(self) -> None:
        """Cancel all open tasks and wait for the threads to finish."""
        BackgroundList.cancel(self)  # A subclass may leave some tasks open.
        with self.lock:
            threads = [*self._threads]
        for _, thread in threads:
            thread.join()

    def _some(self, keys: Collection[Hashable], *, still_open: bool) -> list[AnyTask]:
        """Return the tasks with these keys, or all, that are open (`still_open`) or have ended."""
        return [one for one in self.items() if one.open is still_open and (one.key in keys or not keys)]

    def _run(self, lane: str) -> None:
        while True:
            # The thread takes tasks until its lane is empty, then removes itself, all under the lock, so that `start`
            # never misses it.
            with self.lock:
                every = [one for one in self.items() if one.state is TaskState.WAITING and one.lane == lane]
                waiting = min(every, key=lambda one: one.is_deferred, default=None)
                if waiting is None:
                    self._threads.remove((lane, threading.current_thread()))
                    return
                one = dataclasses.replace(waiting, state=TaskState.WORKING, attempt=next(self._attempts))
                self._put(one)
            try:
                self._end(self._work(one, self._tell))
            except Cancelled:
                pass
            except BaseException as error:  # noqa: BLE001 - shown on the page, also a panic in Rust; others still run
                message = describe_failure(error, self._failure_message.format(name=one.name))
                self._end(dataclasses.replace(one, state=TaskState.FAILED, error=message))

    def _tell(self, now: AnyTask) -> None:
        if not self._update(now, {TaskState.WORKING}):
            raise Cancelled

    def _end(self, now: AnyTask) -> None:
        """Record the final state of a task. A task that finished just as it was cancelled counts as done."""
        before = {TaskState.WORKING, TaskState.CANCELLED} if now.state is TaskState.DONE else {TaskState.WORKING}
        with self.lock:
            if self._update(now, before):
                self.ended(now)

    def _update(self, now: AnyTask, before: Collection[TaskState]) -> bool:
        """Store a task if its stored state is one of `before` and the attempt is the same. Return whether it is.

        When a cancelled task has been restarted, the entry belongs to the new attempt.
        """
        with self.lock:
            there = self._tasks.get(now.key)
            if there is None or there.state not in before or there.attempt != now.attempt:
                return False
            self._put(now)
            return True

    def _put(self, task: AnyTask) -> None:
        self._tasks[task.key] = task
        self._changed()

    def _changed(self) -> None:
        with self.lock:
            self._version += 1
            self.lock.notify_all()


Event = TypeVar("Event")


class Job(Generic[Event]):
    """A generator that runs to its end in a thread, whether or not its events are read."""

    def __init__(self, events: Callable[[], Generator[Event, None, None]], *, name: str) -> None:
        """Start the thread. The generator is created in that thread."""
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

    def stop(self) -> None:
        """Close the generator before its next event."""
        self._stopped.set()

    def follow(self, beginning: int = 0) -> Iterator[tuple[Event, ...]]:
        """Yield batches of events from number `beginning` on as they arrive, until the job ends.

        Raises the errors of the generator.
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
        """Wait for the job to end, at most `seconds`. Return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self, events: Callable[[], Generator[Event, None, None]]) -> None:
        try:
            with closing(events()) as made:
                for event in made:
                    with self._changed:
                        self._events.append(event)
                        self._changed.notify_all()
                    if self._stopped.is_set():
                        break
        except BaseException as error:  # noqa: BLE001 - raised where the events are read
            self._error = error
            # A job is named by localcrag, not after a document.
            _log.warning("job %s ended", self._thread.name, exc_info=error)
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()


class PeriodicTask:
    """A polling thread that calls a function at once, and then every few seconds until closed."""

    def __init__(self, look: Callable[[], object], seconds: float, name: str) -> None:
        """Poll with `look` every `seconds`; `name` is the name of the thread."""
        self._callback, self._seconds = look, seconds
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self) -> Self:
        """Start polling."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop polling and wait for the current call to finish."""
        self.closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.closing.is_set():
            try:
                self._callback()
            except StoreError as error:  # The database is busy or the disk is full; the next call will try again.
                _log.warning("periodic task %s failed", self._thread.name, exc_info=error)
            self.closing.wait(self._seconds)
