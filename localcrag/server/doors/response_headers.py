"""Response headers: the browser fetches nothing from elsewhere, and nobody frames the page."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
