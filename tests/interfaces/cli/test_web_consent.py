"""Web modes and consent on the command line, with a real process, and where it matters at a real terminal."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.command_line import as_json, localcrag, start
from tests.support.search_servers import ScriptedSearch, answer_reply, scripted_search

pytestmark = pytest.mark.process

QUESTION = "How high is Mount Everest?"
EVEREST = {"title": "Everest", "url": "http://example.org/e", "content": "Mount Everest is 8,849 metres high."}


@pytest.fixture
def server() -> Iterator[ScriptedSearch]:
    with scripted_search(*[answer_reply(results=[EVEREST])] * 3) as running:
        yield running


def queries(server: ScriptedSearch) -> list[str]:
    return [request.query["q"] for request in server.requests]


def at_a_terminal(data: Path, types: str, *arguments: str) -> tuple[str, str]:
    """Run with stdin and stderr at a terminal and stdout in a pipe; return what was printed and what was shown."""
    ours, theirs = pty.openpty()
    reading, writing = os.pipe()
    with mock.patch.dict(os.environ, {"TERM": "dumb", "COLUMNS": "200", "LINES": "50"}):
        process = start(data, *arguments, stdin=theirs, stdout=writing, stderr=theirs)
    os.close(theirs)
    os.close(writing)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
            if types and b"n to send nothing" in shown:
                os.write(ours, types.encode())
                types = ""
    except OSError:
        pass  # So Linux says that the other end was closed.
    with os.fdopen(reading, encoding="utf-8") as printed:
        said = printed.read()
    os.close(ours)
    assert process.wait(timeout=60) == 0, shown
    return said, shown.decode()


@pytest.mark.parametrize(
    ("types", "sent"),
    [
        pytest.param("\n", [QUESTION], id="Enter"),
        pytest.param("everest height\n", ["everest height"], id="other words"),
        pytest.param("n\n", [], id="n"),
        pytest.param("\x04", [], id="Ctrl-D"),
    ],
)
def test_at_a_terminal_the_query_is_shown_and_may_be_changed_or_refused(
    tmp_path: Path, server: ScriptedSearch, types: str, sent: list[str]
) -> None:
    printed, shown = at_a_terminal(tmp_path, types, "ask", QUESTION, "--json", "--searxng-url", server.url)
    run = json.loads(printed)
    assert f"  {QUESTION}" in shown
    assert queries(server) == sent
    assert run["web"]["used"] is bool(sent)
    assert run["web"]["not_asked"] == (None if sent else "declined")
    assert ("you did not allow it" in run["answer"]) is not bool(sent)


def test_without_a_terminal_nothing_leaves_unless_it_was_allowed_before(tmp_path: Path, server: ScriptedSearch) -> None:
    asked = ("ask", QUESTION, "--searxng-url", server.url)
    refused = as_json(localcrag(tmp_path, *asked, "--json"))
    assert refused["web"]["not_asked"] == "nobody to ask"
    assert any("--web always" in warning for warning in refused["warnings"])
    assert queries(server) == []

    allowed = localcrag(tmp_path, *asked, "--web", "always")
    assert "web query: How high is Mount Everest? (1 result)" in allowed.stderr
    again = localcrag(tmp_path, *asked)
    assert "; nothing was sent)" in again.stderr
    assert queries(server) == [QUESTION]


def test_a_collection_has_a_mode_of_its_own_and_a_question_may_have_another(
    tmp_path: Path, server: ScriptedSearch
) -> None:
    assert as_json(localcrag(tmp_path, "web", "--json")) == {"collection": "default", "web": "ask"}
    chosen = localcrag(tmp_path, "web", "always").stdout
    assert "the web mode is always. No SearXNG is set" in chosen
    assert "No SearXNG" not in localcrag(tmp_path, "web", LOCALCRAG_SEARXNG_URL=server.url).stdout
    asked = ("ask", QUESTION, "--searxng-url", server.url, "--json")
    assert as_json(localcrag(tmp_path, *asked, "--web", "never"))["web"]["used"] is False
    assert as_json(localcrag(tmp_path, *asked, LOCALCRAG_WEB="never"))["web"]["used"] is False
    assert as_json(localcrag(tmp_path, *asked, "--preset", "documents-only", "--web", "always"))["web"]["query"] is None
    assert queries(server) == []
    assert as_json(localcrag(tmp_path, *asked))["web"]["used"] is True
    assert "overrides the collection's own mode" in localcrag(tmp_path, "web", "always", LOCALCRAG_WEB="never").stdout


def test_what_the_environment_says_is_sent_and_not_sent(tmp_path: Path, server: ScriptedSearch) -> None:
    run = as_json(localcrag(
        tmp_path, "ask", QUESTION, "--searxng-url", server.url, "--web", "always", "--json",
        LOCALCRAG_WEB_NEVER_TERMS='["mount"]', LOCALCRAG_WEB_LANGUAGE="de", LOCALCRAG_WEB_TIME_RANGE="month",
        LOCALCRAG_WEB_CATEGORIES='["general", "news"]', LOCALCRAG_WEB_SAFESEARCH="2",
    ))  # fmt: skip
    assert server.requests[0].query == {
        "q": "How high is Everest?", "format": "json", "language": "de", "time_range": "month",
        "categories": "general,news", "safesearch": "2",
    }  # fmt: skip
    assert any("were removed" in warning for warning in run["warnings"])


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        pytest.param(["web", "sometimes"], {}, "invalid choice: 'sometimes'", id="a mode that does not exist"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_NEVER_TERMS": '["C#"]'}, "two letters", id="a term of one letter"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_TIME_RANGE": "hour"}, "web_time_range", id="time range"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_LANGUAGE": "English"}, "web_language", id="language"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_CATEGORIES": '["a,b"]'}, "web_categories", id="category"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_SAFESEARCH": "3"}, "web_safesearch", id="safe search"),
        pytest.param(["ask", "q"], {"LOCALCRAG_WEB_PER_MINUTE": "0"}, "web_per_minute", id="rate limit"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, arguments: list[str], environment: dict[str, str], says: str) -> None:
    process = localcrag(tmp_path, *arguments, **environment)
    assert process.returncode == 2
    assert says in process.stderr
    assert "Traceback" not in process.stderr
