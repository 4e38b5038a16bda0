"""The presence of a running localcrag: its window, what later starts hand in, and its end."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from localcrag.app.one_instance import HandedIn
from localcrag.app.page_window import PageWindow
from localcrag.records.errors import LocalcragError
from localcrag.ui.page import App

BETWEEN = 0.2
"""Seconds between two looks whether the window is still open."""


class Presence:
    """Of one app, from when it is served to its end."""

    def __init__(self, app: App, window: PageWindow, collection: str) -> None:
        """Begin; `collection` gets what is handed in before anybody has looked at one."""
        self._app, self._window, self._collection = app, window, collection
        self._ends = threading.Event()

    def begin(self, handed: HandedIn, *, shows: bool) -> None:
        """Add what this start was given, and show the page."""
        try:
            self.add(handed)
        except LocalcragError as error:
            print(f"localcrag: {error}", file=sys.stderr, flush=True)  # noqa: T201
        if shows:
            self.show()

    def take(self, handed: HandedIn) -> None:
        """Do as a later start says. Raises UnreadableDocument."""
        if handed.quit:
            self._ends.set()
            return
        try:
            self.add(handed)
        finally:
            self.show()

    def add(self, handed: HandedIn) -> None:
        """Add the files to the collection that is shown. Raises UnreadableDocument."""
        self._app.documents.add_originals([Path(name) for name in handed.files], self._collection)

    def show(self) -> None:
        """Open the page's window, or bring it to the front."""
        self._window.show()

    def wait(self) -> None:
        """Return at the end: interrupted, told to end, or the window closed and nothing left to do for a person."""
        try:
            while not self._ends.wait(BETWEEN):
                if self._window.closed and not self._app.busy:
                    return
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        """Close the window."""
        self._window.close()
