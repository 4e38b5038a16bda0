"""Labels and pinned questions in SQLite, and files with evaluation sets and kept scores.

Labels and pins outlive their runs, documents and collections.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from localcrag.privacy.private_folder import flush_to_disk
from localcrag.records.errors import EvaluationError, LabelError, ReportError, StoreError
from localcrag.records.evaluation_set import DOCUMENTS, QUESTIONS, Question
from localcrag.runs.labels import Circumstances, Label, LabelKind, LabelledScore, LabelledStrip, Pin
from localcrag.storage.database import Database, now

Record = TypeVar("Record")
_LABEL, _PIN = TypeAdapter(Label), TypeAdapter(Pin)
_CIRCUMSTANCES, _QUESTION = TypeAdapter(Circumstances), TypeAdapter(Question)
_COLUMNS = tuple(field.name for field in dataclasses.fields(Label) if field.name != "id")


class LabelStore:
    """The labels of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, label: Label) -> Label:
        """Store a label, replacing an earlier one for the same target; return it with its id. Raises StoreError."""
        values = {name: getattr(label, name) for name in _COLUMNS}
        if label.circumstances:
            values["circumstances"] = _CIRCUMSTANCES.dump_json(label.circumstances).decode()
        names, marks = ", ".join(_COLUMNS), ", ".join(f":{name}" for name in _COLUMNS)
        changed = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
        with self._database.transaction() as connection:
            row = connection.execute(
                f"INSERT INTO labels ({names}) VALUES ({marks}) "  # noqa: S608  our own column names
                f"ON CONFLICT (run_id, kind, target) DO UPDATE SET {changed} RETURNING id",
                values,
            ).fetchone()
        return dataclasses.replace(label, id=row["id"])

    def withdraw(self, run_id: str, kind: LabelKind, target: str) -> bool:
        """Remove the label of a target; return whether there was one. Raises StoreError."""
        sql = "DELETE FROM labels WHERE run_id = ? AND kind = ? AND target = ?"
        return self._database.run(sql, run_id, kind, target) > 0

    def find(
        self,
        *,
        collection: str | None = None,
        run_id: str | None = None,
        document: str | None = None,
        kind: LabelKind | None = None,
    ) -> list[Label]:
        """Return labels, oldest first; if given, only those of a collection, run, document or kind.

        A label belongs to a document if the labelled text came from it, or if its run found a passage in it. Raises
        StoreError.
        """
        sql = (
            "SELECT * FROM labels WHERE collection = coalesce(?, collection) AND run_id = coalesce(?, run_id) "
            "AND kind = coalesce(?, kind) ORDER BY id"
        )
        labels = [_read(_LABEL, row, "circumstances") for row in self._database.rows(sql, collection, run_id, kind)]
        return [label for label in labels if document is None or _quotes(label, document)]

    def remove(self, ids: Sequence[int]) -> int:
        """Remove the labels with these ids; return the number removed. Raises StoreError."""
        with self._database.transaction():
            return sum(self._database.run("DELETE FROM labels WHERE id = ?", label_id) for label_id in ids)


class PinStore:
    """The pinned questions of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, collection: str, question: Question) -> Pin:
        """Pin a question, replacing an earlier pin of the same run. Raises StoreError."""
        pin = Pin(question.id, now(), collection, question)
        values = (pin.run_id, pin.pinned_at, collection, _QUESTION.dump_json(question).decode())
        self._database.run("INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?)", *values)
        return pin

    def find(self, *, collection: str | None = None, run_id: str | None = None) -> list[Pin]:
        """Return pins, oldest first; if given, only those of a collection or run. Raises StoreError."""
        sql = (
            "SELECT * FROM pins WHERE collection = coalesce(?, collection) AND run_id = coalesce(?, run_id) "
            "ORDER BY rowid"
        )
        return [_read(_PIN, row, "question") for row in self._database.rows(sql, collection, run_id)]

    def remove(self, run_id: str) -> None:
        """Remove the pin of a run. Raises LabelError if there is none, and StoreError."""
        if not self._database.run("DELETE FROM pins WHERE run_id = ?", run_id):
            raise LabelError(
                f"The run “{run_id}” has no pinned question. `localcrag pins list` lists all pinned questions."
            )


def _read(adapter: TypeAdapter[Record], row: sqlite3.Row, json_column: str) -> Record:
    """Return the record of a row, of which one column is JSON or NULL."""
    try:
        return adapter.validate_python({**row, json_column: json.loads(row[json_column] or "null")})
    except ValueError as error:
        raise StoreError("A stored label or pin was written by another version and cannot be read.") from error


def _quotes(label: Label, document: str) -> bool:
    circumstances = label.circumstances
    return label.document == document or bool(
        circumstances and document in (*circumstances.documents, *circumstances.case.documents)
    )


def write_set(folder: Path, lines: Iterable[str], documents: Mapping[str, str]) -> None:
    """Write an evaluation set to `folder`, which must be new or empty. Raises ReportError."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ReportError(f"{folder} already exists and is not empty. Choose a new folder for the evaluation set.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Write to a hidden folder first, so that a failure leaves no incomplete set behind.
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            (staging / DOCUMENTS).mkdir()
            for name, text in documents.items():
                (staging / DOCUMENTS / name).write_text(text, "utf-8")
            (staging / QUESTIONS).write_text("".join(lines), "utf-8")
            staging.replace(folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _write_error(folder, error) from error


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines to `file`, replacing its content in one step. Raises ReportError."""
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        temporary.write_text("".join(lines), "utf-8")
        flush_to_disk(temporary)
        temporary.replace(file)
        flush_to_disk(file.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _write_error(file, error) from error


def _write_error(path: Path, error: OSError) -> ReportError:
    return ReportError(f"{path} could not be written: {error.strerror or error}. Choose another place.")


SCORE_FIELDS = " ".join(field.name for kind in (LabelledScore, LabelledStrip) for field in fields(kind))
"""Field names, hashed into the file's name so that scores without one of these fields are not used."""
QuestionScores = tuple[list[LabelledScore], list[LabelledStrip]]


class ScoreFile:
    """The scores of one evaluation set by one scorer and retrieval method; the file's name must identify all three."""

    def __init__(self, path: Path) -> None:
        """Read the stored scores, skipping incomplete lines and lines of another version."""
        self._path = path
        self._known: dict[str, QuestionScores] = {}
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                row = json.loads(line)
                self._known[row["question"]] = (
                    [LabelledScore(**score) for score in row["scores"]],
                    [LabelledStrip(**strip) for strip in row["strips"]],
                )

    def find(self, question: str) -> QuestionScores | None:
        """Return the stored scores of a question (by its id), or None."""
        return self._known.get(question)

    def keep(self, question: str, scored: QuestionScores) -> None:
        """Append the scores of a question to the file. Raises EvaluationError."""
        scores, strips = scored
        row = {"question": question, "scores": [*map(asdict, scores)], "strips": [*map(asdict, strips)]}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                # Begin with a line break, in case the last line is incomplete.
                file.write("\n" + json.dumps(row))
        except OSError as error:
            raise EvaluationError(
                f"The scores could not be stored in {self._path}: {error.strerror}. Check that the folder can be "
                "written to and the disk is not full."
            ) from error
        self._known[question] = scored
