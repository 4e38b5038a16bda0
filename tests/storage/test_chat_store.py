"""Conversations: kept, named, searched, changed, and what is left of them when the server ends in the midst of one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from localcrag.records.enums import Preset
from localcrag.records.errors import QuestionError, StoreError, UnknownChat
from localcrag.records.run import UNTITLED, ChatTurn, Turn, TurnState, Version, history
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.storage.salvage import copy_readable_rows


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


def questions(chats: ChatStore, chat_id: int) -> list[str]:
    return [turn.question for turn in chats.turns(chat_id)]


def asked(chats: ChatStore, chat_id: int, *texts: str, instead_of: int | None = None) -> list[ChatTurn]:
    """Ask questions, the first of them in place of a turn, and answer each."""
    turns = []
    for text in texts:
        turn = answered(chats.ask(chat_id, text, instead_of=instead_of), f"Answer to {text}")
        chats.put(chat_id, turn)
        turns.append(turn)
        instead_of = None
    return turns


def test_an_edited_question_hides_the_later_turns_and_the_first_version_brings_them_back(chats: ChatStore) -> None:
    chat = chats.begin("default")
    one, two, _ = asked(chats, chat.id, "One?", "Two?", "Three?")
    edited, _ = asked(chats, chat.id, "Zwei?", "Drei?", instead_of=two.number)
    assert questions(chats, chat.id) == ["One?", "Zwei?", "Drei?"]
    chats.show(chat.id, two.number)
    assert questions(chats, chat.id) == ["One?", "Two?", "Three?"]
    chats.show(chat.id, edited.number)
    assert questions(chats, chat.id) == ["One?", "Zwei?", "Drei?"]
    _, shown, _ = chats.turns(chat.id)
    assert [version.number for version in shown.versions] == [two.number, edited.number]
    assert chats.turns(chat.id)[0] == one, "a turn with one version lists none"


def test_the_first_question_has_versions_as_well(chats: ChatStore) -> None:
    chat = chats.begin("default")
    first, _ = asked(chats, chat.id, "One?", "Two?")
    asked(chats, chat.id, "Eins?", instead_of=first.number)
    assert questions(chats, chat.id) == ["Eins?"]
    chats.show(chat.id, first.number)
    assert questions(chats, chat.id) == ["One?", "Two?"]


def test_choosing_a_version_on_a_hidden_branch_shows_that_branch(chats: ChatStore) -> None:
    chat = chats.begin("default")
    first, second = asked(chats, chat.id, "One?", "Two?")
    asked(chats, chat.id, "Eins?", "Zwei?", instead_of=first.number)
    chats.show(chat.id, second.number)
    assert questions(chats, chat.id) == ["One?", "Two?"]


def test_an_answer_given_once_more_on_a_hidden_branch_is_seen(chats: ChatStore) -> None:
    """Another tab may have chosen another branch."""
    chat = chats.begin("default")
    first, second = asked(chats, chat.id, "One?", "Two?")
    asked(chats, chat.id, "Eins?", instead_of=first.number)
    asked(chats, chat.id, "Two, please?", instead_of=second.number)
    assert questions(chats, chat.id) == ["One?", "Two, please?"]


def test_the_finished_answer_stays_until_the_new_one_is_done(chats: ChatStore) -> None:
    chat = chats.begin("default")
    first, _ = asked(chats, chat.id, "One?", "Two?")
    again = chats.ask(chat.id, "One?", instead_of=first.number)
    assert questions(chats, chat.id) == ["One?", "Two?"]
    chats.put(chat.id, answered(again, "Better."))
    assert [turn.answer for turn in chats.turns(chat.id)] == ["Better."]


@pytest.mark.parametrize("state", [TurnState.STOPPED, TurnState.FAILED])
def test_an_answer_that_did_not_finish_takes_the_place_of_another_such_one_alone(
    chats: ChatStore, state: TurnState
) -> None:
    chat = chats.begin("default")
    first = chats.ask(chat.id, "One?")
    chats.put(chat.id, dataclasses.replace(first, answer="A", state=state))
    second = chats.ask(chat.id, "One?", instead_of=first.number)
    chats.put(chat.id, dataclasses.replace(second, answer="B", state=state))
    assert [turn.answer for turn in chats.turns(chat.id)] == ["B"]
    asked(chats, chat.id, "One?", instead_of=second.number)
    last = chats.ask(chat.id, "One?", instead_of=second.number)
    chats.put(chat.id, dataclasses.replace(last, answer="C", state=state))
    (turn,) = chats.turns(chat.id)
    assert turn.answer == "Answer to One?"
    assert turn.versions[-1] == Version(last.number, state), "what there is of it is kept"


def test_an_answer_once_more_that_the_server_did_not_live_to_see_leaves_the_finished_one(chats: ChatStore) -> None:
    chat = chats.begin("default")
    (first,) = asked(chats, chat.id, "One?")
    chats.ask(chat.id, "One?", instead_of=first.number)
    chats.settle()
    (turn,) = chats.turns(chat.id)
    assert (turn.answer, turn.versions[-1].state) == ("Answer to One?", TurnState.STOPPED)


@pytest.mark.parametrize("fails", ["INSERT ON chat_turns", "UPDATE ON chats", "UPDATE ON chat_turns"])
def test_a_question_that_cannot_be_stored_once_more_loses_nothing(chats: ChatStore, tmp_path: Path, fails: str) -> None:
    chat = chats.begin("default")
    first, second, _ = asked(chats, chat.id, "One?", "Two?", "Three?")
    asked(chats, chat.id, "Eins?", instead_of=first.number)
    before = chats.turns(chat.id)
    with Database(tmp_path / "chats.sqlite3").transaction() as connection:
        connection.execute(f"CREATE TRIGGER broken BEFORE {fails} BEGIN SELECT RAISE(ABORT, 'broken'); END")
    with pytest.raises(StoreError, match="broken"):
        chats.ask(chat.id, "Zwei?", instead_of=second.number)
    assert chats.turns(chat.id) == before


def test_an_answer_that_cannot_be_stored_leaves_no_half_of_it(chats: ChatStore, tmp_path: Path) -> None:
    chat = chats.begin("default")
    first, _ = asked(chats, chat.id, "One?", "Two?")
    again = chats.ask(chat.id, "One?", instead_of=first.number)
    other = Database(tmp_path / "chats.sqlite3")
    with other.transaction() as connection:
        connection.execute(
            "CREATE TRIGGER broken BEFORE UPDATE OF chosen ON chat_turns BEGIN SELECT RAISE(ABORT, 'broken'); END"
        )
    with pytest.raises(StoreError, match="broken"):
        chats.put(chat.id, answered(again, "Better."))
    stored = other.rows("SELECT state FROM chat_turns WHERE number = ?", again.number)
    assert [row["state"] for row in stored] == [TurnState.ASKED]
    # Until it can be written, it is shown as if it were.
    assert [turn.answer for turn in chats.turns(chat.id)] == ["Better."]
    with other.transaction() as connection:
        connection.execute("DROP TRIGGER broken")
    chats.save_unsaved()
    assert [turn.answer for turn in ChatStore(other).turns(chat.id)] == ["Better."]


def test_a_turn_that_is_gone_is_neither_shown_nor_asked_once_more(chats: ChatStore) -> None:
    chat = chats.begin("default")
    asked(chats, chat.id, "One?")
    for use in (chats.show, chats.turns, lambda gone, turn: chats.ask(gone, "Seven?", instead_of=turn)):
        with pytest.raises(QuestionError, match="Load the page again"):
            use(chat.id, 7)
    assert questions(chats, chat.id) == ["One?"]


def test_a_turn_whose_parent_was_lost_with_a_damaged_database_follows_the_one_before(
    chats: ChatStore, tmp_path: Path
) -> None:
    chat = chats.begin("default")
    _, lost, _ = asked(chats, chat.id, "One?", "Two?", "Three?")
    damaged = Database(tmp_path / "chats.sqlite3")
    with damaged.transaction() as connection:
        connection.execute("DELETE FROM chat_turns WHERE number = ?", (lost.number,))
    copy_readable_rows(damaged.path, tmp_path / "salvaged.sqlite3")
    assert questions(ChatStore(Database(tmp_path / "salvaged.sqlite3")), chat.id) == ["One?", "Three?"]


def test_a_chat_counts_the_questions_of_its_visible_branch(chats: ChatStore) -> None:
    chat, other = chats.begin("default"), chats.begin("default")
    first, _, _ = asked(chats, chat.id, "One?", "Two?", "Three?")
    asked(chats, other.id, "Who?")
    asked(chats, chat.id, "Eins?", instead_of=first.number)
    assert (chats.chat(chat.id).turns, chats.chat(other.id).turns) == (1, 1)
    assert {one.id: one.turns for one in chats.chats()} == {chat.id: 1, other.id: 1}
    chats.show(chat.id, first.number)
    assert [one.turns for one in chats.chats("two?")] == [3]


def test_a_chat_is_found_by_what_a_hidden_version_says(chats: ChatStore) -> None:
    chat = chats.begin("default")
    (first,) = asked(chats, chat.id, "Who kept the lighthouse?")
    asked(chats, chat.id, "Who built the harbour?", instead_of=first.number)
    assert [found.id for found in chats.chats("lighthouse")] == [chat.id]


def test_a_chat_keeps_the_collection_that_it_was_begun_in(chats: ChatStore) -> None:
    chat = chats.begin("default")
    chats.change(dataclasses.replace(chat, collection="attic", preset=Preset.FAST))
    assert (chats.chat(chat.id).collection, chats.chat(chat.id).preset) == ("default", Preset.FAST)


def test_a_deleted_chat_is_gone_with_its_turns(chats: ChatStore, tmp_path: Path) -> None:
    chat = chats.begin("default")
    chats.ask(chat.id, "Who?")
    chats.delete(chat.id)
    assert chats.chats() == []
    assert Database(tmp_path / "chats.sqlite3").rows("SELECT * FROM chat_turns") == []
    for use in (chats.turns, chats.chat, chats.delete, lambda gone: chats.ask(gone, "Still there?")):
        with pytest.raises(UnknownChat, match="no longer exists"):
            use(chat.id)
