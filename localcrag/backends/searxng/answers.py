"""SearXNG's answers: bytes to a WebAnswer, validated, as plain text, without duplicates.

Knows the shape of SearXNG's JSON and nothing of HTTP. What search engines say is not trusted: a result of the wrong
shape is dropped, markup becomes text, and only http(s) addresses remain.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import httpx
import inscriptis
from pydantic import BaseModel, Field, ValidationError

from localcrag.records.errors import AllEnginesFailed, BadSearchAnswer, NoResults
from localcrag.records.web import WebAnswer, WebResult

# A snippet is a few hundred characters; the bound keeps a hostile one from occupying the parser.
MAX_SNIPPET_CHARACTERS = 10_000


class _Result(BaseModel):
    """What is used of one entry of `results`; `url` is absent from some kinds of result."""

    url: str | None = None
    title: str | None = None
    content: str | None = None
    published: str | None = Field(None, alias="publishedDate")


class _Answer(BaseModel):
    """What is used of the whole answer; entries are validated one by one, so that a bad one costs only itself."""

    results: list[Any]
    unresponsive_engines: list[Any] | None = None


def parse_answer(body: bytes, limit: int, address: str) -> WebAnswer:
    """Return up to `limit` results, best first, and the engines that failed; there may be no results.

    Raises BadSearchAnswer, naming `address`, when `body` is not SearXNG's JSON or none of its results has the shape
    of one.
    """
    answer = _validated(body, address)
    results: dict[tuple[str, str, int | None, str, bytes], WebResult] = {}
    malformed = 0
    for entry in answer.results:
        try:
            result = _web_result(_Result.model_validate(entry))
        except (ValidationError, httpx.InvalidURL, UnicodeError):
            malformed += 1
            continue
        if result is not None:
            results.setdefault(_normalised(result.url), result)
        if len(results) == limit:
            break
    if malformed and malformed == len(answer.results):
        raise BadSearchAnswer(
            f"What {address} answered is JSON, but none of its {malformed} results looks like one of SearXNG's. "
            "Check that searxng_url leads to SearXNG and not to another program, and update SearXNG if it is old."
        )
    failed = tuple(_failed_engine(entry) for entry in answer.unresponsive_engines or ())
    return WebAnswer(tuple(results.values()), failed)


def require_results(answer: WebAnswer, address: str) -> WebAnswer:
    """Return `answer` when it has results. Raises AllEnginesFailed or NoResults, naming `address`."""
    if answer.results:
        return answer
    if answer.failed_engines:
        raise AllEnginesFailed(engines_failed(answer, address))
    raise NoResults(
        f"The web search at {address} worked but found nothing for this question. "
        "Ask it in other words, or with fewer of them."
    )


def engines_failed(answer: WebAnswer, address: str) -> str:
    """Return the sentence that names the failed engines and their reasons."""
    engines = "; ".join(f"{engine} ({reason})" for engine, reason in answer.failed_engines)
    return (
        f"SearXNG at {address} is running, but the search engines behind it gave nothing, because these failed: "
        f"{engines}. Check that the computer SearXNG runs on is online, try again in a few minutes, or switch on "
        "other engines in SearXNG's preferences."
    )


def plain_text(markup: str) -> str:
    """Return the text of an HTML fragment: no tags, entities as characters, white space folded into single spaces."""
    folded = fold(markup[:MAX_SNIPPET_CHARACTERS])
    if "<" in folded or "&" in folded:
        return fold(inscriptis.get_text(folded))
    return folded


def fold(text: str) -> str:
    """Return `text` without control characters and lone surrogates, runs of white space as one space."""
    kept = (c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs"})
    return " ".join("".join(kept).split())


def _validated(body: bytes, address: str) -> _Answer:
    try:
        return _Answer.model_validate_json(body)
    except ValidationError as error:
        if body.lstrip()[:1] == b"<":
            what = "is a web page, not search results"
        elif error.errors()[0]["type"] == "json_invalid":
            what = "is not valid JSON"
        else:
            what = "is JSON, but not of the shape that SearXNG writes"
        raise BadSearchAnswer(
            f"What {address} answered {what}. Open {address} in your browser: when that is not SearXNG's start page, "
            "correct searxng_url in the settings; when it is, update and restart SearXNG."
        ) from error


def _web_result(entry: _Result) -> WebResult | None:
    """Return None for an entry that nobody could read or open. Raises httpx.InvalidURL, UnicodeError."""
    url = (entry.url or "").strip()
    # httpx parses the port and the host too, which urllib leaves until they are asked for.
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        return None
    title = plain_text(entry.title or "")
    content = plain_text(entry.content or "") or title
    if not content:
        return None
    return WebResult(title=title or url, url=url, content=content, published=fold(entry.published or "") or None)


def _normalised(url: str) -> tuple[str, str, int | None, str, bytes]:
    """Return what two addresses of the same page have in common; httpx folds case and leaves default ports out."""
    parsed = httpx.URL(url)
    return parsed.scheme, parsed.host, parsed.port, parsed.path.rstrip("/"), parsed.query


def _failed_engine(entry: Any) -> tuple[str, str]:
    """Return name and reason; SearXNG writes [engine, reason], and anything else is shown as it is."""
    parts = entry if isinstance(entry, list) and entry else [entry]
    name, *reasons = (plain_text(str(part)) for part in parts)
    return name, " ".join(reasons) or "no reason given"
