"""Helpers for Gradio: downloads, tabs, options of events, errors, and repairs of what it leaks.

A handler may raise any error: `show_all_errors` has the page show it. The dictionaries (`PARALLEL`, `QUEUED`, …) are
the options with which events are connected: how many may run at once, and which ones count.
"""

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
from gradio.block_function import BlockFunction
from gradio.data_classes import FileData
from gradio.state_holder import SessionState
from gradio.utils import NamedString
from markupsafe import escape

from localcrag.records.errors import LocalcragError

ADDRESS = "/localcrag/made/"


class DownloadFiles:
    """Files for download: each can be fetched once, from an address that cannot be guessed, and is then removed."""

    def __init__(self, folder: Path) -> None:
        """Store files in `folder`, which launch.py empties when the server starts and ends."""
        self._folder = folder
        self._made: dict[str, Path] = {}

    def place(self, name: str) -> Path:
        """Return a path for a file of this name, in a new folder whose name cannot be guessed."""
        folder = self._folder / secrets.token_urlsafe(24)
        folder.mkdir(parents=True, mode=0o700)
        return folder / name

    def offer(self, path: Path) -> str:
        """Return the address from which a finished file can be downloaded once."""
        self._made[path.parent.name] = path
        return ADDRESS + path.parent.name

    def discard(self, path: Path) -> None:
        """Remove a file that was downloaded or could not be made, with its folder."""
        shutil.rmtree(path.parent, ignore_errors=True)

    def claim(self, token: str) -> Path | None:
        """Return the file of a token, and forget the token; None if there is no such file."""
        return self._made.pop(token, None)


MAX_TABS = 100
"""Number of tabs to remember; with more, the least recently used ones are forgotten."""
Value = TypeVar("Value")


class Tabs(Generic[Value]):
    """Values for the most recently used tabs, by session hash; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Value] = LRUCache(MAX_TABS)
        self._lock = threading.Lock()

    def get(self, tab: str) -> Value | None:
        """Return the value of a tab; None if it has none or was forgotten."""
        with self._lock:
            return self._known.get(tab)

    def put(self, tab: str, known: Value) -> None:
        """Store a value for a tab; if there are too many tabs, the least recently used one is forgotten."""
        with self._lock:
            self._known[tab] = known


def session(request: gr.Request) -> str:
    """Return the session hash of the tab that a request comes from."""
    return request.session_hash or ""


PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Options of every event: it is not part of an API, and Gradio shows no progress over its outputs."""
PARALLEL: dict[str, Any] = {"trigger_mode": "multiple", "concurrency_limit": None, **PRIVATE}
"""Options of an event that takes long: any number of its kind may run at once, from this tab and others."""
QUEUED: dict[str, Any] = {"trigger_mode": "multiple", "concurrency_limit": 1, **PRIVATE}
"""Options of an event with its own data (`gr.EventData`), or after another event: each is handled, one at a time.

By default, Gradio drops a second event while the first is running; with "always_last", Gradio 6.31 repeats the data of
the first. If two events ran at once, they could end in the wrong order, and the page would show the older result.
"""
EXCLUSIVE: dict[str, Any] = {"concurrency_id": "what is shown", "concurrency_limit": 1, **PRIVATE}
"""Options of an event that changes the chat's view: all events with these options are handled one at a time."""
LATEST: dict[str, Any] = {"trigger_mode": "always_last", **PRIVATE}
"""Options of an event that gets its data from its inputs: of several events during a run, only the last counts."""
VERDICTS = {"yes": True, "no": False, "": None}
"""Values of labels, keyed by the word that the page sends; None removes a label."""


def escaped_message(error: Exception) -> str:
    """Return the message of an error, escaped, because Gradio shows messages as HTML."""
    return str(escape(str(error)))


@contextmanager
def showing_errors() -> Iterator[None]:
    """Show an error on the page, and end the event; the terminal shows the place of an unexpected one."""
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        expected = isinstance(error, LocalcragError)
        text = escaped_message(error) or type(error).__name__
        raise gr.Error(text, duration=None, print_exception=not expected) from error


def show_all_errors(page: gr.Blocks) -> None:
    """Wrap every event of a page, so that its errors are shown."""
    for event in page.fns.values():
        if event.fn:
            event.fn = _with_errors_shown(event.fn)


def _with_errors_shown(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler)
    def piece_by_piece(*values: Any) -> Iterator[Any]:
        with showing_errors():
            yield from handler(*values)

    return piece_by_piece if inspect.isgeneratorfunction(handler) else showing_errors()(handler)


def release_buttons(*steps: Any) -> None:
    """Enable pressed buttons again after an event's last step, or after a step that failed."""
    for ended in (*(step.failure for step in steps), steps[-1].then):
        ended(None, None, None, js="() => window.lcRelease()", **PRIVATE)


class SteadyBlocks(gr.Blocks):
    """Blocks whose components keep their ids, so that a tab's state does not grow.

    For each `gr.update` and `gr.skip`, Gradio 6.31 replaces the tab's component with a new one with a new id, and
    stores the next value under that id. All these values stay as long as the tab's state: a whole chat with each
    answer.
    """

    async def postprocess_data(
        self, block_fn: BlockFunction, predictions: list[Any] | dict[Any, Any], state: SessionState | None
    ) -> list[Any]:
        """Return the values to send to the components, and give replaced components the ids of the original ones."""
        values = await super().postprocess_data(block_fn, predictions, state)
        if state is not None:
            for block in block_fn.outputs:
                # Components that keep state (gr.State) are not replaced by Gradio.
                if block._id in state and not block.stateful:
                    state[block._id]._id = block._id
        return values


def fix_upload_leak(*uploads: gr.File | gr.UploadButton) -> None:
    """Make components pass on only the paths of dropped files: Gradio 6.31 leaves an empty file behind for each."""
    for one in uploads:
        # A subclass would be the usual way, but Gradio would write a stub file for it next to this module.
        vars(one)["_process_single_file"] = _path


def _path(file: FileData) -> NamedString:
    return NamedString(file.path)  # type: ignore[no-untyped-call]
