"""A cache of SearXNG's answers, in SQLite, so that the same query does not leave twice."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from localcrag.backends.store.database import Database
from localcrag.records.web import WebAnswer

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
