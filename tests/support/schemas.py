"""The schemas of released versions, and databases that older versions and other programs made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from localcrag.storage.schema import APPLICATION_ID
from tests.support import DATA

FIRST = DATA / "schemas" / "0.1.0.sql"
"""The tables of 0.1.0, version 1 of the schema. This file never changes once 0.1.0 is released."""


def tables_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return how each table, index and trigger of a database was made, by its name, without comments and spaces."""
    every = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    lines = {name: (line.split("--")[0] for line in sql.splitlines()) for name, sql in every}
    return {name: " ".join(" ".join(code).split()) for name, code in lines.items()}


def database_of_0_1_0(path: Path, script: str) -> None:
    """Write a database as 0.1.0 makes it, and run a script in it."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(FIRST.read_text("utf-8"))
        database.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; {script}")
        database.commit()


def database_before_0_1_0(path: Path, *, version: int = 22) -> None:
    """Write a database as a localcrag before 0.1.0 left it: with a number of its schema, and no application_id."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for table in ("collections", "documents", "chunks", "runs"):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")
        database.execute("INSERT INTO documents VALUES (1)")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
