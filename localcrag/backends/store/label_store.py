"""Labels and pinned questions, in SQLite. They outlive their runs, documents and collections."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from localcrag.backends.store.database import Database
from localcrag.records.enums import Origin, ScorerKind
from localcrag.records.errors import LabelError, StoreError
from localcrag.runs.evaluation_set import Question
from localcrag.runs.labelled_question import Pin
from localcrag.runs.labels import Circumstances, Label, LabelKind

_CIRCUMSTANCES = TypeAdapter(Circumstances)
_QUESTION = TypeAdapter(Question)
_COLUMNS = tuple(field.name for field in dataclasses.fields(Label) if field.name != "id")


class LabelStore:
    """The labels of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, label: Label) -> Label:
        """Keep a label in place of an earlier one of the same target; return it with its id. Raises StoreError."""
        names, marks = ", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS))
        changed = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
        with self._database.transaction() as connection:
            connection.execute(
                f"INSERT INTO labels ({names}) VALUES ({marks}) "  # noqa: S608  our own column names
                f"ON CONFLICT (run_id, kind, target) DO UPDATE SET {changed}",
                _values(label),
            )
            row = connection.execute(
                "SELECT id FROM labels WHERE run_id = ? AND kind = ? AND target = ?",
                (label.run_id, label.kind, label.target),
            ).fetchone()
        return dataclasses.replace(label, id=row["id"])

    def take_back(self, run_id: str, kind: LabelKind, target: str) -> bool:
        """Remove the label of a target; return whether there was one. Raises StoreError."""
        with self._database.transaction() as connection:
            found = connection.execute(
                "DELETE FROM labels WHERE run_id = ? AND kind = ? AND target = ?", (run_id, kind, target)
            )
        return found.rowcount > 0

    def find(
        self,
        *,
        collection: str | None = None,
        run_id: str | None = None,
        document: str | None = None,
        kind: LabelKind | None = None,
    ) -> list[Label]:
        """Return labels, oldest first; only those of a collection, run, document or kind where one is given.

        A label is of a document when what was labelled came from it, or its run found a passage in it. Raises
        StoreError.
        """
        rows = self._database.rows(
            "SELECT * FROM labels WHERE collection = coalesce(?, collection) AND run_id = coalesce(?, run_id) "
            "AND kind = coalesce(?, kind) ORDER BY id",
            collection,
            run_id,
            kind,
        )
        labels = [_label(row) for row in rows]
        return [label for label in labels if document is None or _quotes(label, document)]

    def remove(self, ids: Sequence[int]) -> int:
        """Remove the labels of these ids; return how many there were. Raises StoreError."""
        removed = 0
        with self._database.transaction() as connection:
            for label_id in ids:
                removed += connection.execute("DELETE FROM labels WHERE id = ?", (label_id,)).rowcount
        return removed


class PinStore:
    """The pinned questions of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, collection: str, question: Question) -> Pin:
        """Pin a question, in place of what its run was pinned with before. Raises StoreError."""
        pin = Pin(question.id, datetime.now(UTC).isoformat(timespec="seconds"), collection, question)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?)",
                (pin.run_id, pin.pinned_at, collection, _QUESTION.dump_json(question).decode()),
            )
        return pin

    def find(self, *, collection: str | None = None, run_id: str | None = None) -> list[Pin]:
        """Return pins, oldest first; only those of a collection or run where one is given. Raises StoreError."""
        rows = self._database.rows(
            "SELECT * FROM pins WHERE collection = coalesce(?, collection) AND run_id = coalesce(?, run_id) "
            "ORDER BY rowid",
            collection,
            run_id,
        )
        return [
            Pin(row["run_id"], row["pinned_at"], row["collection"], _read(_QUESTION, row["question"])) for row in rows
        ]

    def remove(self, run_id: str) -> None:
        """Unpin. Raises LabelError when nothing of that run is pinned, and StoreError."""
        with self._database.transaction() as connection:
            found = connection.execute("DELETE FROM pins WHERE run_id = ?", (run_id,))
        if not found.rowcount:
            raise LabelError(f"Nothing is pinned of the run “{run_id}”. `localcrag pins list` shows what is.")


def _values(label: Label) -> tuple[Any, ...]:
    given = {name: getattr(label, name) for name in _COLUMNS}
    given["good"] = int(label.good)
    if label.circumstances:
        given["circumstances"] = _CIRCUMSTANCES.dump_json(label.circumstances).decode()
    return tuple(given.values())


def _label(row: sqlite3.Row) -> Label:
    given = dict(row)
    circumstances = given.pop("circumstances")
    return Label(
        **{
            **given,
            "kind": LabelKind(given["kind"]),
            "good": bool(given["good"]),
            "origin": given["origin"] and Origin(given["origin"]),
            "scorer_kind": ScorerKind(given["scorer_kind"]),
            "circumstances": circumstances and _read(_CIRCUMSTANCES, circumstances),
        }
    )


def _read(adapter: TypeAdapter[Any], written: str) -> Any:
    try:
        return adapter.validate_json(written)
    except ValidationError as error:
        raise StoreError("A stored label or pin was written by another version and cannot be read.") from error


def _quotes(label: Label, document: str) -> bool:
    kept = label.circumstances
    return label.document == document or bool(kept and document in (*kept.documents, *kept.case.documents))
