"""What every handler of the page's events shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import gradio as gr

from localcrag.errors import LocalcragError

Made = TypeVar("Made")
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Of an event: it is not part of an API, and Gradio draws nothing over what it changes."""
MANY: dict[str, Any] = {"trigger_mode": "multiple", "concurrency_limit": None, **PRIVATE}
"""Of an event that goes on for long: others of its kind are taken meanwhile, of this tab and of any number of tabs."""
GOOD = {"yes": True, "no": False, "": None}
"""What the page says of a label, and what it means; None takes it back."""


@contextmanager
def telling() -> Iterator[None]:
    """Tell the page what is wrong, and end the event."""
    try:
        yield
    except LocalcragError as error:
        raise gr.Error(str(error), duration=None, print_exception=False) from error


def told(make: Callable[[], Made]) -> Made:
    """Return what is made; tell the page what is wrong, and end the event."""
    with telling():
        return make()
