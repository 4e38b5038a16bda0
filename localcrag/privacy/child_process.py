"""Worker processes as the app sees them: started, asked over pipes, and pooled.

It may connect to nothing (egress_guard.py). Where it ends or stands still, that is said, and another one is started for
what comes next.

Whoever asks several of them at once can take them through a view (`shared`), by which those that are at work for him,
and no others, can be ended from another thread.
"""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import passage
from localcrag.privacy.worker_process import Frame, receive, send

AHEAD = 8
"""Answers that are taken in before they are asked for."""
_FOLDER = Path(__file__).resolve().parents[2]


class Over(Exception):
    """A process ended or stood still; says which."""


class ChildProcess:
    """A module of localcrag, run by a Python of its own."""

    def __init__(self, module: str, patience: float, *arguments: str) -> None:
        """Start it. `patience`: the seconds in which there has to be an answer; `arguments` are its command line's."""
        self._patience = patience
        with passage(Purpose.NONE, programs=True):
            # In that folder its module is found, whatever folder the app was started in.
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_FOLDER
            )
        self._answers: queue.Queue[Frame | None] = queue.Queue(AHEAD)
        self._ended = threading.Event()
        listening = (self._process.stdout, self._answers, self._ended)
        threading.Thread(target=_listen, args=listening, name="answers", daemon=True).start()
        # Also when nobody asks for the pages of a file that was opened.
        self.end = weakref.finalize(self, _end, self._process, self._answers, self._ended)

    def runs(self) -> bool:
        return self._process.poll() is None

    def ask(self, asked: Mapping[str, Any], attached: bytes) -> None:
        # That it has ended is what is answered; where another thread has ended it, its pipe is closed.
        with suppress(OSError, ValueError):
            send(_pipe(self._process.stdin), asked, attached)

    def answer(self) -> Frame:
        try:
            answer = self._answers.get(timeout=self._patience)
        except queue.Empty:
            raise Over(f"nothing came of it for {self._patience:.0f} seconds") from None
        if answer is None:
            self._process.kill()  # What it says is no answer.
            raise Over(f"its reader broke off ({_how_ended(self._process.wait())})")
        return answer


def _listen(stream: IO[bytes], answers: queue.Queue[Frame | None], ended: threading.Event) -> None:
    while not ended.is_set():
        answer = receive(stream)
        while not ended.is_set():
            with suppress(queue.Full):
                answers.put(answer, timeout=0.2)
                break
        if answer is None:
            return


def _end(process: subprocess.Popen[bytes], answers: queue.Queue[Frame | None], ended: threading.Event) -> None:
    ended.set()
    process.kill()
    process.wait()
    # Whoever waits for an answer in another thread waits no longer.
    with suppress(queue.Empty):
        while True:
            answers.get_nowait()
    with suppress(queue.Full):
        answers.put_nowait(None)
    for stream in (process.stdin, process.stdout):
        # What was still to be written has nobody to read it.
        with suppress(OSError):
            _pipe(stream).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("a reader process was started without its pipes")
    return stream


def _how_ended(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


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
