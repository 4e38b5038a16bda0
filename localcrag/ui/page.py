"""The page: its three columns, and what happens in them. Knows nothing but events and components."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import gradio as gr

from localcrag import settings as settings_module
from localcrag.assemble import Assembly
from localcrag.chats import Chat
from localcrag.conversations import Conversations
from localcrag.datatypes import Turn
from localcrag.errors import LocalcragError
from localcrag.events import Event
from localcrag.labels import LabelKind
from localcrag.ui import chat, learning, render
from localcrag.ui.all_questions import all_questions
from localcrag.ui.answer_settings import answer_settings
from localcrag.ui.chat import ChatColumn
from localcrag.ui.conflict_choice import conflict_choice
from localcrag.ui.consent import hidden
from localcrag.ui.documents import documents_column
from localcrag.ui.preset_choice import preset_choice
from localcrag.ui.threshold_explorer import threshold_explorer
from localcrag.ui.web_settings import web_settings
from localcrag.waiting_consent import WaitingConsent

HERE = Path(__file__).parent
Made = TypeVar("Made")
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def build(assembly: Assembly) -> gr.Blocks:
    """Return the page over an assembly."""
    conversations = Conversations(assembly.chats, lambda *asked: _answer(assembly, *asked))
    page: gr.Blocks
    with gr.Blocks(title="localcrag", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as page:
        gr.HTML(
            "<h1>localcrag</h1><p>Answers from your own documents, with the retrieval checked first. "
            "Nothing leaves this computer but a web query to the SearXNG you set.</p>",
            elem_id="lc-header",
        )
        with gr.Row(elem_id="lc-columns"):
            with gr.Column(elem_id="lc-left"):
                chats = gr.HTML("", elem_id="lc-chats", js_on_load=chat.SCRIPT)
                documents, uploads = documents_column(assembly)
            with gr.Column(elem_id="lc-middle"):
                column = chat.chat_column()
            with gr.Column(elem_id="lc-right"):
                _choices(assembly, page)
                gr.HTML("<p class='lc-title'>How this was answered</p>")
                panel = gr.HTML(render.panel(None), elem_id="lc-panel", js_on_load=learning.PANEL_SCRIPT)
                read_all, all_so_far = _folds(assembly, page)
                learning.learned_fold(
                    assembly, page, learning.Shown(column.log, panel, uploads, documents, gaps=all_so_far[1])
                )
        _wire(assembly, conversations, page, column, panel, chats, read_all, all_so_far)
    return page


def _choices(assembly: Assembly, page: gr.Blocks) -> None:
    """Make what is chosen for the questions to come."""
    with gr.Row(elem_id="lc-choices"):
        preset_choice(assembly, page)
        conflict_choice(assembly)


def _folds(assembly: Assembly, page: gr.Blocks) -> tuple[Any, tuple[gr.HTML, gr.HTML]]:
    """Make what is folded below the panel; return what reads all questions anew, and the components that show them."""
    policy = answer_settings(assembly)
    web_settings(assembly, page)
    all_so_far = all_questions(assembly, page)
    threshold_explorer(assembly, policy)
    return all_so_far


def _answer(
    assembly: Assembly, chat: Chat, question: str, history: Sequence[Turn], consent: WaitingConsent
) -> Generator[Event, None, None]:
    settings = settings_module.changed(assembly.settings, collection=chat.collection)
    return assembly.ask(question, history=history, settings=settings, preset=chat.preset, consent=consent)


def _wire(
    assembly: Assembly,
    conversations: Conversations,
    page: gr.Blocks,
    column: ChatColumn,
    panel: gr.HTML,
    chats: gr.HTML,
    read_all: Callable[[], Any],
    all_so_far: Sequence[gr.HTML],
) -> None:
    """Connect chat, panel and list of chats. Which chat a tab shows is known by its session."""
    outputs = column.outputs(panel)
    shown: dict[str, int | None] = {}

    def show(chat_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        shown[_session(request)] = chat_id
        return _told(lambda: chat.opened(assembly, conversations, chat_id)).values()

    def follow(chat_id: int | None, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        answering = conversations.answering(chat_id) if chat_id else None
        for view in chat.follow(assembly, answering) if answering else ():
            if shown.get(_session(request)) != chat_id:
                return  # Another chat is looked at now; this one goes on by itself.
            yield view.values()

    def ask(text: str, chat_id: int | None, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        if not text.strip():
            return
        if chat_id is None:
            chat_id = _told(lambda: assembly.chats.begin(assembly.settings.collection)).id
        _told(lambda: conversations.ask(chat_id, text.strip()))
        # The box is emptied here and never again: what is typed meanwhile stays.
        yield *show(chat_id, request), ""
        for values in follow(chat_id, request):
            yield *values, gr.skip()

    def ask_again(chat_id: int, event: gr.EventData, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        _told(lambda: conversations.ask_again(chat_id, int(event.turn), str(event.question) or None))
        yield show(chat_id, request)
        yield from follow(chat_id, request)

    def load(request: gr.Request) -> tuple[Any, ...]:
        wanted = dict(request.query_params).get("chat", "")
        there = {one.id for one in assembly.chats.chats()}
        return show(int(wanted) if wanted.isdigit() and int(wanted) in there else None, request)

    def new_chat(request: gr.Request) -> tuple[Any, ...]:
        return show(None, request)

    def search(event: gr.EventData) -> str:
        return listed_chats(str(event.words))

    def stop(chat_id: int | None) -> None:
        if chat_id and (answering := conversations.answering(chat_id)):
            answering.stop()

    def say(chat_id: int | None, query: str | None) -> tuple[Any, ...]:
        if chat_id and (answering := conversations.answering(chat_id)):
            answering.consent.say(query)
        return hidden()

    def like(chat_id: int, event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        good = {"yes": True, "no": False, "": None}[str(event.good)]
        _told(lambda: assembly.label(str(event.run_id), LabelKind.ANSWER, good=good))
        return show(chat_id, request)

    def listed_chats(words: str = "") -> str:
        return _told(lambda: render.chats(assembly.chats.chats(words), words))

    asked = gr.on([column.send.click, column.question.submit], ask, [column.question, column.chat_id],
                  [*outputs, column.question], **PRIVATE)  # fmt: skip
    again = column.log.submit(ask_again, [column.chat_id], outputs, **PRIVATE)
    for event in (asked, again):
        event.then(read_all, None, list(all_so_far), **PRIVATE)
        event.then(listed_chats, None, [chats], **PRIVATE)
    column.log.input(like, [column.chat_id], outputs, **PRIVATE)
    column.log.select(learning.open_run(assembly), None, [panel], **PRIVATE)
    column.stop.click(stop, [column.chat_id], None, **PRIVATE)
    column.new.click(new_chat, None, outputs, **PRIVATE)
    card = column.consent
    gr.on([card.send.click, card.query.submit], say, [column.chat_id, card.query], card.outputs, **PRIVATE)
    card.refuse.click(lambda chat_id: say(chat_id, None), [column.chat_id], card.outputs, **PRIVATE)

    def select(event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        return show(int(event.chat), request)

    def rename(event: gr.EventData) -> str:
        _told(lambda: assembly.chats.change(replace(assembly.chats.chat(int(event.chat)), title=str(event.title))))
        return listed_chats()

    def delete(chat_id: int | None, event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        gone = int(event.chat)
        stop(gone)
        _told(lambda: assembly.chats.delete(gone))
        return *show(None if gone == chat_id else chat_id, request), listed_chats()

    chats.select(select, None, outputs, **PRIVATE).then(follow, [column.chat_id], outputs, **PRIVATE)
    chats.submit(rename, None, [chats], **PRIVATE)
    chats.delete(delete, [column.chat_id], [*outputs, chats], **PRIVATE)
    chats.input(search, None, [chats], **PRIVATE)
    page.load(load, None, outputs, **PRIVATE).then(follow, [column.chat_id], outputs, **PRIVATE)
    page.load(listed_chats, None, [chats], **PRIVATE)


def _session(request: gr.Request) -> str:
    return request.session_hash or ""


def _told(make: Callable[[], Made]) -> Made:
    """Return what is made; tell the page what is wrong, and end the event."""
    try:
        return make()
    except LocalcragError as error:
        raise gr.Error(str(error), duration=None, print_exception=False) from error
