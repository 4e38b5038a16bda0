"""Calibrations fitted for collections, in SQLite: the one in force, and those before it.

A calibration belongs to a scorer, told by its name and its weights, and to the embedder whose cosines it was fitted to.
It is in force for no other, and comes back when they do.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from localcrag.backends.store.database import Database
from localcrag.records.errors import StoreError
from localcrag.steps.evaluate.applied_calibration import HowFitted, ScorerIdentity, StoredCalibration
from localcrag.steps.evaluate.calibration import FittedCalibration


@dataclass(frozen=True, slots=True)
class _Record:
    calibration: FittedCalibration
    how: HowFitted


class CalibrationStore:
    """The calibrations of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def any_for(self, scorer: str, collection: str) -> bool:
        """Whether one is kept for a scorer of this name, whatever its weights. Raises StoreError."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM calibrations WHERE scorer = ? AND collection = ? AND undone_at IS NULL LIMIT 1",
                scorer,
                collection,
            )
        )

    def in_force(self, identity: ScorerIdentity, collection: str) -> StoredCalibration | None:
        """Return the newest that was not undone, None where the scorer's own holds. Raises StoreError."""
        return next((one for one in self.history(identity, collection) if one.undone_at is None), None)

    def history(self, identity: ScorerIdentity, collection: str) -> list[StoredCalibration]:
        """Return all that were ever applied, newest first, also those undone. Raises StoreError."""
        rows = self._database.rows(
            "SELECT id, collection, scorer, weights, embedder, made_at, undone_at, record FROM calibrations "
            "WHERE scorer = ? AND weights = ? AND embedder = ? AND collection = ? ORDER BY id DESC",
            *(identity.scorer, identity.weights, identity.embedder, collection),
        )
        return [_stored(row) for row in rows]

    def apply(
        self, identity: ScorerIdentity, collection: str, calibration: FittedCalibration, how: HowFitted
    ) -> StoredCalibration:
        """Put a calibration in force and return it. Raises StoreError."""
        now = _now()
        record = json.dumps({"calibration": asdict(calibration), "how": asdict(how)})
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO calibrations (collection, scorer, weights, embedder, made_at, record) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (collection, identity.scorer, identity.weights, identity.embedder, now, record),
            )
        return StoredCalibration(int(cursor.lastrowid or 0), collection, identity, now, None, calibration, how)

    def undo(self, identity: ScorerIdentity, collection: str) -> StoredCalibration | None:
        """Take the calibration in force out of it and return it; None where there is none. Raises StoreError."""
        one = self.in_force(identity, collection)
        if one is not None:
            with self._database.transaction() as connection:
                connection.execute("UPDATE calibrations SET undone_at = ? WHERE id = ?", (_now(), one.id))
        return one


def _stored(row: Any) -> StoredCalibration:
    try:
        record = TypeAdapter(_Record).validate_json(row["record"])
    except ValidationError as error:
        raise StoreError(
            f"The calibration of {row['made_at']} for the collection “{row['collection']}” was written by another "
            "version and cannot be read. Use that version, or another --data-dir."
        ) from error
    identity = ScorerIdentity(row["scorer"], row["weights"], row["embedder"])
    return StoredCalibration(
        row["id"], row["collection"], identity, row["made_at"], row["undone_at"], record.calibration, record.how
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
