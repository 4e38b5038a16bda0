"""What all event handlers of the page share: options of events, and how errors are shown."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import gradio as gr
from markupsafe import escape

from localcrag.records.errors import LocalcragError

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
