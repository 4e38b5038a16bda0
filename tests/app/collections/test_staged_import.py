"""An import, or a copy, lets others read and write, and is seen when it is whole or not at all, whatever ends it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.collections import copies
from localcrag.records.documents import Chunk, StoredChunk, StoredDocument, StoredScan
from localcrag.records.errors import NameRefused, StoreError
from localcrag.settings import load
from localcrag.storage.collections import collection_file, document_store
from localcrag.storage.collections.collection_file import CollectionDescription, CollectionWriter
from localcrag.storage.collections.queries import collection_names, with_other_embedder
from localcrag.storage.database import Database
from tests.support import ROOT

DIMENSION = 4
VECTOR = np.array([0.5, 0.5, 0.5, 0.5], "<f4").tobytes()
DOCUMENT = StoredDocument(
    name="lease.pdf", sha256="a" * 64, media_type="application/pdf", pages=1, text="lighthouse",
    added_at="2026-11-28T02:00:00+00:00", dated=None, title=None,
    chunks=(StoredChunk(Chunk(1, 0, 10, "lighthouse"), "lease", VECTOR),),
    tags=("contract",), scans=(StoredScan(1, None, None, None, None, False),), original=b"%PDF",
)  # fmt: skip
ABOUT = CollectionDescription("house", "another", DIMENSION, 0, "precise", "never", {"house": ["home"]})


def file_of(folder: Path, *names: str) -> Path:
    """Write a collection of documents of these names into a file."""
    path = folder / "house.localcrag"
    with closing(CollectionWriter(path)) as writer:
        for name in names:
            writer.add(replace(DOCUMENT, name=name))
        writer.finish(replace(ABOUT, documents=len(names), preset=None))
    return path


@pytest.fixture
def assembly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Assembly]:
    """An app without a model, whose imports let others in behind each document."""
    monkeypatch.setattr(copies, "LONGEST_TRANSACTION", 0.0)
    with closing(Assembly(load(data_dir=tmp_path / "data"))) as one:
        yield one


def rows(assembly: Assembly) -> dict[str, int]:
    """Return how many rows each table has that knows documents, of those that have any; and files on their way."""
    tables = (
        "collections", "documents", "chunks", "vectors", "originals", "scans", "document_tags", "folder_tags",
        "document_languages", "collection_settings",
    )  # fmt: skip
    number = {one: assembly.database.rows(f"SELECT count(*) FROM {one}")[0][0] for one in tables}  # noqa: S608 - tables of ours
    number |= {"files": len(list(assembly.settings.data_dir.glob(".arriving-*")))}
    return {name: count for name, count in number.items() if count}


def test_others_read_and_write_while_a_collection_is_imported_and_see_nothing_of_it(
    assembly: Assembly, tmp_path: Path
) -> None:
    file = file_of(tmp_path, "a.pdf", "b.pdf", "c.pdf")
    seen: list[tuple[int, list[str], list[str], list[str]]] = []
    with closing(sqlite3.connect(assembly.database.path, timeout=0, isolation_level=None)) as other:
        for _, moved in assembly.collection_copies.import_file(file):
            other.execute("INSERT INTO collection_settings (collection, web) VALUES (?, 'never')", (str(len(seen)),))
            listed = collection_names(assembly.database)
            waiting = document_store.collections_to_recognise(assembly.database)
            others = with_other_embedder(assembly.database, "mine")
            seen.append((moved.done, listed, [*waiting], others))
    there = ["house"]
    assert seen == [*((done, [], [], []) for done in range(4)), (3, there, there, there)]
    assert [one.name for one in assembly.collections.documents("house")] == ["a.pdf", "b.pdf", "c.pdf"]
    assert assembly.collections.tags.folder_tags("house") == {"house": ["home"]}
    assert "files" not in rows(assembly)


def test_others_read_write_and_delete_while_a_collection_is_copied(assembly: Assembly, tmp_path: Path) -> None:
    list(assembly.collection_copies.import_file(file_of(tmp_path, "a.pdf", "b.pdf", "c.pdf")))
    steps = assembly.collection_copies.copy("house", "again")
    assert next(steps).done == 0
    assert next(steps).done == 1
    with closing(sqlite3.connect(assembly.database.path, timeout=0, isolation_level=None)) as other:
        assert collection_names(assembly.database) == ["house"]
        other.execute("DELETE FROM documents WHERE name = 'b.pdf'")
        list(steps)
    assert [one.name for one in assembly.collections.documents("again")] == ["a.pdf", "c.pdf"]
    assert assembly.collections.tags.folder_tags("again") == {"house": ["home"]}
    assert assembly.collections.names() == ["again", "house"]


def test_an_import_that_meets_what_cannot_be_leaves_nothing(assembly: Assembly, tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.pdf", "b.pdf", "../up.pdf")
    with pytest.raises(StoreError, match="cannot be called"):
        list(assembly.collection_copies.import_file(file))
    assert rows(assembly) == {}


def test_an_import_that_is_stopped_leaves_nothing(assembly: Assembly, tmp_path: Path) -> None:
    with closing(assembly.collection_copies.import_file(file_of(tmp_path, "a.pdf", "b.pdf"))) as events:
        while next(events)[1].done < 1:
            pass
        assert rows(assembly)["documents"] == 1
    assert rows(assembly) == {}


def test_a_name_that_is_taken_meanwhile_is_refused_or_gets_a_number(assembly: Assembly, tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.pdf")
    with assembly.database.transaction() as connection:
        insert = "INSERT INTO collections (name, embedder, dimension, created_at) VALUES ('house', 'x', 4, '2026')"
        events = assembly.collection_copies.import_file(file)
        assert next(events)[0] == "house"
        connection.execute(insert)
    with pytest.raises(NameRefused, match="The collection “house” already exists"):
        list(events)
    assert rows(assembly) == {"collections": 1}
    with assembly.database.transaction() as connection:
        connection.execute("DELETE FROM collections")
    events = assembly.collection_copies.import_file(file, extra=True)
    assert next(events)[0] == "house"
    with assembly.database.transaction() as connection:
        connection.execute(insert)
    *_, (name, _) = events
    assert name == "house (2)"
    assert collection_names(assembly.database) == ["house", "house (2)"]


KILLED = """
import sys
from pathlib import Path
from localcrag.app.collections import copies
from localcrag.app.assembly import Assembly
from localcrag.settings import load
copies.LONGEST_TRANSACTION = 0.0
assembly = Assembly(load(data_dir=Path(sys.argv[1])))
for _, moved in assembly.collection_copies.import_file(Path(sys.argv[2])):
    if moved.done == 3:
        print("three", flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
def test_an_import_that_is_killed_is_gone_with_the_next_start_and_one_that_goes_on_is_left_alone(
    tmp_path: Path,
) -> None:
    file = file_of(tmp_path, *(f"{number}.pdf" for number in range(9)))
    data = tmp_path / "data"
    command = [sys.executable, "-c", KILLED, str(data), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        assert process.stdout.readline() == "three\n"
        with closing(Assembly(load(data_dir=data))) as beside:
            assert beside.collections.names() == []
            assert rows(beside)["documents"] == 3
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with closing(Assembly(load(data_dir=data))) as later:
        assert later.collections.names() == []
        assert rows(later) == {}
        assert list(later.collection_copies.import_file(file))[-1][1].done == 9
        assert later.collections.names() == ["house"]


def test_a_copy_that_was_made_meanwhile_has_nothing_of_it_once_it_is_in_use(assembly: Assembly, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "localcrag.sqlite3"
    copy.parent.mkdir()
    for _, moved in assembly.collection_copies.import_file(file_of(tmp_path, "a.pdf", "b.pdf")):
        if moved.done == 1:
            assembly.database.back_up_to(copy)
            assert assembly.database.rows("SELECT count(*) FROM documents")[0][0] == 1
            assert assembly.storage.back_up(tmp_path / "backup").documents == 0
    with closing(Assembly(load(data_dir=copy.parent))) as other:
        assert rows(other) == {}


def test_what_cannot_be_removed_stays_hidden_until_a_start_that_can(tmp_path: Path) -> None:
    database = Database(tmp_path / "localcrag.sqlite3")
    with suppress(KeyError), collection_file.hidden_collection(database, embedder="x", dimension=4):
        with database.transaction() as connection:
            sql = "CREATE TRIGGER kept BEFORE DELETE ON collections BEGIN SELECT raise(ABORT, 'kept'); END"
            connection.execute(sql)
        raise KeyError
    assert collection_names(database) == []
    assert database.rows("SELECT count(*) FROM collections")[0][0] == 1
    with database.transaction() as connection:
        connection.execute("DROP TRIGGER kept")
    collection_file.remove_partial_imports(database)
    assert database.rows("SELECT count(*) FROM collections")[0][0] == 0
    database.close()
