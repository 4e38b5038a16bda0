"""Worker processes from the app's side: start them, send requests over pipes, and pool them.

The egress guard is active in these processes, so they cannot connect to anything. If a process ends or hangs, the
caller gets an error, and the next request starts a new process.

A caller that uses several processes at once can take them from a view of the pool (`shared`). Another thread can then
end only the processes that work for this caller (`abandon`).
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
from typing import IO, Any, Self, cast

from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress
from localcrag.privacy.worker_process import Frame, receive, send

ANSWER_QUEUE_SIZE = 8
"""Maximum number of answers that are read from the pipe before the caller asks for them."""
_FOLDER = Path(__file__).resolve().parents[2]


class WorkerFailed(Exception):
    """A process ended or hung; the message tells which of the two."""


class ChildProcess:
    """A module of localcrag that runs in its own Python process."""

    def __init__(self, module: str, patience: float, *arguments: str) -> None:
        """Start the process. `patience` is in seconds, for each answer; `arguments` are command-line arguments."""
        self._patience = patience
        with allow_egress(Purpose.NONE, programs=True):
            # In this working folder Python finds the module, whichever folder the app was started in.
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_FOLDER
            )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._answers: queue.Queue[Frame | None] = queue.Queue(ANSWER_QUEUE_SIZE)
        self._ended = threading.Event()
        listening = (self._process.stdout, self._answers, self._ended)
        threading.Thread(target=_listen, args=listening, name="answers", daemon=True).start()
        # End the process even if its owner is dropped without reading all answers.
        self.end = weakref.finalize(self, _end, self._process, self._answers, self._ended)

    def runs(self) -> bool:
        return self._process.poll() is None

    def ask(self, asked: Mapping[str, Any], attached: bytes) -> None:
        # Ignore an ended process or a pipe that another thread closed: `answer` reports it.
        with suppress(OSError, ValueError):
            send(self._requests, asked, attached)

    def answer(self) -> Frame:
        try:
            answer = self._answers.get(timeout=self._patience)
        except queue.Empty:
            raise WorkerFailed(f"there was no progress for {self._patience:.0f} seconds") from None
        if answer is None:
            self._process.kill()  # The stream ended or had an invalid message, so the process is no longer usable.
            raise WorkerFailed(f"its reader process ended ({_describe_exit(self._process.wait())})")
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
    # Empty the queue and add an end marker, so that a thread waiting for an answer stops waiting.
    with suppress(queue.Empty):
        while True:
            answers.get_nowait()
    with suppress(queue.Full):
        answers.put_nowait(None)
    for stream in filter(None, (process.stdin, process.stdout)):
        # Closing may flush data that no process reads any longer; such an error does not matter.
        with suppress(OSError):
            stream.close()


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


MOST_IDLE = 2
"""Default number of idle processes that a pool keeps."""


class Abandoned(Exception):
    """A process was requested from a view of the pool after `abandon`."""


class ProcessPool:
    """A pool of processes that run one module."""

    def __init__(self, module: str, patience: float, *arguments: str) -> None:
        """Create an empty pool; `patience` and `arguments` are those of each ChildProcess."""
        self._module, self._patience, self._arguments = module, patience, arguments
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._kept = MOST_IDLE
        # Weak references: if the user of a process drops it, for example after reading part of a file, the process must
        # still end.
        self._busy: weakref.WeakSet[ChildProcess] = weakref.WeakSet()
        self._abandoned = False
        self._end = weakref.finalize(self, _end_all, self._idle)

    def shared(self, at_once: int = MOST_IDLE) -> Self:
        """Return a view that can be abandoned separately; the pool then keeps up to `at_once` idle processes."""
        view = type(self).__new__(type(self))
        ProcessPool.__init__(view, self._module, self._patience, *self._arguments)
        view._end.detach()
        view._lock, view._idle = self._lock, self._idle
        self._kept = view._kept = max(self._kept, at_once)
        return view

    def take(self) -> ChildProcess:
        """Return an idle or new process for exclusive use. Raises Abandoned."""
        with self._lock:
            process = None if self._abandoned else self._pop_idle()
        process = process or ChildProcess(self._module, self._patience, *self._arguments)
        with self._lock:
            if not self._abandoned:
                self._busy.add(process)
                return process
        process.end()
        raise Abandoned

    def give_back(self, process: ChildProcess) -> None:
        """Return a process that has finished its work to the pool; end it if enough processes are idle."""
        with self._lock:
            self._busy.discard(process)
            if len(self._idle) < self._kept and not self._abandoned:
                self._idle.append(process)
                return
        process.end()

    def drop(self, process: ChildProcess) -> None:
        """End a process that is no longer needed."""
        with self._lock:
            self._busy.discard(process)
        process.end()

    def abandon(self) -> None:
        """End the processes in use, even while threads wait for their answers, and refuse to hand out new ones."""
        with self._lock:
            self._abandoned = True
            busy = [*self._busy]
            self._busy.clear()
        _end_all(busy)

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            _end_all(self._idle)

    def _pop_idle(self) -> ChildProcess | None:
        while self._idle:
            process = self._idle.pop()
            if process.runs():
                return process
            process.end()
        return None


def _end_all(processes: list[ChildProcess]) -> None:
    while processes:
        processes.pop().end()
