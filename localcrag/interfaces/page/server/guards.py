"""The checks around Gradio's server: open addresses, request bodies, and the page itself.

`with_access_checks` puts the checks that it shares with the API (middleware.py) around checks for Gradio only:
`RequestBodies` limits the size, number and rate of requests, and refuses requests that name files that were not
uploaded. `IndexPage` removes references to other hosts from the page, and adds a nonce to its scripts. Gradio's own
addresses serve no files: pictures and chats come as text, and exported collections have a separate address
(handoff.py).
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcrag.app.web_search import SlidingMinuteLimit
from localcrag.interfaces.api import middleware
from localcrag.interfaces.page.handlers import DownloadFiles
from localcrag.interfaces.page.server.handoff import DownloadRoute, HandleHandOver, HandoffRoute


def all_uploaded(payload: Any, uploads: Path) -> bool:
    """Return whether all files that a request's content names are in the folder of uploads."""
    if isinstance(payload, dict):
        if isinstance(path := payload.get("path"), str) and not _uploaded(path, uploads):
            return False
        return all(all_uploaded(value, uploads) for value in payload.values())
    return not isinstance(payload, list) or all(all_uploaded(value, uploads) for value in payload)


def _uploaded(path: str, uploads: Path) -> bool:
    try:
        # Resolve links and dots first, because only the place where they lead counts.
        real = Path(path).resolve(strict=True)
    except (OSError, ValueError):
        return False
    return Path(path).is_absolute() and real.is_file() and real.is_relative_to(uploads.resolve())


API = "/gradio_api/"


def gradio_refusal(refusal: middleware.Refusal, scope: Scope) -> tuple[str, str]:
    """Return a refusal’s media type and text, in Gradio’s format for paths of its API."""
    if scope["path"].startswith(API):
        return "application/json", json.dumps({"detail": refusal.sentence})
    return middleware.plain_text_refusal(refusal, scope)


MAX_UPLOAD = 4_000_000_000
"""Largest upload of several files, in bytes; Gradio's max_file_size limits each file."""
MIN_FREE = 500_000_000
"""Minimum bytes that uploads must leave free on the disk."""
UPLOADS_AT_ONCE = 16
"""Number of uploads that are read at once."""
UPLOADS_PER_MINUTE = 600
"""Number of uploads, each of up to 1,000 files, accepted within any 60 seconds; dropping files once is one upload."""
MAX_CONTENT_TYPE = 200
"""Maximum bytes of an upload's content type; its boundary has at most 70 characters (RFC 2046, 5.1.1)."""
UPLOAD = "/gradio_api/upload"
MALFORMED = middleware.Refusal(400, "The request is not what localcrag’s page sends. Load the page again.")


@dataclass(slots=True)
class RequestBodies:
    """Middleware that passes on POST requests only if their bodies look like the page's own requests.

    Small requests (clicks) are read at once; larger ones and uploads wait for a slot. `_waiting` counts all of them.
    """

    app: ASGIApp
    uploads: Path
    now: Callable[[], float] = time.monotonic
    _clicks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(middleware.MAX_LARGE_REQUESTS))
    _uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(UPLOADS_AT_ONCE))
    _waiting: int = 0
    _rate: SlidingMinuteLimit = field(init=False)

    def __post_init__(self) -> None:
        self._rate = SlidingMinuteLimit(now=self.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason why it is refused."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self._waiting >= middleware.MAX_REQUESTS:
            await middleware.refuse(middleware.BUSY, scope, send, gradio_refusal)
            return
        self._waiting += 1
        try:
            if scope["path"] == UPLOAD:
                async with self._uploads:
                    await self._upload(scope, receive, send)
            # A request that declares no size counts as large.
            elif 0 <= middleware.content_length(scope) <= middleware.SMALL_BODY:
                await self._click(scope, receive, send, middleware.SMALL_BODY)
            else:
                async with self._clicks:
                    await self._click(scope, receive, send, middleware.MAX_BODY)
        finally:
            self._waiting -= 1

    async def _click(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        body = middleware.IncomingBody(receive, self.now, most)
        await middleware.forward_buffered(body, self.app, scope, send, wording=gradio_refusal, check=self._refused)

    def _refused(self, payload: bytes) -> middleware.Refusal | None:
        try:
            if all_uploaded(json.loads(payload), self.uploads):
                return None
        except (ValueError, RecursionError):
            return MALFORMED
        return middleware.Refusal(400, "The request names a file that was not uploaded. Drop the file once more.")

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        room = min(MAX_UPLOAD, max(shutil.disk_usage(self.uploads.parent).free - MIN_FREE, 0))
        body = middleware.IncomingBody(receive, self.now, room)
        if len(dict(scope["headers"]).get(b"content-type", b"")) > MAX_CONTENT_TYPE:
            await middleware.refuse(MALFORMED, scope, send, gradio_refusal)
            return
        left = self._rate.claim(UPLOADS_PER_MINUTE)
        if left or middleware.content_length(scope) > room:
            body.refusal = _rate_limited(left) if left else middleware.too_large(room)
            await body.drain()
            await middleware.refuse(body.refusal, scope, send, gradio_refusal)
            return
        # Gradio reads the upload itself, piece by piece. If the body is refused during that, Gradio sees a disconnected
        # client, its response is dropped, and the refusal is sent instead.
        started = False

        async def receive_watched() -> Message:
            if body.complete:
                return await receive()
            piece = await body.next_piece()
            if body.refusal or body.closed:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": not body.complete}

        async def send_unless_refused(message: Message) -> None:
            nonlocal started
            if not body.refusal:
                started = True
                await send(message)

        try:
            await self.app(scope, receive_watched, send_unless_refused)
        except Exception:
            if not body.refusal:
                raise
        if body.refusal and not started:
            await middleware.refuse(body.refusal, scope, send, gradio_refusal)


def _rate_limited(left: float) -> middleware.Refusal:
    seconds, why = math.ceil(left), f"More than {UPLOADS_PER_MINUTE} uploads came within a minute."
    return middleware.Refusal(429, f"{why} Drop the files again in {seconds} s.", retry_after=seconds)


# Previews for social networks, whose pictures are on other hosts, and a web app manifest that does not exist.
EXTERNAL_REFERENCES = re.compile(
    rb'<meta\b[^>]*\b(?:property="og:|name="twitter:)[^>]*>\s*|<link\b[^>]*rel="manifest"[^>]*>\s*'
)
# Gradio's configuration in the page contains names chosen by the user, but it writes < as \u003c, so no such text can
# begin a script and get the nonce.
SCRIPT = re.compile(rb"<script\b")

# Gradio 6.31 counts the seconds of its loading sign at every frame, and continues when the sign is gone: this takes a
# tenth of a core for as long as the page is open. This script lets functions that count seconds run once a second.
IDLE_SCRIPT = b"""<script>{
  const drawn = window.requestAnimationFrame.bind(window);
  const counts = (step) => /performance\\.now\\(\\).*\\/ ?1e3/.test(String(step));
  window.requestAnimationFrame = (step) => counts(step) ? setTimeout(step, 1000) : drawn(step);
}</script>"""


def clean_page(page: bytes, nonce: str) -> bytes:
    """Return the page as served: without references to other hosts, and with the nonce in its scripts."""
    page = EXTERNAL_REFERENCES.sub(b"", page).replace(b"<head>", b"<head>" + IDLE_SCRIPT, 1)
    return SCRIPT.sub(b'<script nonce="%s"' % nonce.encode(), page)


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Middleware that changes the page at `/`, and nothing else."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the page at `/` is collected, changed, and sent as a whole."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Over loopback, compression only costs time; besides, the page must be readable here to be changed.
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"accept-encoding"]
        is_page = scope["path"] == "/" and scope["method"] == "GET"
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)
            if message["type"] == "http.response.start" or message.get("more_body"):
                return
            start, nonce = messages[0], secrets.token_urlsafe(24)
            body = clean_page(b"".join(one.get("body", b"") for one in messages[1:]), nonce)
            response_headers = MutableHeaders(scope=start)
            response_headers["content-length"] = str(len(body))
            response_headers["content-security-policy"] = middleware.content_security_policy(nonce)
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self.app({**scope, "headers": headers}, receive, collect if is_page else send)


OPEN = middleware.addresses(
    ("GET", "/"),
    ("HEAD", "/"),
    # Gradio's own script, style and pictures.
    ("GET", r"/(assets|static)(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+"),
    ("GET", "/favicon.ico"),
    ("GET", "/theme.css"),
    ("GET", "/gradio_api/startup-events"),
    # A tab sends events to the queue, and receives their results.
    ("GET", "/gradio_api/app_id"),
    ("POST", "/gradio_api/queue/join"),
    ("GET", "/gradio_api/queue/data"),
    ("POST", "/gradio_api/cancel"),
    ("POST", "/gradio_api/upload"),
    ("GET", "/gradio_api/upload_progress"),
    # A file made for download, once, from an address that cannot be guessed (handoff.py).
    ("GET", r"/localcrag/made/[A-Za-z0-9_-]{32}"),
    # A later start hands over files; it must know the token (handoff.py).
    ("POST", "/localcrag/open"),
)
"""Open addresses; all others are answered with 404.

Gradio has about seventy addresses (proxies, files, recordings, sharing, editing with an assistant, …). Addresses that
localcrag does not need are closed, so that their bugs cannot be reached.
"""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def with_access_checks(app: ASGIApp, port: int, uploads: Path) -> ASGIApp:
    """Return the app behind its access checks."""
    checks = middleware.AccessChecks(app=RequestBodies(app, uploads), port=port, open=OPEN, wording=gradio_refusal)
    return middleware.ResponseHeaders(checks)


def lifespan(port: int, uploads: Path, token: str, handle: HandleHandOver, downloads: DownloadFiles) -> Lifespan:
    """Return a lifespan that installs the access checks when Gradio's server starts.

    `handle` gets the files that are handed over with the `token`; the files in `downloads` can be downloaded.

    Gradio creates its app within `launch`, and wraps its own middleware around any given middleware. When the lifespan
    begins, that stack is complete, so the checks go around the whole stack.
    """

    @asynccontextmanager
    async def install_checks(app: FastAPI) -> AsyncIterator[None]:
        if app.middleware_stack is None:
            raise RuntimeError("Gradio started without its middleware, so the access checks cannot be installed.")

        routes = DownloadRoute(HandoffRoute(IndexPage(app.middleware_stack), token, handle), downloads)
        app.middleware_stack = with_access_checks(routes, port, uploads)
        yield

    return install_checks
