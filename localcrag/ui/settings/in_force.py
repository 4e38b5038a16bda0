"""What is in force, shown by the fields of the settings whenever page or settings are opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from localcrag.ui.handlers import EACH, PRIVATE


class InForce:
    """The fields, each with what returns its value in force for a collection.

    The page is built once: without this, a reload would show what was set when the server was started. Another tab, or
    a command, may have changed it as well.
    """

    def __init__(self) -> None:
        self._fields: dict[Any, Callable[[str], Any]] = {}
        self._further: list[tuple[Callable[..., Any], list[Any], list[Any]]] = []

    def add(self, field: Any, value: Callable[[str], Any]) -> None:
        """Have a field show this."""
        self._fields[field] = value

    def wire(self, page: gr.Blocks, top: gr.HTML, collection: gr.Dropdown) -> None:
        """Show it: on load, for another collection, and when `top` says that the settings are opened."""
        fields = list(self._fields)
        # A number that is out of bounds is replaced, too, and no error.
        event: dict[str, Any] = {"inputs": [collection, *fields], "outputs": fields, "preprocess": False} | PRIVATE
        # On load, a chat may choose another collection meanwhile.
        gr.on([page.load, collection.change], self.read, trigger_mode="always_last", **event)
        # Asked at once, not after another handler: it would be asked with what is typed meanwhile, and undo it.
        opened = top.select(self.read, **event | EACH)
        for handler, inputs, outputs in self._further:
            opened = opened.then(handler, inputs, outputs, **PRIVATE)

    def then(self, handler: Callable[..., Any], inputs: list[Any], outputs: list[Any]) -> None:
        """Have a handler called as well when the settings are opened.

        Gradio calls the handlers of an event one after another, each with what the page shows by then.
        """
        self._further.append((handler, inputs, outputs))

    def read(self, collection: str, *shown: Any) -> list[Any]:
        """Return the values in force; what is `shown` already stays, and with it what is being typed meanwhile."""
        values = [value(collection) for value in self._fields.values()]
        return [gr.skip() if was == now else now for was, now in zip(shown, values, strict=True)]
