"""Process-wide privacy: no telemetry, no proxies in the environment, no content in error output.

`localcrag.guard` calls `silence` when it installs the egress guard. Packages whose modules import libraries with
telemetry call it as well, because a script may use such a package without the app.

Only downloads may use a proxy. Libraries read the proxy variables whenever they create a client. Gradio creates one
while it is imported, and an address that httpx cannot use, such as a SOCKS proxy, would crash the app there.

The message of an unexpected error may contain words of a document or a question, so it is printed only if the setting
`debug` is on.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_log = logging.getLogger(__name__)
# Without a handler, logging would print errors to stderr with their messages, which may quote documents.
logging.getLogger("localcrag").addHandler(logging.NullHandler())

PROXY_VARIABLES = tuple(name for upper in ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY") for name in (upper, upper.lower()))
NO_PROXY_VARIABLES = ("NO_PROXY", "no_proxy")
"""Variables that name the hosts to reach without a proxy."""
LOOPBACK = "127.0.0.1,localhost,::1"
SOCKS = "socks"
"""Prefix of the address of a SOCKS proxy, which needs packages that localcrag does not install."""

_removed_proxies: dict[str, str] = {}
_restoring = threading.Lock()


def remove_proxies() -> None:
    """Remove the proxies from the environment, and remember them."""
    for name in (*PROXY_VARIABLES, *NO_PROXY_VARIABLES):
        if address := os.environ.pop(name, ""):
            _removed_proxies[name] = f"{address},{LOOPBACK}" if name in NO_PROXY_VARIABLES else address
    # Gradio connects to its own server to check it, and macOS and Windows may have a proxy outside the environment.
    os.environ.update(dict.fromkeys(NO_PROXY_VARIABLES, LOOPBACK))


def environment_with_proxies() -> dict[str, str]:
    """Return the environment with the user's proxies, for a program that downloads something."""
    return {**os.environ, **_removed_variables()}


def _removed_variables() -> dict[str, str]:
    """Return the removed variables that have not been set again since."""
    return {name: value for name, value in _removed_proxies.items() if os.environ.get(name) in (None, LOOPBACK)}


@contextmanager
def restored_proxies() -> Iterator[None]:
    """Put usable proxies back into the environment within the context, while a client for downloads is created."""
    with _restoring:
        usable = {name: value for name, value in _removed_variables().items() if not value.lower().startswith(SOCKS)}
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


def proxy_addresses() -> list[str]:
    """Return the addresses of the proxies that a download may go through."""
    from urllib.request import getproxies  # noqa: PLC0415 - slow to import, and only a download needs it

    with restored_proxies():
        return list(getproxies().values())


def unusable_socks_proxy() -> str:
    """Return the user's SOCKS proxy if all proxies are SOCKS proxies, which downloads cannot use; otherwise ""."""
    proxies = [address for name, address in environment_with_proxies().items() if name in PROXY_VARIABLES and address]
    socks = [address for address in proxies if address.lower().startswith(SOCKS)]
    return socks[0] if socks and len(socks) == len(proxies) else ""


SWITCHES = {
    # Usage statistics and version checks.
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    # ONNX Runtime reads this from version 1.29 on; the locked version is older (pyproject.toml).
    "ORT_DISABLE_TELEMETRY": "1",
    # Models are loaded from local paths only; `localcrag models get` downloads with httpx.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # Hugging Face's Xet transfers run outside Python, where the guard does not see them (guard.py).
    "HF_HUB_DISABLE_XET": "1",
    # Gradio records how long the last 10,000 events took, for a statistics page that localcrag closes, and recomputes
    # the statistics at each event, which takes 6 to 13 ms.
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    # Gradio asks Matplotlib for its backend at each event. Without a fixed backend, Matplotlib looks for a screen, runs
    # a program to find all fonts, and writes a list of them into the user's home folder.
    "MPLBACKEND": "agg",
    # Progress bars of libraries would interrupt localcrag's own.
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    # Without this, the tokenizers library warns after each fork.
    "TOKENIZERS_PARALLELISM": "false",
}
HOSTING_VARIABLES = ("SPACE_ID", "SYSTEM")
"""Variables by which Gradio concludes that it runs on its maker's servers."""


_done: list[str] = []


def silence() -> None:
    """Set the switches, overriding the environment: the shell must not be able to weaken privacy.

    A second call does nothing, because localcrag itself sets one of Gradio's variables after the first.
    """
    if _done:
        return
    _done.append("silent")
    remove_proxies()
    # Gradio's variables can make it listen to other computers, create a public link, or serve folders.
    for name in [name for name in os.environ if name.startswith("GRADIO_") or name in HOSTING_VARIABLES]:
        del os.environ[name]
    os.environ.update(SWITCHES)
    # GNU OpenMP reads this when it is loaded: the threads of llama.cpp and torch then spin only briefly before they
    # sleep. By default they spin for long and take the cores from each other and from other programs: with two other
    # busy programs, an answer then takes twice as long (docs/lab/measurements.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def hide_error_messages() -> None:
    """Make Gradio print unexpected errors without their messages as well."""
    traceback.print_exc = _print_places


def print_error(error: BaseException) -> None:
    """Print and log an unexpected error; after `hide_error_messages`, only its kind and place."""
    _log.error("unexpected error", exc_info=error)
    if traceback.print_exc is _print_places:
        print(error_places(error), file=sys.stderr, flush=True)  # noqa: T201
    else:
        traceback.print_exception(error)


def _print_places(*_arguments: Any, **_named: Any) -> None:
    print(error_places(sys.exc_info()[1]), file=sys.stderr, flush=True)  # noqa: T201


def error_places(error: BaseException | None) -> str:
    """Return the kinds and places of an error and its causes, without their messages, and how to see the messages."""
    hint = "(the messages may hold words of your documents: LOCALCRAG_DEBUG=1 shows them)"
    return "\n".join(["Unexpected error, the last cause first", kinds_and_places(error), hint])


def kinds_and_places(error: BaseException | None) -> str:
    """Return the kinds of an error and its causes, the last cause first, each after its places in the code."""
    text: list[str] = []
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        text.append("".join(traceback.format_list(frames)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(text))
