"""The schema of 0.1.0 stays as it is, later steps bring databases up to date, other databases are refused untouched."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.facade import Localcrag
from localcrag.records.errors import StoreError
from localcrag.storage import backup
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.schema import MIGRATIONS, SCHEMA, SCHEMA_VERSION
from tests.support.fakes import FakeEmbedder
from tests.support.schemas import FIRST, database_before_0_1_0, database_of_0_1_0, tables_of

EMBEDDER = FakeEmbedder()
TEXT = "The ferry waits at the pier."
CONTENT = f"""
INSERT INTO collections VALUES (1, 'default', '{EMBEDDER.name}', {EMBEDDER.dimension}, '2026-12-01');
INSERT INTO documents (id, collection_id, name, sha256, media_type, text, added_at)
VALUES (1, 1, 'ferry.txt', 'x', 'text/plain', '{TEXT}', '2026-12-01');
INSERT INTO chunks (id, document_id, start, "end", text) VALUES (1, 1, 0, {len(TEXT)}, '{TEXT}');
INSERT INTO vectors VALUES (1, zeroblob({4 * EMBEDDER.dimension}));
INSERT INTO document_languages VALUES (1, 'en', 0);
INSERT INTO runs VALUES ('r', '2026-12-01', 'default', 'Why?', NULL, '{{}}');
"""  # noqa: S608 - constants of this module
"""A document and a run, as 0.1.0 stores them."""


def tables_in(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as database:
        return tables_of(database)


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def test_the_schema_of_0_1_0_is_the_one_that_was_frozen(tmp_path: Path) -> None:
    database_of_0_1_0(tmp_path / "frozen.sqlite3", "")
    with closing(sqlite3.connect(":memory:")) as database:
        for statement in SCHEMA:
            database.execute(statement)
        assert tables_of(database) == tables_in(tmp_path / "frozen.sqlite3"), (
            f"Until 0.1.0 is released, copy a change of SCHEMA to {FIRST}. From then on neither changes: add a step."
        )


def test_a_database_of_0_1_0_gets_the_tables_of_a_new_one_and_keeps_its_content(tmp_path: Path) -> None:
    old, new = tmp_path / "old.sqlite3", tmp_path / "new.sqlite3"
    database_of_0_1_0(old, CONTENT)
    Database(new).close()
    with closing(Database(old)) as database:
        store = DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
        assert store.text("ferry.txt") == TEXT
        assert store.full_text("ferry", 5) == [1]
        assert [row["question"] for row in database.rows("SELECT question FROM runs")] == ["Why?"]
        assert database.rows("PRAGMA integrity_check")[0][0] == "ok"
    assert tables_in(old) == tables_in(new)
    assert version_of(old) == version_of(new) == SCHEMA_VERSION


def test_a_step_brings_an_older_database_up_to_date_once(tmp_path: Path) -> None:
    path, steps = (
        tmp_path / "db.sqlite3",
        (*MIGRATIONS, ("ALTER TABLE runs ADD COLUMN note TEXT", "CREATE TABLE more (x)")),
    )
    database_of_0_1_0(path, CONTENT)
    for _ in range(2):
        with closing(Database(path, steps=steps)) as database:
            assert [tuple(row) for row in database.rows("SELECT question, note FROM runs")] == [("Why?", None)]
    assert version_of(path) == SCHEMA_VERSION + 1
    assert "more" in tables_in(path)


def test_a_step_that_fails_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path, steps = tmp_path / "db.sqlite3", (*MIGRATIONS, ("CREATE TABLE more (x)", "ALTER TABLE missing ADD COLUMN y"))
    database_of_0_1_0(path, CONTENT)
    before = tables_in(path)
    with pytest.raises(StoreError, match="no such table: missing"):
        Database(path, steps=steps)
    assert (tables_in(path), version_of(path)) == (before, 1)


@pytest.mark.parametrize("newer_by", [1, 100])
def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path, newer_by: int) -> None:
    path, version = tmp_path / "newer.sqlite3", SCHEMA_VERSION + newer_by
    database_of_0_1_0(path, f"CREATE TABLE from_the_future (x); PRAGMA user_version = {version};")
    before = tables_in(path)
    with pytest.raises(StoreError, match=f"schema {version}, this one knows {SCHEMA_VERSION}.*Update localcrag"):
        Database(path)
    assert (tables_in(path), version_of(path)) == (before, version)


@pytest.mark.parametrize("version", [1, 22])
def test_a_database_of_before_0_1_0_is_refused_and_no_file_is_touched(tmp_path: Path, version: int) -> None:
    path = tmp_path / "localcrag.sqlite3"
    database_before_0_1_0(path, version=version)
    before = [(one.name, one.stat().st_mtime_ns, one.read_bytes()) for one in tmp_path.iterdir()]
    for use in (lambda: Database(path), lambda: Localcrag(tmp_path)):
        with pytest.raises(StoreError, match=r"older than 0\.1\.0.*--data-dir"):
            use()
    assert [(one.name, one.stat().st_mtime_ns, one.read_bytes()) for one in tmp_path.iterdir()] == before


def test_a_database_of_before_0_1_0_is_known_by_its_log_of_writes_as_well(tmp_path: Path) -> None:
    path = tmp_path / "localcrag.sqlite3"
    with closing(sqlite3.connect(path)) as killed:
        killed.execute("PRAGMA journal_mode = WAL")
        killed.execute("CREATE TABLE collections (id INTEGER PRIMARY KEY)")
        killed.execute("PRAGMA user_version = 22")
        killed.commit()
        assert path.read_bytes()[60:64] == bytes(4), "the number is in the log alone"
        with pytest.raises(StoreError, match=r"older than 0\.1\.0"):
            Database(path)
    assert set(tables_in(path)) == {"collections"}


@pytest.mark.parametrize("mark", ["CREATE TABLE notes (x)", "PRAGMA application_id = 7", "PRAGMA application_id = 0"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "localcrag.sqlite3"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE letters (x)")
        other.execute(mark)
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is not a database of localcrag\. Nothing was changed"):
        Database(path)
    assert path.read_bytes() == before


def test_a_backup_of_before_0_1_0_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "copy.sqlite3"
    database_before_0_1_0(path)
    with pytest.raises(StoreError, match=r"older than 0\.1\.0.*Nothing was changed\. Choose another file"):
        backup.check(path)
