"""Access control: only this user’s own page gets in, and only at the addresses it needs.

Knows nothing about what is behind the door. Gradio has some seventy addresses (proxies, files, recordings, sharing,
editing with an assistant, …); each that nobody has to open is one that nobody can break.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.ui.server.refusal import Refusal, refuse

OPEN = tuple(
    (method, re.compile(pattern))
    for method, pattern in (
        ("GET", "/"),
        ("HEAD", "/"),
        # Gradio's own script, style and pictures.
        ("GET", r"/(assets|static)(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+"),
        ("GET", "/favicon.ico"),
        ("GET", "/theme.css"),
        ("GET", "/gradio_api/startup-events"),
        # A tab hands in what was clicked, and hears what comes of it.
        ("GET", "/gradio_api/app_id"),
        ("POST", "/gradio_api/queue/join"),
        ("GET", "/gradio_api/queue/data"),
        ("POST", "/gradio_api/cancel"),
        ("POST", "/gradio_api/upload"),
        ("GET", "/gradio_api/upload_progress"),
    )
)
"""What is open, as it stands in a request: nothing that is encoded, no dots that lead upwards."""
FROM_HERE = frozenset({"", "none", "same-origin"})
"""What a browser says of where a request comes from (Sec-Fetch-Site): typed in, or from a page of this very address."""
FORBIDDEN, NOT_FOUND = 403, 404

Peer = tuple[str, int]
"""Address and port of the other end of a connection."""
IsNeighbour = Callable[[Peer, Peer], bool]
"""Whether a connection (other end, own end) belongs to another user of this computer."""


@dataclass(frozen=True, slots=True)
class Doors:
    """The door of the app on `port` of this computer."""

    app: ASGIApp
    port: int
    is_neighbour: IsNeighbour

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say in a sentence why not."""
        if scope["type"] == "http":
            if refusal := self.refusal(scope):
                await refuse(refusal, scope, receive, send)
                return
        elif scope["type"] == "websocket":
            # The page uses none.
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
            return Refusal(
                FORBIDDEN,
                f"localcrag answers only to its own address. Open http://127.0.0.1:{self.port} in your browser.",
            )
        if any(origin != f"http://{host[0]}" for origin in given.get("origin", [])) or any(
            site not in FROM_HERE for site in given.get("sec-fetch-site", [])
        ):
            return Refusal(
                FORBIDDEN,
                "Another site sent you here, and localcrag takes nothing from other sites. Type the address "
                f"http://127.0.0.1:{self.port} into your browser yourself.",
            )
        if scope.get("client") and self.is_neighbour(_peer(scope["client"]), _peer(scope["server"])):
            return Refusal(FORBIDDEN, "This localcrag belongs to another user of this computer. Start one of your own.")
        raw = scope["raw_path"].decode("latin-1")
        if not any(scope["method"] == method and pattern.fullmatch(raw) for method, pattern in OPEN):
            return Refusal(NOT_FOUND, f"localcrag has nothing here. Its page is at http://127.0.0.1:{self.port}.")
        return None

    def _hosts(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})


def _peer(end: tuple[str, int]) -> Peer:
    return end[0], end[1]
