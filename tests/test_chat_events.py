"""What a tab is told of a chat, whenever it looks: with the real app behind, and no browser before it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from localcrag.assemble import Assembly
from localcrag.settings import load
from localcrag.ui.page import App, build

QUESTION = "Is anything here?"
LOG, LIVE = 1, 2


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    made = Assembly(load(data_dir=tmp_path))
    yield made
    made.close()


@pytest.fixture
def app(assembly: Assembly) -> Iterator[App]:
    async def made() -> App:
        return build(assembly)

    # Within a loop of events: Gradio would make one, and leave it open.
    app = asyncio.run(made())
    yield app
    app.close()


def request(tab: str) -> gr.Request:
    return gr.Request(session_hash=tab)


def the(**said: object) -> gr.EventData:
    return gr.EventData(None, said)


def test_an_answer_that_ends_between_a_look_and_the_next_is_shown(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    app.chats.ask_again({app.chats.at.column.where: str(chat)}, the(turn=0, question=QUESTION), request("one"))
    shown = app.chats.open(the(chat=chat), request("two"))
    assert "lc-busy" in shown[LIVE]
    # By another tab's look to the end the answer has come to its own.
    *_, last = app.chats.follow(request("one"))
    assert "lc-turn" in last[LOG]
    *_, whole = app.chats.follow(request("two"))
    assert whole[LOG] == last[LOG]
    assert whole[LIVE] == ""


def test_a_tab_that_shows_another_chat_by_now_is_told_no_more_of_the_first(app: App, assembly: Assembly) -> None:
    chat = assembly.chats.begin("default").id
    app.chats.ask_again({app.chats.at.column.where: str(chat)}, the(turn=0, question=QUESTION), request("one"))
    views = app.chats.follow(request("one"))
    next(views)
    app.chats.new_chat(request("one"))
    assert list(views) == []


def test_a_chat_without_an_answer_under_way_is_left_as_it_is(app: App, assembly: Assembly) -> None:
    app.chats.open(the(chat=assembly.chats.begin("default").id), request("one"))
    (only,) = app.chats.follow(request("one"))
    assert all(value == gr.skip() for value in only)
