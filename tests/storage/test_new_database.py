"""A new database that another process makes at the same time is waited for."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from localcrag.storage.database import Database


def test_a_process_that_is_about_to_write_the_first_tables_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "localcrag.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        # Both: a file with a header, but without tables, as a new database is.
        other.execute("CREATE TABLE any (thing)")
        other.execute("DROP TABLE any")
        other.execute("BEGIN IMMEDIATE")
        ended = threading.Timer(0.5, other.execute, ["COMMIT"])
        ended.start()
        with closing(Database(path)) as database:
            (row,) = database.rows("PRAGMA journal_mode")
        ended.join()
    assert row[0] == "wal"
