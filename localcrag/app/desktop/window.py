"""The app window: a Chromium window that can be raised, and whose closing is noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from localcrag.privacy import guard
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress

PROGRAMS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "brave-browser", "microsoft-edge",
    "microsoft-edge-stable",
)  # fmt: skip
"""Chromium-based browsers on Linux, starting with those that report least about their users."""
APPLICATIONS = ("Chromium", "Google Chrome", "Brave Browser", "Microsoft Edge")
ON_WINDOWS = (
    r"Google\Chrome\Application\chrome.exe",
    r"BraveSoftware\Brave-Browser\Application\brave.exe",
    r"Microsoft\Edge\Application\msedge.exe",
)
DEAD_PROXY = "http://127.0.0.1:9"
"""A dead proxy address. The browser bypasses it for loopback, so it can reach nothing else."""
ARGUMENTS = (
    "--class=localcrag", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--disable-breakpad", "--no-pings",
    "--disable-quic", "--disable-extensions", "--password-store=basic", f"--proxy-server={DEAD_PROXY}",
)  # fmt: skip
FIRST_SIZE = "--window-size=1360,900"
"""Size of the first window, which shows all three columns; later windows remember their size."""
BROWSER_READ_FD, BROWSER_WRITE_FD = 3, 4
"""Chromium's file descriptors for the two pipes (--remote-debugging-pipe)."""
ANSWER_SECONDS = 30.0
"""Seconds to wait for the browser to answer; generous, for a computer that has just started.

If the browser refuses to start, the wait ends at once.
"""


def open_window(address: str, folder: Path) -> _PipedWindow | _WindowsWindow | None:
    """Open a window with a page of this computer and return it, or None if no Chromium can open one.

    The browser keeps its profile in `folder`, fully separate from the user's own browser.
    """
    program = next(installed_browsers(), None)
    if program is None:
        return None
    size = () if folder.exists() else (FIRST_SIZE,)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [program, f"--app={address}", f"--user-data-dir={folder}", *ARGUMENTS, *size]
    # Chromium would write its crash reporter settings into the user's own profile, although nothing is reported.
    environment = {**os.environ, "BREAKPAD_DUMP_LOCATION": str(folder / "crashes")}
    with allow_egress(Purpose.NONE, programs=True):
        if sys.platform == "win32":
            return _WindowsWindow(command)
        window = _PipedWindow([*command, "--remote-debugging-pipe"], environment)
    return window if window.answers() else None


def installed_browsers(
    platform: str = sys.platform, environment: Mapping[str, str] = os.environ, root: Path = Path("/")
) -> Iterator[str]:
    """Yield the installed browsers of this kind.

    Snap packages are left out, because they may not write to hidden folders, and the data folder is in one.
    """
    if platform == "win32":
        folders = [
            environment[name] for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA") if name in environment
        ]
        yield from (str(path) for end in ON_WINDOWS for folder in folders if (path := Path(folder, end)).is_file())
    elif platform == "darwin":
        inside = (root / f"Applications/{name}.app/Contents/MacOS/{name}" for name in APPLICATIONS)
        yield from (str(path) for path in inside if path.is_file())
    else:
        there = (shutil.which(name, path=environment.get("PATH")) for name in PROGRAMS)
        yield from (path for path in there if path and not _is_snap(Path(path)))


def _is_snap(path: Path) -> bool:
    if "snap" in path.resolve().parts or path.resolve().name == "snap":
        return True
    with path.open("rb") as file:
        return b"/snap/" in file.read(4_000)  # Ubuntu's chromium-browser is a script that starts the snap.


class _PipedWindow:
    """A window controlled over two pipes, which no other process can use: there is no debugging port."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        hears, self._to = map(_renumbered, os.pipe())
        self._from, speaks = map(_renumbered, os.pipe())
        ends = [(os.POSIX_SPAWN_DUP2, hears, BROWSER_READ_FD), (os.POSIX_SPAWN_DUP2, speaks, BROWSER_WRITE_FD)]
        # The browser's output is useless to the user; other checks notice whether it runs.
        quiet = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in (0, 1, 2)]
        # The browser gets its own process group, so that Ctrl-C in a terminal only reaches localcrag, which then closes
        # it.
        self._process = os.posix_spawn(command[0], command, environment, file_actions=[*quiet, *ends], setpgroup=0)
        os.close(hears)
        os.close(speaks)
        self._answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._lock, self._number, self._page = threading.Lock(), 0, ""
        self._ended = threading.Event()
        threading.Thread(target=self._listen, name="the window's browser", daemon=True).start()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    def answers(self) -> bool:
        """Return whether a page is open: a browser may refuse to start, especially if root runs it."""
        return self._asked("Target.setDiscoverTargets", discover=True) is not None and bool(self._shown())

    def bring_to_front(self) -> bool:
        """Raise the window and have the page check for handed-over files; return whether it still exists."""
        page = self._shown()
        if not page:
            return False
        self._restore(page)
        if self._asked("Target.activateTarget", targetId=page) is None:
            return False
        attached = self._asked("Target.attachToTarget", targetId=page, flatten=True)
        if attached:
            self._asked(
                "Runtime.evaluate", attached["sessionId"], expression='window.dispatchEvent(new Event("lc-handed-in"))'
            )
        return True

    def _restore(self, page: str) -> None:
        """Restore a minimised window: activating it is only a request, which a window manager may ignore."""
        there = self._asked("Browser.getWindowForTarget", targetId=page)
        if there and there["bounds"].get("windowState") == "minimized":
            shown = {"windowState": "normal"}
            self._asked("Browser.setWindowBounds", windowId=there["windowId"], bounds=shown)

    def close(self) -> None:
        if not self.closed:
            self._asked("Browser.close")
            self._ended.wait(ANSWER_SECONDS)

    def _shown(self) -> str:
        """Return the target id of the page; "" if there is none."""
        if not self._page:
            there = (self._asked("Target.getTargets") or {}).get("targetInfos", [])
            self._page = next((one["targetId"] for one in there if one["type"] == "page"), "")
        return self._page

    def _asked(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any] | None:
        """Send a command and return its result; None if the browser is gone or rejects the command."""
        with self._lock:
            if self.closed:
                return None
            self._number += 1
            message = {"id": self._number, "method": method, "params": parameters}
            try:
                os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
                # Answers to earlier commands that timed out may still arrive; skip them.
                while (answer := self._answers.get(timeout=ANSWER_SECONDS)) and answer["id"] != self._number:
                    pass
            except (OSError, Empty):
                return None
            return answer.get("result") if answer else None

    def _listen(self) -> None:
        with open(self._from, "rb", closefd=True) as pipe:  # noqa: PTH123 - a descriptor, no path
            rest = b""
            while piece := pipe.read1(65_536):
                # Each message ends with a NUL byte; the last piece may be incomplete.
                *whole, rest = (rest + piece).split(b"\0")
                for one in map(json.loads, whole):
                    if "id" in one:
                        self._answers.put(one)
                    # On macOS a browser keeps running without a window, so it is told to quit.
                    elif one["method"] == "Target.targetDestroyed" and one["params"]["targetId"] == self._page:
                        os.write(self._to, b'{"id":0,"method":"Browser.close"}\0')
        self._ended.set()
        self._answers.put(None)
        os.close(self._to)
        os.waitpid(self._process, 0)


def _renumbered(descriptor: int) -> int:
    """Return a copy of the descriptor with a number above Chromium's own, and close the original."""
    import fcntl  # noqa: PLC0415 - there is none on Windows

    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, BROWSER_WRITE_FD + 1)
    os.close(descriptor)
    return high


class _WindowsWindow:
    """A window on Windows, where child processes do not inherit pipes by number."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._browser = command, subprocess.Popen(command)

    @property
    def closed(self) -> bool:
        return self._browser.poll() is not None

    def bring_to_front(self) -> bool:
        if self.closed:
            return False
        # The running browser opens another window in front of all others, and this new process ends at once.
        with allow_egress(Purpose.NONE, programs=True):
            subprocess.run(self._command, check=False)
        return True

    def close(self) -> None:
        self._browser.terminate()


class PageWindow:
    """The page at an address of this computer, shown in a window or a browser tab."""

    def __init__(self, address: str, folder: Path | None) -> None:
        """Prepare the page; `folder` is the browser profile for the window, and without it the page opens in a tab."""
        self._address, self._folder = address, folder
        self._window: _PipedWindow | _WindowsWindow | None = None
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether the window was closed. False for a tab, which cannot be watched."""
        return self._window is not None and self._window.closed

    def show(self) -> None:
        """Open the page, or raise its window."""
        with self._lock:
            if self._window and self._window.bring_to_front():
                return
            self._window = open_window(self._address, self._folder) if self._folder else None
            if self._window is None:
                guard.open_browser(self._address)

    def close(self) -> None:
        """Close the window. A tab stays open, but its server is gone."""
        with self._lock:
            if self._window:
                self._window.close()
