"""The door for files that the page has made: each is fetched once, by whoever knows its address."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import FileResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.app.made_files import ADDRESS, MadeFiles
from localcrag.server.doors.refusal import Refusal, refuse

GONE = Refusal(404, "This file was fetched already, or localcrag has been started anew. Export it once more.")


class MadeFilesDoor:
    """Gives out files that were made, and passes everything else on."""

    def __init__(self, app: ASGIApp, files: MadeFiles) -> None:
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
