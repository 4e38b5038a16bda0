"""A process of the app's own, asked and heard in frames over its pipes.

It may connect to nothing (egress_guard.py). Where it ends or stands still, that is said, and another one is started for
what comes next.
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
from typing import IO, Any

from localcrag.backends.processes.frames import Frame, receive, send
from localcrag.privacy.egress_guard import passage
from localcrag.privacy.egress_log import Purpose

AHEAD = 8
"""Answers that are taken in before they are asked for."""
_FOLDER = Path(__file__).resolve().parents[3]


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
