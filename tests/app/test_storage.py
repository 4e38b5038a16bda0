"""Copies of everything, going back to one, and deleting everything: with a real collection, chats, runs and labels."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.errors import StoreError
from localcrag.records.events import RunFinished
from localcrag.records.run import Run
from localcrag.runs.labels import LabelKind
from localcrag.settings import load
from localcrag.storage.schema import SCHEMA_VERSION
from tests.support.first_start import started_before

pytestmark = pytest.mark.models

WORD = "quillwort"
QUESTION = "What grows in the tarn?"


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    (tmp_path / "tarn.txt").write_text(f"The {WORD} grows in the tarn above the village.")
    assembly = Assembly(load(data_dir=started_before(tmp_path / "data")))
    for _ in assembly.ingest(uploads_from([tmp_path / "tarn.txt"])):
        pass
    yield assembly
    assembly.close()


def asked(assembly: Assembly) -> Run:
    (finished,) = [event for event in assembly.ask(QUESTION) if isinstance(event, RunFinished)]
    return finished.run


def test_a_copy_brings_everything_back(assembly: Assembly, tmp_path: Path) -> None:
    run = asked(assembly)
    assembly.learning.label(run.run_id, LabelKind.ANSWER, good=True)
    chat = assembly.chats.begin("default")
    copy = assembly.storage.back_up().path
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assembly.collections.delete_document("tarn.txt")
    assembly.chats.delete(chat.id)
    (tmp_path / "other.txt").write_text("A dam holds the reservoir back.")
    for _ in assembly.ingest(uploads_from([tmp_path / "other.txt"])):
        pass
    assert not asked(assembly).passages or WORD not in asked(assembly).passages[0].text
    assembly.storage.restore(copy)
    assert [document.name for document in assembly.collections.documents()] == ["tarn.txt"]
    assert [one.id for one in assembly.chats.chats()] == [chat.id]
    assert [label.run_id for label in assembly.learning.labels.find()] == [run.run_id]
    # The index follows: what is found is what was restored.
    assert WORD in asked(assembly).passages[0].text


def test_what_is_no_copy_changes_nothing(assembly: Assembly, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite3").write_text("no database")
    with sqlite3.connect(tmp_path / "other.sqlite3") as other:
        other.execute("CREATE TABLE notes (text)")
    newer = assembly.storage.back_up().path
    with sqlite3.connect(newer) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for path in (tmp_path / "text.sqlite3", tmp_path / "other.sqlite3", newer, tmp_path / "missing.sqlite3"):
        with pytest.raises(StoreError, match="Nothing was changed"):
            assembly.storage.restore(path)
    assert [document.name for document in assembly.collections.documents()] == ["tarn.txt"]


def test_a_copy_that_cannot_be_written_says_so(assembly: Assembly) -> None:
    assembly.storage.backups.write_text("in the way")
    with pytest.raises(StoreError, match="could not be written"):
        assembly.storage.back_up()


def test_deleting_everything_leaves_no_word_of_it_in_the_data_folder(assembly: Assembly, tmp_path: Path) -> None:
    run = asked(assembly)
    assembly.learning.label(run.run_id, LabelKind.PASSAGE, run.passages[0].id, good=True)
    assembly.storage.back_up()
    assembly.change(k=4)
    assembly.storage.erase()
    assert assembly.collections.documents() == []
    assert assembly.runs.newest() == []
    assert assembly.learning.labels.find() == []
    assert not assembly.storage.backups.exists()
    held = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]
    assert held == []
    assert (tmp_path / "data" / "settings.json").exists()
    # And it can be begun anew.
    for _ in assembly.ingest(uploads_from([tmp_path / "tarn.txt"])):
        pass
    assert WORD in asked(assembly).passages[0].text
