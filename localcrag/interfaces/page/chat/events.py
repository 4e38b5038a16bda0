"""Event handlers of the chat and of the list of chats. They keep track of which chat each tab shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from localcrag.interfaces.page.renderers import TEMPLATES
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
    left: gr.HTML
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

    def __init__(self, assembly: Assembly, at: ChatComponents) -> None:
        self._assembly, self.at = assembly, at
        self.conversations = Conversations(assembly.chats, assembly.ask_in_chat, assembly.models.any_unloaded)
        self.choices = ChatChoices(assembly, at.column, at.collection)
        self._shown: Tabs[_Shown] = Tabs()

    def close(self) -> None:
        """Stop every answer, and wait until the partial answers are stored."""
        self.conversations.stop_all()

    def wire(self, page: gr.Blocks) -> None:
        """Connect the components."""
        at = self.at
        column, outputs = at.column, at.column.outputs(at.panel)
        begins: set[Any] = {column.where, at.collection, column.preset, column.llm, column.scope.chosen}
        chosen = [at.collection, column.preset, column.llm]
        asks = [
            gr.on([column.send.click, column.question.submit], self.ask, {column.question, *begins},
                  [*outputs, column.question], **EXCLUSIVE),
            column.log.submit(self.ask_again, begins, outputs, **EXCLUSIVE),
            at.panel.retry(self.ask_selection, [column.where], outputs, **EXCLUSIVE),
        ]  # fmt: skip
        each = {**QUEUED, **EXCLUSIVE}
        opens = gr.on(
            [at.chats.select, column.where.select], self.open, None, [*outputs, *chosen, *column.scope.outputs], **each
        )
        for event in (*asks, opens):
            event.success(self.follow, None, outputs, **PARALLEL).then(self.left, None, [at.left], **QUEUED)
        for event in asks:
            event.success(self.listed, [at.collection], [at.chats], **QUEUED)
        column.log.input(self.like, [column.where], [column.log, at.panel], **each)
        release_buttons(column.log.option_select(self.show_version, [column.where], [column.log, at.panel], **each))
        release_buttons(column.log.expand(self.earlier, [column.where], [column.log], **EXCLUSIVE))
        column.log.select(feedback.open_run(self._assembly), None, [at.panel], **QUEUED)
        column.stop.click(self.stop, [column.where], None, **PARALLEL)
        column.new.click(self.new_chat, None, outputs, **each)
        card = column.consent
        gr.on([card.send.click, card.query.submit], self.say, [column.where, card.query], card.outputs, **PARALLEL)
        card.refuse.click(self.say, [column.where], card.outputs, **PARALLEL)
        self.choices.wire(at.listing)
        self.leaves(at.collection.input)
        at.chats.submit(self.rename, [at.collection], [at.chats], **QUEUED)
        at.chats.delete(self.delete, [column.where, at.collection], [*outputs, at.chats], **each)
        at.chats.input(self.search, [at.collection], [at.chats], **QUEUED)
        at.chats.download(self.export, None, [at.export], **QUEUED)
        # Use `change`, not `input`: opening a chat also chooses its collection.
        at.collection.change(self.listed, [at.collection], [at.chats], **LATEST)
        page.load(self.listed, [at.collection], [at.chats], **PRIVATE)
        page.load(self.left, None, [at.left], **PRIVATE)
        at.left.focus(self.left, None, [at.left], **LATEST)

    def leaves(self, *events: Any) -> None:
        """Leave the shown chat when one of these events chooses a collection other than the chat's own."""
        column, at = self.at.column, self.at
        outputs = [*column.outputs(at.panel), *column.scope.outputs]
        for event in events:
            event(self.choose_collection, [column.where, at.collection], outputs, **{**LATEST, **EXCLUSIVE})

    def ask(self, inputs: InputValues, request: gr.Request) -> Values:
        """Ask the question in the box, in this chat or in a new one."""
        text = str(inputs[self.at.column.question]).strip()
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
        return (
            *self._show(opened.id, request),
            gr.update(choices=collections, value=opened.collection),
            opened.preset or "",
            gr.update(choices=llms, value=opened.llm or ""),
            *chat.scope_values(self._assembly, opened.collection, opened.restriction),
        )

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
        everywhere = chat.scope_values(self._assembly, collection, EVERYWHERE)
        return *self._show(None, request), *everywhere

    def new_chat(self, request: gr.Request) -> Values:
        """Leave the shown chat, so that the next question begins a new one."""
        return self._show(None, request)

    def stop(self, where: str) -> None:
        """Stop the answer that is being written."""
        if answering := self._answering(where):
            answering.stop()

    def say(self, where: str, query: str | None = None) -> Values:
        """Send the query to the web, as the person has left it; without one, send nothing."""
        if answering := self._answering(where):
            answering.consent.decide(query)
        return card_values(None)

    def earlier(self, where: str, request: gr.Request) -> Any:
        """Show all turns of a chat, now and after each answer."""
        if shown := self._shown.get(session(request)):
            shown.whole = True
        return self.log(where, request)

    def like(self, where: str, event: gr.EventData, request: gr.Request) -> Values:
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

    def left(self) -> str:
        """Return the line on what has left this computer, and whether the models are unloaded."""
        away, line = self._assembly.models.any_unloaded(), egress.summary_line(self._assembly.egress.summary())
        return TEMPLATES.get_template("documents/unloaded.html").render(line=line, away=away)

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
        column = self.at.column
        if there := chat_number(inputs[column.where]):
            shown, wanted = self._chats().get(there), inputs.get(self.at.collection)
            offered = self._assembly.collections.offered()
            # The question may arrive before the event that leaves the shown chat for a collection that was just chosen.
            if not (follow_up and shown and shown.collection != wanted and wanted in offered):
                return there
        # On a page that was just loaded, the question may arrive before the chat in its address is shown.
        elif (named := chat_number(str(request.query_params.get("chat", "")))) and named in self._chats():
            return named
        preset, llm = parse_preset(inputs[column.preset]), inputs[column.llm] or None
        within = chat.read_scope(inputs[column.scope.chosen])
        begin = self._assembly.chats.begin
        return begin(inputs[self.at.collection], preset=preset, llm=llm, restriction=within).id

    def _chats(self) -> dict[int, Chat]:
        return {one.id: one for one in self._assembly.chats.chats()}

    def _answering(self, where: str) -> AnswerJob | None:
        chat_id = chat_number(where)
        return self.conversations.answering(chat_id) if chat_id else None

    def _unchanged(self) -> Values:
        # Gradio empties the outputs of a generator that ends without a value, so `follow` yields this once even without
        # an answer.
        return (gr.skip(),) * len(self.at.column.outputs(self.at.panel))

    def _show(self, chat_id: int | None, request: gr.Request) -> Values:
        tab = session(request)
        answering = self.conversations.answering(chat_id) if chat_id else None
        before = self._shown.get(tab)
        whole = bool(before and before.whole and before.chat_id == chat_id)
        shown = _Shown(chat_id, answering, whole)
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


class ChatChoices:
    """Event handlers for a chat's choices: its preset, language model, and documents."""

    def __init__(self, assembly: Assembly, column: ChatColumn, collection: gr.Dropdown) -> None:
        self._assembly, self._column, self._collection = assembly, column, collection

    def wire(self, listing: gr.HTML) -> None:
        """Connect the components, and the button of the `listing` that restricts questions to chosen documents."""
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
        plain = {
            name: getattr(event, name, None) for name in ("documents", "folders", "tags", "kinds", "since", "until")
        }
        return self._put(where, collection, lambda: Restriction.of(plain))

    def only(self, where: str, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Restrict a chat's next questions to the documents chosen in the list."""
        return self._put(where, collection, lambda: Restriction(documents=tuple(map(str, event.names))))

    def _put(self, where: str, collection: str, make: Callable[[], Restriction]) -> tuple[str, str]:
        restriction, store, chat_id = make(), self._assembly.chats, chat_number(where)
        if chat_id:
            store.change(replace(store.chat(chat_id), restriction=restriction))
        return chat.scope_values(self._assembly, collection, restriction)


def chat_number(where: str) -> int | None:
    """Return the number of the chat that is shown; None if there is none."""
    return whole_number(where)


def parse_preset(name: str) -> Preset | None:
    """Return a chat's own preset; None if it has none."""
    return Preset(name) if name else None
