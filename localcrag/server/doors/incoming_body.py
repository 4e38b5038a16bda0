"""A request's body as it comes in: bounded in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcrag.server.doors.refusal import Refusal, Wording, refuse

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
