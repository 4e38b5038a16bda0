"""Background tasks: threads, lists that readers follow, and periodic checks.

A page that is loaded again in the midst of an answer finds it where it is; a tab that is closed stops nothing.
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


def why(error: BaseException, happened: str) -> str:
    """Return what the page says of an error; of one that nobody foresaw `happened`, and the terminal gets the rest."""
    if isinstance(error, LocalcragError):
        _log.warning("background work failed", exc_info=error)
        return str(error)
    process.tell(error)
    return f"{happened}: {type(error).__name__}: {error}. The terminal says more."


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class ObservableList(Generic[Key, Item]):
    """Items by key, in the order in which they came. `lock` is held by whoever reads and then changes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: dict[Key, Item] = {}
        self._version = 0

    @property
    def lock(self) -> threading.Condition:
        """What keeps others from changing anything meanwhile."""
        return self._changed

    def items(self) -> tuple[Item, ...]:
        """Return all items as they are now."""
        with self._changed:
            return tuple(self._items.values())

    def get(self, key: Key) -> Item | None:
        """Return an item; None where there is none of that key."""
        with self._changed:
            return self._items.get(key)

    def put(self, key: Key, item: Item) -> None:
        """Add an item, or put it in another one's place."""
        with self._changed:
            self._items[key] = item
            self._tell()

    def change(self, key: Key, holds: Callable[[Item], bool], change: Callable[[Item], Item]) -> bool:
        """Change an item if there is one of that key that `holds` is true of; return whether there was."""
        with self._changed:
            there = self._items.get(key)
            if there is None or not holds(there):
                return False
            self.put(key, change(there))
            return True

    def remove(self, key: Key) -> None:
        """Take an item away."""
        with self._changed:
            del self._items[key]
            self._tell()

    def follow(self, goes_on: Callable[[Item], bool]) -> Iterator[tuple[Item, ...]]:
        """Yield the items now and whenever something has changed, until none of them goes on.

        Somebody new who follows counts as a change: whoever is told no more for that hears of it at once.
        """
        seen = -1
        with self._changed:
            self._tell()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._version != seen)  # noqa: B023 - called at once
                seen, items = self._version, tuple(self._items.values())
            yield items
            if not any(map(goes_on, items)):
                return

    def _tell(self) -> None:
        self._version += 1
        self._changed.notify_all()


class TaskState(StrEnum):
    """Where a task is on its way."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to be done; `error` says why it failed and what to do, `attempt` tells one try from the next."""

    name: str
    state: TaskState = TaskState.WAITING
    error: str | None = None
    attempt: int = 0

    @property
    def key(self) -> Hashable:
        """What it is told apart by from the others of its list."""
        return self.name

    @property
    def later(self) -> bool:
        """Whether others that wait go first."""
        return False

    @property
    def lane(self) -> str:
        """Those of one lane wait for each other, and for no other."""
        return ""

    @property
    def open(self) -> bool:
        """Whether it is still to be done."""
        return self.state in {TaskState.WAITING, TaskState.WORKING}


AnyTask = TypeVar("AnyTask", bound=Task)
Tell = Callable[[AnyTask], None]
"""Takes down how far a task is; raises Cancelled when somebody has cancelled it."""
Work = Callable[[AnyTask, Tell[AnyTask]], AnyTask]
"""Does a task; returns what has become of it."""


class Cancelled(Exception):
    """A task that is being done was cancelled."""


class BackgroundList(Generic[AnyTask]):
    """The tasks of one kind, in the order in which they came."""

    def __init__(
        self, work: Work[AnyTask], not_done: str, *, at_once: int, ended: Callable[[AnyTask], None] | None = None
    ) -> None:
        """`not_done` says so of a task, by its name in the place of {name}; `at_once` of a lane are done at a time.

        `ended` gets each task as it is listed at its end, before anybody can try it again.
        """
        self._work, self._not_done, self._at_once, self._ended = work, not_done, at_once, ended
        self._tasks: ObservableList[Hashable, AnyTask] = ObservableList()
        self._threads: list[tuple[str, threading.Thread]] = []
        self._attempts = itertools.count(1)

    @property
    def lock(self) -> threading.Condition:
        """What keeps others from changing anything meanwhile."""
        return self._tasks.lock

    def items(self) -> tuple[AnyTask, ...]:
        """Return every task that was not dismissed, as it is now."""
        return self._tasks.items()

    def follow(self) -> Iterator[tuple[AnyTask, ...]]:
        """Yield the tasks now and whenever something has changed, as long as any is to be done."""
        return self._tasks.follow(lambda one: one.open)

    def start(self, task: AnyTask) -> None:
        """Do a task after those that wait already, unless it waits or is being done."""
        with self.lock:
            there = self._tasks.get(task.key)
            if there and there.open:
                return
            self._tasks.put(task.key, task)
            if sum(lane == task.lane for lane, _ in self._threads) < self._at_once:
                thread = threading.Thread(
                    target=self._run, args=[task.lane], name=f"work {type(task).__name__}", daemon=True
                )
                self._threads.append((task.lane, thread))
                thread.start()

    def cancel(self, keys: Collection[Hashable] = ()) -> None:
        """Do these tasks no further, or none at all; what is done already stays."""
        with self.lock:
            for one in self._some(keys, still_open=True):
                self._tasks.put(one.key, dataclasses.replace(one, state=TaskState.CANCELLED))

    def again(self, keys: Collection[Hashable], **as_before: Any) -> None:
        """Try again with tasks that are at their end, each with the fields `as_before`."""
        with self.lock:
            for one in self._some(keys, still_open=False):
                self.start(dataclasses.replace(one, state=TaskState.WAITING, error=None, **as_before))

    def dismiss(self, keys: Collection[Hashable] = ()) -> list[AnyTask]:
        """List these tasks no longer, or none that is at its end; return them."""
        with self.lock:
            gone = self._some(keys, still_open=False)
            for one in gone:
                self._tasks.remove(one.key)
            return gone

    def close(self) -> None:
        """Cancel what is under way, and wait for its end."""
        self.cancel()
        with self.lock:
            threads = [*self._threads]
        for _, thread in threads:
            thread.join()

    def _some(self, keys: Collection[Hashable], *, still_open: bool) -> list[AnyTask]:
        """Return these tasks, or all, as far as they are to be done still, or are at their end."""
        return [one for one in self.items() if one.open is still_open and (one.key in keys or not keys)]

    def _run(self, lane: str) -> None:
        while True:
            with self.lock:
                every = [one for one in self.items() if one.state is TaskState.WAITING and one.lane == lane]
                waiting = min(every, key=lambda one: one.later, default=None)
                if waiting is None:
                    self._threads.remove((lane, threading.current_thread()))
                    return
                one = dataclasses.replace(waiting, state=TaskState.WORKING, attempt=next(self._attempts))
                self._tasks.put(one.key, one)
            try:
                self._end(self._work(one, self._tell))
            except Cancelled:
                pass
            except BaseException as error:  # noqa: BLE001 - said on the page (also a panic in Rust); the next one goes on
                said = why(error, self._not_done.format(name=one.name))
                self._end(dataclasses.replace(one, state=TaskState.FAILED, error=said))

    def _tell(self, now: AnyTask) -> None:
        if not self._change(now, {TaskState.WORKING}):
            raise Cancelled

    def _end(self, now: AnyTask) -> None:
        """List a task as it has ended; what was cancelled in its last moment, and is done, is done."""
        before = {TaskState.WORKING, TaskState.CANCELLED} if now.state is TaskState.DONE else {TaskState.WORKING}
        with self.lock:
            if self._change(now, before) and self._ended:
                self._ended(now)

    def _change(self, now: AnyTask, before: Collection[TaskState]) -> bool:
        """Put a task where it is now, if it was in one of these states; one cancelled and begun anew is another's."""
        return self._tasks.change(
            now.key, lambda there: there.state in before and there.attempt == now.attempt, lambda _: now
        )


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
            # The name of a job is one of ours, not a document's.
            _log.warning("job %s ended", self._thread.name, exc_info=error)
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _add(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()


class RegularLooks:
    """A thread that looks at once, and again so many seconds after each look."""

    def __init__(self, look: Callable[[], object], seconds: float, name: str) -> None:
        """`look` is the whole of it, and does what there is to do; `name` is the thread's."""
        self._regular_look, self._seconds = look, seconds
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self) -> Self:
        """Look from now on."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Look no more, and wait for the look that goes on."""
        self.closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.closing.is_set():
            try:
                self._regular_look()
            except StoreError as error:  # Busy or full: the next look tries again.
                _log.warning("periodic task %s failed", self._thread.name, exc_info=error)
            self.closing.wait(self._seconds)
