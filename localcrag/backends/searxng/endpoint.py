"""Rules for a SearXNG endpoint: which addresses a query may be sent to, checked before it leaves.

Knows addresses and name resolution; knows nothing of searching. Credentials in an address (http://user:password@host)
are taken out of it at once, so that no message, log line or traceback made from the rest can show them.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from localcrag.privacy import egress_guard
from localcrag.privacy.addresses import is_private
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import EndpointRefused, SearchNotRunning

MAX_PORT = 65_535
EXAMPLE = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A SearXNG's address, its path without a trailing slash; the credentials are kept apart and never printed."""

    url: httpx.URL
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return str(self.url).rstrip("/")

    @property
    def place(self) -> tuple[str, int]:
        """Host, in the form that goes to the network (internationalised names in their ASCII form), and port."""
        return self.url.raw_host.decode("ascii"), self.url.port or egress_guard.PORTS[self.url.scheme]

    def search_url(self, query: str, parameters: Mapping[str, str] | None = None) -> httpx.URL:
        path = self.url.raw_path.rstrip(b"/") + b"/search"
        asked = {"q": query, "format": "json", **(parameters or {})}
        return self.url.copy_with(raw_path=path).copy_merge_params(asked)


def parse_endpoint(text: str) -> Endpoint:
    """Return the address in `text`. Raises EndpointRefused when it is no http(s) address of a server."""
    try:
        url = httpx.URL(text.strip())
        # What the connection will do with the name: labels that are empty, too long or mis-encoded end here.
        url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        # Not chained: httpx quotes the part it stumbled over, which may be a password.
        raise _refused(text, "is not a valid address") from None
    if url.scheme not in {"http", "https"}:
        raise _refused(text, "does not begin with http:// or https://")
    if not url.host:
        raise _refused(text, "does not name a computer")
    if url.port is not None and not 0 < url.port <= MAX_PORT:
        # The system takes port 65616 for 80 without a word.
        raise _refused(text, f"has a port that is not between 1 and {MAX_PORT}")
    if url.query or url.fragment:
        raise _refused(text, "has something after a “?” or “#”, and only the beginning of the address is wanted")
    credentials = (url.username, url.password) if url.userinfo else None
    return Endpoint(url.copy_with(userinfo=b""), credentials)


def refuse_public(endpoint: Endpoint) -> None:
    """Return when every address behind the endpoint's host is on this computer or in a private network.

    Raises EndpointRefused, or SearchNotRunning when the host's name is not known. Numbers in any notation
    (127.1, 134744072) are read the way the connection will read them, by the system's resolver.
    """
    host = endpoint.url.host
    if host == "localhost":
        return
    for address in _addresses(endpoint):
        if not is_private(address):
            leads = "" if host == address else f"leads to {address}, which "
            raise EndpointRefused(
                f"The web search address {endpoint} was not used: {host} {leads}is neither this computer nor in a "
                "private network, and localcrag sends questions only to a SearXNG of your own. Use one such as "
                f"{EXAMPLE}, or switch on searxng_allow_public if you trust that server with your questions."
            )


def name_unknown(endpoint: Endpoint) -> SearchNotRunning:
    """Return the error for a host that the network's name service does not know."""
    return SearchNotRunning(
        f"No SearXNG answers at {endpoint}: the name “{endpoint.url.host}” is not known on your network. Check the "
        "spelling of searxng_url in the settings, and that this computer is connected."
    )


def _addresses(endpoint: Endpoint) -> list[str]:
    try:
        with egress_guard.passage(Purpose.WEB_SEARCH, endpoint.place):
            found = socket.getaddrinfo(endpoint.place[0], None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise name_unknown(endpoint) from error
    return [str(entry[4][0]) for entry in found]


def _refused(text: str, what: str) -> EndpointRefused:
    scheme, separator, rest = text.strip().rpartition("://")
    shown = scheme + separator + rest.rpartition("@")[2]
    return EndpointRefused(
        f"The web search address “{shown}” {what}. Set searxng_url to the address that shows SearXNG's start page "
        f"in your browser, such as {EXAMPLE}."
    )
