"""The web search: sends a query to the SearXNG that the user configured, and to nothing else.

Knows how to ask over HTTP. Which addresses are allowed is searxng_endpoint's business, what an answer means
searxng_answer's, what a failed exchange is called searxng_failures'. No proxies, no redirect to another host, no
answer without an end.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import httpx

from localcrag.backends.network import trusted_certificates
from localcrag.backends.searxng import answers, failures
from localcrag.backends.searxng.endpoint import parse_endpoint, refuse_public
from localcrag.privacy import addresses, egress_guard, egress_log
from localcrag.privacy.addresses import is_private
from localcrag.records import errors
from localcrag.records.web import WebAnswer
from localcrag.text import never_terms

MAX_ANSWER_BYTES = 2_000_000  # A page of results is some 50 kB; beyond this it is something else.
MAX_QUERY_CHARACTERS = 400  # Engines cut long queries anyway, and a whole pasted document is not a query.
MAX_REDIRECTS = 3
CHECK_QUERY = "wikipedia"  # Leaves the machine when someone presses Test: every engine knows it, and it tells nothing.
# What httpx may unpack. Others (br, zstd, two in a row) can turn one network read into gigabytes before any bound
# is looked at; these two multiply by a thousand at most, 64 kB at a time.
ACCEPTED_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
CONNECTION_ERRORS = (httpx.NetworkError, httpx.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class SearchHealth:
    """What a test query found out. `seconds` is its duration, `error` what failed, or None when all is well.

    `reachable`: something answered. `json_enabled`: it answered in SearXNG's JSON.
    """

    reachable: bool
    json_enabled: bool
    seconds: float
    failed_engines: tuple[tuple[str, str], ...] = ()
    error: str | None = None


class SearXNG:
    """A WebSearch over SearXNG's `/search?format=json`. `timeout` is in seconds and holds for one whole search.

    `parameters` are added to each search: time_range, language, categories, safesearch as SearXNG's search API has
    them. A query that holds one of `forbidden` does not leave, whoever asks for it.

    Raises EndpointRefused for an address that is not http(s), names no host, or leads anywhere but to this computer
    or a private network (unless `allow_public`). A name that cannot be resolved now is judged when it is searched.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float,
        results: int,
        parameters: Mapping[str, str] | None = None,
        forbidden: Sequence[str] = (),
        allow_public: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._endpoint = parse_endpoint(endpoint)
        self._allow_public = allow_public
        self._timeout = timeout
        self._results = results
        self._parameters = dict(parameters or {})
        self._forbidden = tuple(forbidden)
        # Without a network the app must still start; every search resolves and judges the name again.
        with suppress(errors.SearchNotRunning):
            self._refuse_public()
        self._client = httpx.Client(
            auth=self._endpoint.credentials,
            transport=transport,
            verify=trusted_certificates(),
            trust_env=False,
            follow_redirects=False,
            headers={
                "User-Agent": "localcrag",
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
            },
        )

    @property
    def address(self) -> str:
        """The endpoint without credentials, fit to be shown."""
        return str(self._endpoint)

    def configured(self, *, results: int, parameters: Mapping[str, str], forbidden: Sequence[str]) -> SearXNG:
        """Return the same client, over the same connections, for other searches."""
        other = copy.copy(self)
        other._results, other._parameters, other._forbidden = results, dict(parameters), tuple(forbidden)
        return other

    def wording(self, query: str) -> str:
        """Return `query` exactly as `search` sends it."""
        return clean_query(query)

    def search(self, query: str) -> WebAnswer:
        """Return the results for `query`, at least one. Raises SearchError; which one says what the user can do."""
        return answers.require_results(self._ask(query), self.address)

    def check(self) -> SearchHealth:
        """Put a harmless query and return how that went; raises nothing of the SearchError tree."""
        started = time.monotonic()
        try:
            answer = self._ask(CHECK_QUERY)
        except errors.SearchError as error:
            nothing_answered = (errors.SearchNotRunning, errors.SearchTimeout, errors.EndpointRefused)
            reachable = not isinstance(error, nothing_answered)
            return SearchHealth(reachable, False, time.monotonic() - started, error=str(error))
        silent = bool(answer.failed_engines) and not answer.results
        error_message = answers.engines_failed(answer, self.address) if silent else None
        return SearchHealth(True, True, time.monotonic() - started, answer.failed_engines, error_message)

    def close(self) -> None:
        """Close the connections. No search may follow."""
        self._client.close()

    def _passage(self) -> AbstractContextManager[egress_guard.Passage]:
        """Let this thread talk to the endpoint; where its name leads is judged again when it is connected to."""
        judge = (lambda _address: True) if self._allow_public else is_private
        return egress_guard.passage(egress_log.Purpose.WEB_SEARCH, self._endpoint.place, judge=judge)

    def _refuse_public(self) -> None:
        if not self._allow_public:
            refuse_public(self._endpoint)

    def _ask(self, query: str) -> WebAnswer:
        cleaned = clean_query(query)
        if not cleaned:
            raise errors.NoResults("The web was not searched, because the query is empty. Type a question first.")
        if never_terms.holds(cleaned, self._forbidden):
            raise errors.ForbiddenTerm(
                "The web was not asked: the query holds a term that may never be sent. Ask in other words, or take "
                "the term off the list (web_never_terms)."
            )
        with self._passage():
            # Names are resolved anew each time: what was private at the start may lead elsewhere by now.
            self._refuse_public()
            self._note(cleaned)
            try:
                body = self._fetch(self._endpoint.search_url(cleaned, self._parameters))
            # UnicodeError: from a redirect to a host that cannot be written as a name.
            except (httpx.HTTPError, UnicodeError) as error:
                raise failures.broken_exchange(error, self._endpoint, self._timeout) from error
        return answers.parse_answer(body, self._results, self.address)

    def _note(self, query: str) -> None:
        """Take a search down before it leaves, so that it is known of even when the app is killed meanwhile."""
        host, port = self._endpoint.place
        egress_log.note(
            egress_log.Attempt(
                kind=egress_log.Kind.SEARCH,
                destination=addresses.shown(host, port),
                purpose=egress_log.Purpose.WEB_SEARCH,
                allowed=True,
                asked_by=__name__,
                query_bytes=len(query.encode()),
            )
        )

    def _fetch(self, url: httpx.URL) -> bytes:
        deadline = time.monotonic() + self._timeout
        try:
            return self._follow(url, deadline)
        except CONNECTION_ERRORS:
            # Once more: a kept connection that the server closed meanwhile fails like this, and so does a restart.
            return self._follow(url, deadline)

    def _follow(self, url: httpx.URL, deadline: float) -> bytes:
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._read(url, deadline)
            if isinstance(answer, bytes):
                return answer
            url = answer
        raise errors.BadSearchAnswer(
            f"{self._endpoint} keeps sending the search on to other pages of its own ({MAX_REDIRECTS} were followed). "
            "Open it in your browser, and set searxng_url to the address at which SearXNG's start page stays."
        )

    def _read(self, url: httpx.URL, deadline: float) -> bytes | httpx.URL:
        """Return the decoded body, or where the server sends the search on to."""
        with self._client.stream("GET", url, timeout=_left(deadline)) as response:
            if response.next_request is not None:
                return self._redirected(url, response.next_request.url)
            if not response.is_success:
                raise failures.refused_by_status(response.status_code, self._endpoint)
            if response.headers.get("Content-Encoding", "").strip().lower() not in ACCEPTED_ENCODINGS:
                raise errors.BadSearchAnswer(
                    f"{self._endpoint} answered in a compression that localcrag did not ask for. Check that "
                    "searxng_url leads to SearXNG, and switch off compression in a proxy in front of it."
                )
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    raise errors.BadSearchAnswer(
                        f"{self._endpoint} sent more than {MAX_ANSWER_BYTES // 1_000_000} MB, which no page of search "
                        "results is. Check that searxng_url leads to SearXNG and not to another program."
                    )
                _left(deadline)
            return bytes(body)

    def _redirected(self, source: httpx.URL, target: httpx.URL) -> httpx.URL:
        if (source.scheme, source.host, source.port) == (target.scheme, target.host, target.port):
            return target
        here, there = f"{source.scheme}://{source.netloc.decode()}", f"{target.scheme}://{target.netloc.decode()}"
        raise errors.EndpointRefused(
            f"{here} sent the search on to another address, {there}, and localcrag did not go there: your question "
            f"goes only to the server you chose. If {there} is your SearXNG, set searxng_url to that address."
        )


def clean_query(query: str) -> str:
    """Return what is sent for `query`: one line, no control characters, at most 400 characters.

    A word that begins with “!!” loses its exclamation marks: to SearXNG it means "leave for that other site", which
    is never followed here.
    """
    words = answers.fold(query).split(" ")
    line = " ".join(word.lstrip("!") if word.startswith("!!") else word for word in words)
    return line[:MAX_QUERY_CHARACTERS].strip()


def _left(deadline: float) -> float:
    """Return the seconds left. Raises httpx.TimeoutException when there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpx.ReadTimeout("the time for the whole search is over")
    return left
