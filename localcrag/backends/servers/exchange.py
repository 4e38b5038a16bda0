"""Exchanges with a model's server: JSON asked and answered, and streams that can be ended at any time.

No proxy, no redirect, no cookie, a new connection each time (so that the ledger lists each), and to no address but the
server's own, on this computer or in a private network.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any

import httpx

from localcrag.backends.network import trusted_certificates
from localcrag.backends.servers import failures
from localcrag.backends.servers.address import ServerAddress
from localcrag.privacy import egress_guard
from localcrag.privacy.addresses import is_private
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import ServerError

CONNECT_SECONDS = 5.0
QUICK_SECONDS = 10.0
"""For what a server knows without asking a model."""
SILENCE_SECONDS = 300.0
"""A model that is loaded first, or reads a long prompt on a slow processor, says nothing for minutes."""
SIGN_OF_LIFE = 0.5
"""Seconds after which whoever reads a silent stream is asked whether it is still wanted."""
MOST_BYTES = 20_000_000
"""Of one answer; beyond it is something else."""


class Exchange:
    """A server, with the key it wants, if any, and what it is asked for."""

    def __init__(self, address: ServerAddress, purpose: Purpose, key: str | None = None) -> None:
        self.address = address
        self._purpose = purpose
        headers = {"User-Agent": "localcrag", "Accept-Encoding": "identity"}
        self._client = httpx.Client(
            headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
            verify=trusted_certificates() if address.url.scheme == "https" else False,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    def get(self, url: str, *, seconds: float = QUICK_SECONDS) -> Any:
        """Return the JSON at a web address of the server. Raises ServerError."""
        return self._ask("GET", url, None, seconds)

    def post(self, url: str, body: object, *, seconds: float = QUICK_SECONDS) -> Any:
        """Return the JSON that the server answers to `body`. Raises ServerError."""
        return self._ask("POST", url, body, seconds)

    def lines(self, url: str, body: object) -> Lines:
        """Ask for a stream; it begins at once."""
        request = self._client.build_request(
            "POST", url, content=_json(body), headers=_JSON,
            timeout=httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        )  # fmt: skip
        return Lines(self._client, request, self.address, self._purpose)

    def _ask(self, method: str, url: str, body: object, seconds: float) -> Any:
        content = None if body is None else _json(body)
        request = self._client.build_request(
            method, url, content=content, headers=_JSON if content else {},
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        )  # fmt: skip
        try:
            with allowed(self.address, self._purpose):
                response = self._client.send(request)
        except (httpx.HTTPError, UnicodeError) as error:
            raise failures.broken(error, self.address, seconds) from error
        if not response.is_success:
            raise failures.by_status(response.status_code, failures.said_in(response.text), self.address)
        try:
            return json.loads(response.content)
        except ValueError as error:
            raise failures.unreadable(self.address) from error


class Lines:
    """Lines of an answer as they come; None where there was none for a while. Ending it ends the connection."""

    def __init__(self, client: httpx.Client, request: httpx.Request, address: ServerAddress, purpose: Purpose) -> None:
        self._client, self._request, self._address, self._purpose = client, request, address, purpose
        self._come: queue.SimpleQueue[str | ServerError | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._socket: socket.socket | None = None
        request.extensions["trace"] = self._traced
        threading.Thread(target=self._run, name="model server", daemon=True).start()

    def __iter__(self) -> Iterator[str | None]:
        """Yield the lines. Raises ServerError."""
        while True:
            try:
                come = self._come.get(timeout=SIGN_OF_LIFE)
            except queue.Empty:
                yield None
                continue
            if come is None:
                return
            if isinstance(come, ServerError):
                raise come
            yield come

    def end(self) -> None:
        """End the connection, whatever it waits for. The server's model stops with that."""
        self._ended.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _traced(self, event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"].get_extra_info("socket")
        if self._ended.is_set():
            self.end()

    def _run(self) -> None:
        try:
            with allowed(self._address, self._purpose):
                response = self._client.send(self._request, stream=True)
            try:
                self._read(response)
            finally:
                response.close()
        except ServerError as error:
            self._come.put(error)
        except (httpx.HTTPError, UnicodeError) as error:
            self._come.put(None if self._ended.is_set() else failures.broken(error, self._address, SILENCE_SECONDS))
        finally:
            self._come.put(None)

    def _read(self, response: httpx.Response) -> None:
        if not response.is_success:
            response.read()
            raise failures.by_status(response.status_code, failures.said_in(response.text), self._address)
        size = 0
        for line in response.iter_lines():
            size += len(line)
            if self._ended.is_set():
                return
            if size > MOST_BYTES:
                raise failures.unreadable(self._address)
            self._come.put(line)


def allowed(address: ServerAddress, purpose: Purpose) -> AbstractContextManager[egress_guard.Passage]:
    """Let this thread connect to the server; where its name leads is judged when it is connected to."""
    return egress_guard.passage(purpose, address.place, judge=is_private)


_JSON = {"Content-Type": "application/json"}


def _json(body: object) -> bytes:
    # In ASCII: a lone surrogate, which comes in with undecodable bytes, is escaped and hurts nobody.
    return json.dumps(body).encode("ascii")
