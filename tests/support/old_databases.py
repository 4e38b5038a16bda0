"""A database as an older version of localcrag left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

SCHEMAS = tuple(sorted((Path(__file__).parent.parent / "data" / "schemas").glob("*.sql")))
"""What brought a database to each version, as it was first committed: not what the app knows of them today."""


def made(connection: sqlite3.Connection, version: int) -> None:
    """Make the tables of a version in an empty database."""
    for schema in SCHEMAS[:version]:
        connection.executescript(schema.read_text("utf-8"))


def old_database(path: Path, version: int, *statements: str) -> None:
    """Write a database of a version, with what the statements put into it."""
    with closing(sqlite3.connect(path)) as old:
        made(old, version)
        for statement in statements:
            old.execute(statement)
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()


def tables_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return how each table, index and trigger of a database was made, by its name, without comments and spaces."""
    every = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    lines = {name: (line.split("--")[0] for line in sql.splitlines()) for name, sql in every}
    return {name: " ".join(" ".join(code).split()) for name, code in lines.items()}
