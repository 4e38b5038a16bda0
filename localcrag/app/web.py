"""The web search: the user’s SearXNG, the answers kept from it, and the limit of queries a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcrag.app.lazy_cache import LazyCache
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store.database import Database
from localcrag.backends.store.web_cache import StoredAnswers
from localcrag.records.enums import TimeRange
from localcrag.records.errors import SearchError
from localcrag.records.protocols import WebCache, WebSearch
from localcrag.records.web import WebAnswer
from localcrag.settings import Settings
from localcrag.steps.rate_limit import SlidingMinute

if TYPE_CHECKING:
    from localcrag.backends.searxng.client import SearchHealth, SearXNG


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
        from localcrag.backends.searxng.client import SearXNG  # noqa: PLC0415 - takes a while to import

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
