"""Conversations: kept, named, searched, changed, and what is left of them when the server ends in the midst of one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from localcrag.backends.store.chat_store import ChatStore
from localcrag.backends.store.database import Database
from localcrag.records.enums import Preset
from localcrag.records.errors import UnknownChat
from localcrag.records.run import Turn
from localcrag.runs.chats import UNTITLED, ChatTurn, TurnState, history


@pytest.fixture
def chats(tmp_path: Path) -> ChatStore:
    return ChatStore(Database(tmp_path / "chats.sqlite3"))


def answered(turn: ChatTurn, answer: str) -> ChatTurn:
    return dataclasses.replace(turn, answer=answer, run_id="run-1", state=TurnState.ANSWERED)


def test_a_chat_is_named_after_its_first_question_until_somebody_names_it(chats: ChatStore) -> None:
    chat = chats.begin("default")
    assert chat.title == UNTITLED
    chats.ask(chat.id, "Who kept  the light\nof Arvik?")
    chats.ask(chat.id, "And before?")
    assert chats.chat(chat.id).title == "Who kept the light of Arvik?"
    chats.change(dataclasses.replace(chats.chat(chat.id), title="Lighthouses"))
    chats.ask(chat.id, "And after?")
    assert chats.chat(chat.id).title == "Lighthouses"
    chats.change(dataclasses.replace(chats.chat(chat.id), title="  "))
    assert chats.chat(chat.id).title == "Who kept the light of Arvik?"
    assert chats.chat(chat.id).turns == 3


def test_the_chat_that_changed_last_comes_first(chats: ChatStore) -> None:
    first, second = chats.begin("default"), chats.begin("work")
    assert [chat.id for chat in chats.chats()] == [second.id, first.id]
    chats.ask(first.id, "What?")
    assert [chat.id for chat in chats.chats()] == [first.id, second.id]


@pytest.mark.parametrize("words", ["lighthouse", "KARI", "100%", "a_b", "  moen ", "ÅRVIK"])
def test_chats_are_found_by_what_was_said_in_them(chats: ChatStore, words: str) -> None:
    chat, other = chats.begin("default"), chats.begin("default")
    turn = chats.ask(chat.id, "Who kept the lighthouse of Årvik, 100% sure, a_b?")
    chats.put(chat.id, answered(turn, "Kari Moen did [1]."))
    chats.ask(other.id, "1000 things, axb")
    assert [found.id for found in chats.chats(words)] == [chat.id]


def test_turns_come_back_as_they_were(chats: ChatStore, tmp_path: Path) -> None:
    chat = chats.begin("work", preset=Preset.FAST, llm="a-model")
    first = answered(chats.ask(chat.id, "Who?"), "Kari [1].")
    chats.put(chat.id, first)
    second = chats.ask(chat.id, "When?")
    again = ChatStore(Database(tmp_path / "chats.sqlite3"))
    assert again.turns(chat.id) == [first, second]
    assert again.chat(chat.id).preset is Preset.FAST
    assert again.chat(chat.id).llm == "a-model"
    assert history(again.turns(chat.id)) == [Turn("Who?", "Kari [1].")]


def test_what_was_being_answered_when_the_server_ended_is_stopped(chats: ChatStore) -> None:
    chat = chats.begin("default")
    chats.put(chat.id, answered(chats.ask(chat.id, "Who?"), "Kari [1]."))
    chats.ask(chat.id, "When?")
    assert chats.settle() == 1
    assert [turn.state for turn in chats.turns(chat.id)] == [TurnState.ANSWERED, TurnState.STOPPED]


def test_a_question_that_is_asked_anew_takes_what_followed_it_along(chats: ChatStore) -> None:
    chat = chats.begin("default")
    turns = [answered(chats.ask(chat.id, f"Question {number}?"), "Yes.") for number in range(3)]
    chats.take_out(chat.id, 2)
    assert [turn.question for turn in chats.turns(chat.id)] == ["Question 0?"]
    # An answer that was still on its way does not come back.
    chats.put(chat.id, turns[2])
    assert len(chats.turns(chat.id)) == 1
    assert chats.ask(chat.id, "Another?").number == 2
    chats.put(chat.id, turns[1])
    assert chats.turns(chat.id)[1].answer == ""


def test_a_deleted_chat_is_gone_with_its_turns(chats: ChatStore, tmp_path: Path) -> None:
    chat = chats.begin("default")
    chats.ask(chat.id, "Who?")
    chats.delete(chat.id)
    assert chats.chats() == []
    assert Database(tmp_path / "chats.sqlite3").rows("SELECT * FROM chat_turns") == []
    for use in (chats.turns, chats.chat, chats.delete, lambda gone: chats.ask(gone, "Still there?")):
        with pytest.raises(UnknownChat, match="no chat"):
            use(chat.id)
