"""The real app as a real process, and a real browser on its page."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request

from tests.support import ROOT
from tests.support.first_start import started_before

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip
START_LIMIT = 120.0
"""Seconds after which a server that does not answer is given up; far beyond what a busy machine needs."""


def free_port() -> int:
    """Return a port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(
    data_dir: Path, *, wrapper: Sequence[str] = (), port: int | str = 0, **environment: str
) -> Iterator[str]:
    """Start `python app.py`, wait until its page answers, yield its address, and stop it."""
    port = int(port) or free_port()
    log = started_before(data_dir) / "app.log"
    command = [*wrapper, sys.executable, str(ROOT / "app.py"), "--no-browser", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--data-dir", str(data_dir)],
            stdout=output,
            stderr=output,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, log)
        yield address
    finally:
        # The whole session: a wrapper such as strace does not pass the signal on.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def process_at(address: str) -> int:
    """Return the number of the process that serves the page at this address."""
    port = address.rsplit(":", 1)[1]
    (found,) = (
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if (command := _command(folder))[1:2] == [str(ROOT / "app.py")] and port in command
    )
    return found


@contextmanager
def standing_still(address: str) -> Iterator[None]:
    """Have the process that serves this address do nothing meanwhile: what the page does is under way for as long."""
    process = process_at(address)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def resident(process: int) -> int:
    """Return the bytes of memory that a process uses."""
    return int(Path(f"/proc/{process}/status").read_text("utf-8").partition("VmRSS:")[2].split()[0]) * 1024


def children() -> set[int]:
    """Return the processes that this one has started and that run still."""
    return {
        int(child)
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text("ascii").split()
    }


def _command(folder: Path) -> list[str]:
    try:
        return (folder / "cmdline").read_bytes().decode().split("\0")
    except OSError:  # ended meanwhile
        return []


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
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


def watch(page: Page) -> Watched:
    """Record a page's console errors, uncaught exceptions and requests to other hosts."""
    watched = Watched(page)

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            watched.problems.append(message.text)

    def on_request(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            watched.foreign.append(request.url)

    page.on("console", on_console)
    page.on("pageerror", lambda error: watched.problems.append(str(error)))
    page.on("request", on_request)
    return watched
