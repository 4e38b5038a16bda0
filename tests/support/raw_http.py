"""Requests as no browser would send them: every byte is the test's own."""

from __future__ import annotations

import html
import http.client
import json
import re
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


def ask(
    address: str,
    target: str = "/",
    *,
    method: str = "GET",
    body: bytes = b"",
    **headers: str,
) -> Answer:
    """Send a request for `target`, taken as it stands; an underscore in a header's name is a hyphen.

    Of an event stream the head is read alone.
    """
    sent = {"Host": urlsplit(address).netloc, "Connection": "close"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body or method == "POST":
        sent.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
    return exchange(address, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)


def stream(address: str, target: str) -> Answer:
    """Read an event stream until it ends."""
    head = f"GET {target} HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nConnection: close\r\n\r\n"
    return exchange(address, head.encode(), endless=True)


def exchange(address: str, sent: bytes, *, endless: bool = False) -> Answer:
    """Send bytes and read one answer."""
    with opened(address) as connection:
        connection.sendall(sent)
        return read(connection, endless=endless, method=sent.partition(b" ")[0].decode("latin-1"))


def opened(address: str, *, room: int | None = None) -> socket.socket:
    """Return a connection; `room` are the bytes that wait at this end until they are read."""
    parts = urlsplit(address)
    connection = socket.socket()
    if room:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    connection.settimeout(60)
    connection.connect((str(parts.hostname), int(parts.port or 80)))
    return connection


def read(connection: socket.socket, *, endless: bool = False, method: str = "GET") -> Answer:
    """Read one answer; that to HEAD has no body, whatever its head says."""
    answer = http.client.HTTPResponse(connection, method=method)
    answer.begin()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    stream = headers.get("content-type", "").startswith("text/event-stream")
    return Answer(answer.status, headers, b"" if stream and not endless else answer.read())


def said(address: str, content: object, **headers: str) -> Answer:
    """Put something into Gradio's queue, as a click on the page does."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return ask(address, "/gradio_api/queue/join", method="POST", body=body, Content_Type="application/json", **headers)


def config(app: str) -> dict[str, Any]:
    """Return what Gradio tells the page about itself."""
    page = ask(app).text
    found = re.search(r"window\.gradio_config = (\{.*?\});</script>", page, re.DOTALL)
    assert found
    return dict(json.loads(html.unescape(found[1])))
