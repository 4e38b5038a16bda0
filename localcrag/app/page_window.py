"""Where the page is shown: in a window of its own, or in a tab of the person's browser."""

from __future__ import annotations

import threading
from pathlib import Path

from localcrag.backends.desktop import app_window
from localcrag.privacy import egress_guard


class PageWindow:
    """The page at an address of this computer."""

    def __init__(self, address: str, folder: Path | None) -> None:
        """`folder` is what the window's browser keeps its things in; None: the page is shown in a tab."""
        self._address, self._folder = address, folder
        self._window: app_window.AppWindow | None = None
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
            self._window = app_window.opened(self._address, self._folder) if self._folder else None
            if self._window is None:
                egress_guard.open_browser(self._address)

    def close(self) -> None:
        """Close its window; a tab stays, and finds nobody."""
        with self._lock:
            if self._window:
                self._window.close()
