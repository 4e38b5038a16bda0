"""What left this computer: the connection log in SQLite, and cached web answers."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import Attempt, Kind, Purpose
from localcrag.records.run import WebAnswer
from localcrag.storage.database import Database

MOST_ROWS = 10_000
"""Older ones go: something that tries without end must not fill the disk."""
_FIELDS = ("id", "at", "kind", "destination", "purpose", "allowed", "asked_by", "query_bytes")
_MODELS = (Purpose.LANGUAGE_MODEL, Purpose.RELEVANCE_MODEL)
_OF_SET_UP = f"purpose = '{Purpose.SET_UP}'"


@dataclass(frozen=True, slots=True)
class EgressSummary:
    """How much left. `connections` to other machines, but for searches; `searches` by the SearXNG that they went to.

    `to_models`: requests to model servers on other computers, by the server; `to_collections`: connections to
    PostgreSQL servers there that collections live in. They are no `connections`.
    `set_up`: downloads of the models that set-up brings, which are no `connections` either.
    """

    connections: int
    searches: tuple[tuple[str, int], ...]
    refused: int
    set_up: int = 0
    to_models: tuple[tuple[str, int], ...] = ()
    to_collections: tuple[tuple[str, int], ...] = ()


class EgressLedger:
    """The rows of one data folder."""

    def __init__(self, database: Database, data_dir: Path) -> None:
        self._database, self._data_dir = database, data_dir

    def collect(self) -> None:
        """Take over what was taken down since, by this process and by others. Raises StoreError."""
        with egress_log.taken(self._data_dir) as new:
            if new:
                self.put(new)

    def put(self, attempts: Iterable[Attempt]) -> None:
        """Keep attempts; those that are there already stay as they are. Raises StoreError."""
        with self._database.transaction() as connection:
            for attempt in attempts:
                connection.execute(
                    f"INSERT OR IGNORE INTO egress ({', '.join(_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                    [getattr(attempt, name) for name in _FIELDS],
                )
            connection.execute(
                "DELETE FROM egress WHERE id NOT IN (SELECT id FROM egress ORDER BY at DESC, rowid DESC LIMIT ?)",
                (MOST_ROWS,),
            )

    def newest(self, count: int = MOST_ROWS) -> list[Attempt]:
        """Return the last attempts, the newest first. Raises StoreError."""
        self.collect()
        rows = self._database.rows("SELECT * FROM egress ORDER BY at DESC, rowid DESC LIMIT ?", count)
        return [_attempt(row) for row in rows]

    def summary(self) -> EgressSummary:
        """Return how much left. Raises StoreError."""
        self.collect()
        counted = self._database.rows(
            "SELECT count(*) FILTER (WHERE allowed AND kind IN (?, ?) AND purpose NOT IN (?, ?, ?, ?) "  # noqa: S608
            f"AND NOT {_OF_SET_UP}) AS connections, count(*) FILTER (WHERE allowed AND {_OF_SET_UP}) AS set_up, "
            "count(*) FILTER (WHERE NOT allowed) AS refused FROM egress",
            *(Kind.CONNECTION, Kind.PROGRAM, Purpose.WEB_SEARCH, *_MODELS, Purpose.COLLECTION),
        )[0]
        searches = self._database.rows(
            "SELECT destination, count(*) AS times FROM egress WHERE allowed AND kind = ? GROUP BY destination "
            "ORDER BY max(at) DESC",
            Kind.SEARCH,
        )
        to_models = self._database.rows(
            "SELECT destination, count(*) AS times FROM egress WHERE allowed AND kind = ? AND purpose IN (?, ?) "
            "GROUP BY destination ORDER BY max(at) DESC",
            *(Kind.CONNECTION, *_MODELS),
        )
        to_collections = self._database.rows(
            "SELECT destination, count(*) AS times FROM egress WHERE allowed AND kind = ? AND purpose = ? "
            "GROUP BY destination ORDER BY max(at) DESC",
            *(Kind.CONNECTION, Purpose.COLLECTION),
        )
        return EgressSummary(
            counted["connections"], _places(searches), counted["refused"], counted["set_up"], _places(to_models),
            _places(to_collections),
        )  # fmt: skip


def _places(rows: Iterable[sqlite3.Row]) -> tuple[tuple[str, int], ...]:
    return tuple((row["destination"], row["times"]) for row in rows)


def _attempt(row: sqlite3.Row) -> Attempt:
    told = {"kind": Kind(row["kind"]), "purpose": Purpose(row["purpose"]), "allowed": bool(row["allowed"])}
    return Attempt(**{**dict(row), **told})


_ADAPTER = TypeAdapter(WebAnswer)


def _utc() -> datetime:
    return datetime.now(UTC)


class StoredAnswers:
    """A WebCache of one endpoint, asked with one set of parameters.

    What is older than `hours` is deleted, of whatever endpoint; 0 keeps nothing.
    """

    def __init__(
        self,
        database: Database,
        *,
        endpoint: str,
        parameters: Mapping[str, str | int],
        hours: int,
        now: Callable[[], datetime] = _utc,
    ) -> None:
        """`endpoint` is the address without credentials."""
        self._database = database
        self._endpoint = endpoint
        self._parameters = json.dumps(parameters, sort_keys=True)
        self._hours = hours
        self._now = now

    def get(self, query: str) -> WebAnswer | None:
        """Return the answer that `query` got before, with its time, or None. Raises StoreError."""
        self._delete_old()
        rows = self._database.rows(
            "SELECT answer, asked_at FROM web_cache WHERE endpoint = ? AND query = ? AND parameters = ?",
            *(self._endpoint, query, self._parameters),
        )
        if not rows:
            return None
        try:
            answer = _ADAPTER.validate_json(rows[0]["answer"])
        except ValidationError:
            return None  # Written by another version: as good as none.
        return dataclasses.replace(answer, cached_at=rows[0]["asked_at"])

    def put(self, query: str, answer: WebAnswer) -> None:
        """Keep an answer. Raises StoreError."""
        if not self._hours:
            return
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO web_cache VALUES (?, ?, ?, ?, ?)",
                (self._endpoint, query, self._parameters, _text(self._now()), _ADAPTER.dump_json(answer).decode()),
            )

    def _delete_old(self) -> None:
        now = self._now()
        with self._database.transaction() as connection:
            # One from the future was written under a wrong clock: nobody knows how old it is.
            connection.execute(
                "DELETE FROM web_cache WHERE asked_at <= ? OR asked_at > ?",
                (_text(now - timedelta(hours=self._hours)), _text(now)),
            )


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
