"""`localcrag serve`: the server of the OpenAI-compatible API, its token, and its access checks.

The token is made once and kept in a file that only this user can read. Each request needs it, except for the OpenAPI
document.
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

from localcrag.app.assembly import Assembly, warm_up_beside
from localcrag.app.background import FolderKeeper, files_in_background, go_on, overwriting_beside
from localcrag.app.collections.open_collections import ReEmbeddings
from localcrag.app.models.lifecycle import IdleModels
from localcrag.interfaces.api.middleware import (
    BUSY,
    HOST,
    LARGE_AT_ONCE,
    MOST_SAID,
    Doors,
    IncomingBody,
    Refusal,
    ResponseHeaders,
    addresses,
    bears,
    hand_on_whole,
    is_neighbour,
    refuse,
    require_free,
)
from localcrag.interfaces.api.openai_api import api
from localcrag.interfaces.api.openai_request import UNAUTHORIZED, in_openais_form
from localcrag.interfaces.api.questions import Questions
from localcrag.privacy import log_file, process
from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import SettingsError
from localcrag.settings import Settings

FILE_NAME = "api-token"
"""Name of the token's file in the data folder; private_folder.py knows it, too."""
BYTES = 32
"""Random bytes in a token."""


def token_of(data_dir: Path, *, new: bool = False) -> str:
    """Return the token of a data folder; make one if there is none, or a `new` one on demand. Raises SettingsError."""
    path = data_dir / FILE_NAME
    try:
        if not new and path.is_file() and (token := path.read_text("ascii").strip()):
            return token
        token = f"localcrag-{secrets.token_urlsafe(BYTES)}"
        write_private(path, token + "\n")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The token {path} cannot be read or written: {error}. Remove that file, and one is made anew."
        ) from error
    return token


OPEN = addresses(
    ("GET", "/openapi.json"),
    ("GET", "/v1/models"),
    # A collection may have any name, which arrives percent-encoded.
    ("GET", r"/v1/models/[A-Za-z0-9%._~!$&'()*+,;=:@/-]+"),
    ("POST", "/v1/chat/completions"),
)
WITHOUT_TOKEN = "/openapi.json"  # noqa: S105 - no password; it describes the API, and contains no personal data
NO_TOKEN = Refusal(
    UNAUTHORIZED,
    "The token is missing, or not this one's. `localcrag serve --show-token` prints it; send it as “Authorization: "
    "Bearer TOKEN”, or enter it as the API key.",
)


def guarded(app: ASGIApp, port: int, token: str) -> ASGIApp:
    """Return the API behind its access checks."""
    inside = TokenNeeded(BoundedRequests(app), token)
    return ResponseHeaders(
        Doors(
            app=inside, port=port, is_neighbour=is_neighbour, open=OPEN, wording=in_openais_form,
            its_place="Its API is at http://127.0.0.1:{port}/v1",
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TokenNeeded:
    """Middleware that passes on requests that have the token."""

    app: ASGIApp
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer how to get the token."""
        if scope["type"] == "http" and scope["path"] != WITHOUT_TOKEN and not bears(scope, self.token):
            await refuse(NO_TOKEN, scope, send, in_openais_form)
            return
        await self.app(scope, receive, send)


@dataclass(slots=True)
class BoundedRequests:
    """Middleware that reads a POST request whole, within limits on size, time, and the number of requests at once."""

    app: ASGIApp
    _under_way: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason why it is refused."""
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


SECONDS_TO_END = 5
"""Seconds that answers in progress have to finish when the server is stopped."""


def launch(settings: Settings, *, port: int, only: str | None) -> None:
    """Serve until interrupted. Raises SettingsError if the port is taken, and UnknownCollection."""
    if not settings.debug:
        process.keep_to_oneself()
    require_free(port)
    token = token_of(settings.data_dir)
    assembly = Assembly(settings)
    with ExitStack() as at_the_end:
        at_the_end.callback(assembly.close)
        questions = Questions(assembly, only)
        keeper = FolderKeeper(assembly.folders)
        files = files_in_background(assembly, keeper, lambda: questions.busy)
        overwriting = overwriting_beside(assembly, files, lambda: questions.busy)
        embeddings = ReEmbeddings(assembly.collections.re_embed)
        idle = IdleModels(assembly.models, assembly.settings_in_use)
        for beside in (overwriting, embeddings, files, idle, keeper):
            at_the_end.callback(beside.close)
        server = uvicorn.Server(
            uvicorn.Config(
                # openai_api.py reports unexpected errors; uvicorn's log would show text of documents with them.
                guarded(api(questions), port, token), host=HOST, port=port, ws="none", lifespan="off",
                log_level="critical", access_log=False, server_header=False, proxy_headers=False,
                timeout_graceful_shutdown=SECONDS_TO_END,
            )
        )  # fmt: skip
        print(  # noqa: T201
            f"localcrag serves http://{HOST}:{port}/v1 (Ctrl-C stops it). `localcrag serve --show-token` prints the "
            "token, which is the API key.",
            file=sys.stderr,
            flush=True,
        )
        warm_up_beside(assembly)
        idle.begin()
        go_on(assembly, files, embeddings)
        keeper.begin(files.follow_folder)
        overwriting.begin()
        with log_file.logged("the API"):
            server.run()
