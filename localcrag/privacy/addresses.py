"""Computers on a network: local and private addresses, trusted certificates, causes of a failed call.

Nothing here looks up a name or makes a connection.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_PORT = 65_535

# This computer and private networks: RFC 1122 (127/8), RFC 1918, RFC 3927 and RFC 4291 (link-local), RFC 4193 (ULA).
# They are listed here because ipaddress.is_private also includes documentation and benchmark ranges.
_NETWORKS = "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 ::1/128 fe80::/10 fc00::/7"
PRIVATE_NETWORKS = tuple(map(ipaddress.ip_network, _NETWORKS.split()))


def format_address(host: str, port: int) -> str:
    """Return a host and port as text: 127.0.0.1:80, [::1]:80."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_this_computer(host: str) -> bool:
    """Return whether a name or address refers to this computer, without a name look-up."""
    name = normalise_host(host)
    if name in {"", "localhost", "ip6-localhost", "ip6-loopback"}:
        return True
    try:
        address = _parsed(name)
    except ValueError:
        return is_number(name) and ipaddress.IPv4Address(socket.inet_aton(name)).is_loopback
    # A connection to the unspecified address (0.0.0.0, ::) also reaches this computer.
    return address.is_loopback or address.is_unspecified


def is_private(address: str) -> bool:
    """Return whether an IPv4 or IPv6 address is loopback, RFC 1918, link-local or unique local."""
    parsed = _parsed(address)
    return any(parsed in network for network in PRIVATE_NETWORKS)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return a numeric address without its zone. Raises ValueError."""
    parsed = ipaddress.ip_address(address.split("%", 1)[0])
    # ::ffff:127.0.0.1 is loopback, too, although the IPv6 address itself is not.
    return getattr(parsed, "ipv4_mapped", None) or parsed


def is_number(host: str) -> bool:
    """Return whether a host is a numeric address in any notation, which needs no name look-up."""
    with suppress(ValueError):
        _parsed(host)
        return True
    try:
        # inet_aton also accepts 127.1 and 2130706433, as the system's resolver does.
        socket.inet_aton(host)
    except (OSError, UnicodeError):
        return False
    return not any(character.isspace() for character in host)


def normalise_host(host: Any) -> str:
    """Return a host in the form used for comparison: lower case, without brackets and final dots; "" for None."""
    if host is None:
        return ""
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    return text.strip("[]").rstrip(".").lower()


def parse_web_address(text: str) -> httpx.URL:
    """Return the http(s) address of a server. Raises ValueError, saying what is wrong: "does not name a computer"."""
    import httpx  # noqa: PLC0415 - worker processes, which import this module, need no HTTP client

    try:
        url = httpx.URL(text.strip())
        # The connection will encode the name in the same way, so reject empty, overlong or mis-encoded labels here.
        url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        # Not chained: httpx quotes the part that it could not parse, which may be a password.
        raise ValueError("is not a valid address") from None
    if url.scheme not in {"http", "https"}:
        raise ValueError("does not begin with http:// or https://")
    if not url.host:
        raise ValueError("does not name a computer")
    if url.port is not None and not 0 < url.port <= MAX_PORT:
        # The operating system silently truncates the port to 16 bits: 65616 would be port 80.
        raise ValueError(f"has a port that is not between 1 and {MAX_PORT}")
    # Paths are appended to the address, so one with a query is probably that of a page.
    if url.query or url.fragment:
        raise ValueError("has something after a “?” or “#”; enter only the part before it")
    return url


def without_password(address: str) -> str:
    """Return an address, valid or not, without a user name and password."""
    scheme, separator, rest = address.strip().rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]


def trusted_certificates() -> ssl.SSLContext:
    """Return a context that trusts httpx's certificates and this computer's own, such as those of a home network."""
    import httpx  # noqa: PLC0415 - worker processes, which import this module, need no HTTP client

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def causes(error: BaseException) -> list[BaseException]:
    """Return `error` and the errors that caused it: httpx wraps httpcore's error, which wraps the system's."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain
