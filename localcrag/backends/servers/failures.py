"""Failures of a model's server, as errors that a person can act on.

Knows HTTP statuses and httpx's exceptions; does no I/O. No message shows a key or a question.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from typing import Any

import httpx

from localcrag.backends.network import causes
from localcrag.backends.servers.address import ServerAddress, too_far
from localcrag.records.errors import EgressRefused, ServerError, ServerNoSuch, ServerNotRunning

MOST_SAID = 300
"""Characters of what a server says of its own fault."""
_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|exceed_context|maximum context|too (?:long|large) (?:for|to)|"
    r"too large to process|larger than the .{0,20}batch size",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model.{0,200}?(?:not (?:found|exist|loaded)|does not exist|not available)", re.IGNORECASE)


def by_status(status: int, said: str, address: ServerAddress) -> ServerError:
    """Return the error for an HTTP status that is no success, and for what the server says of it."""
    if status in (401, 403):
        return ServerError(
            f"The model server {address} wants a key (status {status}), and the one it got, if any, was not right. "
            f"Give it with `localcrag models key {address}`, or on the page in Settings › Models."
        )
    if _TOO_LONG.search(said):
        return too_long(address, said)
    if _NO_MODEL.search(said):
        return no_model(address)
    kind: type[ServerError] = ServerError
    what, then = "failed", "Look into its own window or log for the reason, and start it anew."
    if status in (404, 405, 501):
        kind, what, said = ServerNoSuch, "has no such service", ""
        then = "Check the address: for most servers it ends in /v1, and for a relevance model in /rerank."
    elif status in (429, 503):
        kind, what = ServerNotRunning, "is busy, or still loading its model"
        then = "Wait a moment and ask again."
    elif 300 <= status < 400:
        what, said = "sends on to another address, and localcrag did not go there", ""
        then = "Give the address at which the models themselves answer."
    return kind(f"The model server {address} {what} (status {status}){_quoted(said)}. {then}")


def too_long(address: ServerAddress, said: str = "") -> ServerError:
    """Return the error for a prompt that the server's window does not hold."""
    return ServerError(
        f"The question with its evidence is too long for the window of the model at {address}{_quoted(said)}. Start "
        "the server with a larger one, or lower context_tokens or evidence_tokens in the settings."
    )


def no_model(address: ServerAddress, there: tuple[str, ...] = ()) -> ServerError:
    """Return the error for a model that the server does not have; `there`: those that it has."""
    has = f" It has: {', '.join(there[:8])}." if there else ""
    named = f"no model “{address.model}”" if address.model else "no model"
    return ServerError(
        f"The server {address} has {named}.{has} Load it there, or choose another with `localcrag models list`."
    )


def broken(error: httpx.HTTPError | UnicodeError, address: ServerAddress, seconds: float) -> ServerError:
    """Return the error for an exchange that did not come to its end; `seconds`: how long was waited at most."""
    match error:
        case httpx.ConnectTimeout():
            return ServerNotRunning(
                f"The model server {address} could not be reached. Check that its computer is switched on and that no "
                "firewall is between."
            )
        case httpx.TimeoutException():
            return ServerError(
                f"The model server {address} said nothing for {seconds:g} seconds, and was no longer waited for. Look "
                "whether it is still at work; a smaller model answers sooner."
            )
        case httpx.ConnectError():
            return _no_connection(error, address)
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return cut_off(address)
    return ServerError(
        f"The answer of the model server {address} could not be read ({error}). Check that the address leads to a "
        "server of models and not to another program."
    )


def cut_off(address: ServerAddress) -> ServerError:
    """Return the error for a server that ended the connection in the midst of its answer."""
    return ServerNotRunning(
        f"The model server {address} broke off in the midst of its answer: it was stopped, or it failed. Start it "
        "again, look into its log, and ask again."
    )


def unreadable(address: ServerAddress) -> ServerError:
    """Return the error for an answer that is not what such servers write."""
    return ServerError(
        f"{address} answered, but not as a server of models does. Check that the address leads to one and not to "
        "another program."
    )


def said_in(body: str) -> str:
    """Return what a server says of its own fault in the body of an answer, or in an event of a stream."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return body if "<" not in body else ""
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail") if found.get(name)), "")
    return str(found)


def _quoted(said: str) -> str:
    line = " ".join(said.split())
    return f": {line[:MOST_SAID].rstrip('. ')}" if line else ""


def _no_connection(error: httpx.ConnectError, address: ServerAddress) -> ServerError:
    below = causes(error)
    if any(isinstance(cause, socket.gaierror) for cause in below):
        return ServerNotRunning(
            f"No model server answers at {address}: the name “{address.url.host}” is not known on your network. Check "
            "its spelling, and that this computer is connected."
        )
    if any(isinstance(cause, EgressRefused) for cause in below):
        return ServerError(too_far(address))
    if any(isinstance(cause, ssl.SSLError) for cause in below):
        return ServerNotRunning(
            f"No secure connection to {address} could be made ({error}). If the server's address begins with http://, "
            "write it so; else install the certificate of your network's authority on this computer."
        )
    return ServerNotRunning(
        f"No model server is running at {address}: nothing accepts connections there. Start it, or correct the address."
    )
