"""The guards between a connection and Gradio, in their order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from localcrag.app.made_files import MadeFiles
from localcrag.server.doors.access_control import Doors, addresses
from localcrag.server.doors.os_users import is_neighbour
from localcrag.server.doors.response_headers import ResponseHeaders
from localcrag.ui.server.handed_over import HandedOver, Take
from localcrag.ui.server.index_page import IndexPage
from localcrag.ui.server.made_files_door import MadeFilesDoor
from localcrag.ui.server.request_body import RequestBodies
from localcrag.ui.server.wording import in_gradios_form

OPEN = addresses(
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
    # A file that the page has made, by an address that nobody can guess, once (made_files_door.py).
    ("GET", r"/localcrag/made/[A-Za-z0-9_-]{32}"),
    # A second start hands in files: whoever knows the token (handed_over.py).
    ("POST", "/localcrag/open"),
)
"""What is open. Gradio has some seventy addresses (proxies, files, recordings, sharing, editing with an assistant, …);
each that nobody has to open is one that nobody can break."""

Inner = Callable[[ASGIApp], ASGIApp]
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def guarded(app: ASGIApp, port: int, uploads: Path, inner: Inner = IndexPage) -> ASGIApp:
    """Return the app behind its doors; `inner` stands right before it."""
    inside = RequestBodies(inner(app), uploads)
    return ResponseHeaders(Doors(app=inside, port=port, is_neighbour=is_neighbour, open=OPEN, wording=in_gradios_form))


def lifespan(port: int, uploads: Path, token: str, take: Take, made: MadeFiles) -> Lifespan:
    """Return what puts the doors up when Gradio's server starts; `take` gets what is handed in with the token.

    What the page has `made` can be fetched.

    Gradio makes its app within `launch`, and adds middleware of its own outside of any that it is given: what its
    stack is by then is put behind the doors as a whole.
    """

    @asynccontextmanager
    async def put_up(app: FastAPI) -> AsyncIterator[None]:
        if app.middleware_stack is None:
            raise RuntimeError("The server of the page started without its stack: its doors cannot be put up.")

        def inner(inside: ASGIApp) -> ASGIApp:
            return MadeFilesDoor(HandedOver(IndexPage(inside), token, take), made)

        app.middleware_stack = guarded(app.middleware_stack, port, uploads, inner)
        yield

    return put_up
