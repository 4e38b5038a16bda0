"""When the words of changed documents are overwritten: while nobody asks or adds files, and not all the time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcrag.app.collections.deletion import LONGEST_WAIT, SecureDeletion, finish_overwriting
from localcrag.records.documents import Chunk
from localcrag.storage.collections import full_text
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from tests.support.fakes import FakeEmbedder

EMBEDDER = FakeEmbedder()
NAME = "localcrag.sqlite3"


@dataclass
class Going:
    """What goes on beside, and what the clock says; it goes on by `takes` seconds at each look at it."""

    asked: bool = False
    working: bool = False
    now: float = 0.0
    takes: float = 0.0

    def clock(self) -> float:
        self.now += self.takes
        return self.now


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / NAME)
    yield database
    database.close()


def change(database: Database, text: str) -> None:
    store = DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    store.put(
        "note.txt", sha256=text, media_type="text/plain", pages=None, text=text,
        chunks=[Chunk(None, 0, len(text), text)], vectors=EMBEDDER.embed([text]),
    )  # fmt: skip


def beside(database: Database, going: Going) -> SecureDeletion:
    return SecureDeletion(
        database, asked=lambda: going.asked, working=lambda: going.working, clock=going.clock
    )  # fmt: skip


def test_nothing_is_done_as_long_as_nothing_has_changed(database: Database) -> None:
    overwriting = beside(database, Going())
    change(database, "the quormvellity is kept")
    assert not overwriting.overwrite_if_due()
    change(database, "the lamp is kept")
    assert overwriting.overwrite_if_due()
    assert not overwriting.overwrite_if_due()


def test_a_question_is_waited_for_however_long_it_takes(database: Database) -> None:
    going = Going(asked=True)
    overwriting = beside(database, going)
    change(database, "the quormvellity is kept")
    change(database, "the lamp is kept")
    assert not overwriting.overwrite_if_due()
    going.now = 10 * LONGEST_WAIT
    assert not overwriting.overwrite_if_due()
    going.asked = False
    assert overwriting.overwrite_if_due()


def test_files_that_are_added_are_waited_for_but_not_for_ever(database: Database) -> None:
    going = Going(working=True)
    overwriting = beside(database, going)
    change(database, "the quormvellity is kept")
    change(database, "the lamp is kept")
    assert not overwriting.overwrite_if_due()
    going.now = LONGEST_WAIT - 1
    assert not overwriting.overwrite_if_due()
    going.now = LONGEST_WAIT
    assert overwriting.overwrite_if_due()


def test_it_rests_many_times_as_long_as_it_took(database: Database) -> None:
    going = Going(takes=1.0)
    overwriting = beside(database, going)
    change(database, "the quormvellity is kept")
    change(database, "the lamp is kept")
    assert overwriting.overwrite_if_due()
    going.takes = 0.0
    change(database, "the oar is kept")
    assert not overwriting.overwrite_if_due()
    going.now += 49
    assert not overwriting.overwrite_if_due()
    going.now += 1
    assert overwriting.overwrite_if_due()


def test_what_is_left_when_the_app_is_closed_is_done_at_the_end(database: Database) -> None:
    overwriting = beside(database, Going()).begin()
    overwriting.close()
    change(database, "the quormvellity is kept")
    change(database, "the lamp is kept")
    assert finish_overwriting(database) is None
    assert not full_text.has_pending_words(database)


def test_what_cannot_be_done_at_the_end_is_said_and_noted(database: Database) -> None:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM chunks").fetchone()
        change(database, "the quormvellity is kept")
        change(database, "the lamp is kept")
        assert "another localcrag is reading the database" in (finish_overwriting(database) or "")
        assert full_text.has_pending_words(database)
        other.execute("COMMIT")
    assert finish_overwriting(database) is None


def test_the_thread_does_it_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localcrag.app.collections.deletion.CHECK_SECONDS", 0.01)
    change(database, "the quormvellity is kept")
    change(database, "the lamp is kept")
    overwriting = beside(database, Going()).begin()
    while full_text.has_pending_words(database):
        time.sleep(0.01)
    overwriting.close()
