"""A window of Chromium for the page: opened, brought to the front, and known to be closed."""

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
from typing import Any, Protocol

from localcrag.privacy import guard
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import passage

PROGRAMS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "brave-browser", "microsoft-edge",
    "microsoft-edge-stable",
)  # fmt: skip
"""What Chromium and its kin are called on Linux, by who says least about their users."""
APPLICATIONS = ("Chromium", "Google Chrome", "Brave Browser", "Microsoft Edge")
ON_WINDOWS = (
    r"Google\Chrome\Application\chrome.exe",
    r"BraveSoftware\Brave-Browser\Application\brave.exe",
    r"Microsoft\Edge\Application\msedge.exe",
)
NOWHERE = "http://127.0.0.1:9"
"""A proxy that there is not: the window's browser reaches this computer, which needs none, and nothing else."""
ARGUMENTS = (
    "--class=localcrag", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--disable-breakpad", "--no-pings",
    "--disable-quic", "--disable-extensions", "--password-store=basic", f"--proxy-server={NOWHERE}",
)  # fmt: skip
FIRST_SIZE = "--window-size=1360,900"
"""Of the first window, which shows all three columns; later ones are as large as the last."""
HEARS, SPEAKS = 3, 4
"""Chromium's ends of the two pipes (--remote-debugging-pipe)."""
PATIENCE = 30.0
"""Seconds in which it answers, also on a machine that has just been started; a refusal ends at once."""


class AppWindow(Protocol):
    """The page's window."""

    @property
    def closed(self) -> bool: ...

    def to_front(self) -> bool:
        """Bring it to the front, and have the page look for files handed in; return whether it is there still."""

    def close(self) -> None:
        """Close it."""


def opened(address: str, folder: Path) -> AppWindow | None:
    """Return a new window with a page of this computer; None where no Chromium can open one.

    What the browser keeps lies in `folder`: it knows nothing of the person's own browser, nor that of it.
    """
    program = next(found(), None)
    if program is None:
        return None
    size = () if folder.exists() else (FIRST_SIZE,)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [program, f"--app={address}", f"--user-data-dir={folder}", *ARGUMENTS, *size]
    # Chromium notes in the person's own profile how crashes are told, though they are told to nobody.
    environment = {**os.environ, "BREAKPAD_DUMP_LOCATION": str(folder / "crashes")}
    with passage(Purpose.NONE, programs=True):
        if sys.platform == "win32":
            return _WindowsWindow(command)
        window = _PipedWindow([*command, "--remote-debugging-pipe"], environment)
    return window if window.answers() else None


def found(
    platform: str = sys.platform, environment: Mapping[str, str] = os.environ, root: Path = Path("/")
) -> Iterator[str]:
    """Yield the browsers of this kind that are installed.

    Those in a snap are left out: they may not write into a hidden folder, where the data folder is.
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
        return b"/snap/" in file.read(4_000)  # Ubuntu's script that starts the snap.


class _PipedWindow:
    """A browser that is spoken to over two pipes, which nobody else has: there is no port for it."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        hears, self._to = map(_high, os.pipe())
        self._from, speaks = map(_high, os.pipe())
        ends = [(os.POSIX_SPAWN_DUP2, hears, HEARS), (os.POSIX_SPAWN_DUP2, speaks, SPEAKS)]
        # What a browser says on a terminal is of no use to a person; that it does not run, is seen.
        quiet = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in (0, 1, 2)]
        # A group of its own: Ctrl-C in a terminal is for localcrag, which then closes the window.
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
        """Return whether a page is open: a browser may refuse to start, for root above all."""
        return self._asked("Target.setDiscoverTargets", discover=True) is not None and bool(self._shown())

    def to_front(self) -> bool:
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
        """Have a minimised window shown: to activate it is a mere request, which a window manager may refuse."""
        there = self._asked("Browser.getWindowForTarget", targetId=page)
        if there and there["bounds"].get("windowState") == "minimized":
            shown = {"windowState": "normal"}
            self._asked("Browser.setWindowBounds", windowId=there["windowId"], bounds=shown)

    def close(self) -> None:
        if not self.closed:
            self._asked("Browser.close")
            self._ended.wait(PATIENCE)

    def _shown(self) -> str:
        """Return the page's target; nothing when there is none."""
        if not self._page:
            there = (self._asked("Target.getTargets") or {}).get("targetInfos", [])
            self._page = next((one["targetId"] for one in there if one["type"] == "page"), "")
        return self._page

    def _asked(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any] | None:
        """Return what is answered; None when the browser is gone, or does not know how."""
        with self._lock:
            if self.closed:
                return None
            self._number += 1
            said = {"id": self._number, "method": method, "params": parameters}
            try:
                os.write(self._to, json.dumps(said | ({"sessionId": session} if session else {})).encode() + b"\0")
                while (answer := self._answers.get(timeout=PATIENCE)) and answer["id"] != self._number:
                    pass
            except (OSError, Empty):
                return None
            return answer.get("result") if answer else None

    def _listen(self) -> None:
        with open(self._from, "rb", closefd=True) as pipe:  # noqa: PTH123 - a descriptor, no path
            rest = b""
            while piece := pipe.read1(65_536):
                *whole, rest = (rest + piece).split(b"\0")
                for one in map(json.loads, whole):
                    if "id" in one:
                        self._answers.put(one)
                    # On macOS a browser goes on without a window.
                    elif one["method"] == "Target.targetDestroyed" and one["params"]["targetId"] == self._page:
                        os.write(self._to, b'{"id":0,"method":"Browser.close"}\0')
        self._ended.set()
        self._answers.put(None)
        os.close(self._to)
        os.waitpid(self._process, 0)


def _high(descriptor: int) -> int:
    """Return it under a number that is not one of Chromium's ends."""
    import fcntl  # noqa: PLC0415 - there is none on Windows

    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, SPEAKS + 1)
    os.close(descriptor)
    return high


class _WindowsWindow:
    """A browser on Windows, where processes inherit no pipes by number."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._browser = command, subprocess.Popen(command)

    @property
    def closed(self) -> bool:
        return self._browser.poll() is not None

    def to_front(self) -> bool:
        if self.closed:
            return False
        # The browser that runs opens one more window, in front of all, and this process ends at once.
        with passage(Purpose.NONE, programs=True):
            subprocess.run(self._command, check=False)
        return True

    def close(self) -> None:
        self._browser.terminate()


class PageWindow:
    """The page at an address of this computer."""

    def __init__(self, address: str, folder: Path | None) -> None:
        """`folder` is what the window's browser keeps its things in; None: the page is shown in a tab."""
        self._address, self._folder = address, folder
        self._window: AppWindow | None = None
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether it had a window of its own, and has none any more. Of a tab nobody knows."""
        return self._window is not None and self._window.closed

    def show(self) -> None:
        """Open it, or bring its window to the front."""
        with self._lock:
            if self._window and self._window.to_front():
                return
            self._window = opened(self._address, self._folder) if self._folder else None
            if self._window is None:
                guard.open_browser(self._address)

    def close(self) -> None:
        """Close its window; a tab stays, and finds nobody."""
        with self._lock:
            if self._window:
                self._window.close()
