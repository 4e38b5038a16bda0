"""A write that fails is said of what was not done, and never of what was: found by scripts/lab/faults/faults.py
--every-call."""

from __future__ import annotations

import argparse
import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.tasks import TaskState
from localcrag.app.uploads import Uploads
from localcrag.interfaces.cli.command import index_warnings
from localcrag.interfaces.cli.ingest import _run as done
from localcrag.interfaces.page.documents import documents_html
from localcrag.privacy.private_folder import write_private
from localcrag.records.documents import Chunk
from localcrag.records.errors import StoreError
from localcrag.settings import load
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.files import atomic_file
from tests.support import ROOT
from tests.support.fakes import FakeEmbedder, FakeScorer


def opened(data: Path, *words: str) -> Assembly:
    """Return an app whose documents say a word each, and whose index file is written for each change."""
    embedder = FakeEmbedder()
    assembly = Assembly(load(data_dir=data))
    assembly.models.share(embedder=embedder, scorer=FakeScorer())
    store = assembly.collections.store("default")
    for word in words:
        chunk = Chunk(None, 0, len(word), word)
        store.put(
            f"{word}.txt", sha256=word, media_type="text/plain", pages=None, text=word, chunks=[chunk],
            vectors=embedder.embed([word]),
        )  # fmt: skip
    index = ChunkIndex(store, data / "index", most_recent=1)  # type: ignore[arg-type]
    index.refresh()
    assembly._made.put(f"index {assembly.collections.homes.key('default')}", index)
    return assembly


def test_a_deletion_is_done_and_said_where_the_index_file_cannot_be_written_afterwards(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry", "lamp", "pier")
    (tmp_path / "index").write_text("where the folder would be")
    collections = assembly.collections
    collections.delete_document("lamp.txt", "default")
    assert [one.name for one in collections.documents("default")] == ["ferry.txt", "pier.txt"]
    found = collections.index("default").nearest(FakeEmbedder().embed(["lamp"])[0], 9)
    assert {chunk for chunk, _ in found} == set(collections.store("default").chunk_ids())
    assert "index could not be written" in collections.opened.index_errors["default"]
    assert "index could not be written" in documents_html(collections, "default")
    (tmp_path / "index").unlink()
    collections.delete_document("pier.txt", "default")
    assert collections.opened.index_errors == {}
    assert "data-unwritten" not in documents_html(collections, "default")
    assembly.close()


def test_a_document_whose_renaming_fails_has_its_old_name(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry")
    with assembly.database.transaction() as connection:
        connection.execute("ALTER TABLE folder_files RENAME TO elsewhere")
    with pytest.raises(StoreError, match="folder_files"):
        assembly.collections.rename_document("ferry.txt", "boat.txt", "default")
    assert [one.name for one in assembly.collections.documents("default")] == ["ferry.txt"]
    assembly.close()


def test_tags_that_cannot_be_taken_are_none_given(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry")
    home = assembly.collections.homes.locate("default")
    home.tag(["ferry.txt"], ["harbour"], [])
    with assembly.database.transaction() as connection:
        connection.execute("CREATE TRIGGER stuck BEFORE DELETE ON document_tags BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(StoreError, match="no\\."):
        home.tag(["ferry.txt"], ["port"], ["harbour"])
    assert {tag for one in home.documents() for tag in one.tags} == {"harbour"}
    assembly.close()


def test_files_are_added_and_found_where_the_index_file_cannot_be_written_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    assembly = opened(data, "ferry")
    (data / "index").write_text("where the folder would be")
    for word in ("lamp", "pier"):
        (tmp_path / f"{word}.txt").write_text(f"{word} " * 20)
    parsed = argparse.Namespace(
        paths=[tmp_path / "lamp.txt", tmp_path / "pier.txt"], reindex=False, read_scans=False, json=True
    )
    assert done(assembly, parsed) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert [(one["document"], one["status"]) for one in told] == [("lamp.txt", "added"), ("pier.txt", "added")]
    (warning,) = told[0]["warnings"] + told[1]["warnings"]
    assert str(data / "index") in warning
    assert "could not be written" in warning
    assert "localcrag doctor" in warning
    assert warning in err
    collections = assembly.collections
    found = collections.index("default").nearest(FakeEmbedder().embed(["pier"])[0], 9)
    assert {chunk for chunk, _ in found} == set(collections.store("default").chunk_ids())
    (data / "index").unlink()
    assert done(assembly, parsed) == 0
    assert [one["warnings"] for one in json.loads(capsys.readouterr().out)] == [[], []]
    assembly.close()


def test_a_file_dropped_on_the_page_is_in_and_the_list_says_that_the_index_file_was_not_written(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    assembly = opened(data, "ferry")
    (data / "index").write_text("where the folder would be")
    (tmp_path / "lamp.txt").write_text("lamp " * 20)
    uploads = Uploads(assembly.ingest)
    uploads.add([tmp_path / "lamp.txt"], "default")
    *_, ended = uploads.follow()
    assert [one.state for one in ended] in ([], [TaskState.DONE])
    assert "lamp.txt" in documents_html(assembly.collections, "default")
    assert "data-unwritten" in documents_html(assembly.collections, "default")
    uploads.close()
    assembly.close()


def test_more_chunks_than_a_question_compares_are_found_where_no_file_can_be_written(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(30)]
    assembly = opened(tmp_path, *words[:3])
    (tmp_path / "index").write_text("where the folder would be")
    embedder, store = FakeEmbedder(), assembly.collections.store("default")
    for word in words[3:]:
        store.put(
            word, sha256=word, media_type="text/plain", pages=None, text=word, vectors=embedder.embed([word]),
            chunks=[Chunk(None, 0, len(word), word)],
        )  # fmt: skip
    index = assembly.collections.index("default")
    assert {chunk for chunk, _ in index.nearest(embedder.embed(["word29"])[0], 99)} == set(store.chunk_ids())
    (tmp_path / "index").unlink()
    store.delete("word29")
    assert {chunk for chunk, _ in index.nearest(embedder.embed(["word28"])[0], 99)} == set(store.chunk_ids())
    assert not (tmp_path / "index").exists(), "a question tries once, not each time that something has changed"
    assembly.collections.opened.follow("default")
    assert len(list((tmp_path / "index").glob("*.columns"))) == 1
    assert {chunk for chunk, _ in index.nearest(embedder.embed(["word29"])[0], 99)} == set(store.chunk_ids())
    assembly.close()


def test_any_other_failure_of_the_database_after_a_deletion_is_said_beside_it(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry", "lamp", "pier")
    with assembly.database.transaction() as connection:
        # The index asks it what has changed.
        connection.execute("ALTER TABLE chunk_changes RENAME TO elsewhere")
    collections = assembly.collections
    collections.delete_document("lamp.txt", "default")
    assert [one.name for one in collections.documents("default")] == ["ferry.txt", "pier.txt"]
    said = collections.opened.index_errors["default"]
    assert said.startswith("What was to be changed in “default” is changed, but its vector index could not be read")
    assert "no such table: chunk_changes. The next question or change tries again." in said
    assert said in documents_html(collections, "default")
    with assembly.database.transaction() as connection:
        connection.execute("ALTER TABLE elsewhere RENAME TO chunk_changes")
    found = collections.index("default").nearest(FakeEmbedder().embed(["lamp"])[0], 9)
    assert {chunk for chunk, _ in found} == set(collections.store("default").chunk_ids())
    assembly.close()


def test_the_command_says_that_the_index_file_could_not_be_written(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry")
    assembly.collections.opened.index_errors["default"] = "The vector index could not be written to there."
    assert index_warnings(assembly) == ["The vector index could not be written to there."]
    assembly.close()


def test_which_embedder_a_collection_has_is_asked_once_for_a_question(tmp_path: Path) -> None:
    assembly = opened(tmp_path, "ferry")
    asked: list[str] = []
    assembly.database._connection.set_trace_callback(asked.append)
    assembly.collections.opened.get("default")
    assembly.database._connection.set_trace_callback(None)
    assert len([sql for sql in asked if "embedder" in sql and "FROM collection_settings" in sql]) == 1
    assembly.close()


def test_a_file_that_is_written_is_no_error_where_a_left_over_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, missing_ok: bool = False) -> None:
        removals.append(path)
        if len(removals) > 1:  # the first makes room for the file
            raise OSError(errno.EIO, "Input/output error", str(path))

    removals: list[Path] = []
    monkeypatch.setattr(Path, "unlink", broken)
    write_private(tmp_path / "settings.json", "{}")
    with atomic_file(tmp_path / "copy") as file:
        file.write_text("whole")
    assert (tmp_path / "settings.json").read_text() == "{}"
    assert (tmp_path / "copy").read_text() == "whole"


def test_memory_that_sqlite_does_not_get_is_said_with_the_database_and_what_to_do(tmp_path: Path) -> None:
    # In a process of its own: the limit is SQLite's, for all databases of a process.
    code = """
import sqlite3, sys
from contextlib import suppress
from pathlib import Path
from localcrag.storage.database import Database
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import StoreError
from localcrag.records.ingest import IngestResult
folder = Path(sys.argv[1])
database = Database(folder / "localcrag.sqlite3")
with suppress(MemoryError):
    sqlite3.connect(":memory:").execute("PRAGMA hard_heap_limit = 1")
for act in (
    lambda: database.rows("SELECT count(*) FROM documents JOIN chunks JOIN runs"),
    lambda: database.back_up_to(folder / "copy.sqlite3"),
    lambda: Database(folder / "other.sqlite3"),
):
    try:
        act()
    except StoreError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=-1, text=True, check=True, cwd=ROOT)
    for said, name in zip(done.stdout.splitlines(), ("localcrag", "copy", "other"), strict=True):
        assert str(tmp_path / f"{name}.sqlite3") in said
        assert "no memory left" in said
        assert "try again" in said or "Check" in said
