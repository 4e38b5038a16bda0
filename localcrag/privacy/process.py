"""The process: telemetry of dependencies off, proxies out of the environment, errors without content.

`localcrag.guard` calls `silence` as it installs the egress guard. The packages whose modules import such dependencies
call it, too: a script may use one of them without an app.

Only downloads go through a proxy. The libraries read these variables whenever they make a client: Gradio makes one
while it is imported, and an address that httpx cannot use, such as a SOCKS proxy, would end the app there.

The message of such an error may hold words of a document or a question; it is shown with the setting `debug` alone.
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


SWITCHES = {
    # Usage statistics and version checks.
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    # ONNX Runtime from 1.29 on; the lock has one before (pyproject.toml).
    "ORT_DISABLE_TELEMETRY": "1",
    # Models load from local paths only; `localcrag models get` downloads by itself, over httpx.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # The hub's own transfers are made outside Python, where the guard does not see them (egress_guard.py).
    "HF_HUB_DISABLE_XET": "1",
    # Gradio counts how long the last 10,000 events took, for a page of its own that is closed here, and sums that up at
    # each event anew: 6 to 13 ms.
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    # Gradio asks matplotlib, at each event, what it draws on: without this, that looks for a screen, has a program
    # find all fonts, and leaves a list of them in the person's folder.
    "MPLBACKEND": "agg",
    # Progress bars of libraries would land in the middle of ours.
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    # Each worker thread of the tokenizer would otherwise warn after a fork.
    "TOKENIZERS_PARALLELISM": "false",
}
HOSTED = ("SPACE_ID", "SYSTEM")
"""Where Gradio finds these, it takes itself to be on its maker's servers."""


_done: list[str] = []


def silence() -> None:
    """Set the switches, whatever the environment says: privacy is not a preference of the shell.

    A second call does nothing: localcrag sets a variable of Gradio's itself, later on.
    """
    if _done:
        return
    _done.append("silent")
    take_out()
    # Gradio can be told by the environment to listen to other machines, to share itself, or to serve folders.
    for name in [name for name in os.environ if name.startswith("GRADIO_") or name in HOSTED]:
        del os.environ[name]
    os.environ.update(SWITCHES)
    # Read when GNU's OpenMP is loaded: the threads of llama.cpp and torch wait for each other awake for a moment, then
    # asleep. By default they stay awake for long, and take the cores from each other and from whatever else is busy:
    # beside two other programs an answer then takes twice as long (docs/measurements.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def keep_to_oneself() -> None:
    """Print Gradio's unexpected errors without their messages, too."""
    traceback.print_exc = _print_places


def tell(error: BaseException) -> None:
    """Print and log where an error happened; print all of it, unless messages are kept to oneself."""
    _log.error("unexpected error", exc_info=error)
    if traceback.print_exc is _print_places:
        print(places(error), file=sys.stderr, flush=True)  # noqa: T201
    else:
        traceback.print_exception(error)


def _print_places(*_arguments: Any, **_named: Any) -> None:
    print(places(sys.exc_info()[1]), file=sys.stderr, flush=True)  # noqa: T201


def places(error: BaseException | None) -> str:
    """Return kind and place of an error and its causes, without their messages, and how to see these."""
    hint = "(the messages may hold words of your documents: LOCALCRAG_DEBUG=1 shows them)"
    return "\n".join(["Unexpected error, the last cause first", kinds_and_places(error), hint])


def kinds_and_places(error: BaseException | None) -> str:
    """Return the kinds of an error and its causes, the last cause first, each after its places in the code."""
    said: list[str] = []
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        said.append("".join(traceback.format_list(frames)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(said))
