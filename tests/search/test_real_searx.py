from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.records.errors import AllEnginesFailed, BadSearchAnswer, NoResults
from localcrag.search import SearXNG
from tests.support.search_servers import real_searx
from tests.support.web_pages import PAGES

pytestmark = [pytest.mark.process, pytest.mark.search]


@pytest.fixture
def search(searx: str) -> Iterator[SearXNG]:
    backend = SearXNG(searx, timeout=30, results=3)
    yield backend
    backend.close()


QUERIES = [
    ("what is greenland?", "Greenland", "question-mark"),
    ('"eu261" "compensation', "EU261: compensation for delayed and cancelled flights", "unpaired-quotes"),
    ("Iceland's Althing", "Iceland's Althing", "apostrophe"),
    ("per-diem -rates", "Per-diem rates for business travel in the United States", "hyphen-and-minus"),
    ("东 東京 ☕", "Tokyo", "unicode"),
    ("Skłodowska Curie", "Marie Curie", "diacritics"),
    ("octopus AND hearts OR NOT NEAR(blood, 3)", "The octopus", "full-text-operators"),
    ("title:octopus* ^hearts {col}: (", "The octopus", "full-text-syntax"),
    ("C++ Stroustrup & classes = % # ;--", "The programming language C++", "punctuation"),
    ("!!g greenland capital nuuk", "Greenland", "external-bang"),
    ("passport\nrenewal\tform DS-82", "Renewing a US passport", "line-breaks"),
]


@pytest.mark.parametrize(("query", "title"), [pytest.param(query, title, id=name) for query, title, name in QUERIES])
def test_the_right_page_comes_first_whatever_characters_the_query_has(search: SearXNG, query: str, title: str) -> None:
    answer = search.search(query)

    assert answer.results[0].title == title
    assert answer.results[0].content in {page.content for page in PAGES}
    assert answer.failed_engines == ()


def test_no_more_results_come_than_were_asked_for(search: SearXNG) -> None:
    assert len(search.search("the of and in is").results) == 3


def test_words_that_no_page_has_give_no_results(search: SearXNG) -> None:
    with pytest.raises(NoResults, match="found nothing"):
        search.search("zzyzx qwrtpl")


PARAMETERS = [
    *[{"time_range": value} for value in ("day", "week", "month", "year")],
    *[{"language": value} for value in ("en", "de-CH", "all")],
    *[{"safesearch": value} for value in ("0", "1", "2")],
    {"categories": "general"},
    {"categories": "general,nonsense", "time_range": "year", "language": "fr", "safesearch": "1"},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=lambda parameters: ",".join(parameters.values()))
def test_the_server_takes_every_parameter(search: SearXNG, parameters: dict[str, str]) -> None:
    chosen = search.configured(results=2, parameters=parameters, forbidden=())
    # The tests' engine knows no times: asked for a time range, searx leaves it out and finds nothing, without fault.
    if "time_range" in parameters:
        with pytest.raises(NoResults):
            chosen.search("greenland")
    else:
        assert chosen.search("greenland").results[0].title == "Greenland"


@pytest.mark.parametrize("parameters", [{"time_range": "hour"}, {"language": "English"}, {"safesearch": "3"}], ids=str)
def test_the_server_refuses_what_the_settings_refuse(search: SearXNG, parameters: dict[str, str]) -> None:
    with pytest.raises(BadSearchAnswer, match=r"status [45]00"):
        search.configured(results=2, parameters=parameters, forbidden=()).search("greenland")


def test_only_the_engines_of_the_category_are_asked(search: SearXNG) -> None:
    with pytest.raises(AllEnginesFailed, match="brokenpages"):
        search.configured(results=2, parameters={"categories": "broken"}, forbidden=()).search("greenland")


def test_a_failing_engine_is_named_with_its_reason(search: SearXNG) -> None:
    with pytest.raises(AllEnginesFailed, match=r"brokenpages \(.*no such table: missing_table"):
        search.search("!brokenpages greenland")


def test_a_failing_engine_does_not_hide_what_another_found(search: SearXNG) -> None:
    answer = search.search("!brokenpages !localpages greenland")

    assert [engine for engine, _ in answer.failed_engines] == ["brokenpages"]
    assert answer.results[0].title == "Greenland"


def test_check_finds_the_real_server_well(search: SearXNG) -> None:
    health = search.check()

    assert (health.failed_engines, health.error) == ((), None)


def test_a_search_server_that_does_not_start_shows_its_log(tmp_path: Path, searx: str) -> None:
    taken = int(searx.rpartition(":")[2])

    with pytest.raises(RuntimeError, match="Address already in use"), real_searx(tmp_path, PAGES, port=taken):
        pass
