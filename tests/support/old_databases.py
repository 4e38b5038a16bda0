"""A database as an older version of localcrag left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from localcrag.backends.store.schema import SCHEMAS


def old_database(path: Path, version: int, *statements: str) -> None:
    """Write a database of a version, with what the statements put into it."""
    with closing(sqlite3.connect(path)) as old:
        for schema in SCHEMAS[:version]:
            old.executescript(schema)
        for statement in statements:
            old.execute(statement)
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()
