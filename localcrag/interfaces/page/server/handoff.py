"""Files that enter and leave the app outside Gradio: from later starts, and for download.

`HandoffRoute` accepts files that a later start of localcrag hands over; that start must know the token. `DownloadRoute`
serves exported files, each once. `Presence` opens the app's window and keeps the process alive until its end.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.app.desktop.one_instance import OPEN_PATH, HandOver
from localcrag.app.desktop.window import PageWindow
from localcrag.interfaces.api.middleware import Refusal, has_token, refuse
from localcrag.interfaces.page.handlers import ADDRESS, DownloadFiles
from localcrag.interfaces.page.page import App
from localcrag.records.errors import LocalcragError

WRONG_TOKEN = Refusal(403, "Only a later start of this localcrag may hand files over: the token is another one.")
MALFORMED = Refusal(400, "This is not what a later start of localcrag hands over.")
HANDED = TypeAdapter(HandOver)
HandleHandOver = Callable[[HandOver], None]


@dataclass(frozen=True, slots=True)
class HandoffRoute:
    """Middleware that gives a later start's files to `handle`, if it has the token, and passes on other requests."""

    app: ASGIApp
    token: str
    handle: HandleHandOver

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a later start with 204, or with the reason why its request is refused."""
        if scope["type"] != "http" or scope["path"] != OPEN_PATH:
            await self.app(scope, receive, send)
        elif refusal := await self._refusal(Request(scope, receive)):
            await refuse(refusal, scope, send)
        else:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _refusal(self, request: Request) -> Refusal | None:
        if not has_token(request.scope, self.token):
            return WRONG_TOKEN
        try:
            await run_in_threadpool(self.handle, HANDED.validate_json(await request.body(), strict=True))
        except ValidationError:
            return MALFORMED
        except LocalcragError as error:
            return Refusal(422, str(error))
        return None


GONE = Refusal(404, "This file was fetched already, or localcrag has been started anew. Export it once more.")


class DownloadRoute:
    """Middleware that serves files made for download, and passes on other requests."""

    def __init__(self, app: ASGIApp, files: DownloadFiles) -> None:
        self._app, self._files = app, files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file as a download, and remove it."""
        if scope["type"] != "http" or not scope["path"].startswith(ADDRESS):
            await self._app(scope, receive, send)
            return
        path = self._files.claim(scope["path"].removeprefix(ADDRESS))
        if path is None:
            await refuse(GONE, scope, send)
            return
        headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(path.name, safe='')}"}
        try:
            await FileResponse(path, media_type="application/octet-stream", headers=headers)(scope, receive, send)
        finally:
            self._files.discard(path)


CHECK_INTERVAL = 0.2
"""Seconds between two checks of whether the window is still open."""


class Presence:
    """The running app as the user sees it: its window, the files handed over to it, and its end."""

    def __init__(self, app: App, window: PageWindow, collection: str) -> None:
        """Create it; files that arrive before the user has opened a collection are added to `collection`."""
        self._app, self._window, self._collection = app, window, collection
        self._ends = threading.Event()

    def begin(self, handed: HandOver, *, shows: bool) -> None:
        """Add the files given to this start, and open the page if `shows` is set."""
        try:
            self.add(handed)
        except LocalcragError as error:
            print(f"localcrag: {error}", file=sys.stderr, flush=True)  # noqa: T201
        if shows:
            self._window.show()

    def handle(self, handed: HandOver) -> None:
        """Handle the request of a later start: quit, or add files and show the page. Raises UnreadableDocument."""
        if handed.quit:
            self._ends.set()
            return
        try:
            self.add(handed)
        finally:
            self._window.show()

    def add(self, handed: HandOver) -> None:
        """Add the files to the collection that is shown. Raises UnreadableDocument."""
        self._app.documents.add_originals([Path(name) for name in handed.files], self._collection)

    def wait(self) -> None:
        """Wait until the app is interrupted or asked to quit, or its window is closed and no work is left."""
        try:
            while not self._ends.wait(CHECK_INTERVAL):
                if self._window.closed and not self._app.busy:
                    return
        except KeyboardInterrupt:
            return
