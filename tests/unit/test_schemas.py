"""Every schema that was ever committed is brought up to today's, by steps that nobody has edited since."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.backends.store import schema
from localcrag.backends.store.database import Database
from localcrag.backends.store.schema import SCHEMA_VERSION
from localcrag.records.errors import StoreError
from tests.support.old_databases import SCHEMAS, made, old_database, tables_of


def test_every_schema_is_kept_as_it_was_first_committed() -> None:
    names = [path.name for path in SCHEMAS]
    assert names == [f"{version:02}.sql" for version in range(1, SCHEMA_VERSION + 1)], (
        "A new schema is copied to tests/data/schemas/ when it is committed, and its file never changed."
    )


@pytest.mark.parametrize("version", range(SCHEMA_VERSION))
def test_a_database_of_every_schema_becomes_one_like_those_that_were_kept(version: int) -> None:
    with closing(sqlite3.connect(":memory:")) as kept, closing(sqlite3.connect(":memory:")) as old:
        made(kept, SCHEMA_VERSION)
        made(old, version)
        for step in schema.SCHEMAS[version:]:
            old.executescript(step)
        assert tables_of(old) == tables_of(kept)


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, SCHEMA_VERSION + 100])
def test_a_newer_schema_is_refused_in_a_sentence_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    path = tmp_path / "newer.sqlite3"
    old_database(path, SCHEMA_VERSION, "CREATE TABLE from_the_future (x)")
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
        before = tables_of(database)
    with pytest.raises(StoreError, match=f"schema {version}, this one knows {SCHEMA_VERSION}.*Update localcrag"):
        Database(path)
    with closing(sqlite3.connect(path)) as database:
        assert tables_of(database) == before
