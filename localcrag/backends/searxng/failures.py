"""Failures of a web search, as errors that a person can act on.

Knows HTTP statuses and httpx's exceptions; does no I/O. No message shows credentials: an Endpoint has none in its text.
"""

from __future__ import annotations

import socket
import ssl

import httpx

from localcrag.backends.network import causes
from localcrag.backends.searxng.endpoint import Endpoint, name_unknown
from localcrag.records.errors import (
    BadSearchAnswer,
    EgressRefused,
    EndpointRefused,
    JsonDisabled,
    RateLimited,
    SearchError,
    SearchNotRunning,
    SearchTimeout,
)


def refused_by_status(status: int, endpoint: Endpoint) -> SearchError:
    """Return the error for an HTTP status that is neither success nor a redirect."""
    match status:
        case 401 | 407:
            return BadSearchAnswer(
                f"{endpoint} asks for a user name and a password (status {status}), and those it got, if any, were "
                "not right. Put them into searxng_url, before the host: http://name:password@host."
            )
        case 403:
            return JsonDisabled(
                f"SearXNG at {endpoint} is running but does not give its results as JSON, which localcrag needs "
                "(status 403). Add json to search.formats in SearXNG's settings.yml and restart SearXNG."
            )
        case 404:
            return BadSearchAnswer(
                f"There is a web server at {endpoint}, but no search (status 404). Open SearXNG in your browser and "
                "set searxng_url to the address of its start page, with the path if there is one (such as /searxng)."
            )
        case 429:
            return RateLimited(
                f"SearXNG at {endpoint} refused the search (status 429): its limiter counted too many, or takes "
                "localcrag for a robot. Wait a few minutes and ask again. If that does not help and the server is "
                "yours, set server.limiter: false in its settings.yml and restart it."
            )
    fault = "failed inside" if status >= 500 else "could not be used"
    return BadSearchAnswer(
        f"The search at {endpoint} {fault} (status {status}). Look into SearXNG's log for the reason, restart "
        "SearXNG, and check that searxng_url leads to it."
    )


def broken_exchange(error: httpx.HTTPError | UnicodeError, endpoint: Endpoint, timeout: float) -> SearchError:
    """Return the error for an exchange over HTTP that did not come to its end; `timeout` is in seconds."""
    match error:
        case httpx.ConnectTimeout():
            return SearchTimeout(
                f"{endpoint} could not be reached within {timeout:g} seconds. Check that the computer SearXNG runs on "
                "is switched on and that no firewall is between."
            )
        case httpx.TimeoutException():
            return SearchTimeout(
                f"SearXNG at {endpoint} did not finish its answer within {timeout:g} seconds. Ask again; if it happens "
                "often, raise search_timeout in the settings or switch off slow engines in SearXNG's preferences."
            )
        case httpx.ConnectError():
            return _no_connection(error, endpoint)
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return SearchNotRunning(
                f"Something at {endpoint} took the connection and ended it without a proper answer, twice ({error}). "
                "SearXNG may still be starting: wait a moment and ask again. Otherwise look into its log, and check "
                "that searxng_url leads to SearXNG."
            )
    return BadSearchAnswer(
        f"The answer of {endpoint} could not be read ({error}). Check that searxng_url leads to SearXNG and not to "
        "another program, and restart SearXNG."
    )


def _no_connection(error: httpx.ConnectError, endpoint: Endpoint) -> SearchError:
    below = causes(error)
    if any(isinstance(cause, socket.gaierror) for cause in below):
        return name_unknown(endpoint)
    if refused := next((cause for cause in below if isinstance(cause, EgressRefused)), None):
        return EndpointRefused(
            f"The web search address {endpoint} leads somewhere else by now, and was not asked: {refused} Check "
            "searxng_url, and the name service of your network."
        )
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in below):
        return SearchNotRunning(
            f"The certificate of {endpoint} is not trusted on this computer ({error}). Install the certificate of your "
            "network's authority on this computer, or use the http:// address of SearXNG."
        )
    if any(isinstance(cause, ssl.SSLError) for cause in below):
        return SearchNotRunning(
            f"No secure connection to {endpoint} could be made ({error}). If SearXNG's address begins with http:// in "
            "your browser, write http:// in searxng_url too."
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in below):
        return SearchNotRunning(
            f"SearXNG is not running at {endpoint}: nothing accepts connections there. Start SearXNG, or correct the "
            "address in searxng_url."
        )
    return SearchNotRunning(
        f"No connection to SearXNG at {endpoint} could be made ({error}). Check that this computer is on the same "
        "network as SearXNG, that SearXNG is running, and that searxng_url is right."
    )
