"""Proxies of the user's environment: kept out of the process, and put back for downloads alone.

Only downloads go through a proxy. The libraries read these variables whenever they make a client: Gradio makes one
while it is imported, and an address that httpx cannot use, such as a SOCKS proxy, would end the app there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = tuple(name for upper in ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY") for name in (upper, upper.lower()))
WITHOUT = ("NO_PROXY", "no_proxy")
"""Name the computers that are reached without a proxy."""
LOOPBACK = "127.0.0.1,localhost,::1"
SOCKS = "socks"
"""The beginning of the address of a SOCKS proxy, which needs packages that localcrag does not install."""

_taken_out: dict[str, str] = {}
_restoring = threading.Lock()


def take_out() -> None:
    """Remove the proxies from the environment, and remember them."""
    for name in (*VARIABLES, *WITHOUT):
        if address := os.environ.pop(name, ""):
            _taken_out[name] = f"{address},{LOOPBACK}" if name in WITHOUT else address
    # Gradio asks its own server whether it is up, and macOS and Windows may have a proxy set outside the environment.
    os.environ.update(dict.fromkeys(WITHOUT, LOOPBACK))


def environment() -> dict[str, str]:
    """Return the environment with the user's proxies: for a program that downloads something."""
    return {**os.environ, **_to_put_back()}


def _to_put_back() -> dict[str, str]:
    """Return what was taken out, except what has been set again since."""
    return {name: value for name, value in _taken_out.items() if os.environ.get(name) in (None, LOOPBACK)}


@contextmanager
def restored() -> Iterator[None]:
    """Put the proxies that a client can use back into the environment, for as long as it takes to make the client."""
    with _restoring:
        usable = {name: value for name, value in _to_put_back().items() if not value.lower().startswith(SOCKS)}
        before = {name: os.environ.get(name) for name in usable}
        os.environ.update(usable)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def addresses() -> list[str]:
    """Return the addresses of the proxies that a download may go through."""
    from urllib.request import getproxies  # noqa: PLC0415 - slow to import, and only a download needs it

    with restored():
        return list(getproxies().values())


def only_socks() -> str:
    """Return the user's SOCKS proxy where no other proxy is set, "" otherwise: downloads cannot use it."""
    proxies = [address for name, address in environment().items() if name in VARIABLES and address]
    socks = [address for address in proxies if address.lower().startswith(SOCKS)]
    return socks[0] if socks and len(socks) == len(proxies) else ""
