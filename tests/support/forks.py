"""localcrag in a process of its own: a fork of one that has its imports behind it, or a Python of its own."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import Any

from tests.support import ROOT
from tests.support.first_start import in_tests

ANSWER = 64
"""Bytes of the number that a request is answered by, at most."""


class Fork:
    """A process that warm_app has forked; used as a Popen is."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        # It can be read when the process has ended, which is nobody else's number as long as it is not waited for.
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        return self._after(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._after(timeout)
        if status is None:
            raise TimeoutExpired(f"process {self.pid}", timeout or 0)
        return status

    def send_signal(self, sent: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, sent)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _after(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._handle], [], [], seconds)[0]:
            self.returncode = _ask({"ended": self.pid})
            os.close(self._handle)
        return self.returncode


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    wrapper: Sequence[str] = (),
    stdin: int = DEVNULL,
    stdout: int = DEVNULL,
    stderr: int = DEVNULL,
) -> Popen[bytes] | Fork:
    """Start Python with arguments that run localcrag, in a session of its own.

    In an environment that is not localcrag's alone, which imports may heed, or in a wrapper, it is no fork.
    """
    streams = (stdin, stdout, stderr)
    if wrapper or not in_tests() or any(not name.startswith("LOCALCRAG_") for name in environment):
        return Popen(
            [*wrapper, sys.executable, *arguments],
            stdin=stdin, stdout=stdout, stderr=stderr, cwd=ROOT, env={**os.environ, **environment},
            start_new_session=True,
        )  # fmt: skip
    umask = os.umask(0)
    os.umask(umask)
    begun = {"arguments": list(arguments), "environment": {**os.environ, **environment}, "umask": umask}
    with Path(os.devnull).open("r+b", 0) as nothing:
        return Fork(_ask(begun, [nothing.fileno() if stream == DEVNULL else stream for stream in streams]))


def _ask(message: dict[str, Any], streams: Sequence[int] = ()) -> int:
    asked = _warm_app()
    socket.send_fds(asked, [json.dumps(message).encode()], list(streams))
    return int(asked.recv(ANSWER))


@cache
def _warm_app() -> socket.socket:
    """Return where the process is asked that forks, and that ends with this one."""
    asked, asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with asked:
        command = [sys.executable, "-m", "tests.support.warm_app", str(asked.fileno())]
        warm = subprocess.Popen(command, cwd=ROOT, pass_fds=[asked.fileno()])
    atexit.register(warm.wait)
    atexit.register(asking.close)  # First: they are called from the last to the first.
    return asking
