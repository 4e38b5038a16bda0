"""The real app as a real process, and a real browser on its page."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Playwright, Request

from tests.support import ROOT
from tests.support.first_start import in_tests, started_before

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip
READERS = b"localcrag.backends.readers"
START_LIMIT = 120.0
"""Seconds after which a server that does not answer is given up; far beyond what a busy machine needs."""


def free_port() -> int:
    """Return a port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_used: list[int] = []


def _usual_port() -> int:
    """Return a port that an earlier app had, where one is free: at the same address a browser need not compile anew."""
    for port in _used:
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    _used.append(free_port())
    return _used[-1]


@contextmanager
def running_app(
    data_dir: Path, *, wrapper: Sequence[str] = (), port: int | str = 0, **environment: str
) -> Iterator[str]:
    """Start `python app.py`, wait until its page answers, yield its address, and stop it."""
    port = int(port) or _usual_port()
    log = started_before(data_dir) / "app.log"
    arguments = ["--no-browser", "--port", str(port), "--data-dir", str(data_dir)]
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as started:
        if wrapper or not in_tests() or any(not name.startswith("LOCALCRAG_") for name in environment):
            process = _by_itself([*wrapper, sys.executable, str(ROOT / "app.py"), *arguments], log, environment)
            started.callback(process.wait, timeout=60)
            number = process.pid
        else:
            number = _warm(arguments, log, environment)
        # Of a process that has ended this can be read; it tells one that was not started here, too.
        handle = os.pidfd_open(number)
        started.callback(os.close, handle)
        started.callback(_ended, handle, 60)
        started.callback(_end, number)
        _wait(address, handle, log)
        _serving[address] = number
        yield address


_serving: dict[str, int] = {}


def _end(number: int) -> None:
    """End an app's whole session: a wrapper such as strace does not pass the signal on."""
    with suppress(ProcessLookupError):  # It has ended by itself.
        os.killpg(number, signal.SIGTERM)


def _by_itself(command: list[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **environment}, start_new_session=True
        )


@cache
def _warm_app() -> subprocess.Popen[str]:
    """Return the process that starts apps, which ends with this one."""
    command = [sys.executable, "-m", "tests.support.warm_app"]
    warm = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    atexit.register(warm.communicate)
    return warm


def _warm(arguments: list[str], log: Path, environment: Mapping[str, str]) -> int:
    """Return the number of an app's process, without what its imports cost; see warm_app."""
    warm = _warm_app()
    assert warm.stdin
    assert warm.stdout
    start = {"arguments": arguments, "log": str(log), "environment": {**os.environ, **environment}}
    print(json.dumps(start), file=warm.stdin)
    return int(warm.stdout.readline())


def process_at(address: str) -> int:
    """Return the number of the process that serves the page at this address."""
    return _serving[address]


@contextmanager
def standing_still(address: str) -> Iterator[None]:
    """Have the process that serves this address do nothing meanwhile: what the page does is under way for as long."""
    with _stopped({process_at(address)}):
        yield


@contextmanager
def readers_standing_still(address: str) -> Iterator[None]:
    """Have the processes that read files for this address do nothing meanwhile: files go in for as long."""
    of_app = children(process_at(address))
    with _stopped({one for one in of_app if READERS in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")}):
        yield


@contextmanager
def _stopped(processes: set[int]) -> Iterator[None]:
    assert processes
    try:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def resident(process: int) -> int:
    """Return the bytes of memory that a process uses."""
    return int(Path(f"/proc/{process}/status").read_text("utf-8").partition("VmRSS:")[2].split()[0]) * 1024


def children(of: int | str = "self") -> set[int]:
    """Return the processes that a process, else this one, has started and that run still."""
    return {
        int(child)
        for task in Path(f"/proc/{of}/task").iterdir()
        for child in (task / "children").read_text("ascii").split()
    }


def _ended(handle: int, seconds: float) -> bool:
    """Whether a process ends within some seconds."""
    return bool(select.select([handle], [], [], seconds)[0])


def _wait(address: str, handle: int, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while not _ended(handle, 0) and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"The app did not start:\n{log.read_text('utf-8', 'replace')}")


def start_chromium(playwright: Playwright, *extra: str) -> Browser:
    """Return a running Chromium, or fail with what to install."""
    if not CHROMIUM.exists():
        raise AssertionError(
            f"{CHROMIUM} is missing: apt-get install chromium, or leave these tests out with --without-browser."
        )
    return playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *extra])


@dataclass
class Watched:
    """A page, and everything it complained about or asked other hosts for."""

    page: Page
    problems: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def error(self, error: Error) -> None:
        self.problems.append(str(error))

    def request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            self.foreign.append(request.url)

    def leave(self) -> None:
        """Record no more."""
        self.page.remove_listener("console", self.console)
        self.page.remove_listener("pageerror", self.error)
        self.page.remove_listener("request", self.request)


def watch(page: Page) -> Watched:
    """Record a page's console errors, uncaught exceptions and requests to other hosts."""
    watched = Watched(page)
    page.on("console", watched.console)
    page.on("pageerror", watched.error)
    page.on("request", watched.request)
    return watched
