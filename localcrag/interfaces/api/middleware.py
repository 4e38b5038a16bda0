"""Refusals: a status and a plain sentence."""

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
    """An HTTP status, and what a person reads. `retry_after` is in seconds: when it is worth another try."""

    status: int
    sentence: str
    retry_after: int = 0


Wording = Callable[[Refusal, Scope], tuple[str, str]]
"""How a server says it: media type and text."""


def in_plain_text(refusal: Refusal, _scope: Scope) -> tuple[str, str]:
    """Return the sentence by itself."""
    return "text/plain; charset=utf-8", refusal.sentence + "\n"


async def refuse(refusal: Refusal, scope: Scope, send: Send, wording: Wording = in_plain_text) -> None:
    """Answer with the refusal, and end the connection."""
    media_type, text = wording(refusal, scope)
    body = text.encode()
    headers = {"content-type": media_type, "content-length": str(len(body)), "connection": "close"}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
TCP_ESTABLISHED = 1
ROOT = 0
"""May look into everything anyway; what forwards a port from elsewhere (WSL, containers) runs as root, too."""
_HEADER, _REQUEST, _NO_COOKIE = (
    struct.Struct("=IHHII"),
    struct.Struct("=BBBBI"),
    struct.pack("=III", 0, ~0 & 0xFFFFFFFF, ~0 & 0xFFFFFFFF),
)
_IDENTITY = struct.Struct("!HH16s16s")
_STATE_AT, _OWNER_AT = _HEADER.size + 1, _HEADER.size + 4 + 48 + 12
"""Where the answer (struct inet_diag_msg) has the state and the owner."""
End = tuple[str, int]


def is_neighbour(peer: End, own: End) -> bool:
    """Return whether the connection from `peer` to `own` is another user's. False where the system does not say."""
    if ":" in peer[0] or not is_told():
        return False
    return not _is_ours(peer, own)


@cache
def is_told() -> bool:
    """Return whether the system says whose a connection is: it is asked about one of our own.

    Not on other systems than Linux, nor by a kernel without that part, nor in some sandboxes.
    """
    if sys.platform != "linux":
        return False
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as mine:
        return _is_ours(mine.getsockname(), server.getsockname())


def _is_ours(peer: End, own: End) -> bool:
    try:
        answer = _asked(peer, own)
    except OSError:
        return False
    if _HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
        return False  # Nobody's any more: its answer would go nowhere, and what it asks for could be anybody's wish.
    (owner,) = struct.unpack_from("=I", answer, _OWNER_AT)
    # A connection that is being closed is said to be root's, whoever began it.
    return owner in {os.getuid(), ROOT} and answer[_STATE_AT] == TCP_ESTABLISHED


def _asked(peer: End, own: End) -> bytes:
    ends = _IDENTITY.pack(peer[1], own[1], socket.inet_aton(peer[0]), socket.inet_aton(own[0]))
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as system:
        system.settimeout(1)
        system.send(_HEADER.pack(_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + request)
        return system.recv(4096)


def bears(scope: Scope, token: str) -> bool:
    """Return whether a request has this token, and no other beside it."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    return len(given) == 1 and secrets.compare_digest(given[0], f"Bearer {token}".encode())


FROM_HERE = frozenset({"", "none", "same-origin"})
"""What a browser says of where a request comes from (Sec-Fetch-Site): typed in, or from a page of this very address."""
FORBIDDEN, NOT_FOUND = 403, 404

Peer = tuple[str, int]
"""Address and port of the other end of a connection."""
IsNeighbour = Callable[[Peer, Peer], bool]
"""Whether a connection (other end, own end) belongs to another user of this computer."""
Address = tuple[str, re.Pattern[str]]
"""A method and the paths that are open to it, as they stand in a request: nothing encoded, no dots that lead up."""


def addresses(*methods_and_patterns: tuple[str, str]) -> tuple[Address, ...]:
    """Return what is open."""
    return tuple((method, re.compile(pattern)) for method, pattern in methods_and_patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The door of an app on `port` of this computer. What is not `open` does not exist; `wording` is how it is said."""

    app: ASGIApp
    port: int
    is_neighbour: IsNeighbour
    open: Sequence[Address]
    wording: Wording = in_plain_text
    its_place: str = "Its page is at http://127.0.0.1:{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say in a sentence why not."""
        if scope["type"] == "http":
            if refusal := self.refusal(scope):
                await refuse(refusal, scope, send, self.wording)
                return
        elif scope["type"] == "websocket":
            # Nothing here uses one.
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.app(scope, receive, send)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request stays outside, None when it may come in."""
        given: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = given.get("host", [])
        if len(host) != 1 or host[0] not in self._hosts():
            # A page of another site can have its own name lead to this computer (DNS rebinding): it still says it.
            return Refusal(FORBIDDEN, f"localcrag answers only to its own address. {self._place}.")
        if any(origin != f"http://{host[0]}" for origin in given.get("origin", [])) or any(
            site not in FROM_HERE for site in given.get("sec-fetch-site", [])
        ):
            return Refusal(
                FORBIDDEN,
                "Another site sent you here, and localcrag takes nothing from other sites. "
                f"{self._place}: type that address yourself.",
            )
        if scope.get("client") and self.is_neighbour(_peer(scope["client"]), _peer(scope["server"])):
            return Refusal(FORBIDDEN, "This localcrag belongs to another user of this computer. Start one of your own.")
        raw = scope["raw_path"].decode("latin-1")
        if not any(scope["method"] == method and pattern.fullmatch(raw) for method, pattern in self.open):
            return Refusal(NOT_FOUND, f"localcrag has nothing here. {self._place}.")
        return None

    @property
    def _place(self) -> str:
        return self.its_place.format(port=self.port)

    def _hosts(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})


def _peer(end: tuple[str, int]) -> Peer:
    return end[0], end[1]


MOST_SAID = 4_000_000
"""Bytes of what is read whole: on the page, the longest is a list of some thousand files that were uploaded."""
SMALL = 64_000
"""Bytes that are read without waiting for a turn, so that who sends large things keeps nobody else waiting."""
PATIENCE, PACE = 10.0, 50_000.0
"""Seconds that every request has, and the bytes a second that it has to bring after that. Ample for loopback."""
LARGE_AT_ONCE, MOST_WAITING = 32, 2_000
"""Large requests that are read and answered at once, and requests of all kinds that are under way."""
MOST_DRAINED = 1_000_000_000
"""Bytes that are read and thrown away, so that who sends too much reads the answer instead of a broken connection."""
TOO_SLOW = Refusal(408, "The request came in too slowly and was given up. Try again.")
BUSY = Refusal(503, "localcrag has too much to do at once. Try again in a moment.", retry_after=2)


@dataclass(slots=True)
class IncomingBody:
    """A request's body as it comes. `refusal` says what is wrong with it, `gone` that nobody waits for an answer."""

    receive: Receive
    now: Callable[[], float]
    most: int
    refusal: Refusal | None = None
    gone: bool = False
    whole: bool = False
    came: int = 0
    since: float = -1.0

    async def read(self) -> bytes:
        """Return all of it; a part, when there is something wrong."""
        said = bytearray()
        while piece := await self.piece():
            said += piece
        return bytes(said)

    async def piece(self) -> bytes:
        """Return what came next; nothing at the end, and when there is something wrong."""
        piece = await self._next()
        self.came += len(piece)
        if self.came > self.most and not self.refusal:
            self.refusal = too_much(self.most)
            await self.drain()
        return b"" if self.refusal else piece

    async def drain(self) -> None:
        """Read what still comes, and keep nothing of it."""
        refusal = self.refusal
        while not (self.whole or self.gone) and self.came < MOST_DRAINED and self.refusal in (refusal, None):
            self.came += len(await self._next())
        self.refusal = refusal

    async def _next(self) -> bytes:
        if self.since < 0:
            self.since = self.now()
        while not self.whole:
            left = self.since + PATIENCE + self.came / PACE - self.now()
            try:
                message = await asyncio.wait_for(self.receive(), max(left, 0))
            except TimeoutError:
                self.refusal = TOO_SLOW
                return b""
            if message["type"] == "http.disconnect":
                self.gone = True
                return b""
            self.whole = not message.get("more_body", False)
            if piece := bytes(message.get("body", b"")):
                return piece
        return b""


async def hand_on_whole(
    body: IncomingBody,
    app: ASGIApp,
    scope: Scope,
    send: Send,
    *,
    wording: Wording,
    refused: Callable[[bytes], Refusal | None] = lambda said: None,
) -> None:
    """Give `app` a request whose body was read whole, or say what is wrong with it; `refused` may find more."""
    said = await body.read()
    refusal = body.refusal or refused(said)
    if body.gone:
        return
    if refusal:
        await refuse(refusal, scope, send, wording)
        return
    await app(scope, _read_already(said, body.receive), send)


def _read_already(said: bytes, receive: Receive) -> Receive:
    """Return what hands on a body that was read whole; after it comes what `receive` says."""
    whole: list[Message] = [{"type": "http.request", "body": said, "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again


def declared(scope: Scope) -> int:
    """Return how many bytes a request says it has; -1 where it does not say."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() else -1


def too_much(most: int) -> Refusal:
    """Return the refusal of a body of more than `most` bytes."""
    size = f"{most / 1_000_000:,.0f} MB"
    return Refusal(413, f"This is more than localcrag takes at once ({size}). Send less, or in parts.")


NEVER_ASKED = """
accelerometer bluetooth camera display-capture geolocation gyroscope hid idle-detection local-fonts magnetometer
microphone midi payment publickey-credentials-get serial usb xr-spatial-tracking
""".split()
"""What a page can ask a browser for, and this one never does."""


def policy(nonce: str = "") -> str:
    """Return the Content-Security-Policy; scripts that stand in the page itself carry the `nonce`."""
    inline = f" 'nonce-{nonce}'" if nonce else ""
    return "; ".join(
        (
            "default-src 'none'",
            # 'unsafe-eval': Gradio makes functions of text (templates and js_on_load of gr.HTML, js= of events), all of
            # which is ours and stands in the page when it is built. A text of anybody else's never becomes one.
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
    "content-security-policy": policy(),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{name}=()" for name in NEVER_ASKED),
    "x-dns-prefetch-control": "off",
    # Answers hold text of documents, which is not to lie in the browser's cache on the disk.
    "cache-control": "no-store",
}
KEPT = ("/assets/", "/static/")
"""Gradio's own files, which the browser may keep."""


@dataclass(frozen=True, slots=True)
class ResponseHeaders:
    """Adds HEADERS to every answer; what an answer says itself about scripts stays."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and what comes back with headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name == "cache-control" and scope["path"].startswith(KEPT):
                        continue
                    if name != "content-security-policy" or name not in headers:
                        headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


HOST = "127.0.0.1"


def require_free(port: int) -> None:
    """Raise SettingsError when something listens on the port already."""
    if not is_free(port):
        raise SettingsError(
            f"Port {port} on {HOST} is taken, perhaps by another localcrag. Stop that program, or name another port "
            "with --port."
        )


def is_free(port: int) -> bool:
    """Return whether nothing listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True
