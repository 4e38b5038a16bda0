"""What changed and vanished documents said is overwritten in every byte, in steps, and who is killed has it noted."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.collections.deletion import SecureDeletion, encoded_forms
from localcrag.app.health import examine_stored
from localcrag.records.documents import Chunk
from localcrag.records.enums import ScorerKind
from localcrag.records.errors import StoreError
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.run import Chat, TurnState, WebAnswer, WebResult
from localcrag.runs.labels import Label, LabelKind
from localcrag.settings import load
from localcrag.storage.chat_store import ChatStore, delete_turn
from localcrag.storage.collections import full_text
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.egress import WebAnswerCache
from localcrag.storage.label_store import LabelStore, PinStore
from tests.support.command_line import localcrag
from tests.support.fakes import FakeEmbedder, FakeScorer
from tests.support.stored_documents import rename_document

EMBEDDER = FakeEmbedder()
NAME = "localcrag.sqlite3"
SYLLABLES = (
    "ba",
    "dor",
    "fel",
    "gim",
    "hus",
    "jat",
    "kel",
    "lom",
    "nur",
    "pex",
    "rov",
    "sti",
    "tul",
    "wan",
    "yem",
    "zob",
)


def opened(folder: Path) -> tuple[Database, DocumentStore]:
    database = Database(folder / NAME)
    return database, DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)


def put(store: DocumentStore, name: str, text: str) -> None:
    store.put(
        name, sha256=text, media_type="text/plain", pages=None, text=text, chunks=[Chunk(None, 0, len(text), text)],
        vectors=EMBEDDER.embed([text]),
    )  # fmt: skip


def words(number: int, seed: int) -> str:
    drawn = random.Random(seed)
    return " ".join("".join(drawn.choices(SYLLABLES, k=4)) for _ in range(number))


def holding(folder: Path, word: str) -> list[str]:
    """Return the files that have a word, or its end: full text keeps of a word what its neighbour lacks."""
    wanted = [form for part in (word, word[4:]) for form in encoded_forms(part)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(form in path.read_bytes() for form in wanted)]


def check(database: Database) -> None:
    """Raise unless full text has what the chunks say, and nothing else."""
    with database.transaction() as connection:
        connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")


def test_what_a_document_said_before_it_changed_is_noted_and_then_in_no_byte(tmp_path: Path) -> None:
    database, store = opened(tmp_path)
    for number in range(30):
        put(store, f"{number}.txt", f"{words(40, number)} heron")
    put(store, "note.txt", "the quormvellity is kept in Brackwater")
    assert not full_text.has_pending_words(database)
    put(store, "note.txt", "the heron is kept in Oakham")
    assert full_text.has_pending_words(database)
    assert holding(tmp_path, "quormvellity")
    full_text.overwrite_deleted_words(database)
    assert not full_text.has_pending_words(database)
    assert holding(tmp_path, "quormvellity") == []
    assert store.full_text("Oakham", 3)
    check(database)
    database.close()


def test_what_a_language_of_stems_said_is_overwritten_too(tmp_path: Path) -> None:
    database, store = opened(tmp_path)
    german = "Die Quormvellität wird im Keller aufbewahrt, und der Schlüssel liegt nicht mehr unter der Treppe. "
    put(store, "notiz.txt", german)
    put(store, "notiz.txt", german.replace("Quormvellität", "Laterne"))
    full_text.overwrite_deleted_words(database)
    assert holding(tmp_path, "quormvell") == []
    assert store.full_text("Laternen", 3)
    database.close()


def test_others_write_between_two_steps_and_full_text_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_text, "PAGES_PER_STEP", 2)
    database, store = opened(tmp_path)
    for number in range(80):
        put(store, f"{number}.txt", words(60, number))
    for number in range(0, 80, 3):
        put(store, f"{number}.txt", words(60, 1000 + number))
    seeds = iter(range(5000, 6000))
    steps = 0

    def meanwhile() -> None:
        nonlocal steps
        steps += 1
        if steps % 2:
            put(store, f"{steps % 80}.txt", words(60, next(seeds)))
        check(database)

    full_text.overwrite_deleted_words(database, between_steps=meanwhile)
    assert steps > 10
    assert full_text.has_pending_words(database), "what changed meanwhile is left"
    full_text.overwrite_deleted_words(database)
    assert not full_text.has_pending_words(database)
    assert holding(tmp_path, words(1, 3)) == []
    check(database)
    database.close()


def test_a_process_that_reads_keeps_it_noted(tmp_path: Path) -> None:
    database, store = opened(tmp_path)
    put(store, "note.txt", "the quormvellity is kept in Brackwater")
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM chunks").fetchone()
        store.delete("note.txt")
        with pytest.raises(StoreError, match="another localcrag is reading the database"):
            full_text.overwrite_deleted_words(database, patience=0.01)
        assert full_text.has_pending_words(database)
        other.execute("COMMIT")
    full_text.overwrite_deleted_words(database)
    assert not full_text.has_pending_words(database)
    assert holding(tmp_path, "quormvellity") == []
    database.close()


def test_erasing_everything_keeps_the_note_itself(tmp_path: Path) -> None:
    database, store = opened(tmp_path)
    put(store, "note.txt", "the quormvellity is kept in Brackwater")
    database.erase()
    assert holding(tmp_path, "quormvellity") == []
    full_text.overwrite_deleted_words(database)
    assert not full_text.has_pending_words(database)
    database.close()


def test_doctor_says_how_much_is_empty_and_that_words_are_left(tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path))
    assembly.models.share(embedder=EMBEDDER, scorer=FakeScorer())

    def said() -> str:
        return next(one.detail for one in examine_stored(assembly) if one.name == "database")

    store = DocumentStore(assembly.database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    put(store, "long.txt", words(200_000, 1))
    assert said().endswith("MB, sound")
    store.delete("long.txt")
    assert "MB of it are empty" in said()
    assert "still have to be overwritten" in said()
    assembly.document_deletion.overwrite_all()
    assert said().endswith("MB, sound")
    assembly.close()


def asked_in_a_chat(database: Database, word: str) -> tuple[ChatStore, Chat]:
    """Return a chat in whose title, question and answer a word is."""
    chats = ChatStore(database)
    chat = chats.begin("default")
    turn = chats.ask(chat.id, f"Where is the {word} kept?")
    said = dataclasses.replace(turn, answer=f"The {word} is kept in Brackwater.", state=TurnState.ANSWERED)
    chats.put(chat.id, said)
    return chats, chat


def removed_chat(database: Database, word: str) -> None:
    chats, chat = asked_in_a_chat(database, word)
    chats.delete(chat.id)


def removed_turn(database: Database, word: str) -> None:
    chats, chat = asked_in_a_chat(database, word)
    chats.change(dataclasses.replace(chat, title="Keeping"))
    with database.transaction() as connection:
        delete_turn(connection, chat.id, 1)


def removed_label(database: Database, word: str) -> None:
    labels = LabelStore(database)
    label = Label(
        run_id="run", kind=LabelKind.PASSAGE, target="1", good=True, question="Where?", text=f"The {word} is kept.",
        labelled_at="2026-01-01", collection="default", scorer="any", scorer_kind=next(iter(ScorerKind)),
    )  # fmt: skip
    assert labels.remove([labels.put(label).id or 0]) == 1


def removed_pin(database: Database, word: str) -> None:
    pins = PinStore(database)
    pins.put("default", Question(id="run", question=f"Where is the {word} kept?", held_by=AnswerLocation.DOCUMENTS))
    pins.remove("run")


def pinned_anew(database: Database, word: str) -> None:
    pins = PinStore(database)
    pins.put("default", Question(id="run", question=f"Where is the {word} kept?", held_by=AnswerLocation.DOCUMENTS))
    pins.put("default", Question(id="run", question="Where is the heron kept?", held_by=AnswerLocation.DOCUMENTS))


def renamed_chat(database: Database, word: str) -> None:
    chats = ChatStore(database)
    chat = chats.begin("default")
    for title in (f"The {word}", "The heron"):
        chats.change(dataclasses.replace(chat, title=title))


def renamed_document(database: Database, word: str) -> None:
    store = DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    put(store, f"{word}.txt", "the heron is kept in Oakham")
    rename_document(database, "default", f"{word}.txt", "heron.txt")


def expired_web_answer(database: Database, word: str) -> None:
    answers = web_answers(database)
    answers.put("bird", WebAnswer((WebResult("Birds", "http://a.example", f"The {word} sings.", None),), ()))
    later = datetime.now(UTC) + timedelta(hours=2)
    web_answers(database, now=lambda: later).get("heron")


def newer_web_answer(database: Database, word: str) -> None:
    for said in (word, "heron"):
        found = WebResult("Birds", "http://a.example", f"The {said} sings.", None)
        web_answers(database).put("bird", WebAnswer((found,), ()))


def web_answers(database: Database, **clock: Any) -> WebAnswerCache:
    return WebAnswerCache(database, endpoint="http://a.example", parameters={}, hours=1, **clock)


@pytest.mark.parametrize(
    "remove",
    [
        removed_chat, renamed_chat, removed_turn, removed_label, removed_pin, pinned_anew, renamed_document,
        expired_web_answer, newer_web_answer,
    ],
)  # fmt: skip
def test_what_was_deleted_or_changed_elsewhere_is_in_no_byte_soon_after(
    remove: Callable[[Database, str], None], tmp_path: Path
) -> None:
    database, store = opened(tmp_path)
    put(store, "note.txt", "the heron is kept in Oakham")
    assert not full_text.has_pending_words(database)
    remove(database, "quormvellity")
    assert holding(tmp_path, "quormvellity"), "the log of writes has it"
    assert SecureDeletion(database).overwrite_if_due()
    assert holding(tmp_path, "quormvellity") == []
    assert not SecureDeletion(database).overwrite_if_due(), "and it is known to be done"
    assert store.full_text("Oakham", 3)
    database.close()


def test_asking_and_answering_leaves_nothing_to_overwrite(tmp_path: Path) -> None:
    database, _ = opened(tmp_path)
    asked_in_a_chat(database, "heron")
    assert not full_text.has_pending_words(database)
    database.close()


def test_a_command_that_removes_a_pin_leaves_no_byte_of_it(tmp_path: Path) -> None:
    database, _ = opened(tmp_path)
    PinStore(database).put("default", Question(id="run", question="A quormvellity?", held_by=AnswerLocation.DOCUMENTS))
    assert holding(tmp_path, "quormvellity")
    ended = localcrag(tmp_path, "pins", "remove", "run")
    assert (ended.returncode, full_text.has_pending_words(database)) == (0, False)
    assert holding(tmp_path, "quormvellity") == []
    database.close()


KILLED = f"""
import os, signal, sys
from pathlib import Path
from localcrag.app.assembly import Assembly
from localcrag.app.health import examine_stored
from localcrag.storage.collections import full_text
from localcrag.storage.database import Database

full_text.PAGES_PER_STEP = 1
steps = 0
def killed():
    global steps
    steps += 1
    if steps == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
full_text.overwrite_deleted_words(Database(Path(sys.argv[1]) / {NAME!r}), between_steps=killed)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")
@pytest.mark.parametrize("steps", [1, 3, 6])
def test_whoever_is_killed_midway_leaves_it_noted_and_the_next_one_does_the_rest(tmp_path: Path, steps: int) -> None:
    database, store = opened(tmp_path)
    for number in range(80):
        put(store, f"{number}.txt", words(60, number))
    put(store, "note.txt", "the quormvellity is kept in Brackwater")
    store.delete("note.txt")
    database.close()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(steps)], check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    database, store = opened(tmp_path)
    assert full_text.has_pending_words(database)
    check(database)
    full_text.overwrite_deleted_words(database)
    assert not full_text.has_pending_words(database)
    assert holding(tmp_path, "quormvellity") == []
    assert len(store.full_text(words(60, 7), 1)) == 1
    check(database)
    database.close()
