"""Requests as no browser would send them: every byte is the test's own."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from typing import NamedTuple
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
    most: int = 5_000_000,
    **headers: str,
) -> Answer:
    """Send a request for `target`, taken as it stands; an underscore in a header's name is a hyphen.

    Of an answer without an end, such as an event stream, the head is read alone.
    """
    sent = {"Host": urlsplit(address).netloc, "Connection": "close"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body or method == "POST":
        sent.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
    return exchange(address, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body, most=most)


def exchange(address: str, sent: bytes, *, most: int = 5_000_000) -> Answer:
    """Send bytes and read one answer."""
    with opened(address) as connection:
        connection.sendall(sent)
        return read(connection, most=most)


def opened(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((str(parts.hostname), int(parts.port or 80)), timeout=60)


def read(connection: socket.socket, *, most: int = 5_000_000) -> Answer:
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    endless = headers.get("content-type", "").startswith("text/event-stream")
    return Answer(answer.status, headers, b"" if endless else answer.read(most))


def said(address: str, content: object, **headers: str) -> Answer:
    """Put something into Gradio's queue, as a click on the page does."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return ask(address, "/gradio_api/queue/join", method="POST", body=body, Content_Type="application/json", **headers)
