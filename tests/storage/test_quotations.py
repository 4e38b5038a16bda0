"""Whether stored runs quote a document, where there are many of them."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.records.run import TurnState
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.storage.quotations import QuotedDocuments, found_passages, has_quotations, remove_quotations
from localcrag.storage.run_store import RunStore
from tests.support.made_records import graded, some_run

LONG = "The ferry leaves from berth 7. " * 4_000
"""124 kB."""
ODD = ("Über “uns”.md", 'the "old" one.txt', "back\\slash.txt", "line\nbreak\t\x01.txt", "日本.pdf", "50 %_.txt")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "db.sqlite3")


@pytest.mark.parametrize("name", ODD)
def test_a_document_is_found_by_its_name_as_it_is_written_in_runs(database: Database, name: str) -> None:
    runs = RunStore(database)
    runs.save(some_run(1, passages=(graded(0.9, "Of it.", document=name), graded(0.8, "Other.", document="b.txt"))))
    runs.save(some_run(2, passages=(graded(0.9, f"It says {name}.", document="b.txt"),)))
    assert found_passages(database, "default", [name]) == ["Of it."]
    assert has_quotations(database, "default", ["gone.txt", name])
    assert not has_quotations(database, "other", [name])
    assert not has_quotations(database, "default", [name[1:]])


def test_a_run_of_a_very_old_version_that_names_it_in_its_question_quotes_nothing(database: Database) -> None:
    with database.transaction() as connection:
        row = ("r", "2025-01-01", "default", "a.txt", None, '{"question":"a.txt"}')
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
    assert not has_quotations(database, "default", ["a.txt"])


@pytest.mark.parametrize(
    ("looked_for", "found"),
    [
        (lambda database: has_quotations(database, "default", ["a.txt"]), True),
        (lambda database: has_quotations(database, "default", ["b.txt"]), False),
        (lambda database: found_passages(database, "default", ["a.txt"]), ["Short."]),
    ],
    ids=["quoted", "not quoted", "its passages"],
)
def test_runs_are_looked_through_one_by_one(
    database: Database, looked_for: Callable[[Database], object], found: object
) -> None:
    runs = RunStore(database)
    for number in range(1, 29):
        runs.save(some_run(number, answer=LONG, passages=(graded(0.9, "Short.", document="a.txt"),)))
    tracemalloc.start()
    try:
        assert looked_for(database) == found
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * len(LONG)


HIDING_PLACE = "The strongbox is under the third stair."


def asked(chats: ChatStore, chat: int, question: str, answer: str = "Yes.", *, instead_of: int | None = None) -> int:
    """Ask a question in a chat, have it answered, and return the number of its turn."""
    turn = chats.ask(chat, question, instead_of=instead_of)
    chats.put(chat, dataclasses.replace(turn, answer=answer, state=TurnState.ANSWERED))
    return turn.number


def forget_the_secret(database: Database) -> None:
    remove_quotations(database, QuotedDocuments("default", frozenset({"a.txt"}), (HIDING_PLACE,), (HIDING_PLACE,)))


@pytest.mark.parametrize("hidden", [True, False])
def test_a_version_that_quotes_a_forgotten_document_goes_also_where_it_is_hidden(
    database: Database, *, hidden: bool
) -> None:
    chats = ChatStore(database)
    chat = chats.begin("default").id
    asked(chats, chat, "Who?")
    quotes = asked(chats, chat, "Where is the box?", HIDING_PLACE)
    asked(chats, chat, "And the key?")
    other = asked(chats, chat, "Where is the map?", instead_of=quotes)
    asked(chats, chat, "And the compass?")
    chats.show(chat, other if hidden else quotes)
    forget_the_secret(database)
    rows = database.rows("SELECT question, answer FROM chat_turns")
    assert not any(HIDING_PLACE in row["answer"] or "box" in row["question"] for row in rows)
    # What followed it stays, as another version: it now follows the turn before.
    assert {row["question"] for row in rows} == {"Who?", "And the key?", "Where is the map?", "And the compass?"}
    (_, turn, *_) = chats.turns(chat)
    assert len(turn.versions) == 2
    for version in turn.versions:
        chats.show(chat, version.number)
        shown = [one.question for one in chats.turns(chat)]
        assert shown in (["Who?", "And the key?"], ["Who?", "Where is the map?", "And the compass?"])


def test_a_chat_is_named_after_the_first_question_that_is_shown_when_it_loses_its_first(database: Database) -> None:
    chats = ChatStore(database)
    chat = chats.begin("default").id
    first = asked(chats, chat, HIDING_PLACE)
    asked(chats, chat, "Where is the map?", instead_of=first)
    assert chats.chat(chat).title == HIDING_PLACE
    forget_the_secret(database)
    assert chats.chat(chat).title == "Where is the map?"


def test_a_chat_whose_versions_all_quote_a_forgotten_document_goes(database: Database) -> None:
    chats = ChatStore(database)
    chat = chats.begin("default").id
    asked(chats, chat, "Where?", HIDING_PLACE, instead_of=asked(chats, chat, "Where is it?", HIDING_PLACE))
    forget_the_secret(database)
    assert chats.chats() == []
