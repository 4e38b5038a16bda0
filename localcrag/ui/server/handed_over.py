"""The door for later starts: files that they hand over, from whoever knows the token."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.app.one_instance import OPEN, HandedIn
from localcrag.records.errors import LocalcragError
from localcrag.server.doors.bearer import bears
from localcrag.server.doors.refusal import Refusal, refuse

UNKNOWN = Refusal(403, "Only a later start of this localcrag may hand files over: the token is another one.")
STRANGE = Refusal(400, "This is not what a later start of localcrag hands over.")
Take = Callable[[HandedIn], None]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Has `take` take what is handed in with the token, and passes everything else on."""

    app: ASGIApp
    token: str
    take: Take

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a later start with 204, or with a sentence that says what is wrong."""
        if scope["type"] != "http" or scope["path"] != OPEN:
            await self.app(scope, receive, send)
        elif refusal := await self._refusal(Request(scope, receive)):
            await refuse(refusal, scope, send)
        else:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _refusal(self, request: Request) -> Refusal | None:
        if not bears(request.scope, self.token):
            return UNKNOWN
        handed = _read(await request.body())
        if handed is None:
            return STRANGE
        try:
            await run_in_threadpool(self.take, handed)
        except LocalcragError as error:
            return Refusal(422, str(error))
        return None


def _read(body: bytes) -> HandedIn | None:
    try:
        said = json.loads(body)
        files, ends = said["files"], said["quit"]
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(ends, bool) or not isinstance(files, list) or not all(isinstance(one, str) for one in files):
        return None
    return HandedIn(tuple(files), ends)
