"""What was stored under a clock that went ahead stays, and what comes after it was set back is in its place."""

from __future__ import annotations

import os
from pathlib import Path

from localcrag.documents.prepare import file_stamp, is_unchanged
from localcrag.records.ingest import Upload
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.storage.files import is_abandoned

AHEAD = "2099-01-01T00:00:00.000000+00:00"
FAR = 4_000_000_000
"""Seconds since 1970, in the year 2096."""


def test_a_chat_that_is_new_or_was_asked_stands_first_though_others_are_of_the_future(tmp_path: Path) -> None:
    database = Database(tmp_path / "db.sqlite3")
    chats = ChatStore(database)
    first, second = chats.begin("default").id, chats.begin("default").id
    with database.transaction() as connection:
        connection.execute("UPDATE chats SET changed_at = ?", (AHEAD,))
    third = chats.begin("default").id
    assert [chat.id for chat in chats.chats()] == [third, second, first]
    turn = chats.ask(first, "When does the ferry leave?")
    assert [chat.id for chat in chats.chats()] == [first, third, second]
    chats.put(second, turn)
    assert [chat.id for chat in chats.chats()] == [second, first, third]
    assert [one.question for one in chats.turns(first)] == ["When does the ferry leave?"]


def test_a_left_over_of_the_future_is_old(tmp_path: Path) -> None:
    left = tmp_path / "copy.part"
    left.touch()
    os.utime(left, (FAR, FAR))
    assert is_abandoned(left)


def test_a_file_that_got_an_earlier_time_is_another(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    os.utime(path, (FAR, FAR))
    upload = Upload(path, "a.txt")
    before = file_stamp(upload)
    path.write_text("two")
    os.utime(path, (1, 1))
    assert not is_unchanged(upload, before, "")
