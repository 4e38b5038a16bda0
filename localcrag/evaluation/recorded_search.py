"""A stand-in for SearXNG that serves recorded results on this computer, for evaluation.

So that questions which only the web answers are asked through the same client, over HTTP, as in use, and come out the
same each time. Knows nothing of evaluation sets or of the client. Results are found by any word of the query and
ordered by BM25; parameters other than `q` and `format` (language, time_range, …) change nothing. No engine ever fails,
and a query that no result shares a word with finds none.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from localcrag.records.run import WebResult

MOST_RESULTS = 20
"""Of one answer; some two pages of an engine."""
ENGINE = "recorded"
LONGEST_SILENCE = 2.0
"""Seconds that a connection may stay without a request, so that a forgotten one does not hold up the end."""

# Letters and digits as FTS5's unicode61 sees words; anything else in a query would be its syntax.
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """A running server: its address, fit for the setting `searxng_url`, and the queries that came, in their order."""

    url: str
    queries: list[str]


@contextmanager
def recorded_search(results: Sequence[WebResult]) -> Iterator[RecordedSearch]:
    """Serve `results` on a free port of 127.0.0.1 until the block ends; the same url and content counts once.

    Raises OSError when no port can be had.
    """
    queries: list[str] = []
    with closing(_index(results)) as index:
        lock = threading.Lock()

        def search(query: str) -> list[dict[str, object]]:
            # One connection for all threads: the table lives in this one's memory.
            with lock:
                queries.append(query)
                return _best(index, query)

        with _Server(("127.0.0.1", 0), _handler(search)) as server:
            # A short interval, because the end of the block waits for it.
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="recorded web")
            thread.start()
            try:
                yield RecordedSearch(f"http://127.0.0.1:{server.server_port}", queries)
            finally:
                server.shutdown()
                thread.join()


def _handler(search: Callable[[str], list[dict[str, object]]]) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests, with the results that `search` finds for a query."""

    class Handler(BaseHTTPRequestHandler):
        timeout = LONGEST_SILENCE

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = parse_qs(parts.query)
            query = " ".join(asked.get("q", [])).strip()
            if parts.path.rstrip("/") != "/search":
                self.send_error(HTTPStatus.NOT_FOUND)
            elif asked.get("format") != ["json"]:
                self.send_error(HTTPStatus.FORBIDDEN)  # as SearXNG refuses a format that is not switched on
            elif not query:
                self.send_error(HTTPStatus.BAD_REQUEST)  # as SearXNG calls an empty query
            else:
                self._answer(query)

        def _answer(self, query: str) -> None:
            found = search(query)
            nothing: dict[str, list[str]] = {
                name: [] for name in ("answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines")
            }
            answer = {"query": query, "number_of_results": len(found), "results": found, **nothing}
            body = json.dumps(answer).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # Closing the server waits for the answers that are being given.
    request_queue_size = 64  # of connections that wait, so that many at once are not refused

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: what fails here is a client that went away."""


def _index(results: Sequence[WebResult]) -> sqlite3.Connection:
    """Return a database in memory, with the results as rows of `pages`."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE VIRTUAL TABLE pages USING fts5"
        " (title, content, url UNINDEXED, published UNINDEXED, tokenize = 'porter unicode61')"
    )
    distinct = {(result.url, result.content): result for result in reversed(results)}
    connection.executemany(
        "INSERT INTO pages (title, content, url, published) VALUES (?, ?, ?, ?)",
        [(one.title, one.content, one.url, one.published) for one in reversed(distinct.values())],
    )
    return connection


def _best(index: sqlite3.Connection, query: str) -> list[dict[str, object]]:
    """Return what shares a word with the query, best first, as SearXNG writes results."""
    phrases = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query.lower())))
    if not phrases:
        return []
    rows = index.execute(
        "SELECT title, content, url, published, -rank FROM pages WHERE pages MATCH ? ORDER BY rank, rowid LIMIT ?",
        (phrases, MOST_RESULTS),
    )
    # Escaped, because SearXNG's texts may be markup, and what reads them takes them for it.
    return [
        {
            "title": escape(title),
            "url": url,
            "content": escape(content),
            "engine": ENGINE,
            "engines": [ENGINE],
            "score": score,
        }
        | ({"publishedDate": published} if published else {})
        for title, content, url, published, score in rows
    ]
