"""Gradio’s index page: without links to elsewhere, with a nonce on its scripts, and at rest."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcrag.server.doors.response_headers import policy

# What pages are shared with (pictures on other hosts), and an app's manifest, which there is not.
LEADS_ELSEWHERE = re.compile(
    rb'<meta\b[^>]*\b(?:property="og:|name="twitter:)[^>]*>\s*|<link\b[^>]*rel="manifest"[^>]*>\s*'
)
# Gradio writes its configuration, which holds names that a person chose, with < spelt \u003c: no text begins a script.
SCRIPT = re.compile(rb"<script\b")

# Gradio 6.31 counts the seconds of its loading sign at every frame, and goes on when the sign is gone: a tenth of a
# core for as long as the page is open. What counts seconds does so once a second.
AT_REST = b"""<script>{
  const drawn = window.requestAnimationFrame.bind(window);
  const counts = (step) => /performance\\.now\\(\\).*\\/ ?1e3/.test(String(step));
  window.requestAnimationFrame = (step) => counts(step) ? setTimeout(step, 1000) : drawn(step);
}</script>"""


def cleaned(page: bytes, nonce: str) -> bytes:
    """Return the page that is served."""
    page = LEADS_ELSEWHERE.sub(b"", page).replace(b"<head>", b"<head>" + AT_REST, 1)
    return SCRIPT.sub(b'<script nonce="%s"' % nonce.encode(), page)


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Changes the page at `/`, and nothing else."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and the page back when it is whole."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Over loopback compression costs time alone; and the page has to be readable here.
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"accept-encoding"]
        page = _Page(send) if scope["path"] == "/" and scope["method"] == "GET" else None
        await self.app({**scope, "headers": headers}, receive, page.take if page else send)


@dataclass(slots=True)
class _Page:
    send: Send
    start: Message = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
            return
        self.parts.append(message.get("body", b""))
        if message.get("more_body"):
            return
        nonce = secrets.token_urlsafe(24)
        body = cleaned(b"".join(self.parts), nonce)
        headers = MutableHeaders(scope=self.start)
        headers["content-length"] = str(len(body))
        headers["content-security-policy"] = policy(nonce)
        await self.send(self.start)
        await self.send({"type": "http.response.body", "body": body})
