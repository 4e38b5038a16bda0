"""A write that fails is said of what was not done, and never of what was: found by scripts/faults.py --every-call."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.app.assemble import Assembly
from localcrag.backends.store.durable_files import whole_or_not_at_all
from localcrag.backends.store.vector_index import ChunkIndex
from localcrag.privacy.private_folder import write_private
from localcrag.records.documents import Chunk
from localcrag.settings import load
from tests.support import ROOT
from tests.support.fakes import FakeEmbedder, FakeScorer


def test_a_deletion_is_reported_where_the_index_file_cannot_be_written_afterwards(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    assembly = Assembly(load(data_dir=tmp_path))
    assembly.models.share(embedder=embedder, scorer=FakeScorer())
    store = assembly.collections.store("default")
    for word in ("ferry", "lamp", "pier"):
        chunk = Chunk(None, 0, len(word), word)
        store.put(
            f"{word}.txt", sha256=word, media_type="text/plain", pages=None, text=word, chunks=[chunk],
            vectors=embedder.embed([word]),
        )  # fmt: skip
    index = ChunkIndex(store, tmp_path / "index", most_recent=1)  # type: ignore[arg-type]
    index.refresh()
    assembly._made.put(f"index {assembly.collections.homes.key('default')}", index)
    (tmp_path / "index").write_text("where the folder would be")
    assembly.collections.delete_document("lamp.txt", "default")
    assert [one.name for one in assembly.collections.documents("default")] == ["ferry.txt", "pier.txt"]
    assert {chunk for chunk, _ in index.nearest(embedder.embed(["lamp"])[0], 9)} == set(store.chunk_ids())
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
    with whole_or_not_at_all(tmp_path / "copy") as file:
        file.write_text("whole")
    assert (tmp_path / "settings.json").read_text() == "{}"
    assert (tmp_path / "copy").read_text() == "whole"


def test_memory_that_sqlite_does_not_get_is_said_with_the_database_and_what_to_do(tmp_path: Path) -> None:
    # In a process of its own: the limit is SQLite's, for all databases of a process.
    code = """
import sqlite3, sys
from contextlib import suppress
from pathlib import Path
from localcrag.backends.store.database import Database
from localcrag.records.errors import StoreError
folder = Path(sys.argv[1])
database = Database(folder / "localcrag.sqlite3")
with suppress(MemoryError):
    sqlite3.connect(":memory:").execute("PRAGMA hard_heap_limit = 1")
for act in (
    lambda: database.rows("SELECT count(*) FROM documents JOIN chunks JOIN runs"),
    lambda: database.copy_to(folder / "copy.sqlite3"),
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
