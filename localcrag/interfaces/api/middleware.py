"""Middleware of the app's server and the API: access checks, limits on bodies, response headers.

A refused request gets an HTTP status and a plain sentence (`Refusal`), which each server sends in its own format.
`AccessChecks` refuses requests with another host name (DNS rebinding), from other sites, from other users of this
computer (Linux only, by asking the kernel who owns the connection), and to paths that are not open. `IncomingBody`
reads bodies within limits on size and time. `ResponseHeaders` adds security headers to each response. Both servers
listen only on HOST.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcrag.records.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status and a sentence for the user. `retry_after` is the number of seconds after which to try again."""

    status: int
    sentence: str
    retry_after: int = 0


RefusalFormat = Callable[[Refusal, Scope], tuple[str, str]]
"""Function that renders a refusal in a server's format; it returns media type and text."""


def plain_text_refusal(refusal: Refusal, _scope: Scope) -> tuple[str, str]:
    """Return the media type of plain text, and the sentence."""
    return "text/plain; charset=utf-8", refusal.sentence + "\n"


async def refuse(refusal: Refusal, scope: Scope, send: Send, wording: RefusalFormat = plain_text_refusal) -> None:
    """Answer with the refusal, and have the connection closed."""
    media_type, text = wording(refusal, scope)
    body = text.encode()
    headers = {"content-type": media_type, "content-length": str(len(body)), "connection": "close"}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    # The answer to HEAD has the same headers as the answer to GET, but no body.
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
TCP_ESTABLISHED = 1
ROOT = 0
"""User id of root, who can read everything anyway. Programs that forward a port (WSL, containers) also run as root."""
# The formats of struct nlmsghdr and of the start of struct inet_diag_req_v2 (linux/inet_diag.h), and the end of the
# latter: interface 0 and INET_DIAG_NOCOOKIE.
_HEADER, _REQUEST = struct.Struct("=IHHII"), struct.Struct("=BBBBI")
_NO_COOKIE = struct.pack("=III", 0, ~0 & 0xFFFFFFFF, ~0 & 0xFFFFFFFF)
_IDENTITY = struct.Struct("!HH16s16s")
_STATE_AT, _OWNER_AT = _HEADER.size + 1, _HEADER.size + 4 + 48 + 12
"""Offsets of the connection's state and owner in the answer (struct inet_diag_msg), in bytes."""
End = tuple[str, int]
"""Address and port of one end of a connection."""


def is_other_user(peer: End, own: End) -> bool:
    """Return whether the connection from `peer` to `own` belongs to another user; False if the system cannot tell."""
    if ":" in peer[0] or not can_identify_owner():
        return False
    return not _is_own_connection(peer, own)


@cache
def can_identify_owner() -> bool:
    """Return whether the system can tell who owns a connection, by asking it about a connection of this process.

    Only Linux can, except with a kernel without SOCK_DIAG and in some sandboxes.
    """
    if sys.platform != "linux":
        return False
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as mine:
        return _is_own_connection(mine.getsockname(), server.getsockname())


def _is_own_connection(peer: End, own: End) -> bool:
    try:
        answer = _query_owner(peer, own)
    except OSError:
        return False
    if _HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
        # The connection is already closed: nobody would read the answer, and anyone could have sent the request.
        return False
    (owner,) = struct.unpack_from("=I", answer, _OWNER_AT)
    # The kernel reports root as the owner of a connection that is closing, even if another user opened it.
    return owner in {os.getuid(), ROOT} and answer[_STATE_AT] == TCP_ESTABLISHED


def _query_owner(peer: End, own: End) -> bytes:
    ends = _IDENTITY.pack(peer[1], own[1], socket.inet_aton(peer[0]), socket.inet_aton(own[0]))
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as system:
        system.settimeout(1)
        system.send(_HEADER.pack(_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + request)
        return system.recv(4096)


def has_token(scope: Scope, token: str) -> bool:
    """Return whether a request has exactly one authorization header, and that header contains this token."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    return len(given) == 1 and secrets.compare_digest(given[0], f"Bearer {token}".encode())


TRUSTED_FETCH_SITES = frozenset({"", "none", "same-origin"})
"""Accepted values of Sec-Fetch-Site: the address was typed in, or the request comes from a page of this address."""
FORBIDDEN, NOT_FOUND = 403, 404

Address = tuple[str, re.Pattern[str]]
"""An HTTP method, and a pattern for the raw path of a request, before percent-decoding."""


def addresses(*methods_and_patterns: tuple[str, str]) -> tuple[Address, ...]:
    """Return the open addresses for pairs of method and pattern."""
    return tuple((method, re.compile(pattern)) for method, pattern in methods_and_patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChecks:
    """Access checks in front of an app on `port` of this computer.

    Addresses that are not `open` are answered with 404. `wording` renders refusals; `location_text` is the sentence in
    them that gives the app's address.
    """

    app: ASGIApp
    port: int
    open: Sequence[Address]
    wording: RefusalFormat = plain_text_refusal
    location_text: str = "Its page is at http://127.0.0.1:{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the app, or answer with the reason why it is refused."""
        if scope["type"] == "websocket":
            # No part of localcrag uses websockets.
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http" and (refusal := self.refusal(scope)):
            await refuse(refusal, scope, send, self.wording)
        else:
            await self.app(scope, receive, send)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None if it is allowed."""
        given: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = given.get("host", [])
        if len(host) != 1 or host[0] not in {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}:
            # Another site can make its own name resolve to this computer (DNS rebinding), but the browser still sends
            # that name as the host.
            return Refusal(FORBIDDEN, f"localcrag answers only to its own address. {self._place}.")
        if any(origin != f"http://{host[0]}" for origin in given.get("origin", [])) or any(
            site not in TRUSTED_FETCH_SITES for site in given.get("sec-fetch-site", [])
        ):
            why = "Another site sent you here, and localcrag takes nothing from other sites."
            return Refusal(FORBIDDEN, f"{why} {self._place}: type that address yourself.")
        if scope.get("client") and is_other_user(scope["client"], scope["server"]):
            return Refusal(FORBIDDEN, "This localcrag belongs to another user of this computer. Start one of your own.")
        raw = scope["raw_path"].decode("latin-1")
        if not any(scope["method"] == method and pattern.fullmatch(raw) for method, pattern in self.open):
            return Refusal(NOT_FOUND, f"localcrag has nothing here. {self._place}.")
        return None

    @property
    def _place(self) -> str:
        return self.location_text.format(port=self.port)


MAX_BODY = 4_000_000
"""Largest body, in bytes, that is read as a whole. The app's longest body lists about a thousand uploaded files."""
SMALL_BODY = 64_000
"""Bytes up to which a body is read without waiting for a slot, so that large requests do not delay small ones."""
BODY_SECONDS, BODY_BYTES_PER_SECOND = 10.0, 50_000.0
"""Seconds that every request may take, and bytes per second that it must deliver after that. Both are ample for
loopback."""
MAX_LARGE_REQUESTS, MAX_REQUESTS = 32, 2_000
"""Number of large requests that are read and answered at once, and of requests of any kind that may be in progress."""
MAX_DRAINED = 1_000_000_000
"""Bytes to read and discard, so that a client that sends too much sees the refusal instead of a broken connection."""
TOO_SLOW = Refusal(408, "The request came in too slowly and was given up. Try again.")
BUSY = Refusal(503, "localcrag has too much to do at once. Try again in a moment.", retry_after=2)


@dataclass(slots=True)
class IncomingBody:
    """A request's body while it arrives.

    `max_size` is its largest allowed size and `received` its size so far, in bytes. `refusal` is the reason if it is
    refused. `complete` is true once its end has been read, `closed` once the client has disconnected. `started_at` is
    when reading began, by the clock `now`; negative before that.
    """

    receive: Receive
    now: Callable[[], float]
    max_size: int
    refusal: Refusal | None = None
    closed: bool = False
    complete: bool = False
    received: int = 0
    started_at: float = -1.0

    async def read(self) -> bytes:
        """Return the whole body; only a part of it if it was refused or the client has disconnected."""
        content = bytearray()
        while piece := await self.next_piece():
            content += piece
        return bytes(content)

    async def next_piece(self) -> bytes:
        """Return the next bytes; none at the end, or if the body is refused or the client has disconnected."""
        piece = await self._next()
        self.received += len(piece)
        if self.received > self.max_size and not self.refusal:
            self.refusal = too_large(self.max_size)
            await self.drain()
        return b"" if self.refusal else piece

    async def drain(self) -> None:
        """Read and discard the rest of the body."""
        refusal = self.refusal
        # If the client is too slow, `_next` sets another refusal, which ends the loop. The first refusal is the one to
        # report.
        while not (self.complete or self.closed) and self.received < MAX_DRAINED and self.refusal in (refusal, None):
            self.received += len(await self._next())
        self.refusal = refusal

    async def _next(self) -> bytes:
        if self.started_at < 0:
            self.started_at = self.now()
        # Messages may be empty, so wait for the next one with bytes, or for the end.
        while not self.complete:
            left = self.started_at + BODY_SECONDS + self.received / BODY_BYTES_PER_SECOND - self.now()
            try:
                message = await asyncio.wait_for(self.receive(), max(left, 0))
            except TimeoutError:
                self.refusal = TOO_SLOW
                return b""
            if message["type"] == "http.disconnect":
                self.closed = True
                return b""
            self.complete = not message.get("more_body", False)
            if piece := bytes(message.get("body", b"")):
                return piece
        return b""


async def forward_buffered(
    body: IncomingBody,
    app: ASGIApp,
    scope: Scope,
    send: Send,
    *,
    wording: RefusalFormat,
    check: Callable[[bytes], Refusal | None] = lambda content: None,
) -> None:
    """Read the whole body and pass the request to `app`, or answer with a refusal.

    `check` gets the bytes, and may return a further reason to refuse them.
    """
    content = await body.read()
    if body.closed:
        return
    if refusal := body.refusal or check(content):
        await refuse(refusal, scope, send, wording)
    else:
        await app(scope, _replay_body(content, body.receive), send)


def _replay_body(content: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first delivers a body that was already read, and then the messages of the given one."""
    whole: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


def content_length(scope: Scope) -> int:
    """Return the size of the body that a request declares, in bytes; -1 if it declares none."""
    content = dict(scope["headers"]).get(b"content-length", b"")
    return int(content) if content.isdigit() else -1


def too_large(most: int) -> Refusal:
    """Return the refusal of a body larger than `most` bytes."""
    size = f"{most / 1_000_000:,.0f} MB"
    return Refusal(413, f"This is more than localcrag takes at once ({size}). Send less, or in parts.")


UNUSED_FEATURES = """
accelerometer bluetooth camera display-capture geolocation gyroscope hid idle-detection local-fonts magnetometer
microphone midi payment publickey-credentials-get serial usb xr-spatial-tracking
""".split()
"""Browser features that a page can request but this one never does, as Permissions-Policy names them."""


def content_security_policy(nonce: str = "") -> str:
    """Return the Content-Security-Policy; with a `nonce`, inline scripts that carry it are allowed."""
    inline = f" 'nonce-{nonce}'" if nonce else ""
    return "; ".join(
        (
            "default-src 'none'",
            # 'unsafe-eval': Gradio compiles text into functions (templates and js_on_load of gr.HTML, js= of events).
            # All of that text is localcrag's own and part of the page when it is built; no other text is compiled.
            f"script-src 'self' 'unsafe-eval'{inline}",
            # Gradio's components write their styles into style elements and attributes.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


HEADERS = {
    "content-security-policy": content_security_policy(),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{name}=()" for name in UNUSED_FEATURES),
    "x-dns-prefetch-control": "off",
    # Responses contain text of documents, which must not end up in the browser's disk cache.
    "cache-control": "no-store",
}
CACHEABLE = ("/assets/", "/static/")
"""Path prefixes of Gradio's own files, which the browser may cache."""


@dataclass(frozen=True, slots=True)
class ResponseHeaders:
    """Middleware that adds HEADERS to every response; a response's own Content-Security-Policy is kept."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its response."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name == "cache-control" and scope["path"].startswith(CACHEABLE):
                        continue
                    if name != "content-security-policy" or name not in headers:
                        headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


HOST = "127.0.0.1"


def require_free(port: int) -> None:
    """Raise SettingsError if a program is already listening on the port."""
    if not is_free(port):
        why = f"Port {port} on {HOST} is in use, perhaps by another localcrag."
        raise SettingsError(f"{why} Stop that program, or choose another port with --port.")


def is_free(port: int) -> bool:
    """Return whether no program is listening on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True
