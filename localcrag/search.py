"""Web search: the client for the SearXNG server that the user configured; it contacts no other server.

Four parts follow one another: the endpoint (parsing its address, refusing public ones), the errors for failed
exchanges, the parsing of SearXNG's JSON, and the HTTP client itself.

Credentials in an address (http://user:password@host) are split off when it is parsed, so that no message, log line or
traceback can show them. Search results are untrusted: malformed results are dropped, markup is reduced to text, and
only http(s) addresses are kept. The client uses no proxies, follows no redirect to another host, and limits the size
and duration of each answer.
"""

from __future__ import annotations

import copy
import socket
import ssl
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import inscriptis
from pydantic import BaseModel, Field, ValidationError

from localcrag.privacy import addresses, egress_log, guard
from localcrag.privacy.addresses import causes, is_private, trusted_certificates
from localcrag.privacy.egress_log import Purpose
from localcrag.records import errors
from localcrag.records.run import WebAnswer, WebResult
from localcrag.text import sanitize

EXAMPLE = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a SearXNG server; its credentials are a separate field that is never printed."""

    url: httpx.URL
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return str(self.url).rstrip("/")

    @property
    def place(self) -> tuple[str, int]:
        """The host as it is sent over the network (internationalised names in ASCII), and the port."""
        return self.url.raw_host.decode("ascii"), self.url.port or guard.PORTS[self.url.scheme]

    def search_url(self, query: str, parameters: Mapping[str, str] | None = None) -> httpx.URL:
        path = self.url.raw_path.rstrip(b"/") + b"/search"
        asked = {"q": query, "format": "json", **(parameters or {})}
        return self.url.copy_with(raw_path=path).copy_merge_params(asked)


def parse_endpoint(text: str) -> Endpoint:
    """Return the address in `text`. Raises EndpointRefused if it is not the http(s) address of a server."""
    try:
        url = addresses.parse_web_address(text)
    except ValueError as error:
        raise _refused(text, str(error)) from None
    credentials = (url.username, url.password) if url.userinfo else None
    return Endpoint(url.copy_with(userinfo=b""), credentials)


def refuse_public(endpoint: Endpoint) -> None:
    """Check that the endpoint's host resolves only to this computer or to private networks.

    Raises EndpointRefused if it does not, and SearchNotRunning if the name cannot be resolved. Numeric addresses in any
    notation (127.1, 134744072) go through the system's resolver, so they mean what the connection will take them for.
    """
    host = endpoint.url.host
    if host == "localhost":
        return
    for address in _addresses(endpoint):
        if not is_private(address):
            leads = "" if host == address else f"leads to {address}, which "
            raise errors.EndpointRefused(
                f"The web search address {endpoint} was not used: {host} {leads}is neither this computer nor in a "
                "private network, and localcrag sends questions only to a SearXNG of your own. Use one such as "
                f"{EXAMPLE}, or switch on searxng_allow_public if you trust that server with your questions."
            )


def unknown_host(endpoint: Endpoint) -> errors.SearchNotRunning:
    """Return the error for a host name that cannot be resolved."""
    return errors.SearchNotRunning(
        f"No SearXNG answers at {endpoint}: the name “{endpoint.url.host}” is not known on your network. Check the "
        "spelling of searxng_url in the settings, and that this computer is connected."
    )


def _addresses(endpoint: Endpoint) -> list[str]:
    try:
        with guard.allow_egress(Purpose.WEB_SEARCH, endpoint.place):
            found = socket.getaddrinfo(endpoint.place[0], None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise unknown_host(endpoint) from error
    return [str(entry[4][0]) for entry in found]


def _refused(text: str, what: str) -> errors.EndpointRefused:
    return errors.EndpointRefused(
        f"The web search address “{addresses.without_password(text)}” {what}. Set searxng_url to the address that "
        f"shows SearXNG's start page in your browser, such as {EXAMPLE}."
    )


_STATUS_PROBLEMS = {
    401: "{endpoint} asks for a user name and a password (status {status}), and those it got, if any, were not right. "
    "Put them into searxng_url, before the host: http://name:password@host.",
    403: "SearXNG at {endpoint} is running but does not give its results as JSON, which localcrag needs (status 403). "
    "Add json to search.formats in SearXNG's settings.yml and restart SearXNG.",
    404: "There is a web server at {endpoint}, but no search (status 404). Open SearXNG in your browser and set "
    "searxng_url to the address of its start page, with the path if there is one (such as /searxng).",
    429: "SearXNG at {endpoint} refused the search (status 429): its limiter counted too many, or takes localcrag for "
    "a robot. Wait a few minutes and ask again. If that does not help and the server is yours, set server.limiter: "
    "false in its settings.yml and restart it.",
}


def status_error(status: int, endpoint: Endpoint) -> errors.SearchError:
    """Return the error for an HTTP status that is neither success nor a redirect."""
    if text := _STATUS_PROBLEMS.get(401 if status == 407 else status):
        kind = {403: errors.JsonDisabled, 429: errors.RateLimited}.get(status, errors.BadSearchAnswer)
        return kind(text.format(endpoint=endpoint, status=status))
    fault = "failed inside" if status >= 500 else "could not be used"
    return errors.BadSearchAnswer(
        f"The search at {endpoint} {fault} (status {status}). Look into SearXNG's log for the reason, restart "
        "SearXNG, and check that searxng_url leads to it."
    )


CONNECTION_ERRORS = (httpx.NetworkError, httpx.RemoteProtocolError)
_ENDED = (
    "Something at {endpoint} took the connection and ended it without a proper answer, twice ({error}). SearXNG may "
    "still be starting: wait a moment and ask again. Otherwise look into its log, and check that searxng_url leads to "
    "SearXNG."
)
_EXCHANGE_PROBLEMS: dict[type[BaseException], str] = {
    httpx.ConnectTimeout: "{endpoint} could not be reached within {timeout:g} seconds. Check that the computer SearXNG "
    "runs on is switched on and that no firewall is between.",
    httpx.TimeoutException: "SearXNG at {endpoint} did not finish its answer within {timeout:g} seconds. Ask again; if "
    "it happens often, raise search_timeout in the settings or switch off slow engines in SearXNG's preferences.",
    **dict.fromkeys(CONNECTION_ERRORS, _ENDED),
    BaseException: "The answer of {endpoint} could not be read ({error}). Check that searxng_url leads to SearXNG and "
    "not to another program, and restart SearXNG.",
}
"""Errors of an exchange, the most specific first, each with its message."""


def exchange_error(error: httpx.HTTPError | UnicodeError, endpoint: Endpoint, timeout: float) -> errors.SearchError:
    """Return the error for an HTTP exchange that failed before its end; `timeout` is in seconds."""
    if isinstance(error, httpx.ConnectError):
        return _no_connection(error, endpoint)
    timed_out = isinstance(error, httpx.TimeoutException)
    ended = errors.SearchNotRunning if isinstance(error, CONNECTION_ERRORS) else errors.BadSearchAnswer
    text = next(text for kind, text in _EXCHANGE_PROBLEMS.items() if isinstance(error, kind))
    return (errors.SearchTimeout if timed_out else ended)(text.format(endpoint=endpoint, error=error, timeout=timeout))


_CONNECTION_PROBLEMS: dict[type[BaseException], str] = {
    ssl.SSLCertVerificationError: "The certificate of {endpoint} is not trusted on this computer ({error}). Install "
    "the certificate of your network's authority on this computer, or use the http:// address of SearXNG.",
    ssl.SSLError: "No secure connection to {endpoint} could be made ({error}). If SearXNG's address begins with "
    "http:// in your browser, write http:// in searxng_url too.",
    ConnectionRefusedError: "SearXNG is not running at {endpoint}: nothing accepts connections there. Start SearXNG, "
    "or correct the address in searxng_url.",
    BaseException: "No connection to SearXNG at {endpoint} could be made ({error}). Check that this computer is on "
    "the same network as SearXNG, that SearXNG is running, and that searxng_url is right.",
}
"""Causes of a failed connection, the most specific first, each with its message."""


def _no_connection(error: httpx.ConnectError, endpoint: Endpoint) -> errors.SearchError:
    below = causes(error)
    if any(isinstance(cause, socket.gaierror) for cause in below):
        return unknown_host(endpoint)
    if refused := next((cause for cause in below if isinstance(cause, errors.EgressRefused)), None):
        return errors.EndpointRefused(
            f"The web search address {endpoint} leads somewhere else by now, and was not asked: {refused} Check "
            "searxng_url, and the name service of your network."
        )
    text = next(text for kind, text in _CONNECTION_PROBLEMS.items() if any(isinstance(cause, kind) for cause in below))
    return errors.SearchNotRunning(text.format(endpoint=endpoint, error=error))


# A snippet has a few hundred characters; the limit keeps a hostile server from blocking the parser with a huge one.
MAX_SNIPPET_CHARACTERS = 10_000


class _WebResult(BaseModel):
    """The fields used from one entry of `results`; some kinds of result have no `url`."""

    url: str | None = None
    title: str | None = None
    content: str | None = None
    published: str | None = Field(None, alias="publishedDate")


class _Answer(BaseModel):
    """The fields used from the whole answer; entries are validated one by one, so a malformed one is dropped alone."""

    results: list[Any]
    unresponsive_engines: list[Any] | None = None


def parse_answer(body: bytes, limit: int, address: str) -> WebAnswer:
    """Return up to `limit` results, best first, and the engines that failed; there may be no results.

    Raises BadSearchAnswer, naming `address`, if `body` is not SearXNG's JSON or all its results are malformed.
    """
    answer = _validated(body, address)
    results: dict[tuple[str, str, int | None, str, bytes], WebResult] = {}
    malformed = 0
    for entry in answer.results:
        try:
            if result := _web_result(_WebResult.model_validate(entry)):
                results.setdefault(_normalised(result.url), result)
        except (ValidationError, httpx.InvalidURL, UnicodeError):
            malformed += 1
        if len(results) == limit:
            break
    # If all results are malformed, the server is probably not SearXNG; a few malformed ones are just dropped.
    if malformed and malformed == len(answer.results):
        raise errors.BadSearchAnswer(
            f"What {address} answered is JSON, but none of its {malformed} results looks like one of SearXNG's. "
            "Check that searxng_url leads to SearXNG and not to another program, and update SearXNG if it is old."
        )
    failed = tuple(_failed_engine(entry) for entry in answer.unresponsive_engines or ())
    return WebAnswer(tuple(results.values()), failed)


def require_results(answer: WebAnswer, address: str) -> WebAnswer:
    """Return `answer` if it has results. Raises AllEnginesFailed or NoResults, naming `address`."""
    if answer.results:
        return answer
    if answer.failed_engines:
        raise errors.AllEnginesFailed(engine_failures_message(answer, address))
    raise errors.NoResults(
        f"The web search at {address} worked but found nothing for this question. "
        "Ask it in other words, or with fewer of them."
    )


def engine_failures_message(answer: WebAnswer, address: str) -> str:
    """Return the sentence that names the failed engines and their reasons."""
    engines = "; ".join(f"{engine} ({reason})" for engine, reason in answer.failed_engines)
    return (
        f"SearXNG at {address} is running, but the search engines behind it gave nothing, because these failed: "
        f"{engines}. Check that the computer SearXNG runs on is online, try again in a few minutes, or switch on "
        "other engines in SearXNG's preferences."
    )


def plain_text(markup: str) -> str:
    """Return the text of an HTML fragment: tags removed, entities decoded, white space collapsed."""
    folded = fold(markup[:MAX_SNIPPET_CHARACTERS])
    if "<" in folded or "&" in folded:
        return fold(inscriptis.get_text(folded))
    return folded


def fold(text: str) -> str:
    """Return `text` without control characters and lone surrogates, with runs of white space collapsed to one space."""
    kept = (c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs"})
    return " ".join("".join(kept).split())


def _validated(body: bytes, address: str) -> _Answer:
    try:
        return _Answer.model_validate_json(body)
    except ValidationError as error:
        invalid = error.errors()[0]["type"] == "json_invalid"
        what = "is not valid JSON" if invalid else "is JSON, but not of the shape that SearXNG writes"
        what = "is a web page, not search results" if body.lstrip()[:1] == b"<" else what
        raise errors.BadSearchAnswer(
            f"What {address} answered {what}. Open {address} in your browser: when that is not SearXNG's start page, "
            "correct searxng_url in the settings; when it is, update and restart SearXNG."
        ) from error


def _web_result(entry: _WebResult) -> WebResult | None:
    """Return the result, or None if it has no text or no http(s) address. Raises httpx.InvalidURL, UnicodeError."""
    url = (entry.url or "").strip()
    # httpx validates the port and the host immediately; urllib would do so only when they are read.
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        return None
    title = plain_text(entry.title or "")
    content = plain_text(entry.content or "") or title
    if not content:
        return None
    return WebResult(title=title or url, url=url, content=content, published=fold(entry.published or "") or None)


def _normalised(url: str) -> tuple[str, str, int | None, str, bytes]:
    """Return a key that two addresses of the same page share; httpx lowers the case and drops default ports."""
    parsed = httpx.URL(url)
    return parsed.scheme, parsed.host, parsed.port, parsed.path.rstrip("/"), parsed.query


def _failed_engine(entry: Any) -> tuple[str, str]:
    """Return an engine's name and reason; SearXNG sends [engine, reason], and anything else is shown unchanged."""
    parts = entry if isinstance(entry, list) and entry else [entry]
    name, *reasons = (plain_text(str(part)) for part in parts)
    return name, " ".join(reasons) or "no reason given"


MAX_ANSWER_BYTES = 2_000_000  # A page of results has about 50 kB, so a larger answer is something else.
MAX_QUERY_CHARACTERS = 400  # Engines cut long queries anyway, and a whole pasted document is not a query.
MAX_REDIRECTS = 3
CHECK_QUERY = "wikipedia"  # Sent when the user presses Test: every engine finds it, and it reveals nothing.
# Encodings that httpx may decompress. Others (br, zstd, two in a row) can turn one network read into gigabytes before
# any limit is checked; these two expand at most a thousandfold, 64 kB at a time.
ACCEPTED_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class SearchHealth:
    """The outcome of a test query: its duration in `seconds`, and the `error` message, None if all is well."""

    seconds: float
    failed_engines: tuple[tuple[str, str], ...] = ()
    error: str | None = None


class SearXNG:
    """A WebSearch that uses SearXNG's `/search?format=json`. `timeout` limits one whole search, in seconds.

    `parameters` are added to each search: time_range, language, categories and safesearch of SearXNG's search API. A
    query that contains a `forbidden` term is never sent.

    Raises EndpointRefused for an address that is not http(s), names no host, or leads anywhere but to this computer
    or a private network (unless `allow_public`). A name that cannot be resolved yet is checked at the first search.
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
        # The app must start without a network, too; every search resolves and checks the name again.
        with suppress(errors.SearchNotRunning):
            self._refuse_public()
        self._client = httpx.Client(
            auth=self._endpoint.credentials,
            transport=transport,
            verify=trusted_certificates(),
            trust_env=False,
            follow_redirects=False,
            headers={"User-Agent": "localcrag", "Accept": "application/json", "Accept-Encoding": "gzip, deflate"},
        )

    @property
    def address(self) -> str:
        """The endpoint without credentials, safe to show."""
        return str(self._endpoint)

    def configured(self, *, results: int, parameters: Mapping[str, str], forbidden: Sequence[str]) -> SearXNG:
        """Return a copy with other search options that shares this client's connections."""
        other = copy.copy(self)
        other._results, other._parameters, other._forbidden = results, dict(parameters), tuple(forbidden)
        return other

    def wording(self, query: str) -> str:
        """Return `query` exactly as `search` sends it."""
        return clean_query(query)

    def search(self, query: str) -> WebAnswer:
        """Return the results for `query`, at least one. Raises SearchError with a message that says what to do."""
        return require_results(self._ask(query), self.address)

    def check(self) -> SearchHealth:
        """Send a harmless test query and return its outcome; never raises a SearchError."""
        started = time.monotonic()
        try:
            answer = self._ask(CHECK_QUERY)
        except errors.SearchError as error:
            return SearchHealth(time.monotonic() - started, error=str(error))
        # Without results but with failed engines the test failed; without either, SearXNG just found nothing.
        silent = bool(answer.failed_engines) and not answer.results
        message = engine_failures_message(answer, self.address) if silent else None
        return SearchHealth(time.monotonic() - started, answer.failed_engines, message)

    def close(self) -> None:
        """Close the connections. No search may follow."""
        self._client.close()

    def _refuse_public(self) -> None:
        if not self._allow_public:
            refuse_public(self._endpoint)

    def _ask(self, query: str) -> WebAnswer:
        cleaned = clean_query(query)
        if not cleaned:
            raise errors.NoResults("The web was not searched, because the query is empty. Type a question first.")
        if sanitize.contains_term(cleaned, self._forbidden):
            raise errors.ForbiddenTerm(
                "The web was not searched: the query contains a term that may never be sent. Ask in other words, or "
                "take the term off the list (web_never_terms)."
            )
        judge = (lambda _address: True) if self._allow_public else is_private
        # The guard checks the resolved address again on connecting.
        with guard.allow_egress(Purpose.WEB_SEARCH, self._endpoint.place, judge=judge):
            # Resolve the name for each search: it may have been private at the start and lead elsewhere by now.
            self._refuse_public()
            self._note(cleaned)
            try:
                body = self._fetch(self._endpoint.search_url(cleaned, self._parameters))
            # UnicodeError comes from a redirect to a host that cannot be encoded as a name.
            except (httpx.HTTPError, UnicodeError) as error:
                raise exchange_error(error, self._endpoint, self._timeout) from error
        return parse_answer(body, self._results, self.address)

    def _note(self, query: str) -> None:
        """Log a search before it is sent, so that it is on record even if the app is killed during it."""
        host, port = self._endpoint.place
        attempt = egress_log.EgressAttempt(
            kind=egress_log.Kind.SEARCH,
            destination=addresses.format_address(host, port),
            purpose=Purpose.WEB_SEARCH,
            allowed=True,
            asked_by=__name__,
            query_bytes=len(query.encode()),
        )
        egress_log.note(attempt)

    def _fetch(self, url: httpx.URL) -> bytes:
        deadline = time.monotonic() + self._timeout
        try:
            return self._follow(url, deadline)
        except CONNECTION_ERRORS:
            # Retry once: this is how a kept-alive connection fails if the server has closed it or restarted.
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
        """Return the decoded body, or the address that the server redirects to."""
        with self._client.stream("GET", url, timeout=_left(deadline)) as response:
            if response.next_request is not None:
                return self._redirected(url, response.next_request.url)
            if not response.is_success:
                raise status_error(response.status_code, self._endpoint)
            if response.headers.get("Content-Encoding", "").strip().lower() not in ACCEPTED_ENCODINGS:
                raise errors.BadSearchAnswer(
                    f"{self._endpoint} used a compression that localcrag did not request. Check that "
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
    """Return `query` as it is sent: one line, no control characters, at most 400 characters.

    A word that begins with “!!” loses its exclamation marks: SearXNG would answer it with a redirect to another site,
    which localcrag never follows.
    """
    words = fold(query).split(" ")
    line = " ".join(word.lstrip("!") if word.startswith("!!") else word for word in words)
    return line[:MAX_QUERY_CHARACTERS].strip()


def _left(deadline: float) -> float:
    """Return the seconds left until `deadline`. Raises httpx.TimeoutException if there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpx.ReadTimeout("the time limit for the search has passed")
    return left
