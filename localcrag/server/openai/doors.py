"""What stands before the API: the doors that all servers have, a token, bounded bodies."""

from __future__ import annotations

import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.server.doors.access_control import Doors, addresses
from localcrag.server.doors.bearer import bears
from localcrag.server.doors.incoming_body import BUSY, LARGE_AT_ONCE, MOST_SAID, IncomingBody, hand_on_whole
from localcrag.server.doors.os_users import is_neighbour
from localcrag.server.doors.refusal import Refusal, refuse
from localcrag.server.doors.response_headers import ResponseHeaders
from localcrag.server.openai.errors import UNAUTHORIZED, in_openais_form

OPEN = addresses(
    ("GET", "/openapi.json"),
    ("GET", "/v1/models"),
    # A collection may have any name, which comes encoded.
    ("GET", r"/v1/models/[A-Za-z0-9%._~!$&'()*+,;=:@/-]+"),
    ("POST", "/v1/chat/completions"),
)
WITHOUT_TOKEN = "/openapi.json"  # noqa: S105 - it describes the API, and holds nothing of anybody's
NO_TOKEN = Refusal(
    UNAUTHORIZED,
    "The token is missing, or not this one's. `localcrag serve --show-token` prints it; send it as “Authorization: "
    "Bearer TOKEN”, or enter it as the API key.",
)


def guarded(app: ASGIApp, port: int, token: str) -> ASGIApp:
    """Return the API behind its doors."""
    inside = TokenNeeded(BoundedRequests(app), token)
    return ResponseHeaders(
        Doors(
            app=inside, port=port, is_neighbour=is_neighbour, open=OPEN, wording=in_openais_form,
            its_place="Its API is at http://127.0.0.1:{port}/v1",
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TokenNeeded:
    """Lets through who has the token."""

    app: ASGIApp
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say where the token is."""
        if scope["type"] == "http" and scope["path"] != WITHOUT_TOKEN and not bears(scope, self.token):
            await refuse(NO_TOKEN, scope, send, in_openais_form)
            return
        await self.app(scope, receive, send)


@dataclass(slots=True)
class BoundedRequests:
    """Reads a request whole, as large and as slow as it may be, and so many at once."""

    app: ASGIApp
    _under_way: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say in a sentence why not."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self._under_way >= LARGE_AT_ONCE:
            await refuse(BUSY, scope, send, in_openais_form)
            return
        self._under_way += 1
        try:
            body = IncomingBody(receive, time.monotonic, MOST_SAID)
            await hand_on_whole(body, self.app, scope, send, wording=in_openais_form)
        finally:
            self._under_way -= 1
