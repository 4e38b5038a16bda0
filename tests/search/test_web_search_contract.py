"""What every WebSearch promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import pytest

from localcrag.records.errors import JsonDisabled, NoResults, SearchError
from localcrag.records.protocols import WebSearch
from localcrag.records.run import WebAnswer, WebResult
from localcrag.search import SearXNG
from tests.support.fakes import FakeWeb
from tests.support.hostile_texts import HOSTILE
from tests.support.search_servers import Reply, answer_reply, scripted_search

pytestmark = pytest.mark.contract

RESULT = {"title": "Moon", "url": "http://example.org/moon", "content": "The moon orbits the earth in 27 days."}
ANSWER = WebAnswer((WebResult(**RESULT),))


@dataclass(frozen=True)
class Bench:
    """A search, and the queries that have left through it so far."""

    search: WebSearch
    sent: Callable[[], list[str]]


@contextmanager
def fake(error: SearchError | None) -> Iterator[Bench]:
    web = FakeWeb(error or ANSWER)
    yield Bench(web, lambda: web.queries)


@contextmanager
def real(error: SearchError | None) -> Iterator[Bench]:
    reply = Reply(status=403, body=b"<html>Forbidden</html>") if error else answer_reply(results=[RESULT])
    with (
        scripted_search(*[reply] * 3) as server,
        closing(SearXNG(server.url, timeout=20, results=5)) as web,
    ):
        yield Bench(web, lambda: [request.query["q"] for request in server.requests])


@pytest.fixture(params=[fake, real], ids=["fake", "real"])
def opened(request: pytest.FixtureRequest) -> Iterator[Callable[..., Bench]]:
    with ExitStack() as stack:
        yield lambda error=None: stack.enter_context(request.param(error))


def test_a_query_gets_results_as_plain_text(opened: Callable[..., Bench]) -> None:
    bench = opened()
    assert bench.search.search("How long does the moon take?") == ANSWER
    assert bench.search.search("How long does the moon take?") == ANSWER
    assert bench.sent() == ["How long does the moon take?"] * 2


def test_a_search_that_fails_is_a_search_error_with_its_reason(opened: Callable[..., Bench]) -> None:
    error = JsonDisabled("The JSON format is off.")
    with pytest.raises(JsonDisabled, match=r"(?i)json"):
        opened(error).search.search("moon")


def test_asking_for_the_wording_sends_nothing(opened: Callable[..., Bench]) -> None:
    bench = opened()
    assert bench.search.wording("moon") == "moon"
    assert bench.sent() == []


@pytest.mark.parametrize("text", HOSTILE)
def test_what_leaves_is_the_wording_that_was_shown(opened: Callable[..., Bench], text: str) -> None:
    bench = opened()
    wording = bench.search.wording(text)
    assert bench.search.wording(wording) == wording
    try:
        bench.search.search(text)
    except NoResults:
        assert wording == ""
    assert bench.sent() == [wording] or (wording == "" and bench.sent() == [])
