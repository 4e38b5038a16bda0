"""What SearXNG answered is kept for a time, and only for the same query, address and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localcrag.records.run import WebAnswer, WebResult
from localcrag.storage.database import Database
from localcrag.storage.egress import WebAnswerCache

ANSWER = WebAnswer((WebResult("Moon", "http://example.org/moon", "It orbits.", "2026-01-01"),), (("bing", "CAPTCHA"),))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "db.sqlite3")
    yield opened
    opened.close()


def cache(database: Database, *, endpoint: str = "http://a", results: int = 5, hours: int = 24,
          now: datetime = NOON) -> WebAnswerCache:  # fmt: skip
    return WebAnswerCache(database, endpoint=endpoint, parameters={"results": results}, hours=hours, now=lambda: now)


def rows(database: Database) -> int:
    return len(database.rows("SELECT * FROM web_cache"))


def test_an_answer_comes_back_whole_and_with_its_time(database: Database) -> None:
    assert cache(database).get("moon") is None
    cache(database).put("moon", ANSWER)
    known = cache(database, now=NOON + timedelta(hours=1)).get("moon")
    assert known == WebAnswer(ANSWER.results, ANSWER.failed_engines, cached_at="2026-03-01T12:00:00+00:00")


def test_only_the_same_query_address_and_parameters_count(database: Database) -> None:
    cache(database).put("moon", ANSWER)
    assert cache(database).get("Moon") is None
    assert cache(database, endpoint="http://b").get("moon") is None
    assert cache(database, results=6).get("moon") is None


@pytest.mark.parametrize(
    ("later", "known"),
    [
        pytest.param(timedelta(hours=23, minutes=59), True, id="young enough"),
        pytest.param(timedelta(hours=24), False, id="too old"),
        pytest.param(timedelta(minutes=-1), False, id="of the future"),
    ],
)
def test_what_is_too_old_is_deleted_of_whatever_address(database: Database, later: timedelta, known: bool) -> None:
    cache(database, endpoint="http://b").put("sun", ANSWER)
    cache(database).put("moon", ANSWER)
    assert (cache(database, now=NOON + later).get("moon") is not None) is known
    assert rows(database) == (2 if known else 0)


def test_nothing_is_kept_when_it_is_off_and_what_there_was_goes(database: Database) -> None:
    cache(database).put("moon", ANSWER)
    off = cache(database, hours=0)
    assert off.get("moon") is None
    off.put("moon", ANSWER)
    assert rows(database) == 0


def test_a_new_answer_takes_the_place_of_the_old_one(database: Database) -> None:
    cache(database).put("moon", ANSWER)
    cache(database, now=NOON + timedelta(hours=5)).put("moon", WebAnswer(()))
    known = cache(database, now=NOON + timedelta(hours=6)).get("moon")
    assert known == WebAnswer((), cached_at="2026-03-01T17:00:00+00:00")
    assert rows(database) == 1


def test_what_another_version_wrote_is_asked_anew(database: Database) -> None:
    cache(database).put("moon", ANSWER)
    with database.transaction() as connection:
        connection.execute('UPDATE web_cache SET answer = \'{"of": "a later version"}\'')
    assert cache(database).get("moon") is None
