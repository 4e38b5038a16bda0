"""Event handlers for a chat's choices: its preset, language model, and documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.interfaces.page.chat import chat
from localcrag.interfaces.page.chat.chat import ChatColumn
from localcrag.interfaces.page.handlers import LATEST, QUEUED, or_show_error
from localcrag.records.enums import Preset
from localcrag.records.restriction import Restriction
from localcrag.text.translation import whole_number


class ChatChoices:
    """The handlers; each takes and returns the values of components."""

    def __init__(self, assembly: Assembly, column: ChatColumn, collection: gr.Dropdown) -> None:
        self._assembly, self._column, self._collection = assembly, column, collection

    def wire(self, listing: gr.HTML) -> None:
        """Connect the components, with the button of the `listing` that restricts questions to chosen documents."""
        column, collection = self._column, self._collection
        line, outputs, shown = column.scope.line, column.scope.outputs, [column.where, collection]
        chosen = [column.where, column.preset, column.llm]
        gr.on([column.preset.input, column.llm.input], self.choose, chosen, None, **LATEST)
        line.expand(self.unfold, [collection, column.scope.chosen], [line], **QUEUED)
        line.select(self.restrict, shown, outputs, **QUEUED)
        listing.apply(self.only, shown, outputs, **QUEUED)

    def choose(self, where: str, preset: str, llm: str) -> None:
        """Save another preset or language model for a chat's next questions."""
        chat_id, store = chat_number(where), self._assembly.chats
        if chat_id:
            now = or_show_error(lambda: store.chat(chat_id))
            then = replace(now, preset=parse_preset(preset), llm=llm or None)
            # Gradio reports a dropdown's value also when it loses the focus.
            if then != now:
                or_show_error(lambda: store.change(then))

    def unfold(self, collection: str, chosen: str) -> str:
        """Return the line with its form open."""
        return or_show_error(
            lambda: chat.scope_html(
                chat.read_scope(chosen), self._assembly.collections.documents(collection), form=True
            )
        )

    def restrict(self, where: str, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Restrict a chat's next questions to the documents that the form describes."""
        plain = {
            name: getattr(event, name, None) for name in ("documents", "folders", "tags", "kinds", "since", "until")
        }
        return self._put(where, collection, lambda: Restriction.of(plain))

    def only(self, where: str, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Restrict a chat's next questions to the documents chosen in the list."""
        return self._put(where, collection, lambda: Restriction(documents=tuple(map(str, event.names))))

    def _put(self, where: str, collection: str, make: Callable[[], Restriction]) -> tuple[str, str]:
        restriction, store, chat_id = or_show_error(make), self._assembly.chats, chat_number(where)
        if chat_id:
            or_show_error(lambda: store.change(replace(store.chat(chat_id), restriction=restriction)))
        return or_show_error(lambda: chat.scope_values(self._assembly, collection, restriction))


def chat_number(where: str) -> int | None:
    """Return the number of the chat that is shown; None if there is none."""
    return whole_number(where)


def parse_preset(name: str) -> Preset | None:
    """Return a chat's own preset; None if it has none."""
    return Preset(name) if name else None
