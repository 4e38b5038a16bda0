"""Collections on their way in: put piece by piece, shown only when they are whole, else removed.

Such a one has a name that no person can give, and nothing lists it; at its end it is renamed. Others read and write
between its pieces. The process that makes it holds a file beside the database as long as it does: where nobody holds
that, the process was killed, and the next start removes what it left.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localcrag.backends.store.database import Database
from localcrag.backends.store.durable_files import PART, held, is_abandoned
from localcrag.backends.store.shown_collections import ARRIVING, SHOWN
from localcrag.records.errors import StoreError

AT_ONCE = 50
"""Documents that are removed in one transaction."""


@contextmanager
def arriving(database: Database, *, embedder: str, dimension: int, created_at: str) -> Iterator[str]:
    """Make a collection that nothing lists, and yield its name. Raises StoreError.

    Unless it was renamed (shelving.rename_collection), it is removed at the end, however that comes.
    """
    token = secrets.token_hex(8)
    name, file = f"{ARRIVING}{token}", _file(database, token)
    try:
        file.touch(0o600, exist_ok=False)
    except OSError as error:
        raise StoreError(
            f"{file} could not be made: {error.strerror or error}. Check that the folder is writable and the disk not "
            "full."
        ) from error
    try:
        with held(file):
            with database.transaction() as connection:
                connection.execute(
                    "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?)",
                    (name, embedder, dimension, created_at),
                )
            try:
                yield name
            finally:
                with suppress(StoreError):  # What is left stays hidden, and the next start tries again.
                    _remove(database, name)
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def still_arrives(database: Database, name: str) -> None:
    """Say that a collection is being made still, for file systems where no file can be held."""
    with suppress(OSError):
        _file(database, name.removeprefix(ARRIVING)).touch()


def remove_abandoned(database: Database) -> None:
    """Remove what killed processes have left half in, also as a copy has it that was made meanwhile. Raises StoreError.

    What another process is making is left alone.
    """
    for row in database.rows(f"SELECT k.name FROM collections k WHERE NOT {SHOWN}"):  # noqa: S608 - ours
        file = _file(database, row["name"].removeprefix(ARRIVING))
        # It is held before there is anything in the database.
        if not file.exists() or is_abandoned(file, just_made=0.0):
            _remove(database, row["name"])
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _remove(database: Database, name: str) -> None:
    """Remove a collection, if there is one of that name, in pieces that let others read and write."""
    some = "SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? LIMIT ?"
    while True:
        with database.transaction() as connection:
            removed = connection.execute(f"DELETE FROM documents WHERE id IN ({some})", (name, AT_ONCE))  # noqa: S608 - ours
            if not removed.rowcount:
                connection.execute("DELETE FROM collections WHERE name = ?", (name,))
                return


def _file(database: Database, token: str) -> Path:
    return database.path.with_name(f".arriving-{token}{PART}")
