"""A stand-in for SearXNG that serves recorded results on this computer, for evaluation.

With it, questions that only the web answers go through the same HTTP client as in real use, and get the same results
each time. The module knows nothing about evaluation sets or the client. Any word of the query finds a result, and BM25
orders the results; parameters other than `q` and `format` (language, time_range, …) have no effect. No engine ever
fails, and a query that shares no word with a result finds nothing.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from localcrag.records.run import WebResult

MOST_RESULTS = 20
"""Maximum number of results in one answer: about two pages of a search engine."""
ENGINE = "recorded"
LONGEST_SILENCE = 2.0
"""Seconds that a connection may stay open without a request, so that an idle connection does not delay the end."""

# Words as FTS5's unicode61 tokenizer sees them; any other character could be query syntax.
_WORD = re.compile(r"[^\W_]+")


@contextmanager
def recorded_search(results: Sequence[WebResult]) -> Iterator[str]:
    """Serve `results` on a free port of 127.0.0.1 until the block ends, and yield the address.

    Results with the same url and content are served once. Raises OSError if no port is available.
    """
    # Use a short interval, because the end of the block waits for it.
    with closing(_index(results)) as index, _Server(index) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="recorded web")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # Closing the server waits for answers in progress.
    request_queue_size = 64  # Length of the queue, so that many simultaneous connections are not refused.

    def __init__(self, index: sqlite3.Connection) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._index, self._lock = index, threading.Lock()

    def search(self, query: str) -> list[dict[str, str]]:
        # All threads share one connection, because the table exists only in its memory.
        with self._lock:
            return _best(self._index, query)

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: the only failures here are clients that have disconnected."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = LONGEST_SILENCE

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = parse_qs(parts.query)
        if parts.path.rstrip("/") != "/search" or asked.get("format") != ["json"] or "q" not in asked:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        query = " ".join(asked["q"])
        found = self.server.search(query)
        body = json.dumps({"query": query, "number_of_results": len(found), "results": found}).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def _index(results: Sequence[WebResult]) -> sqlite3.Connection:
    """Return an in-memory database with the results as rows of `pages`."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE VIRTUAL TABLE pages USING fts5"
        " (title, content, url UNINDEXED, published UNINDEXED, tokenize = 'porter unicode61')"
    )
    # Reversing twice keeps the first of equal results, in the original order.
    distinct = {(result.url, result.content): result for result in reversed(results)}
    connection.executemany(
        "INSERT INTO pages (title, content, url, published) VALUES (?, ?, ?, ?)",
        [(one.title, one.content, one.url, one.published) for one in reversed(distinct.values())],
    )
    return connection


def _best(index: sqlite3.Connection, query: str) -> list[dict[str, str]]:
    """Return the results that share a word with the query, best first, in SearXNG's format."""
    phrases = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query.lower())))
    if not phrases:
        return []
    rows = index.execute(
        "SELECT title, content, url, published FROM pages WHERE pages MATCH ? ORDER BY rank, rowid LIMIT ?",
        (phrases, MOST_RESULTS),
    )
    # Texts from SearXNG may contain markup, so its clients parse them as markup.
    return [
        {"title": escape(title), "url": url, "content": escape(content), "engine": ENGINE}
        | ({"publishedDate": published} if published else {})
        for title, content, url, published in rows
    ]
