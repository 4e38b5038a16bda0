"""Web search: the SearXNG client of the current settings, its cached answers, and a rate limit."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.records.enums import TimeRange
from localcrag.records.errors import SearchError
from localcrag.records.protocols import WebCache, WebSearch
from localcrag.records.run import WebAnswer
from localcrag.settings import Settings
from localcrag.storage.database import Database
from localcrag.storage.egress import WebAnswerCache

if TYPE_CHECKING:
    import httpx

    from localcrag.search import SearchHealth, SearXNG


MINUTE = 60.0


class SlidingMinuteLimit:
    """A RateLimit over the last 60 seconds, shared by all threads; it records the time of each query or upload."""

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Create the limit; `now` returns seconds that never decrease."""
        self._now = now
        self._sleep = sleep
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()

    def claim(self, per_minute: int) -> float:
        """Return 0.0 and count the query if it may go now; otherwise return the seconds to wait."""
        with self._lock:
            now = self._now()
            while self._taken and self._taken[0] <= now - MINUTE:
                self._taken.popleft()
            if len(self._taken) < per_minute:
                self._taken.append(now)
                return 0.0
            # If the limit was lowered, several entries have to expire first.
            return self._taken[-per_minute] + MINUTE - now

    def pause(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        self._sleep(seconds)


class Web:
    """The search client, created on first use; an evaluation sets a `transport` that answers without a network."""

    def __init__(self, settings: CurrentSettings, database: Database, made: LazyCache) -> None:
        self._settings, self._database, self._made = settings, database, made
        self.transport: httpx.BaseTransport | None = None
        self.rate_limit = SlidingMinuteLimit()

    @property
    def address(self) -> str:
        """The address of the SearXNG server, without any password in it. Raises EndpointRefused."""
        return self._client.address

    def health(self) -> SearchHealth:
        """Send a test query to the SearXNG server. Raises EndpointRefused."""
        return self._client.check()

    def search(self, settings: Settings) -> WebSearch | None:
        """Return the search client for `settings`, or None if they do not allow web search.

        If the address is not allowed, the returned client raises that error for each query.
        """
        if not settings.web_allowed:
            return None
        try:
            return self._client.configured(
                results=settings.web_results,
                parameters=_search_parameters(settings),
                forbidden=settings.web_never_terms,
            )
        except SearchError as error:
            return _RefusedSearch(error)

    def cache(self, settings: Settings) -> WebCache | None:
        """Return the cached answers of this SearXNG server, or None if the settings do not allow web search."""
        if not settings.web_allowed:
            return None
        try:
            address = self.address
        except SearchError:
            return None
        return WebAnswerCache(
            self._database,
            endpoint=address,
            parameters={**_search_parameters(settings), "results": settings.web_results},
            hours=settings.web_cache_hours,
        )

    def close(self) -> None:
        """Close the search client."""
        for client in self._made.drop("web"):
            client.close()

    @property
    def _client(self) -> SearXNG:
        return self._made.get("web", self._make)

    def _make(self) -> SearXNG:
        from localcrag.search import SearXNG  # noqa: PLC0415 - takes a while to import

        settings = self._settings.now
        return SearXNG(
            settings.searxng_url or "",
            timeout=settings.search_timeout,
            results=settings.web_results,
            parameters=_search_parameters(settings),
            forbidden=settings.web_never_terms,
            allow_public=settings.searxng_allow_public,
            transport=self.transport,
        )


def _search_parameters(settings: Settings) -> dict[str, str]:
    """Return the parameters to add to each query, as SearXNG's search API names them."""
    chosen = {
        "time_range": "" if settings.web_time_range is TimeRange.NONE else settings.web_time_range.value,
        "language": settings.web_language,
        "categories": ",".join(settings.web_categories),
        "safesearch": "" if settings.web_safesearch is None else str(settings.web_safesearch),
    }
    return {name: value for name, value in chosen.items() if value}


class _RefusedSearch:
    """Stand-in for a SearXNG server that is not allowed: questions that need no web search are not affected."""

    def __init__(self, error: SearchError) -> None:
        self._error = error

    def wording(self, query: str) -> str:
        return query

    def search(self, query: str) -> WebAnswer:
        raise self._error
