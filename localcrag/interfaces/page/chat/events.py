"""Event handlers of the chat and of the list of chats. They keep track of which chat each tab shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from localcrag.app import egress
from localcrag.app.assembly import Assembly
from localcrag.app.chats import AnswerJob, Conversations
from localcrag.interfaces.page import feedback, renderers, run_panel
from localcrag.interfaces.page.chat import chat
from localcrag.interfaces.page.chat.chat import ChatColumn, card_values
from localcrag.interfaces.page.handlers import (
    EXCLUSIVE,
    LATEST,
    PARALLEL,
    PRIVATE,
    QUEUED,
    VERDICTS,
    Tabs,
    release_buttons,
    session,
)
from localcrag.interfaces.page.renderers import render
from localcrag.records.enums import Preset
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Chat
from localcrag.runs.export import TYPES, ExportForm, export
from localcrag.runs.labels import LabelKind
from localcrag.text.translation import whole_number

Values = tuple[Any, ...]
InputValues = dict[Any, Any]
"""Values of components, by component."""


@dataclass(frozen=True, slots=True)
class ChatComponents:
    """The chat column, and the other components that show or choose chats."""

    column: ChatColumn
    panel: gr.HTML
    chats: gr.HTML
    status_line: gr.HTML
    export: gr.HTML
    collection: gr.Dropdown
    listing: gr.HTML


@dataclass(slots=True)
class _Shown:
    """A chat that a tab shows. `answering` is the answer that was in progress when the tab opened it.

    `whole` is true if all of its turns are shown.
    """

    chat_id: int | None
    answering: AnswerJob | None
    whole: bool = False


class ChatEvents:
    """The handlers; each takes and returns the values of components.

    Handlers that show a chat return at once, and a second event, `follow`, shows the answer as it is written: Gradio
    accepts no second event of a kind while the first is running, and the user may want to ask in another chat.
    """

    def __init__(self, assembly: Assembly, ui: ChatComponents) -> None:
        self._assembly, self.ui = assembly, ui
        self.conversations = Conversations(assembly.chats, assembly.ask_in_chat, assembly.models.any_unloaded)
        self._shown: Tabs[_Shown] = Tabs()

    def close(self) -> None:
        """Stop every answer, and wait until the partial answers are stored."""
        self.conversations.stop_all()

    def wire(self, page: gr.Blocks) -> None:
        """Connect the components."""
        ui = self.ui
        column, outputs = ui.column, ui.column.outputs(ui.panel)
        begins: set[Any] = {column.where, ui.collection, column.preset, column.llm, column.scope.chosen}
        chosen = [ui.collection, column.preset, column.llm]
        asks = [
            gr.on([column.send.click, column.question.submit], self.ask, {column.question, *begins},
                  [*outputs, column.question], **EXCLUSIVE),
            column.log.submit(self.ask_again, begins, outputs, **EXCLUSIVE),
            ui.panel.retry(self.ask_selection, [column.where], outputs, **EXCLUSIVE),
        ]  # fmt: skip
        each = {**QUEUED, **EXCLUSIVE}
        opens = gr.on(
            [ui.chats.select, column.where.select], self.open, None, [*outputs, *chosen, *column.scope.outputs], **each
        )
        for event in (*asks, opens):
            followed = event.success(self.follow, None, outputs, **PARALLEL)
            followed.then(self.status_line, None, [ui.status_line], **QUEUED)
        for event in asks:
            event.success(self.listed, [ui.collection], [ui.chats], **QUEUED)
        column.log.input(self.rate_answer, [column.where], [column.log, ui.panel], **each)
        release_buttons(column.log.option_select(self.show_version, [column.where], [column.log, ui.panel], **each))
        release_buttons(column.log.expand(self.show_earlier, [column.where], [column.log], **EXCLUSIVE))
        column.log.select(feedback.open_run(self._assembly), None, [ui.panel], **QUEUED)
        column.stop.click(self.stop, [column.where], None, **PARALLEL)
        column.new.click(self.new_chat, None, outputs, **each)
        card, sent = column.consent, [column.where, column.consent.query]
        gr.on([card.send.click, card.query.submit], self.answer_consent, sent, card.outputs, **PARALLEL)
        card.refuse.click(self.answer_consent, [column.where], card.outputs, **PARALLEL)
        options = [column.where, column.preset, column.llm]
        gr.on([column.preset.input, column.llm.input], self.choose_options, options, None, **LATEST)
        line, shown = column.scope.line, [column.where, ui.collection]
        line.expand(self.unfold, [ui.collection, column.scope.chosen], [line], **QUEUED)
        line.select(self.restrict, shown, column.scope.outputs, **QUEUED)
        ui.listing.apply(self.restrict_to_listed, shown, column.scope.outputs, **QUEUED)
        self.leave_chat_on(ui.collection.input)
        ui.chats.submit(self.rename, [ui.collection], [ui.chats], **QUEUED)
        ui.chats.delete(self.delete, [column.where, ui.collection], [*outputs, ui.chats], **each)
        ui.chats.input(self.search, [ui.collection], [ui.chats], **QUEUED)
        ui.chats.download(self.export, None, [ui.export], **QUEUED)
        # Use `change`, not `input`: opening a chat also chooses its collection.
        ui.collection.change(self.listed, [ui.collection], [ui.chats], **LATEST)
        page.load(self.listed, [ui.collection], [ui.chats], **PRIVATE)
        page.load(self.status_line, None, [ui.status_line], **PRIVATE)
        ui.status_line.focus(self.status_line, None, [ui.status_line], **LATEST)

    def leave_chat_on(self, *events: Any) -> None:
        """Leave the shown chat when one of these events chooses a collection other than the chat's own."""
        column, ui = self.ui.column, self.ui
        outputs = [*column.outputs(ui.panel), *column.scope.outputs]
        for event in events:
            event(self.choose_collection, [column.where, ui.collection], outputs, **{**LATEST, **EXCLUSIVE})

    def ask(self, inputs: InputValues, request: gr.Request) -> Values:
        """Ask the question in the box, in this chat or in a new one."""
        text = str(inputs[self.ui.column.question]).strip()
        if not text:
            return *self._unchanged(), gr.skip()
        chat_id = self._chat(inputs, request, follow_up=True)
        self.conversations.ask(chat_id, text)
        # The box is emptied here and not when the answer is there: text typed while it is written must stay.
        return *self._show(chat_id, request), ""

    def ask_again(self, inputs: InputValues, event: gr.EventData, request: gr.Request) -> Values:
        """Ask a turn's question again, unchanged or reworded; turn number 0 stands for a new question.

        The event has `read_all` set if every passage must be read.
        """
        number, question = int(event.turn), str(event.question)
        chat_id = self._chat(inputs, request, follow_up=not number)
        if number:
            read_all = bool(getattr(event, "read_all", False))
            self.conversations.ask_again(chat_id, number, question or None, read_all=read_all)
        else:
            self.conversations.ask(chat_id, question)
        return self._show(chat_id, request)

    def ask_selection(self, where: str, event: gr.EventData, request: gr.Request) -> Values:
        """Answer a run's question again, with sentences and passages that the user added or removed."""
        run = self._assembly.runs.get(str(event.run_id))
        choice = run_panel.parse_choice(event)
        chat_id = chat_number(where) or self._assembly.chats.begin(run.collection).id
        self.conversations.ask_selection(
            chat_id, run.question, lambda: self._assembly.answer_selection(run.run_id, choice)
        )
        return self._show(chat_id, request)

    def open(self, event: gr.EventData, request: gr.Request) -> Values:
        """Show a chat, or an empty chat if it no longer exists."""
        wanted = chat_number(str(event.chat))
        opened = None if wanted is None else self._chats().get(wanted)
        if opened is None:
            collections, llms = chat.available_choices(self._assembly)
            kept = gr.update(choices=collections), gr.skip(), gr.update(choices=llms), gr.skip(), gr.skip()
            return *self._show(None, request), *kept
        # Another tab may have created or deleted the chat's collection or model, so they are always among the choices.
        collections, llms = chat.available_choices(self._assembly, opened)
        collection = gr.update(choices=collections, value=opened.collection)
        chosen = collection, opened.preset or "", gr.update(choices=llms, value=opened.llm or "")
        scope = chat.scope_values(self._assembly, opened.collection, opened.restriction)
        return *self._show(opened.id, request), *chosen, *scope

    def follow(self, request: gr.Request) -> Iterator[Values]:
        """Show the answer that was in progress when the tab opened the chat, until it ends or the tab leaves the chat.

        If the answer has ended since, show the finished turn.
        """
        tab = session(request)
        shown = self._shown.get(tab)
        yield self._unchanged()
        if not (shown and shown.answering):
            return
        for view in chat.follow_answer(self._assembly, shown.answering, lambda: shown.whole):
            if self._shown.get(tab) is not shown:
                # The tab now shows another chat, and this answer continues in the background. Gradio sends a
                # generator's last value again when it ends, so that value must change nothing.
                yield self._unchanged()
                return
            yield view.values()
            # The tab may have opened another chat while this view was being sent, and the view replaced it.
            if self._shown.get(tab) is not shown:
                yield from self._show_again(tab)
                return
        shown.answering = None  # Otherwise the run, with everything that it found, would stay in memory for every tab.

    def choose_collection(self, where: str, collection: str, request: gr.Request) -> Values:
        """Leave the shown chat if another collection is chosen, because a chat keeps the collection it began in."""
        shown = self._chats().get(chat_number(where) or 0)
        # Gradio also reports a dropdown's value when it loses the focus.
        if shown and shown.collection == collection:
            return *self._unchanged(), gr.skip(), gr.skip()
        return *self._show(None, request), *chat.scope_values(self._assembly, collection, EVERYWHERE)

    def new_chat(self, request: gr.Request) -> Values:
        """Leave the shown chat, so that the next question begins a new one."""
        return self._show(None, request)

    def stop(self, where: str) -> None:
        """Stop the answer that is being written."""
        if answering := self._answering(where):
            answering.stop()

    def answer_consent(self, where: str, query: str | None = None) -> Values:
        """Send the query to the web, as the person has left it; without one, send nothing."""
        if answering := self._answering(where):
            answering.consent.decide(query)
        return card_values(None)

    def show_earlier(self, where: str, request: gr.Request) -> Any:
        """Show all turns of a chat, now and after each answer."""
        if shown := self._shown.get(session(request)):
            shown.whole = True
        return self.log(where, request)

    def rate_answer(self, where: str, event: gr.EventData, request: gr.Request) -> Values:
        """Label an answer as good or bad, and show its run in the panel."""
        run_id = str(event.run_id)
        self._assembly.learning.label(run_id, LabelKind.ANSWER, good=VERDICTS[event.good])
        return self.log(where, request), feedback.run_panel_by_id(self._assembly, run_id)

    def show_version(self, where: str, event: gr.EventData, request: gr.Request) -> Values:
        """Show another version of a turn, with the turns that follow it, and its run in the panel."""
        chat_id, turn = chat_number(where), int(event.turn)
        if chat_id is None:
            return gr.skip(), gr.skip()
        self.conversations.show(chat_id, turn)
        shown = self._assembly.chats.turns(chat_id, turn)
        return self.log(where, request), chat.last_panel(self._assembly, shown[-1:])

    def log(self, where: str, request: gr.Request) -> Any:
        """Return a chat's finished turns with their current labels; skip if the tab shows another chat."""
        shown = self._shown.get(session(request))
        if shown and shown.chat_id != chat_number(where):
            return gr.skip()
        whole = bool(shown and shown.whole)
        return chat.log_html(self._assembly, chat_number(where), self._answering(where), whole=whole)

    def listed(self, collection: str) -> str:
        """Return the list of chats, starting with those of the shown collection."""
        return renderers.chats(self._assembly.chats.chats(), collection)

    def search(self, collection: str, event: gr.EventData) -> str:
        """Return the list of chats that contain the search words."""
        words = str(event.words)
        return renderers.chats(self._assembly.chats.chats(words), collection, words)

    def status_line(self) -> str:
        """Return the line on what has left this computer, and whether the models are unloaded."""
        away, line = self._assembly.models.any_unloaded(), egress.summary_line(self._assembly.egress.summary())
        return render("documents/unloaded.html", line=line, away=away)

    def rename(self, collection: str, event: gr.EventData) -> str:
        """Give a chat another title."""
        store = self._assembly.chats
        store.change(replace(store.chat(int(event.chat)), title=str(event.title).strip()))
        return self.listed(collection)

    def delete(self, where: str, collection: str, event: gr.EventData, request: gr.Request) -> Values:
        """Delete a chat, and stop the answer that is being written in it."""
        gone = int(event.chat)
        self.stop(str(gone))
        self._assembly.chats.delete(gone)
        shown = self._show(None, request) if gone == chat_number(where) else self._unchanged()
        return *shown, self.listed(collection)

    def export(self, event: gr.EventData) -> str:
        """Return a chat as a file, which the page's script saves."""
        chat_id, form = int(event.chat), ExportForm(str(event.form))
        store = self._assembly.chats
        kept, turns = store.chat(chat_id), store.turns(chat_id)
        text = export(kept, turns, chat.stored_runs(self._assembly, turns), form)
        return renderers.download(kept.title, form.value, TYPES[form], text)

    def _chat(self, inputs: InputValues, request: gr.Request, *, follow_up: bool) -> int:
        """Return the number of the chat to ask in: the one that is shown or about to be shown, or a new one."""
        column = self.ui.column
        if there := chat_number(inputs[column.where]):
            shown, wanted = self._chats().get(there), inputs.get(self.ui.collection)
            offered = self._assembly.collections.offered()
            # The question may arrive before the event that leaves the shown chat for a collection that was just chosen.
            if not (follow_up and shown and shown.collection != wanted and wanted in offered):
                return there
        # On a page that was just loaded, the question may arrive before the chat in its address is shown.
        elif (named := chat_number(str(request.query_params.get("chat", "")))) and named in self._chats():
            return named
        preset, llm = parse_preset(inputs[column.preset]), inputs[column.llm] or None
        within = chat.read_scope(inputs[column.scope.chosen])
        return self._assembly.chats.begin(inputs[self.ui.collection], preset=preset, llm=llm, restriction=within).id

    def _chats(self) -> dict[int, Chat]:
        return {one.id: one for one in self._assembly.chats.chats()}

    def _answering(self, where: str) -> AnswerJob | None:
        chat_id = chat_number(where)
        return self.conversations.answering(chat_id) if chat_id else None

    def _unchanged(self) -> Values:
        # Gradio empties the outputs of a generator that ends without a value, so `follow` yields this once even without
        # an answer.
        return (gr.skip(),) * len(self.ui.column.outputs(self.ui.panel))

    def _show(self, chat_id: int | None, request: gr.Request) -> Values:
        tab = session(request)
        answering = self.conversations.answering(chat_id) if chat_id else None
        before = self._shown.get(tab)
        shown = _Shown(chat_id, answering, bool(before and before.whole and before.chat_id == chat_id))
        self._shown.put(tab, shown)
        return self._opened(shown)

    def _show_again(self, tab: str) -> Iterator[Values]:
        """Send the chat that the tab opened while a view of another chat was being sent."""
        seen: _Shown | None = None
        while (shown := self._shown.get(tab)) and shown is not seen:
            seen = shown
            yield self._opened(shown)

    def _opened(self, shown: _Shown) -> Values:
        return chat.opened_view(self._assembly, shown.chat_id, shown.answering, whole=shown.whole).values()

    def choose_options(self, where: str, preset: str, llm: str) -> None:
        """Save another preset or language model for a chat's next questions."""
        store = self._assembly.chats
        if chat_id := chat_number(where):
            now = store.chat(chat_id)
            then = replace(now, preset=parse_preset(preset), llm=llm or None)
            # Gradio also reports a dropdown's value when it loses the focus.
            if then != now:
                store.change(then)

    def unfold(self, collection: str, chosen: str) -> str:
        """Return the line with its form open."""
        return chat.scope_html(chat.read_scope(chosen), self._assembly.collections.documents(collection), form=True)

    def restrict(self, where: str, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Restrict a chat's next questions to the documents that the form describes."""
        names = ("documents", "folders", "tags", "kinds", "since", "until")
        plain = {name: getattr(event, name, None) for name in names}
        return self._save_restriction(where, collection, Restriction.of(plain))

    def restrict_to_listed(self, where: str, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Restrict a chat's next questions to the documents chosen in the list."""
        return self._save_restriction(where, collection, Restriction(documents=tuple(map(str, event.names))))

    def _save_restriction(self, where: str, collection: str, restriction: Restriction) -> tuple[str, str]:
        store = self._assembly.chats
        if chat_id := chat_number(where):
            store.change(replace(store.chat(chat_id), restriction=restriction))
        return chat.scope_values(self._assembly, collection, restriction)


def chat_number(where: str) -> int | None:
    """Return the number of the chat that is shown; None if there is none."""
    return whole_number(where)


def parse_preset(name: str) -> Preset | None:
    """Return a chat's own preset; None if it has none."""
    return Preset(name) if name else None
