from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from localcrag.evaluation.recorded_search import MOST_RESULTS, recorded_search
from localcrag.records import errors
from localcrag.records.run import WebResult
from localcrag.search import SearXNG
from localcrag.settings import load

FERRY = WebResult("The ferry to Sandholm", "https://example.org/ferry", "Ferries to Sandholm leave at 7:40.")
TRAM = WebResult("Trams of Orrin", "https://example.org/tram", "The tram leaves every ten minutes.", "2024-05-01")
LIGHT = WebResult("Lighthouses", "https://example.org/light", "The lighthouse of Sandholm was lit in 1871.")
WEB = (FERRY, TRAM, LIGHT)


def client(url: str, *, results: int = 20) -> closing[SearXNG]:
    return closing(SearXNG(url, timeout=30, results=results))


def raw(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as answer:
        return json.load(answer)


def test_the_client_finds_what_shares_a_word_best_first() -> None:
    with recorded_search(WEB) as server, client(server) as search:
        assert search.search("when does the ferry to Sandholm leave?").results[0] == FERRY
        assert search.search("trams").results == (TRAM,)
        assert search.search("lit SANDHOLM").results == (LIGHT, FERRY)


def test_the_settings_take_the_address_and_the_test_of_the_connection_passes() -> None:
    with recorded_search(WEB) as server:
        settings = load(searxng_url=server, web="always")
        assert settings.searxng_url is not None
        with client(settings.searxng_url) as search:
            health = search.check()
    assert health.error is None


@pytest.mark.parametrize("query", ["zebra", "?!", '" OR NEAR(', "___", "title:"])
def test_a_query_that_shares_no_word_finds_nothing(query: str) -> None:
    with recorded_search(WEB) as server, client(server) as search, pytest.raises(errors.NoResults):
        search.search(query)


@pytest.mark.parametrize(
    "query", ['ferry" OR "tram', "ferry*", "NOT ferry", "-ferry", "content:ferry", "fe\0rry ferry"]
)
def test_what_would_be_syntax_is_only_text(query: str) -> None:
    with recorded_search(WEB) as server:
        assert FERRY.url in [
            result["url"] for result in raw(f"{server}/search?format=json&q={quote(query)}")["results"]
        ]


def test_without_results_nothing_is_found() -> None:
    with recorded_search([]) as server, client(server) as search, pytest.raises(errors.NoResults):
        search.search("ferry")


def test_the_answer_has_the_shape_that_searxng_writes() -> None:
    with recorded_search(WEB) as server:
        answer = raw(f"{server}/search?q=trams&format=json&language=de&time_range=day")

    (result,) = answer.pop("results")
    assert answer == {
        "query": "trams",
        "number_of_results": 1,
    }
    assert result == {
        "title": TRAM.title,
        "url": TRAM.url,
        "content": TRAM.content,
        "engine": "recorded",
        "publishedDate": "2024-05-01",
    }


def test_what_was_recorded_twice_comes_once_and_no_more_than_two_pages_come() -> None:
    many = [WebResult(f"Page {n}", f"https://example.org/{n}", "A ferry.") for n in range(MOST_RESULTS + 5)]
    other_words = WebResult(FERRY.title, FERRY.url, "No service on Sundays.")
    with recorded_search([FERRY, FERRY, other_words]) as server:
        assert len(raw(f"{server}/search?q=sandholm&format=json")["results"]) == 2
    with recorded_search(many) as server:
        assert len(raw(f"{server}/search?q=ferry&format=json")["results"]) == MOST_RESULTS


@pytest.mark.parametrize(
    "path", ["/", "/config", "/search/x?q=a&format=json", "/search?q=ferry", "/search?q=ferry&format=html",
             "/search?format=json"],
)  # fmt: skip
def test_other_requests_find_nothing(path: str) -> None:
    with recorded_search(WEB) as server, pytest.raises(urllib.error.HTTPError) as refusal:
        raw(server + path)
    assert refusal.value.code == 404
    refusal.value.close()


def test_what_looks_like_markup_comes_back_as_it_was() -> None:
    page = WebResult("Pell & Sons", "https://example.org/pell", "A rope of <b> strands: 3 < 4 & 5 > 4; it's “laid”.")
    with recorded_search([page]) as server, client(server) as search:
        assert search.search("rope").results == (page,)


def test_many_ask_at_once_and_each_gets_its_own_answer() -> None:
    pages = [WebResult(f"Pier {n}", f"https://example.org/{n}", f"Pier number{n} is open.") for n in range(40)]
    with recorded_search(pages) as server, client(server) as search, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: search.search(f"number{n}").results, range(40)))

    assert found == [(page,) for page in pages]


def test_after_the_end_nobody_listens_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with recorded_search(WEB) as server, client(server) as search:
        search.search("ferry")
    assert threading.active_count() == before
    with client(server) as search, pytest.raises(errors.SearchNotRunning):
        search.search("ferry")


def test_the_end_comes_though_somebody_holds_a_connection_and_says_nothing() -> None:
    with socket.socket() as silent:
        with recorded_search(WEB) as server, client(server) as search:
            address = urlsplit(server)
            assert address.hostname == "127.0.0.1"
            silent.connect((address.hostname, address.port))
            search.search("ferry")  # the silent one, which came before, has a thread of its own now
        assert silent.recv(1) == b""  # and was hung up on
