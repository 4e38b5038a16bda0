from __future__ import annotations

import json
from typing import Any

import pytest

from localcrag.records.errors import AllEnginesFailed, BadSearchAnswer, NoResults
from localcrag.records.run import WebAnswer, WebResult
from localcrag.search import parse_answer, plain_text, require_results

ADDRESS = "http://127.0.0.1:8080"
GOOD = {"url": "https://a.example/x", "title": "A", "content": "About A."}


def parse(*results: Any, limit: int = 10, **rest: Any) -> WebAnswer:
    return parse_answer(json.dumps({"results": results, **rest}).encode(), limit, ADDRESS)


def entry(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("", "", id="empty"),
        pytest.param("  a\n\tb\u00a0 c ", "a b c", id="white-space"),
        pytest.param("a\x00b\x1bc", "abc", id="control-characters"),
        pytest.param("Tom &amp; Jerry &quot;&#233;&quot;", 'Tom & Jerry "é"', id="entities"),
        pytest.param("<b>bo</b>ld and <em>more</em>", "bold and more", id="inline-tags"),
        pytest.param("one<br>two<p>three</p>", "one two three", id="block-tags"),
        pytest.param("x<script>alert(1)</script><style>b{}</style>y", "xy", id="script-and-style"),
        pytest.param("1 < 2 and 4 > 3, I <3 it", "1 < 2 and 4 > 3, I <3 it", id="less-than-is-no-tag"),
        pytest.param("&lt;b&gt; makes bold", "<b> makes bold", id="escaped-tag-is-text"),
        pytest.param("<![bad section> rest", "rest", id="malformed-declaration"),
        pytest.param("cut off in <a hre", "cut off in", id="cut-off-tag"),
        pytest.param("a" * 30_000, "a" * 10_000, id="too-long"),
        pytest.param("<div>" * 1_000 + "deep", "", id="nested-deeper-than-the-parser-goes"),
    ],
)
def test_markup_becomes_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(entry(), WebResult("A", GOOD["url"], "About A."), id="complete"),
        pytest.param(
            entry(engine="e", engines=["e"], score=1.5, category="general", parsed_url=["https"], thumbnail=None),
            WebResult("A", GOOD["url"], "About A."),
            id="unknown-fields",
        ),
        pytest.param({"url": GOOD["url"], "title": "A"}, WebResult("A", GOOD["url"], "A"), id="content-missing"),
        pytest.param(entry(content=None), WebResult("A", GOOD["url"], "A"), id="content-none"),
        pytest.param(entry(content=" <b> </b> "), WebResult("A", GOOD["url"], "A"), id="content-of-empty-tags"),
        pytest.param(entry(title=""), WebResult(GOOD["url"], GOOD["url"], "About A."), id="title-empty"),
        pytest.param(
            entry(publishedDate="2026-03-01T00:00:00"),
            WebResult("A", GOOD["url"], "About A.", "2026-03-01T00:00:00"),
            id="published",
        ),
        pytest.param(entry(publishedDate=None), WebResult("A", GOOD["url"], "About A."), id="published-none"),
    ],
)
def test_a_result_is_read_with_what_it_has(given: dict[str, Any], expected: WebResult) -> None:
    assert parse(given).results == (expected,)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(entry(url=None), id="url-none"),
        pytest.param({"title": "A", "content": "c"}, id="url-missing"),
        pytest.param(entry(url="javascript:alert(1)"), id="javascript"),
        pytest.param(entry(url="file:///etc/passwd"), id="file"),
        pytest.param(entry(url="//a.example"), id="no-scheme"),
        pytest.param(entry(url="http://"), id="no-host"),
        pytest.param(entry(url="http://a.example:port/"), id="bad-port"),
        pytest.param(entry(url="http://xn--.com/"), id="bad-punycode"),
        pytest.param(entry(url=7), id="url-of-wrong-type"),
        pytest.param(entry(title=["A"]), id="title-of-wrong-type"),
        pytest.param(entry(content={"a": 1}), id="content-of-wrong-type"),
        pytest.param(entry(publishedDate=20260301), id="published-of-wrong-type"),
        pytest.param(entry(title="", content=""), id="nothing-to-read"),
        pytest.param("a string", id="no-object"),
        pytest.param(None, id="null"),
    ],
)
def test_a_bad_result_is_dropped_and_costs_the_others_nothing(bad: Any) -> None:
    assert [result.url for result in parse(bad, entry(url="https://b.example")).results] == ["https://b.example"]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("HTTPS://A.Example/x", True),
        ("https://a.example/x/", True),
        ("https://a.example/x#part", True),
        ("https://a.example:443/x", True),
        ("https://a.example:444/x", False),
        ("https://a.example/X", False),
        ("https://a.example/x?page=2", False),
        ("http://a.example/x", False),
    ],
)
def test_two_addresses_of_one_page_count_once_and_the_first_stays(other: str, same: bool) -> None:
    expected = [GOOD["url"]] if same else [GOOD["url"], other]

    assert [result.url for result in parse(entry(), entry(url=other)).results] == expected


def test_duplicates_do_not_use_up_the_limit() -> None:
    given = [entry(), entry(), *(entry(url=f"https://b.example/{n}") for n in range(5))]

    assert [r.url for r in parse(*given, limit=3).results] == [
        GOOD["url"],
        "https://b.example/0",
        "https://b.example/1",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([["bing", "timeout"]], (("bing", "timeout"),), id="pair"),
        pytest.param([["bing", "access denied", "60 s"]], (("bing", "access denied 60 s"),), id="three"),
        pytest.param([["bing"], "qwant"], (("bing", "no reason given"), ("qwant", "no reason given")), id="no-reason"),
        pytest.param([[]], (("[]", "no reason given"),), id="strange"),
        pytest.param([], (), id="none-failed"),
        pytest.param(None, (), id="null"),
    ],
)
def test_failed_engines_come_with_their_reasons(given: Any, expected: tuple[tuple[str, str], ...]) -> None:
    answer = parse(entry(), unresponsive_engines=given)

    assert answer.failed_engines == expected
    assert len(answer.results) == 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        pytest.param(b"<!DOCTYPE html><title>SearXNG</title>", "is a web page, not search results", id="html"),
        pytest.param(b"\n <html>", "is a web page", id="html-after-white-space"),
        pytest.param(b"", "is not valid JSON", id="empty"),
        pytest.param(b'{"results": [', "is not valid JSON", id="cut-off"),
        pytest.param(b"\xff\xfe", "is not valid JSON", id="not-utf-8"),
        pytest.param(b"[" * 100_000, "is not valid JSON", id="nested-without-end"),
        pytest.param(b"[]", "not of the shape", id="a-list"),
        pytest.param(b'{"error": "No query"}', "not of the shape", id="no-results-field"),
        pytest.param(b'{"results": {}}', "not of the shape", id="results-of-wrong-type"),
        pytest.param(b'{"results": [1, {"url": 2}]}', "none of its 2 results", id="all-malformed"),
    ],
)
def test_an_answer_that_searxng_would_not_write_is_refused(body: bytes, complaint: str) -> None:
    with pytest.raises(BadSearchAnswer, match=complaint) as caught:
        parse_answer(body, 5, ADDRESS)

    assert ADDRESS in str(caught.value)
    assert "searxng_url" in str(caught.value)


def test_no_results_are_told_apart_from_failed_engines() -> None:
    with pytest.raises(NoResults, match="found nothing"):
        require_results(parse(), ADDRESS)
    with pytest.raises(AllEnginesFailed, match=r"bing \(CAPTCHA\); qwant \(timeout\)"):
        require_results(parse(unresponsive_engines=[["bing", "CAPTCHA"], ["qwant", "timeout"]]), ADDRESS)
