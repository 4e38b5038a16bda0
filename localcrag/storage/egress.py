"""The log of connections from this computer, and the cache of web answers, in SQLite."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import EgressAttempt, Kind, Purpose
from localcrag.records.run import WebAnswer
from localcrag.storage.database import Database

MOST_ROWS = 10_000
"""Maximum number of rows of the log. Older rows are removed, so that endless attempts cannot fill the disk."""
_FIELDS = ("id", "at", "kind", "destination", "purpose", "allowed", "asked_by", "query_bytes")
_MODELS = (Purpose.LANGUAGE_MODEL, Purpose.RELEVANCE_MODEL)
_IS_SET_UP = f"purpose = '{Purpose.SET_UP}'"


@dataclass(frozen=True, slots=True)
class EgressSummary:
    """Numbers of connections from this computer.

    `connections` counts connections to other computers that no other field counts. `searches` is by SearXNG server,
    `to_models` by model server on another computer, and `to_collections` by PostgreSQL server with collections.
    `set_up` counts the downloads of models during set-up, and `refused` the blocked attempts.
    """

    connections: int
    searches: tuple[tuple[str, int], ...]
    refused: int
    set_up: int = 0
    to_models: tuple[tuple[str, int], ...] = ()
    to_collections: tuple[tuple[str, int], ...] = ()


class ConnectionLog:
    """The connection log of one data folder."""

    def __init__(self, database: Database, data_dir: Path) -> None:
        self._database, self._data_dir = database, data_dir

    def collect(self) -> None:
        """Move the attempts that this and other processes recorded since the last call into the log.

        Raises StoreError.
        """
        with egress_log.drained_attempts(self._data_dir) as new:
            if new:
                self.put(new)

    def put(self, attempts: Iterable[EgressAttempt]) -> None:
        """Add attempts to the log; those that are already in it stay unchanged. Raises StoreError."""
        with self._database.transaction() as connection:
            connection.executemany(
                f"INSERT OR IGNORE INTO egress ({', '.join(_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                map(attrgetter(*_FIELDS), attempts),
            )
            connection.execute(
                "DELETE FROM egress WHERE id NOT IN (SELECT id FROM egress ORDER BY at DESC, rowid DESC LIMIT ?)",
                (MOST_ROWS,),
            )

    def newest(self, count: int = MOST_ROWS) -> list[EgressAttempt]:
        """Return the last attempts, newest first. Raises StoreError."""
        self.collect()
        rows = self._database.rows("SELECT * FROM egress ORDER BY at DESC, rowid DESC LIMIT ?", count)
        return [EgressAttempt.from_fields(dict(row)) for row in rows]

    def summary(self) -> EgressSummary:
        """Return the numbers of logged connections. Raises StoreError."""
        self.collect()
        counted = self._database.rows(
            "SELECT count(*) FILTER (WHERE allowed AND kind IN (?, ?) AND purpose NOT IN (?, ?, ?, ?) "  # noqa: S608
            f"AND NOT {_IS_SET_UP}) AS connections, count(*) FILTER (WHERE allowed AND {_IS_SET_UP}) AS set_up, "
            "count(*) FILTER (WHERE NOT allowed) AS refused FROM egress",
            *(Kind.CONNECTION, Kind.PROGRAM, Purpose.WEB_SEARCH, *_MODELS, Purpose.COLLECTION),
        )[0]
        return EgressSummary(
            **dict(counted),
            searches=self._count_by_destination("kind = ?", Kind.SEARCH),
            to_models=self._count_by_destination("kind = ? AND purpose IN (?, ?)", Kind.CONNECTION, *_MODELS),
            to_collections=self._count_by_destination("kind = ? AND purpose = ?", Kind.CONNECTION, Purpose.COLLECTION),
        )

    def _count_by_destination(self, condition: str, *values: str) -> tuple[tuple[str, int], ...]:
        """Return the destinations of allowed attempts, the last used one first, with their numbers."""
        sql = f"SELECT destination, count(*) FROM egress WHERE allowed AND {condition} GROUP BY 1 ORDER BY max(at) DESC"  # noqa: S608 - our own SQL
        return tuple((row[0], row[1]) for row in self._database.rows(sql, *values))


_ADAPTER = TypeAdapter(WebAnswer)
_utc = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True)
class WebAnswerCache:
    """A WebCache for one endpoint (a server's address without credentials) and one set of parameters.

    Answers older than `hours` are deleted, whatever their endpoint. If `hours` is 0, no answers are kept.
    """

    database: Database
    endpoint: str
    parameters: Mapping[str, str | int]
    hours: int
    now: Callable[[], datetime] = _utc

    def get(self, query: str) -> WebAnswer | None:
        """Return the cached answer to `query`, with the time it was received, or None. Raises StoreError."""
        now = self.now()
        # An answer from the future was written under a wrong clock, so its age is unknown.
        sql = "DELETE FROM web_cache WHERE asked_at <= ? OR asked_at > ?"
        self.database.run(sql, _text(now - timedelta(hours=self.hours)), _text(now))
        sql = "SELECT answer, asked_at FROM web_cache WHERE endpoint = ? AND query = ? AND parameters = ?"
        for row in self.database.rows(sql, *self._key(query)):
            with suppress(ValidationError):  # If another version wrote it, treat it as missing.
                return dataclasses.replace(_ADAPTER.validate_json(row["answer"]), cached_at=row["asked_at"])
        return None

    def put(self, query: str, answer: WebAnswer) -> None:
        """Store an answer, unless the cache is switched off. Raises StoreError."""
        if self.hours:
            values = (*self._key(query), _text(self.now()), _ADAPTER.dump_json(answer).decode())
            self.database.run("INSERT OR REPLACE INTO web_cache VALUES (?, ?, ?, ?, ?)", *values)

    def _key(self, query: str) -> tuple[str, str, str]:
        return self.endpoint, query, json.dumps(self.parameters, sort_keys=True)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
