"""Processes of one kind, started when they are needed and kept for what comes next.

Whoever asks several of them at once can take them through a view (`shared`), by which those that are at work for him,
and no others, can be ended from another thread.
"""

from __future__ import annotations

import threading
import weakref
from typing import Self

from localcrag.backends.processes.child import ChildProcess

MOST_IDLE = 2


class Abandoned(Exception):
    """A process was asked for by somebody who had given up on all of them."""


class ProcessPool:
    """Processes that run one module."""

    def __init__(self, module: str, patience: float, *arguments: str) -> None:
        """`patience`: the seconds in which each has to answer; `arguments` are its command line's."""
        self._module, self._patience, self._arguments = module, patience, arguments
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._kept = MOST_IDLE
        # Not kept alive by this: the process of a file that nobody reads any further ends with it.
        self._busy: weakref.WeakSet[ChildProcess] = weakref.WeakSet()
        self._abandoned = False
        self._end = weakref.finalize(self, _end_all, self._idle)

    def shared(self, at_once: int = MOST_IDLE) -> Self:
        """Return a view of the same processes, of which as many are kept from now on as are used `at_once`."""
        view = type(self).__new__(type(self))
        ProcessPool.__init__(view, self._module, self._patience, *self._arguments)
        view._end.detach()
        view._lock, view._idle = self._lock, self._idle
        self._kept = view._kept = max(self._kept, at_once)
        return view

    def take(self) -> ChildProcess:
        """Return a process that nobody else uses. Raises Abandoned."""
        with self._lock:
            process = None if self._abandoned else self._idle_one()
        process = process or ChildProcess(self._module, self._patience, *self._arguments)
        with self._lock:
            if not self._abandoned:
                self._busy.add(process)
                return process
        process.end()
        raise Abandoned

    def give_back(self, process: ChildProcess) -> None:
        """Keep a process that has done what it was asked."""
        with self._lock:
            self._busy.discard(process)
            if len(self._idle) < self._kept and not self._abandoned:
                self._idle.append(process)
                return
        process.end()

    def drop(self, process: ChildProcess) -> None:
        """End a process from which nothing more is wanted."""
        with self._lock:
            self._busy.discard(process)
        process.end()

    def abandon(self) -> None:
        """End those that were taken and not given back, whoever waits for their answers, and give out none any more."""
        with self._lock:
            self._abandoned = True
            busy = [*self._busy]
            self._busy.clear()
        _end_all(busy)

    def close(self) -> None:
        """End the processes that nobody uses."""
        with self._lock:
            _end_all(self._idle)

    def _idle_one(self) -> ChildProcess | None:
        while self._idle:
            process = self._idle.pop()
            if process.runs():
                return process
            process.end()
        return None


def _end_all(processes: list[ChildProcess]) -> None:
    while processes:
        processes.pop().end()
