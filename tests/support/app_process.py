"""The real app as a real process, and a real browser on its page."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Playwright, Request

from tests.support import ROOT
from tests.support.first_start import started_before
from tests.support.forks import Fork, start

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip
READERS = b"localcrag.documents.readers"
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
    app = [str(ROOT / "app.py"), "--no-browser", "--port", str(port), "--data-dir", str(data_dir)]
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as started:
        with log.open("wb") as output:
            said = output.fileno()
            process = start(app, environment, wrapper=wrapper, stdout=said, stderr=said)
        started.callback(process.wait, timeout=60)
        started.callback(_end, process.pid)
        served(address, process, log)
        _serving[address] = process.pid
        yield address


_serving: dict[str, int] = {}


def _end(number: int) -> None:
    """End an app's whole session: a wrapper such as strace does not pass the signal on."""
    with suppress(ProcessLookupError):  # It has ended by itself.
        os.killpg(number, signal.SIGTERM)


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
    found: set[int] = set()
    for task in Path(f"/proc/{of}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # A thread that has just ended has none.
            found.update(map(int, (task / "children").read_text("ascii").split()))
    return found


def served(address: str, process: Popen[bytes] | Fork, log: Path) -> None:
    """Wait until an address answers."""
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"localcrag did not start:\n{log.read_text('utf-8', 'replace')}")


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
