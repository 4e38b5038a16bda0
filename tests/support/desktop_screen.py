"""A screen of the tests' own, with a window manager, and localcrag started on it as a menu starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import ImageGrab

from tests.support import ROOT
from tests.support.app_process import CHROMIUM, free_port

LIMIT = 300.0
"""Seconds after which what does not happen is given up; far beyond what a busy machine needs."""


def until(true: Callable[[], object], what: str) -> None:
    """Wait for something of another process."""
    deadline = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Desktop:
    """A screen; `browser` is the address at which the window's Chromium is looked into from outside.

    `manager` is the window manager, and `manager_says` the file of what it complains about.
    """

    environment: dict[str, str]
    browser: str
    manager: subprocess.Popen[bytes]
    manager_says: Path

    def managed(self) -> bool:
        """Whether the window manager answers. Raises AssertionError, with what it said, when it has ended."""
        ended = self.manager.poll()
        assert ended is None, f"openbox ended with {ended}: {self.manager_says.read_text()}"
        return bool(self.tool("xdotool", "get_num_desktops"))

    def tool(self, *command: str) -> str:
        """Return what a program of the screen says, nothing where it fails."""
        said = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return said.stdout.strip() if said.returncode == 0 else ""

    def localcrag(self, *arguments: str | Path, cwd: Path) -> subprocess.Popen[bytes]:
        """Start a command."""
        command = [sys.executable, "-P", "-m", "localcrag", *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, cwd=cwd)

    def window(self) -> str:
        """Return the window that is shown, nothing when none is."""
        return self.tool("xdotool", "search", "--onlyvisible", "--class", "^localcrag$").partition("\n")[0]

    def active(self, window: str) -> bool:
        """Whether this window has the focus. Raises AssertionError when the window manager has ended."""
        return self.managed() and self.tool("xdotool", "getactivewindow") == window

    def picture(self, path: Path) -> None:
        """Write down what the screen shows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with ImageGrab.grab(xdisplay=self.environment["DISPLAY"]) as screen:
            screen.save(path)


@contextmanager
def desktop(folder: Path) -> Iterator[Desktop]:
    """Yield a screen, and close it. As root Chromium has no sandbox: the one that is found first here is told so."""
    browser, port = folder / "chromium", free_port()
    browser.write_text(
        f'#!/bin/sh\nexec {CHROMIUM} --no-sandbox --test-type --disable-gpu --remote-debugging-port={port} "$@"\n'
    )
    browser.chmod(0o755)
    reads, writes = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writes), "-screen", "0", "1380x930x24"], pass_fds=[writes], stderr=subprocess.DEVNULL
    )
    os.close(writes)
    with os.fdopen(reads) as told:
        display = f":{told.readline().strip()}"
    environment = {
        **os.environ,
        "DISPLAY": display,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
    }
    said = folder / "openbox.log"
    with said.open("wb") as log:
        manager = subprocess.Popen(["openbox"], env=environment, stderr=log)
    shown = Desktop(environment, f"http://127.0.0.1:{port}", manager, said)
    try:
        # A window that comes before it is not taken for the one that is used.
        until(shown.managed, "the window manager's start")
        yield shown
        assert shown.managed()
    finally:
        for process in (manager, screen):
            process.terminate()
            process.wait()
