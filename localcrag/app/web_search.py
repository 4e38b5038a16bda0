"""A rate limit: so many queries or uploads within any 60 seconds, over all threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from localcrag.app.shared_state import LazyCache, SettingsInUse
from localcrag.records.enums import TimeRange
from localcrag.records.errors import SearchError
from localcrag.records.protocols import WebCache, WebSearch
from localcrag.records.run import WebAnswer
from localcrag.settings import Settings
from localcrag.storage.database import Database
from localcrag.storage.egress import StoredAnswers

if TYPE_CHECKING:
    from localcrag.search import SearchHealth, SearXNG


MINUTE = 60.0


class SlidingMinute:
    """A RateLimit that remembers when what was let through in the last minute came."""

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`now` gives seconds that never go back."""
        self._now = now
        self._sleep = sleep
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()

    def claim(self, per_minute: int) -> float:
        """Return 0.0 when one more may go now, which then counts; else the seconds until one may."""
        with self._lock:
            now = self._now()
            while self._taken and self._taken[0] <= now - MINUTE:
                self._taken.popleft()
            if len(self._taken) < per_minute:
                self._taken.append(now)
                return 0.0
            # When the limit was lowered, more than one has to grow old.
            return self._taken[-per_minute] + MINUTE - now

    def pause(self, seconds: float) -> None:
        """Return after so many seconds."""
        self._sleep(seconds)


class Web:
    """One search client, made when it is first needed."""

    def __init__(self, settings: SettingsInUse, database: Database, made: LazyCache) -> None:
        self._settings, self._database, self._made = settings, database, made
        self.rate_limit = SlidingMinute()

    @property
    def address(self) -> str:
        """The SearXNG's address, without a password that it may hold. Raises EndpointRefused."""
        return self._client.address

    def health(self) -> SearchHealth:
        """Put a test query to the SearXNG. Raises EndpointRefused."""
        return self._client.check()

    def search(self, settings: Settings) -> WebSearch | None:
        """Return the search client under `settings`, None where the web may not be asked.

        For an address that is not allowed it is one that says so when it is asked.
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
        """Return the answers kept from this SearXNG, None where it may not be asked or its address is not allowed."""
        if not settings.web_allowed:
            return None
        try:
            address = self.address
        except SearchError:
            return None
        return StoredAnswers(
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
        )


def _search_parameters(settings: Settings) -> dict[str, str]:
    """Return what a search adds to its query, under the names of SearXNG's search API."""
    chosen = {
        "time_range": "" if settings.web_time_range is TimeRange.NONE else settings.web_time_range.value,
        "language": settings.web_language,
        "categories": ",".join(settings.web_categories),
        "safesearch": "" if settings.web_safesearch is None else str(settings.web_safesearch),
    }
    return {name: value for name, value in chosen.items() if value}


class _RefusedSearch:
    """Stands for an endpoint that may not be asked: a question that does not need the web goes on undisturbed."""

    def __init__(self, error: SearchError) -> None:
        self._error = error

    def wording(self, query: str) -> str:
        return query

    def search(self, query: str) -> WebAnswer:
        raise self._error
