from __future__ import annotations

import gzip
import json
from base64 import b64encode
from contextlib import closing
from typing import Any

import httpx
import pytest

from localcrag.records import errors
from localcrag.records.run import WebAnswer, WebResult
from localcrag.search import SearchHealth, SearXNG, clean_query
from tests.support.search_servers import Reply, answer_reply, closed_port, redirect_reply, scripted_search

PAGE = {"url": "https://pages.example/greenland", "title": "Greenland", "content": "The largest island."}
GREENLAND = WebResult("Greenland", PAGE["url"], "The largest island.")
GOOD_BODY = json.dumps({"results": [PAGE]}).encode()
GOOD = Reply(body=GOOD_BODY)


def searxng(endpoint: str, *, timeout: float = 30, **options: Any) -> closing[SearXNG]:
    return closing(SearXNG(endpoint, timeout=timeout, results=5, **options))


@pytest.mark.parametrize(
    ("replies", "paths"),
    [
        pytest.param([GOOD], ["/search"], id="at-once"),
        pytest.param([Reply(hang_up=True), GOOD], ["/search"] * 2, id="after-one-hang-up"),
        pytest.param([redirect_reply("/searx/search?q=x"), GOOD], ["/search", "/searx/search"], id="after-a-redirect"),
        pytest.param([redirect_reply("/search", 307)] * 3 + [GOOD], ["/search"] * 4, id="after-three-redirects"),
        pytest.param(
            [Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(GOOD_BODY))], ["/search"], id="gzip"
        ),
    ],
)
def test_the_results_come(replies: list[Reply], paths: list[str]) -> None:
    with scripted_search(*replies) as server, searxng(server.url) as search:
        assert search.search("greenland") == WebAnswer((GREENLAND,))

    assert [request.path for request in server.requests] == paths


def test_results_and_the_engines_that_failed_meanwhile_come_together() -> None:
    reply = answer_reply(results=[PAGE], unresponsive_engines=[["bing", "timeout"]])
    with scripted_search(reply) as server, searxng(server.url) as search:
        assert search.search("greenland") == WebAnswer((GREENLAND,), (("bing", "timeout"),))


def test_a_public_address_is_refused_at_once_unless_it_is_allowed() -> None:
    with pytest.raises(errors.EndpointRefused, match="searxng_allow_public"):
        SearXNG("http://8.8.8.8", timeout=5, results=5)

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=GOOD_BODY))
    with searxng("http://8.8.8.8", allow_public=True, transport=transport) as search:
        assert search.search("greenland").results == (GREENLAND,)


def test_the_request_holds_the_query_the_format_and_the_credentials() -> None:
    with scripted_search(GOOD) as server:
        endpoint = server.url.replace("//", "//anna:s3cret@") + "/searxng/"
        with searxng(endpoint) as search:
            search.search('  "Größe" & ?format=html\n-x  ')

    request = server.requests[0]
    assert (request.path, request.query) == ("/searxng/search", {"q": '"Größe" & ?format=html -x', "format": "json"})
    assert request.headers["Authorization"] == "Basic " + b64encode(b"anna:s3cret").decode()
    assert search.address == f"{server.url}/searxng"


def test_a_client_configured_otherwise_sends_other_parameters_and_the_first_stays_as_it_was() -> None:
    reply = answer_reply(results=[PAGE, {**PAGE, "url": "https://pages.example/2"}])
    with scripted_search(reply, reply) as server, searxng(server.url) as search:
        other = search.configured(results=1, parameters={"time_range": "day"}, forbidden=["heron"])
        assert len(other.search("greenland").results) == 1
        assert len(search.search("greenland").results) == 2
        with pytest.raises(errors.ForbiddenTerm, match="web_never_terms"):
            other.search("the heron of greenland")
        assert search.wording("the heron") == "the heron"

    assert [request.query.get("time_range") for request in server.requests] == ["day", None]


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_search() as proxy, scripted_search(GOOD) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with searxng(server.url) as search:
            search.search("greenland")

    assert proxy.requests == []


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        pytest.param("  what \t is\nthis ", "what is this", id="white-space"),
        pytest.param("a\x00b\x7f\x1bc", "abc", id="control-characters"),
        pytest.param("a\ud800b", "ab", id="lone-surrogate"),
        pytest.param("x" * 500, "x" * 400, id="too-long"),
        pytest.param("x" * 399 + " y", "x" * 399, id="cut-at-a-space"),
        pytest.param("!!g greenland wow!!", "g greenland wow!!", id="external-bang"),
        pytest.param("C++ 'a' OR \"b\" -c *", "C++ 'a' OR \"b\" -c *", id="operators-stay"),
        pytest.param("東京 ☕ می‌خواهم", "東京 ☕ می‌خواهم", id="unicode-stays"),
    ],
)
def test_a_query_is_cleaned_before_it_leaves(query: str, sent: str) -> None:
    assert clean_query(query) == sent


@pytest.mark.parametrize("query", ["", " \n\t", "\x00", "!!"])
def test_an_empty_query_is_not_sent(query: str) -> None:
    told = pytest.raises(errors.NoResults, match="the query is empty")
    with scripted_search(GOOD) as server, searxng(server.url) as search, told:
        search.search(query)

    assert server.requests == []


@pytest.mark.parametrize(
    ("reply", "failed", "error"),
    [
        pytest.param(GOOD, (), None, id="well"),
        pytest.param(answer_reply(), (), None, id="well-without-results"),
        pytest.param(
            answer_reply(results=[PAGE], unresponsive_engines=[["bing", "x"]]),
            ("bing",),
            None,
            id="some-engines",
        ),
        pytest.param(answer_reply(unresponsive_engines=[["bing", "x"]]), ("bing",), "these failed", id="engines"),
        pytest.param(Reply(status=403), (), "search.formats", id="json-disabled"),
        pytest.param(Reply(status=429), (), "limiter", id="rate-limited"),
        pytest.param(Reply(body=b"<!DOCTYPE html>"), (), "web page", id="something-else"),
    ],
)
def test_check_says_how_the_server_is(reply: Reply, failed: tuple[str, ...], error: str | None) -> None:
    with scripted_search(reply) as server, searxng(server.url) as search:
        health = search.check()

    assert tuple(engine for engine, _ in health.failed_engines) == failed
    assert health.error is None if error is None else error in str(health.error)


def test_check_of_nothing_is_a_value_and_not_an_exception() -> None:
    with closed_port() as url, searxng(url) as search:
        health = search.check()

    assert health == SearchHealth(health.seconds, (), health.error)
    assert "not running" in str(health.error)
    assert health.seconds >= 0
