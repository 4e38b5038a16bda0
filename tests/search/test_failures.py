from __future__ import annotations

import gzip
import ssl
import threading
import traceback
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import httpx
import pytest

from localcrag.records import errors
from localcrag.search import SearXNG
from tests.support.search_servers import Reply, answer_reply, closed_port, redirect_reply, scripted_search

HTML = Reply(body=b"<!DOCTYPE html><title>Router login</title>")
HANG_UP = Reply(hang_up=True)


def searxng(endpoint: str, *, timeout: float = 30, **options: Any) -> closing[SearXNG]:
    return closing(SearXNG(endpoint, timeout=timeout, results=5, **options))


def endless() -> Iterable[bytes]:
    while True:
        yield b" " * 65_536


FAILURES = {
    "json-disabled": ([Reply(status=403)], errors.JsonDisabled, ["json", "search.formats", "settings.yml", "restart"]),
    "rate-limited": ([Reply(status=429)], errors.RateLimited, ["Wait", "server.limiter: false"]),
    "password-wanted": ([Reply(status=401)], errors.BadSearchAnswer, ["401", "http://name:password@host"]),
    "wrong-path": ([Reply(status=404)], errors.BadSearchAnswer, ["404", "searxng_url", "path"]),
    "teapot": ([Reply(status=418)], errors.BadSearchAnswer, ["could not be used", "418"]),
    "not-modified": ([Reply(status=304)], errors.BadSearchAnswer, ["could not be used", "304"]),
    "failed-inside": ([Reply(status=502)], errors.BadSearchAnswer, ["failed inside", "502", "log"]),
    "html": ([HTML], errors.BadSearchAnswer, ["web page", "searxng_url"]),
    "no-json": ([Reply(body=b"results: none")], errors.BadSearchAnswer, ["not valid JSON"]),
    "other-json": ([Reply(body=b'{"hits": 3}')], errors.BadSearchAnswer, ["not of the shape"]),
    "malformed-results": ([answer_reply(results=[7, 8])], errors.BadSearchAnswer, ["none of its 2 results"]),
    "no-results": ([answer_reply()], errors.NoResults, ["found nothing", "other words"]),
    "engines-failed": (
        [answer_reply(unresponsive_engines=[["bing", "CAPTCHA"], ["qwant", "timeout"]])],
        errors.AllEnginesFailed,
        ["bing (CAPTCHA)", "qwant (timeout)"],
    ),
    "endless": ([Reply(body=endless)], errors.BadSearchAnswer, ["more than 2 MB"]),
    "gzip-bomb": (
        [Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(20_000_000)))],
        errors.BadSearchAnswer,
        ["more than 2 MB"],
    ),
    "broken-gzip": (
        [Reply(headers={"Content-Encoding": "gzip"}, body=b"no gzip at all")],
        errors.BadSearchAnswer,
        ["could not be read"],
    ),
    "brotli": ([Reply(headers={"Content-Encoding": "br"}, body=b"x")], errors.BadSearchAnswer, ["compression"]),
    "twice-gzip": ([Reply(headers={"Content-Encoding": "gzip, gzip"})], errors.BadSearchAnswer, ["compression"]),
    "hangs-up": ([HANG_UP, HANG_UP], errors.SearchNotRunning, ["without a proper answer", "twice", "starting"]),
    "cut-off": ([Reply(headers={"Content-Length": "99"}, body=b"{")] * 2, errors.SearchNotRunning, ["proper answer"]),
    "redirect-loop": ([redirect_reply("/search")] * 4, errors.BadSearchAnswer, ["keeps sending"]),
    "redirect-to-bad-punycode": ([redirect_reply("http://xn--.com/")], errors.BadSearchAnswer, ["could not be read"]),
    "redirect-to-nonsense": (
        [redirect_reply("http://[::1")] * 2,
        errors.SearchNotRunning,
        ["proper answer", "location"],
    ),
}


@pytest.mark.parametrize(("replies", "kind", "told"), [pytest.param(*row, id=name) for name, row in FAILURES.items()])
def test_each_failure_is_its_own_error_and_says_where_and_what_to_do(
    replies: list[Reply], kind: type[errors.SearchError], told: list[str]
) -> None:
    with scripted_search(*replies) as server:
        address = server.url.replace("//", "//anna:s3cret@")
        with searxng(address) as search, pytest.raises(errors.SearchError) as caught:
            search.search("what is greenland?")

    assert type(caught.value) is kind
    assert [fragment for fragment in [server.url, *told] if fragment not in str(caught.value)] == []
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert len(server.requests) == len(replies)


def test_a_server_that_is_not_running_is_told_with_its_address() -> None:
    with closed_port() as url, searxng(url) as search, pytest.raises(errors.SearchNotRunning) as caught:
        search.search("greenland")

    assert f"SearXNG is not running at {url}" in str(caught.value)
    assert "Start SearXNG" in str(caught.value)


@pytest.mark.parametrize("allow_public", [False, True])
def test_an_unknown_name_lets_the_app_start_and_fails_at_the_search(allow_public: bool) -> None:
    told = pytest.raises(errors.SearchNotRunning, match=r"“searx\.invalid” is not known")
    with searxng("http://searx.invalid", allow_public=allow_public) as search, told:
        search.search("greenland")


def test_nothing_is_sent_to_a_name_that_could_not_be_judged() -> None:
    sent: list[httpx.Request] = []

    def take(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"results": []})

    transport = httpx.MockTransport(take)
    with searxng("http://searx.invalid", transport=transport) as search, pytest.raises(errors.SearchNotRunning):
        search.search("greenland")

    assert sent == []


def test_https_to_a_server_without_it_is_told_to_use_http() -> None:
    told = pytest.raises(errors.SearchNotRunning, match="write http:// in searxng_url")
    with scripted_search() as server, searxng(server.url.replace("http", "https")) as search, told:
        search.search("greenland")


@pytest.mark.parametrize(
    ("cause", "kind", "told"),
    [
        pytest.param(
            httpx.ConnectTimeout("t"), errors.SearchTimeout, "could not be reached within 30 s", id="no-route"
        ),
        pytest.param(httpx.ConnectError("Network is unreachable"), errors.SearchNotRunning, "same network", id="off"),
        pytest.param(ssl.SSLCertVerificationError(1, "self-signed"), errors.SearchNotRunning, "not trusted", id="tls"),
    ],
)
def test_what_no_server_on_loopback_can_do_is_told_too(
    cause: Exception, kind: type[errors.SearchError], told: str
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        if isinstance(cause, httpx.HTTPError):
            raise cause
        raise httpx.ConnectError("certificate verify failed") from cause

    transport = httpx.MockTransport(fail)
    with searxng("https://127.0.0.1", transport=transport) as search, pytest.raises(kind, match=told):
        search.search("greenland")


def test_an_answer_that_does_not_begin_in_time_is_not_asked_for_again() -> None:
    told = pytest.raises(errors.SearchTimeout, match=r"within 0\.5 seconds.*search_timeout")
    never = Reply(until=threading.Event())
    with scripted_search(never, Reply()) as server, searxng(server.url, timeout=0.5) as search, told:
        search.search("greenland")

    assert len(server.requests) == 1


def test_an_answer_that_trickles_in_is_cut_off_when_the_time_is_over() -> None:
    never = threading.Event()

    def trickle() -> Iterable[bytes]:
        for _ in range(1_000):
            never.wait(0.01)
            yield b" "

    told = pytest.raises(errors.SearchTimeout)
    with scripted_search(Reply(body=trickle)) as server, searxng(server.url, timeout=0.3) as search, told:
        search.search("greenland")


def test_a_redirect_to_another_server_is_refused_and_that_server_hears_nothing() -> None:
    with (
        scripted_search() as other,
        scripted_search(redirect_reply(f"{other.url}/search?q=greenland")) as server,
        searxng(server.url) as search,
        pytest.raises(errors.EndpointRefused) as caught,
    ):
        search.search("greenland")

    assert server.url in str(caught.value)
    assert other.url in str(caught.value)
    assert other.requests == []


def test_a_redirect_to_https_is_refused_with_the_address_to_set() -> None:
    told = pytest.raises(errors.EndpointRefused, match="set searxng_url to that address")
    with scripted_search(redirect_reply("https://127.0.0.1/search")) as server, searxng(server.url) as search, told:
        search.search("greenland")
