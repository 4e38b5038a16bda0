"""Words of what was deleted, overwritten in full text and in the log of writes; what is left is noted.

SQLite overwrites rows by itself (`secure_delete`). Two places keep words: full text has those of deleted chunks, and
the note that they are deleted, until its parts are merged into one; the log (`-wal`) has pages as they were. A merge
reads and writes all of full text, whatever was deleted: once for many documents costs as much as once for one. It is
done in steps, each a transaction of its own, so that others read and write meanwhile; who is killed leaves a note of
what is left (`words_to_overwrite`, which triggers of the schema count up).

FTS5 can overwrite words as they are deleted (`secure-delete`, from SQLite 3.42 on). It then notes in the table that no
SQLite before 3.42 may read or write it, until the table is made anew (`rebuild`); Debian 12 has 3.40.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from localcrag.backends.store.database import BUSY_TIMEOUT, FULL_TEXT, Database

PAGES = 200
"""Pages of full text that are written in a step, in 20 to 50 ms of one core. With more, questions wait longer; with
fewer, it takes longer as a whole."""
MOST_TIMES = 2
"""Times as many steps as full text has pages for, after which the rest is done in one: where others keep on writing,
each of their transactions brings a part that the merge begins anew for."""


def _let_others() -> None:
    """Let threads that wait for the database have it: who asks for a lock again at once gets it before them."""
    time.sleep(0.001)


def are_left(database: Database) -> bool:
    """Return whether words of what was deleted are to be overwritten still. Raises StoreError."""
    return bool(database.rows("SELECT 1 FROM words_to_overwrite WHERE deleted > overwritten"))


def overwrite(
    database: Database,
    *,
    whole: bool = False,
    go_on: Callable[[], None] = _let_others,
    patience: float = BUSY_TIMEOUT,
) -> None:
    """Have nothing of what was deleted be in the database's files any more. Raises StoreError.

    With `whole` the file is written anew as well, without free pages and gaps within pages. `go_on` is called between
    two steps: it may wait, and what it raises ends the work, which then is left to be done. A process that reads is
    waited for as many seconds as `patience` says.
    """
    (row,) = database.rows("SELECT deleted FROM words_to_overwrite")
    merge(database, go_on)
    database.empty_log(anew=whole, patience=patience)
    with database.transaction() as connection:
        # The lesser: a backup may have taken the database's place meanwhile.
        sql = "UPDATE words_to_overwrite SET overwritten = max(overwritten, min(deleted, ?))"
        connection.execute(sql, (row["deleted"],))


def merge(database: Database, go_on: Callable[[], None] = _let_others) -> None:
    """Have full text be without the words of deleted chunks; the log of writes has them still. Raises StoreError."""
    for index in FULL_TEXT:
        (row,) = database.rows(f"SELECT count(*) AS pages FROM {index}_idx")  # noqa: S608 - a table of ours
        for _ in range(10 + MOST_TIMES * row["pages"] // PAGES):
            if not _step(database, index):
                break
            go_on()
        else:
            with database.transaction() as connection:
                connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608 - as above


def _step(database: Database, index: str) -> bool:
    """Merge a few pages, and return whether there was anything to merge (https://sqlite.org/fts5.html, 6.9)."""
    with database.transaction() as connection:
        before = connection.total_changes
        # Negative: all parts at once, as 'optimize' does, and not those of one size alone.
        connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', {-PAGES})")  # noqa: S608 - as above
        # The command itself counts as a change.
        return connection.total_changes - before > 1
