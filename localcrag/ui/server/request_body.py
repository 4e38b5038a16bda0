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

from localcrag.server.doors.incoming_body import (
    BUSY,
    LARGE_AT_ONCE,
    MOST_SAID,
    MOST_WAITING,
    SMALL,
    IncomingBody,
    declared,
    hand_on_whole,
    too_much,
)
from localcrag.server.doors.refusal import Refusal, refuse
from localcrag.steps.rate_limit import SlidingMinute
from localcrag.ui.server.given_files import all_uploaded
from localcrag.ui.server.wording import in_gradios_form

MOST_UPLOADED = 4_000_000_000
"""Bytes of one upload of several files; what each may have is Gradio's max_file_size."""
LEFT_FREE = 500_000_000
"""Bytes that stay free on the disk whatever is uploaded."""
UPLOADS_AT_ONCE = 16
"""Uploads that are read at once."""
UPLOADS_A_MINUTE = 600
"""Uploads, each of up to 1,000 files, that are taken within any 60 seconds: the page sends one for what is dropped."""
LONGEST_TYPE = 200
"""Bytes of a content type: what separates the parts of an upload has at most 70 (RFC 2046, 5.1.1)."""
UPLOAD = "/gradio_api/upload"
STRANGE = Refusal(400, "The request is not what localcrag’s page sends. Load the page again.")


@dataclass(slots=True)
class RequestBodies:
    """Lets requests through whose bodies are as the page sends them."""

    app: ASGIApp
    uploads: Path
    now: Callable[[], float] = time.monotonic
    _clicks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))
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
            await refuse(BUSY, scope, send, in_gradios_form)
            return
        self._waiting += 1
        try:
            if scope["path"] == UPLOAD:
                async with self._uploads:
                    await self._upload(scope, receive, send)
            elif 0 <= declared(scope) <= SMALL:
                await self._click(scope, receive, send, SMALL)
            else:
                async with self._clicks:
                    await self._click(scope, receive, send, MOST_SAID)
        finally:
            self._waiting -= 1

    async def _click(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        body = IncomingBody(receive, self.now, most)
        await hand_on_whole(body, self.app, scope, send, wording=in_gradios_form, refused=self._refused)

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
        body = IncomingBody(receive, self.now, room)
        if len(dict(scope["headers"]).get(b"content-type", b"")) > LONGEST_TYPE:
            await refuse(STRANGE, scope, send, in_gradios_form)
            return
        left = self._rate.claim(UPLOADS_A_MINUTE)
        if left or declared(scope) > room:
            body.refusal = _too_often(left) if left else too_much(room)
            await body.drain()
            await refuse(body.refusal, scope, send, in_gradios_form)
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
            await refuse(body.refusal, scope, send, in_gradios_form)


def _too_often(left: float) -> Refusal:
    seconds = math.ceil(left)
    return Refusal(
        429,
        f"More than {UPLOADS_A_MINUTE} uploads came within a minute. Drop the files again in {seconds} s.",
        retry_after=seconds,
    )
