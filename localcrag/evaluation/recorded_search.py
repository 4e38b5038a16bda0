"""A stand-in for SearXNG that answers with recorded results, for evaluation.

With it, questions that only the web answers go through the same HTTP client as in real use, but without a network, and
get the same results each time. The module knows nothing about evaluation sets or the client. Any word of the query
finds a result, and BM25 orders the results; parameters other than `q` (language, time_range, …) have no effect. No
engine ever fails, and a query that shares no word with a result finds nothing.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from html import escape

import httpx

from localcrag.records.run import WebResult

MOST_RESULTS = 20
"""Maximum number of results in one answer: about two pages of a search engine."""
ENGINE = "recorded"
ADDRESS = "http://127.0.0.1"
"""Address of the stand-in in messages; nothing needs to listen there."""

# Words as FTS5's unicode61 tokenizer sees them; any other character could be query syntax.
_WORD = re.compile(r"[^\W_]+")


@contextmanager
def recorded_search(results: Sequence[WebResult]) -> Iterator[httpx.MockTransport]:
    """Yield a transport for the search client that answers with `results` until the block ends.

    Results with the same url and content are found once.
    """
    lock = threading.Lock()
    with closing(_index(results)) as index:

        def answer(request: httpx.Request) -> httpx.Response:
            query = request.url.params["q"]
            # All threads share one connection, because the table exists only in its memory.
            with lock:
                found = _best(index, query)
            return httpx.Response(200, json={"query": query, "number_of_results": len(found), "results": found})

        yield httpx.MockTransport(answer)


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
