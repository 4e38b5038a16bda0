"""Files that the page has made for somebody to fetch: each once, by an address that nobody can guess."""

from __future__ import annotations

import inspect
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Generic, TypeVar

import gradio as gr
from cachetools import LRUCache
from markupsafe import escape

from localcrag.records.errors import LocalcragError

ADDRESS = "/localcrag/made/"


class MadeFiles:
    """Files that were made to be fetched, in a folder for that; each is removed when it was."""

    def __init__(self, folder: Path) -> None:
        """`folder` is emptied by who starts and ends the server."""
        self._folder = folder
        self._made: dict[str, Path] = {}
        self._lock = threading.Lock()

    def place(self, name: str) -> Path:
        """Return where a file of this name can be made, which nobody else can guess."""
        folder = self._folder / secrets.token_urlsafe(24)
        folder.mkdir(parents=True, mode=0o700)
        return folder / name

    def offer(self, path: Path) -> str:
        """Return the address at which a file that was made can be fetched, once."""
        token = path.parent.name
        with self._lock:
            self._made[token] = path
        return ADDRESS + token

    def discard(self, path: Path) -> None:
        """Remove a file, as one that was fetched or could not be made, with its folder."""
        shutil.rmtree(path.parent, ignore_errors=True)

    def claim(self, token: str) -> Path | None:
        """Return the file of a token, which nobody gets again; None where there is none."""
        with self._lock:
            return self._made.pop(token, None)


MOST_TABS = 100
"""Tabs that are remembered: those that were used last."""
Known = TypeVar("Known")


class Tabs(Generic[Known]):
    """What is known of tabs, by their session hash."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Known] = LRUCache(MOST_TABS)
        self._lock = threading.Lock()

    def get(self, tab: str) -> Known | None:
        """Return what is known of a tab; None: nothing, or no more."""
        with self._lock:
            return self._known.get(tab)

    def put(self, tab: str, known: Known) -> None:
        """Know this of a tab from now on, and forget what was used longest ago."""
        with self._lock:
            self._known[tab] = known


def session(request: gr.Request) -> str:
    """Return the session hash of the tab that a request comes from."""
    return request.session_hash or ""


Made = TypeVar("Made")
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Of an event: it is not part of an API, and Gradio draws nothing over what it changes."""
MANY: dict[str, Any] = {"trigger_mode": "multiple", "concurrency_limit": None, **PRIVATE}
"""Of an event that goes on for long: others of its kind are taken meanwhile, of this tab and of any number of tabs."""
EACH: dict[str, Any] = {"trigger_mode": "multiple", "concurrency_limit": 1, **PRIVATE}
"""Of an event that says what it is about (`gr.EventData`): each one counts, one after another.

Else Gradio drops a second one while the first is under way; with "always_last", 6.31 says the first once more. Two at
once could end in the other order, and the page would go on showing what was asked for first."""
IN_ITS_PLACE: dict[str, Any] = {"concurrency_id": "what is shown", "concurrency_limit": 1, **PRIVATE}
"""Of an event that changes what the chat shows: one after another, of whichever kind, as for `EACH`."""
LATEST: dict[str, Any] = {"trigger_mode": "always_last", **PRIVATE}
"""Of an event that is told what its inputs hold: of several while one is under way, the last one counts."""
GOOD = {"yes": True, "no": False, "": None}
"""What the page says of a label, and what it means; None takes it back."""


def as_text(error: Exception) -> str:
    """Return what an error says so that it is read as it stands: Gradio shows its messages as HTML."""
    return str(escape(str(error)))


@contextmanager
def telling() -> Iterator[None]:
    """Tell the page what is wrong, and end the event."""
    try:
        yield
    except LocalcragError as error:
        raise gr.Error(as_text(error), duration=None, print_exception=False) from error


@contextmanager
def telling_all() -> Iterator[None]:
    """Tell the page also what nobody foresaw; the terminal has the rest."""
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        raise gr.Error(as_text(error) or type(error).__name__, duration=None) from error


def tell_all(page: gr.Blocks) -> None:
    """Have every event of a page tell what goes wrong in it."""
    for event in page.fns.values():
        if event.fn:
            event.fn = _telling_all(event.fn)


def _telling_all(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    def once(*values: Any) -> Any:
        with telling_all():
            return handler(*values)

    @wraps(handler)
    def piece_by_piece(*values: Any) -> Iterator[Any]:
        with telling_all():
            yield from handler(*values)

    return piece_by_piece if inspect.isgeneratorfunction(handler) else once


def releases(*steps: Any) -> None:
    """Have the buttons that were pressed for an event take clicks again: after its last step, or one that failed."""
    for ended in (*(step.failure for step in steps), steps[-1].then):
        ended(None, None, None, js="() => window.lcRelease()", **PRIVATE)


def told(make: Callable[[], Made]) -> Made:
    """Return what is made; tell the page what is wrong, and end the event."""
    with telling():
        return make()
