"""Access control: only this user’s own programs get in, and only at the addresses that they need.

Knows nothing about what is behind the door.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.server.doors.refusal import Refusal, Wording, in_plain_text, refuse

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
