"""Limits of requests: size, pace, how many at once, and the files that they may name.

What a click sends is read whole before Gradio sees it; files go through as they come.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcrag.steps.rate_limit import SlidingMinute
from localcrag.ui.server.given_files import all_uploaded
from localcrag.ui.server.refusal import Refusal, refuse

MOST_SAID = 4_000_000
"""Bytes of what a click sends: the longest is a list of some thousand files that were uploaded."""
SMALL = 64_000
"""Bytes that are read without waiting for a turn, so that who sends large things keeps nobody else waiting."""
MOST_UPLOADED = 4_000_000_000
"""Bytes of one upload of several files; what each may have is Gradio's max_file_size."""
LEFT_FREE = 500_000_000
"""Bytes that stay free on the disk whatever is uploaded."""
PATIENCE, PACE = 10.0, 50_000.0
"""Seconds that every request has, and the bytes a second that it has to bring after that. Ample for loopback."""
CLICKS_AT_ONCE, UPLOADS_AT_ONCE, MOST_WAITING = 32, 16, 2_000
"""Large clicks and uploads that are read and answered at once, and requests of all kinds that are under way."""
UPLOADS_A_MINUTE = 600
"""Uploads, each of up to 1,000 files, that are taken within any 60 seconds: the page sends one for what is dropped."""
MOST_DRAINED = 1_000_000_000
"""Bytes that are read and thrown away, so that who sends too much reads the answer instead of a broken connection."""
LONGEST_TYPE = 200
"""Bytes of a content type: what separates the parts of an upload has at most 70 (RFC 2046, 5.1.1)."""
UPLOAD = "/gradio_api/upload"
TOO_SLOW = Refusal(408, "The request came in too slowly and was given up. Try again.")
STRANGE = Refusal(400, "The request is not what localcrag’s page sends. Load the page again.")
BUSY = Refusal(503, "localcrag has too much to do at once. Try again in a moment.", retry_after=2)


@dataclass(slots=True)
class RequestBodies:
    """Lets requests through whose bodies are as the page sends them."""

    app: ASGIApp
    uploads: Path
    now: Callable[[], float] = time.monotonic
    _clicks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CLICKS_AT_ONCE))
    _uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    _waiting: int = 0
    _rate: SlidingMinute = field(init=False)

    def __post_init__(self) -> None:
        self._rate = SlidingMinute(now=self.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say in a sentence why not."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self._waiting >= MOST_WAITING:
            await refuse(BUSY, scope, receive, send)
            return
        self._waiting += 1
        try:
            if scope["path"] == UPLOAD:
                async with self._uploads:
                    await self._upload(scope, receive, send)
            elif 0 <= _declared(scope) <= SMALL:
                await self._click(scope, receive, send, SMALL)
            else:
                async with self._clicks:
                    await self._click(scope, receive, send, MOST_SAID)
        finally:
            self._waiting -= 1

    async def _click(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        body = _Body(receive, self.now, most)
        said = bytearray()
        while piece := await body.piece():
            said += piece
        refusal = body.refusal or self._refused(bytes(said))
        if body.gone:
            return
        if refusal:
            await refuse(refusal, scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(said), "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, again, send)

    def _refused(self, said: bytes) -> Refusal | None:
        try:
            content = json.loads(said)
            ours = all_uploaded(content, self.uploads)
        except (ValueError, RecursionError):
            return STRANGE
        return (
            None if ours else Refusal(400, "The request names a file that was not uploaded. Drop the file once more.")
        )

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        room = min(MOST_UPLOADED, max(shutil.disk_usage(self.uploads.parent).free - LEFT_FREE, 0))
        body = _Body(receive, self.now, room)
        if len(dict(scope["headers"]).get(b"content-type", b"")) > LONGEST_TYPE:
            await refuse(STRANGE, scope, receive, send)
            return
        left = self._rate.claim(UPLOADS_A_MINUTE)
        if left or _declared(scope) > room:
            body.refusal = _too_often(left) if left else _too_much(room)
            await body.drain()
            await refuse(body.refusal, scope, receive, send)
            return
        started = False

        async def watched() -> Message:
            if body.whole:
                return await receive()
            piece = await body.piece()
            if body.refusal or body.gone:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": not body.whole}

        async def unless_refused(message: Message) -> None:
            nonlocal started
            if not body.refusal:
                started = True
                await send(message)

        try:
            await self.app(scope, watched, unless_refused)
        except Exception:
            if not body.refusal:
                raise
        if body.refusal and not started:
            await refuse(body.refusal, scope, receive, send)


@dataclass(slots=True)
class _Body:
    """A request's body as it comes. `refusal` says what is wrong with it, `gone` that nobody waits for an answer."""

    receive: Receive
    now: Callable[[], float]
    most: int
    refusal: Refusal | None = None
    gone: bool = False
    whole: bool = False
    came: int = 0
    since: float = -1.0

    async def piece(self) -> bytes:
        """Return what came next; nothing at the end, and when there is something wrong."""
        piece = await self._next()
        self.came += len(piece)
        if self.came > self.most and not self.refusal:
            self.refusal = _too_much(self.most)
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


def _declared(scope: Scope) -> int:
    """Return how many bytes a request says it has; -1 where it does not say."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() else -1


def _too_often(left: float) -> Refusal:
    seconds = math.ceil(left)
    return Refusal(
        429,
        f"More than {UPLOADS_A_MINUTE} uploads came within a minute. Drop the files again in {seconds} s.",
        retry_after=seconds,
    )


def _too_much(most: int) -> Refusal:
    size = f"{most / 1_000_000:,.0f} MB"
    return Refusal(413, f"This is more than localcrag takes at once ({size}). Send less, or in parts.")
