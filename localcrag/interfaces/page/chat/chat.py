"""The chat column: its components, and their contents before, during and after an answer.

The column has the chat's turns, the card that asks for consent before a query leaves for the web (`ConsentCard`), the
line that says which documents are searched (`Scope`), and the question box (`ChatColumn`). `opened_view`, `log_html`
and `follow_answer` return the HTML and the values that show a chat. The handlers of events are in events.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import gradio as gr
from markupsafe import Markup

from localcrag.app.assembly import Assembly
from localcrag.app.chats import AnswerJob
from localcrag.interfaces.page import feedback, run_panel
from localcrag.interfaces.page.chat.html import empty_chat, turn_html, turns_html
from localcrag.interfaces.page.handlers import escaped_message
from localcrag.interfaces.page.renderers import render
from localcrag.records import events
from localcrag.records.documents import Document
from localcrag.records.enums import Preset
from localcrag.records.errors import LocalcragError, UnknownRun
from localcrag.records.models import ModelState, short_name
from localcrag.records.restriction import EVERYWHERE, Restriction, parent_folders
from localcrag.records.run import Chat, ChatTurn, Run
from localcrag.runs.labels import LabelKind
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop


class ConsentCard:
    """The components of the card that asks for consent to a web query; it is hidden at first."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="lc-consent") as self.card:
            self.asks = gr.HTML(consent_question())
            plain: dict[str, Any] = {"show_label": False, "container": False, "lines": 1, "max_lines": 4}
            label = _("The query, exactly as it is sent")
            self.query = gr.Textbox(label=label, elem_id="lc-consent-query", **plain)
            with gr.Row(elem_id="lc-consent-buttons"):
                small: dict[str, Any] = {"size": "sm", "min_width": 120}
                self.send = gr.Button(_("Search the web"), variant="primary", elem_id="lc-consent-send", **small)
                self.refuse = gr.Button(_("Not this time"), elem_id="lc-consent-refuse", **small)
        self.outputs = [self.card, self.query]


def consent_question() -> str:
    """Return the text of the card's question, as HTML."""
    return Markup("<p role='status'><b>{}</b> {}</p>").format(
        _("Your documents are not enough."), _("Send this query to your SearXNG? You can edit it first.")
    )


def card_values(query: str | None) -> tuple[Any, Any]:
    """Return the values of `ConsentCard.outputs`; `query` is the one that waits for consent, None if none does."""
    return gr.Column(visible=query is not None), query or ""


MAX_OFFERED = 200
"""Maximum number of folders, tags or kinds in the form. Others can only be named with the command-line options."""


class Scope:
    """The components of the line that tells which documents are searched.

    `chosen` is hidden and contains the choice as JSON, which a tab keeps when the server restarts.
    """

    def __init__(self, script: str) -> None:
        self.chosen = gr.HTML("", visible="hidden", elem_id="lc-chosen-documents")
        self.line = gr.HTML(unrestricted_line(), elem_id="lc-scope", js_on_load=script)
        self.outputs = [self.chosen, self.line]


def scope_html(restriction: Restriction, documents: Sequence[Document], *, form: bool = False) -> str:
    """Return the line, with its `form` if it is open; `documents` are all documents of the collection."""
    folders = _sorted(folder for one in documents for name in one.names for folder in parent_folders(name))
    tags, kinds = _sorted(tag for one in documents for tag in one.tags), _sorted(one.kind for one in documents)
    offered = (("folders", _("Folders"), folders), ("tags", _("Tags"), tags), ("kinds", _("Kinds"), kinds))
    lists = {"documents": (_("Documents"), list(restriction.documents))}
    for name, label, there in offered:
        # Values that are chosen are offered even if no document has them any more: else they could not be unchecked.
        lists[name] = label, [*dict.fromkeys([*getattr(restriction, name), *there[:MAX_OFFERED]])]
    chosen = {name: set(getattr(restriction, name)) for name in lists}
    counts = {"number": sum(restriction.allows(one) for one in documents), "of": len(documents)}
    shown = {"restriction": restriction, "words": restriction.in_words(), "form": form}
    return render("chat/scope.html", chosen=chosen, lists=lists, **counts, **shown)


def unrestricted_line() -> str:
    """Return the line for a chat that searches all documents."""
    return scope_html(EVERYWHERE, ())


def scope_values(assembly: Assembly, collection: str, restriction: Restriction) -> tuple[str, str]:
    """Return the values of `Scope.outputs`. Raises StoreError."""
    documents = assembly.collections.documents(collection) if restriction else ()
    return json.dumps(restriction.plain()) if restriction else "", scope_html(restriction, documents)


def read_scope(chosen: str) -> Restriction:
    """Return the restriction that is stored in the hidden component."""
    return Restriction.of(json.loads(chosen)) if chosen else EVERYWHERE


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=str.casefold)


TURNS_SHOWN = 50
"""Number of finished turns that a chat shows until the user asks for earlier ones: each answer sends all shown turns
again."""
LOADING, WORKING = gettext_noop("loading the models"), gettext_noop("working")


class ChatColumn:
    """The column's components.

    `where` is hidden and contains the number of the shown chat, which a tab keeps when the server restarts.
    """

    def __init__(self, assembly: Assembly, script: str) -> None:
        self.where = gr.HTML("", elem_id="lc-where", js_on_load=script, visible="hidden")
        with gr.Column(elem_id="lc-chat"):
            self.log = gr.HTML(empty_chat(assembly), elem_id="lc-log", js_on_load=script)
            self.live = gr.HTML("", elem_id="lc-live")
        self.consent = ConsentCard()
        with gr.Column(elem_id="lc-ask"):
            self.scope = Scope(script)
            self.question = gr.Textbox(
                elem_id="lc-question", placeholder=_("Ask your documents"), label=_("Your question"), show_label=False,
                lines=1, max_lines=6, container=False, autofocus=True,
            )  # fmt: skip
            with gr.Row(elem_id="lc-ask-with"):
                narrow: dict[str, Any] = {"value": "", "filterable": False, "container": False, "min_width": 0}
                self.preset = gr.Dropdown(preset_choices(), label=_("Preset"), elem_id="lc-chat-preset", **narrow)
                llms, label = llm_choices(assembly), _("Language model")
                self.llm = gr.Dropdown(llms, label=label, elem_id="lc-chat-llm", **narrow)
                small: dict[str, Any] = {"size": "sm", "min_width": 0}
                self.new = gr.Button(_("New chat"), elem_id="lc-new", **small)
                self.send = gr.Button(_("Ask"), variant="primary", elem_id="lc-send", **small)
                self.stop = gr.Button(_("Stop"), variant="stop", visible=False, elem_id="lc-stop", **small)

    def outputs(self, panel: gr.HTML) -> list[Any]:
        """Return the components whose values `View.values` returns; `panel` is the side panel."""
        return [self.where, self.log, self.live, panel, self.send, self.stop, *self.consent.outputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """New contents of the column and the panel; a field that is None leaves its component unchanged.

    `proposed` is the web query that waits for consent.
    """

    chat_id: int | None
    log: str | None = None
    live: str | None = None
    panel: str | None = None
    busy: bool = False
    proposed: str | None = None

    def values(self) -> tuple[Any, ...]:
        """Return the values for the components of `ChatColumn.outputs`."""
        shown = (gr.skip() if value is None else value for value in (self.log, self.live, self.panel))
        buttons = gr.update(visible=not self.busy), gr.update(visible=self.busy)
        return str(self.chat_id or ""), *shown, *buttons, *card_values(self.proposed)


def preset_choices() -> list[tuple[str, str]]:
    """Return the presets that a chat can have, as label and value; the first is its collection's preset."""
    return [(_("Default preset"), ""), *((preset_name(preset), preset.value) for preset in Preset)]


def preset_name(preset: Preset) -> str:
    """Return a preset's name for display."""
    return _(preset.value).replace("-", " ")


def llm_choices(assembly: Assembly) -> list[tuple[str, str]]:
    """Return the installed language models, as label and value; the first is the model in the settings."""
    there = [(short_name(model.name), model.name) for model in assembly.library.language_models(ModelState.PRESENT)]
    return [(_("%(name)s (settings)", name=short_name(assembly.settings.llm)), ""), *there]


def available_choices(assembly: Assembly, shown: Chat | None = None) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the collections and language models to choose from, including those of the shown chat."""
    collections, llms = {*assembly.collections.offered()}, llm_choices(assembly)
    if shown:
        collections.add(shown.collection)
        if shown.llm and shown.llm not in [name for _, name in llms]:
            llms.append((shown.llm, shown.llm))
    return sorted(collections), llms


def opened_view(assembly: Assembly, chat_id: int | None, answering: AnswerJob | None, *, whole: bool) -> View:
    """Return the view of a chat when it is opened: its stored turns, and the turn that is being answered.

    With `whole`, all finished turns are shown, otherwise the newest ones.
    """
    turns, busy = _finished_turns(assembly, chat_id, answering), answering is not None
    log = _render_log(assembly, turns, whole=whole, empty=not busy)
    live = turn_html(answering.turn, None, busy=_(LOADING)) if answering else ""
    return View(chat_id=chat_id, log=log, live=live, panel=last_panel(assembly, turns), busy=busy)


def log_html(assembly: Assembly, chat_id: int | None, answering: AnswerJob | None, *, whole: bool) -> str:
    """Return the HTML of a chat's finished turns: the newest ones, or, with `whole`, all."""
    return _render_log(assembly, _finished_turns(assembly, chat_id, answering), whole=whole, empty=answering is None)


def follow_answer(assembly: Assembly, answering: AnswerJob, whole: Callable[[], bool]) -> Iterator[View]:
    """Yield views while a question is answered, from its current state on, and at the end the chat's finished turns.

    `whole` is called at the end, and returns whether the tab shows all turns.
    """
    run: Run | None = None
    busy, waiting, chat_id = _(LOADING), None, answering.chat_id
    try:
        for batch in answering.job.follow():
            panel = False
            for happened in batch:
                run, event = happened.run, happened.event
                busy = activity(event) or busy
                panel = panel or changes_panel(event)
                waiting = event.query if isinstance(event, events.QueryProposed) else None
            live, shown = turn_html(answering.turn, run, busy=busy), run_panel.panel(run, busy) if panel else None
            yield View(chat_id=chat_id, live=live, panel=shown, busy=True, proposed=waiting)
    except LocalcragError as error:
        gr.Warning(escaped_message(error), duration=None, title=_("This did not work"))
    turns = assembly.chats.turns(chat_id)
    # If a new version of an answer was stopped or failed, the older, finished version stays visible. The panel then
    # shows the older version.
    in_place = [turn for turn in turns if turn.parent == answering.turn.parent]
    own = any(turn.number == answering.turn.number for turn in in_place)
    shown = feedback.panel(assembly, run) if run and own else last_panel(assembly, in_place)
    yield View(chat_id=chat_id, log=_render_log(assembly, turns, whole=whole()), live="", panel=shown)


_TEXT_PIECES = (events.AnswerPiece, events.GradePiece, events.PointPiece)
_FOUND = (events.Condensed, events.Retrieved, events.Retried, events.Searched, events.Evaluated)
_STEPS_DONE = (*_FOUND, events.Decided, events.Refined, events.Reconciled)


def activity(event: events.Event) -> str | None:
    """Return the activity that an event begins, in words; None if the activity does not change."""
    match event:
        case events.StepStarted(detail=detail):
            return detail
        case events.QueryProposed():
            return _("waiting for your consent")
    return _(WORKING) if isinstance(event, _STEPS_DONE) else None


def changes_panel(event: events.Event) -> bool:
    """Return whether an event changes the panel. Pieces of text do not, because there are many per second."""
    return not isinstance(event, (*_TEXT_PIECES, events.PlainPromptCounted, events.RunStarted))


def last_panel(assembly: Assembly, turns: list[ChatTurn]) -> str:
    """Return the panel for the last of these turns that has a run; an empty panel if none does."""
    run = next((run for turn in reversed(turns) if (run := _stored_run(assembly, turn))), None)
    return feedback.panel(assembly, run) if run else run_panel.panel(None)


def stored_runs(assembly: Assembly, turns: list[ChatTurn]) -> dict[str, Run]:
    """Return the runs of these turns that still exist, by run id."""
    return {run.run_id: run for turn in turns if (run := _stored_run(assembly, turn))}


def _finished_turns(assembly: Assembly, chat_id: int | None, answering: AnswerJob | None) -> list[ChatTurn]:
    """Return a chat's visible turns up to the one that is being answered, for the first time or again."""
    turns = assembly.chats.turns(chat_id) if chat_id else []
    return [*takewhile(lambda turn: answering is None or turn.parent != answering.turn.parent, turns)]


def _render_log(assembly: Assembly, turns: list[ChatTurn], *, whole: bool, empty: bool = True) -> str:
    """Return the HTML of turns; for an `empty` chat without turns, return the first screen."""
    if empty and not turns:
        return empty_chat(assembly)
    earlier = 0 if whole else max(len(turns) - TURNS_SHOWN, 0)
    turns = turns[earlier:]
    runs = stored_runs(assembly, turns)
    labels = assembly.learning.labels.find(kind=LabelKind.ANSWER)
    answer_labels = {label.run_id: label.good for label in labels if label.run_id in runs}
    return turns_html(turns, runs, answer_labels, earlier)


def _stored_run(assembly: Assembly, turn: ChatTurn) -> Run | None:
    try:
        return assembly.runs.get(turn.run_id) if turn.run_id else None
    except UnknownRun:
        return None  # The run has been deleted since; the turn keeps its question and answer.
