"""`localcrag serve`: the server of the OpenAI-compatible API, its token, and its access checks.

The token is created once and stored in a file that only this user can read. Every request needs it, except for the
OpenAPI document.
"""

from __future__ import annotations

import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from localcrag.app.assembly import Assembly, warm_up_in_background
from localcrag.app.background import FolderWatcher, create_secure_deletion, create_uploads, resume_unfinished
from localcrag.app.collections.open_collections import ReindexingTasks
from localcrag.app.models.lifecycle import IdleModelUnloader
from localcrag.interfaces.api import middleware
from localcrag.interfaces.api.openai_api import create_api
from localcrag.interfaces.api.openai_request import UNAUTHORIZED, openai_refusal
from localcrag.interfaces.api.questions import Questions
from localcrag.privacy import log_file, process
from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import SettingsError
from localcrag.settings import Settings

FILE_NAME = "api-token"
"""Name of the token's file in the data folder; private_folder.py lists it, too."""
TOKEN_BYTES = 32
"""Random bytes in a token."""


def load_token(data_dir: Path, *, new: bool = False) -> str:
    """Return the token of a data folder; create it if there is none, or if `new` is set. Raises SettingsError."""
    path = data_dir / FILE_NAME
    try:
        if not new and path.is_file() and (token := path.read_text("ascii").strip()):
            return token
        token = f"localcrag-{secrets.token_urlsafe(TOKEN_BYTES)}"
        write_private(path, token + "\n")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The token {path} cannot be read or written: {error}. Remove the file, and localcrag makes a new token."
        ) from error
    return token


OPEN = middleware.addresses(
    ("GET", "/openapi.json"),
    ("GET", "/v1/models"),
    # A collection may have any name, which arrives percent-encoded.
    ("GET", r"/v1/models/[A-Za-z0-9%._~!$&'()*+,;=:@/-]+"),
    ("POST", "/v1/chat/completions"),
)
PUBLIC_PATH = "/openapi.json"
NO_TOKEN = middleware.Refusal(
    UNAUTHORIZED,
    "The token is missing or wrong. `localcrag serve --show-token` prints it. Send it as “Authorization: "
    "Bearer TOKEN”, or enter it as the API key.",
)


def with_access_checks(app: ASGIApp, port: int, token: str) -> ASGIApp:
    """Return the API behind its access checks."""
    inside, location = RequireToken(BoundedRequests(app), token), "Its API is at http://127.0.0.1:{port}/v1"
    return middleware.ResponseHeaders(
        middleware.AccessChecks(app=inside, port=port, open=OPEN, wording=openai_refusal, location_text=location)
    )


@dataclass(frozen=True, slots=True)
class RequireToken:
    """Middleware that passes on requests that have the token."""

    app: ASGIApp
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with how to get the token."""
        if scope["type"] == "http" and scope["path"] != PUBLIC_PATH and not middleware.has_token(scope, self.token):
            await middleware.refuse(NO_TOKEN, scope, send, openai_refusal)
            return
        await self.app(scope, receive, send)


@dataclass(slots=True)
class BoundedRequests:
    """Middleware that reads whole POST requests, within limits on size, time, and number of requests at once."""

    app: ASGIApp
    _in_progress: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason why it is refused."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self._in_progress >= middleware.MAX_LARGE_REQUESTS:
            await middleware.refuse(middleware.BUSY, scope, send, openai_refusal)
            return
        self._in_progress += 1
        try:
            body = middleware.IncomingBody(receive, time.monotonic, middleware.MAX_BODY)
            await middleware.forward_buffered(body, self.app, scope, send, wording=openai_refusal)
        finally:
            self._in_progress -= 1


SHUTDOWN_SECONDS = 5
"""Seconds that answers in progress get to finish when the server is stopped."""


def launch(settings: Settings, *, port: int, only: str | None) -> None:
    """Serve until interrupted. Raises SettingsError if the port is taken, and UnknownCollection."""
    if not settings.debug:
        process.hide_error_messages()
    middleware.require_free(port)
    token = load_token(settings.data_dir)
    assembly = Assembly(settings)
    with ExitStack() as cleanup:
        cleanup.callback(assembly.close)
        questions = Questions(assembly, only)
        watcher = FolderWatcher(assembly.folders)
        files = create_uploads(assembly, watcher, lambda: questions.busy)
        overwriting = create_secure_deletion(assembly, files, lambda: questions.busy)
        embeddings = ReindexingTasks(assembly.collections.reindex)
        idle = IdleModelUnloader(assembly.models, assembly.current_settings)
        for worker in (overwriting, embeddings, files, idle, watcher):
            cleanup.callback(worker.close)
        server = uvicorn.Server(
            uvicorn.Config(
                # openai_api.py reports unexpected errors; uvicorn's log would show text of documents with them.
                with_access_checks(create_api(questions), port, token), host=middleware.HOST, port=port,
                ws="none", lifespan="off", log_level="critical", access_log=False, server_header=False,
                proxy_headers=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )  # fmt: skip
        how = "`localcrag serve --show-token` prints the token, which is the API key."
        address = f"http://{middleware.HOST}:{port}/v1"
        print(f"localcrag serves {address} (Ctrl-C stops it). {how}", file=sys.stderr, flush=True)  # noqa: T201
        warm_up_in_background(assembly)
        idle.begin()
        resume_unfinished(assembly, files, embeddings)
        watcher.begin_watching(files.sync_folder)
        overwriting.begin()
        with log_file.logged("the API"):
            server.run()
