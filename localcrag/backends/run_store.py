"""Stored runs, in SQLite."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from localcrag import record
from localcrag.backends.database import Database
from localcrag.datatypes import Run
from localcrag.errors import StoreError, UnknownRun


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A line of the list of runs."""

    run_id: str
    created_at: str
    collection: str
    question: str
    action: str | None


class RunStore:
    """The runs of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, run: Run) -> None:
        """Keep a run, in place of an earlier one of the same id. Raises StoreError."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (run.run_id, run.created_at, run.collection, run.question, run.action, record.dump(run).decode()),
            )

    def newest(self, number: int) -> list[RunSummary]:
        """Return the newest runs, newest first."""
        rows = self._database.rows(
            "SELECT id AS run_id, created_at, collection, question, action FROM runs "
            "ORDER BY created_at DESC, rowid DESC LIMIT ?",
            number,
        )
        return [RunSummary(**row) for row in rows]

    def get(self, run_id: str) -> Run:
        """Return a stored run. Raises UnknownRun and StoreError."""
        rows = self._database.rows("SELECT record FROM runs WHERE id = ?", run_id)
        if not rows:
            raise UnknownRun(f"There is no stored run “{run_id}”. `localcrag runs list` shows those there are.")
        try:
            return record.read(rows[0]["record"])
        except ValidationError as error:
            raise StoreError(f"The stored run “{run_id}” was written by another version and cannot be read.") from error
