"""The guards between a connection and Gradio, in their order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from localcrag.ui.server.access_control import Doors
from localcrag.ui.server.index_page import IndexPage
from localcrag.ui.server.os_users import is_neighbour
from localcrag.ui.server.request_body import RequestBodies
from localcrag.ui.server.response_headers import ResponseHeaders

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def guarded(app: ASGIApp, port: int, uploads: Path) -> ASGIApp:
    """Return the app behind its doors."""
    return ResponseHeaders(Doors(RequestBodies(IndexPage(app), uploads), port, is_neighbour))


def lifespan(port: int, uploads: Path) -> Lifespan:
    """Return what puts the doors up when Gradio's server starts.

    Gradio makes its app within `launch`, and adds middleware of its own outside of any that it is given: what its
    stack is by then is put behind the doors as a whole.
    """

    @asynccontextmanager
    async def put_up(app: FastAPI) -> AsyncIterator[None]:
        if app.middleware_stack is None:
            raise RuntimeError("The server of the page started without its stack: its doors cannot be put up.")
        app.middleware_stack = guarded(app.middleware_stack, port, uploads)
        yield

    return put_up
