"""Stored runs, in SQLite."""

from __future__ import annotations

import json
import sqlite3
import statistics
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from localcrag.records.enums import Action, ScorerKind
from localcrag.records.errors import StoreError, UnknownRun
from localcrag.records.run import Run, StepCost
from localcrag.runs import recording
from localcrag.runs.statistics import RunLine
from localcrag.runs.threshold_explorer import ScoredRun
from localcrag.storage.database import Database

LEAST_TOKENS = 8
"""Number of tokens above which an answer's speed counts."""
NO_LIMIT = -1
"""Value of SQLite's LIMIT that means no limit."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    run_id: str
    created_at: str
    collection: str
    question: str
    action: str | None


class RunStore:
    """The runs of a database, in the order in which they were stored; the clock may have been set back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, run: Run) -> None:
        """Store a run, replacing an earlier one with the same id. Raises StoreError."""
        self._database.run(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            *(run.run_id, run.created_at, run.collection, run.question, run.action, recording.dump(run).decode()),
        )

    def newest(
        self, number: int | None = None, *, collection: str | None = None, action: Action | None = None
    ) -> list[RunSummary]:
        """Return runs, newest first; if given, only those of a collection or action."""
        sql = (
            "SELECT id AS run_id, created_at, collection, question, action FROM runs "
            "WHERE collection = coalesce(?1, collection) AND (?2 IS NULL OR action = ?2) ORDER BY rowid DESC LIMIT ?3"
        )
        rows = self._database.rows(sql, collection, action, NO_LIMIT if number is None else number)
        return [RunSummary(**row) for row in rows]

    def lines(self, collection: str | None = None) -> list[RunLine]:
        """Return each run's values for the statistics, oldest first, without replays.

        SQLite extracts them from the stored records, which is faster than parsing the records in Python: 1.1 s instead
        of 5.5 s for 10,000 records of 26 kB, on a machine that was also busy with other work.
        """
        rows = self._database.rows(
            "SELECT id, created_at, collection, action, json_extract(record, "
            "'$.replays', '$.standalone_question', '$.abstained', '$.uncertain', '$.web.used', '$.steps') AS counted "
            "FROM runs WHERE collection = coalesce(?, collection) ORDER BY rowid",
            collection,
        )
        lines = ((row, json.loads(row["counted"])) for row in rows)
        return [_line(row, counted) for row, (replays, *counted) in lines if replays is None]

    def speeds(self, newest: int = 200) -> dict[str, float]:
        """Return each language model's median tokens per second over the newest runs, prompt time included."""
        rows = self._database.rows(
            "SELECT json_extract(r.record, '$.models.llm') AS llm, json_extract(s.value, '$.completion_tokens') AS "
            "tokens, json_extract(s.value, '$.seconds') AS seconds FROM (SELECT record FROM runs ORDER BY rowid "
            "DESC LIMIT ?) r, json_each(r.record, '$.steps') s WHERE json_extract(s.value, '$.name') = 'generate' "
            "AND tokens > ? AND seconds > 0",
            *(newest, LEAST_TOKENS),
        )
        by_model: dict[str, list[float]] = {}
        for row in rows:
            by_model.setdefault(row["llm"], []).append(row["tokens"] / row["seconds"])
        return {name: statistics.median(speeds) for name, speeds in by_model.items()}

    def scored(self, collection: str) -> list[ScoredRun]:
        """Return the scores of the local passages of each run of a collection, oldest first, without replays.

        SQLite extracts them from the stored records, as in `lines`.
        """
        rows = self._database.rows(
            "SELECT id, question, action, json_extract(record, '$.replays', '$.standalone_question', '$.scorer', "
            "'$.models') AS run, (SELECT json_group_array(json(json_extract(value, '$.logit', '$.cosine', "
            "'$.relevance', '$.scored', '$.overlap'))) FROM json_each(record, '$.passages') "
            "WHERE value ->> 'origin' = 'local') AS passages "
            "FROM runs WHERE collection = ? ORDER BY rowid",
            collection,
        )
        runs = ((row, json.loads(row["run"])) for row in rows)
        return [_scored(row, *run) for row, (replays, *run) in runs if replays is None]

    def count(self) -> int:
        """Return the number of runs. Raises StoreError."""
        return int(self._database.value("SELECT count(*) FROM runs"))

    def stamp(self) -> tuple[int, int]:
        """Return a value that changes whenever a run is stored or removed."""
        (row,) = self._database.rows("SELECT count(*), coalesce(max(rowid), 0) FROM runs")
        return row[0], row[1]

    def get(self, run_id: str) -> Run:
        """Return a stored run. Raises UnknownRun and StoreError."""
        record = self._database.value("SELECT record FROM runs WHERE id = ?", run_id)
        if record is None:
            raise UnknownRun(f"There is no stored run “{run_id}”. `localcrag runs list` lists the stored runs.")
        try:
            return recording.read(record)
        except ValidationError as error:
            raise StoreError(f"The stored run “{run_id}” was written by another version and cannot be read.") from error


def _line(row: sqlite3.Row, counted: list[Any]) -> RunLine:
    question, abstained, uncertain, web_used, steps = counted
    action, origin = row["action"] and Action(row["action"]), (row["id"], row["created_at"], row["collection"])
    costs = tuple(StepCost(step["name"], step["seconds"], step["llm_calls"]) for step in steps)
    return RunLine(*origin, question, action, abstained, web_used, costs, uncertain)


def _scored(row: sqlite3.Row, question: str, scorer: str | None, models: dict[str, str]) -> ScoredRun:
    passages = json.loads(row["passages"])
    logits, cosines, relevances, scored, overlaps = zip(*passages, strict=True) if passages else ((),) * 5
    kind = ScorerKind(scorer) if scorer else ScorerKind.CROSS_ENCODER
    model = models.get("llm" if kind is ScorerKind.LLM else "relevance", "")
    return ScoredRun(
        run_id=row["id"],
        question=question,
        action=row["action"] and Action(row["action"]),
        scorer=kind,
        model=model,
        logits=logits,
        cosines=cosines,
        overlaps=overlaps,
        relevances=relevances,
        scored=False not in scored,
    )
