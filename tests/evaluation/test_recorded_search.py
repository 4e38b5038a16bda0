from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from localcrag.evaluation.recorded_search import ADDRESS, MOST_RESULTS, recorded_search
from localcrag.records import errors
from localcrag.records.run import WebResult
from localcrag.search import SearXNG

FERRY = WebResult("The ferry to Sandholm", "https://example.org/ferry", "Ferries to Sandholm leave at 7:40.")
TRAM = WebResult("Trams of Orrin", "https://example.org/tram", "The tram leaves every ten minutes.", "2024-05-01")
LIGHT = WebResult("Lighthouses", "https://example.org/light", "The lighthouse of Sandholm was lit in 1871.")
WEB = (FERRY, TRAM, LIGHT)


def client(web: httpx.BaseTransport, *, results: int = 20) -> closing[SearXNG]:
    return closing(SearXNG(ADDRESS, timeout=30, results=results, transport=web))


def raw(web: httpx.BaseTransport, query: str, **parameters: str) -> Any:
    with httpx.Client(transport=web) as http:
        return http.get(f"{ADDRESS}/search", params={"q": query, "format": "json", **parameters}).json()


def test_the_client_finds_what_shares_a_word_best_first() -> None:
    with recorded_search(WEB) as web, client(web) as search:
        assert search.search("when does the ferry to Sandholm leave?").results[0] == FERRY
        assert search.search("trams").results == (TRAM,)
        assert search.search("lit SANDHOLM").results == (LIGHT, FERRY)


def test_the_test_of_the_connection_passes() -> None:
    with recorded_search(WEB) as web, client(web) as search:
        assert search.check().error is None


@pytest.mark.parametrize("query", ["zebra", "?!", '" OR NEAR(', "___", "title:"])
def test_a_query_that_shares_no_word_finds_nothing(query: str) -> None:
    with recorded_search(WEB) as web, client(web) as search, pytest.raises(errors.NoResults):
        search.search(query)


@pytest.mark.parametrize(
    "query", ['ferry" OR "tram', "ferry*", "NOT ferry", "-ferry", "content:ferry", "fe\0rry ferry"]
)
def test_what_would_be_syntax_is_only_text(query: str) -> None:
    with recorded_search(WEB) as web:
        assert FERRY.url in [result["url"] for result in raw(web, query)["results"]]


def test_without_results_nothing_is_found() -> None:
    with recorded_search([]) as web, client(web) as search, pytest.raises(errors.NoResults):
        search.search("ferry")


def test_the_answer_has_the_shape_that_searxng_writes() -> None:
    with recorded_search(WEB) as web:
        answer = raw(web, "trams", language="de", time_range="day")

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
    with recorded_search([FERRY, FERRY, other_words]) as web:
        assert len(raw(web, "sandholm")["results"]) == 2
    with recorded_search(many) as web:
        assert len(raw(web, "ferry")["results"]) == MOST_RESULTS


def test_what_looks_like_markup_comes_back_as_it_was() -> None:
    page = WebResult("Pell & Sons", "https://example.org/pell", "A rope of <b> strands: 3 < 4 & 5 > 4; it's “laid”.")
    with recorded_search([page]) as web, client(web) as search:
        assert search.search("rope").results == (page,)


def test_many_ask_at_once_and_each_gets_its_own_answer() -> None:
    pages = [WebResult(f"Pier {n}", f"https://example.org/{n}", f"Pier number{n} is open.") for n in range(40)]
    with recorded_search(pages) as web, client(web) as search, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: search.search(f"number{n}").results, range(40)))

    assert found == [(page,) for page in pages]
