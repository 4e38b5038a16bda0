"""The OpenAI-compatible API: collections as models, chat completions, and the OpenAPI document.

The docstrings of the endpoints and of their records become descriptions in that document.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp
from typing_extensions import TypedDict

from localcrag import __version__
from localcrag.interfaces.api import openai_request
from localcrag.interfaces.api.completions import Completion, EventStream, Piece, cancel_on_disconnect, completion
from localcrag.interfaces.api.questions import Questions
from localcrag.privacy import process
from localcrag.records.errors import LocalcragError

# TypedDict comes from typing_extensions, because pydantic makes schemas from these classes, and before Python 3.12 it
# rejects typing's own.


OWNER = "localcrag"


class Model(TypedDict):
    """A collection, presented as a model that answers from it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(TypedDict):
    """All collections that can be queried."""

    object: Literal["list"]
    data: list[Model]


class ErrorText(TypedDict):
    """The message of an error, with its type, its code, and the parameter that it is about."""

    message: str
    type: str
    param: str | None
    code: str | None


class Failure(TypedDict):
    """An error."""

    error: ErrorText


FAILURES: dict[int | str, dict[str, Any]] = {
    openai_request.UNAUTHORIZED: {"model": Failure, "description": "no token, or another one"},
    openai_request.FORBIDDEN: {"model": Failure, "description": "another site, host or user"},
    openai_request.NOT_FOUND: {"model": Failure, "description": "no collection of that name"},
    openai_request.UNPROCESSABLE: {"model": Failure, "description": "the request is not one"},
    openai_request.UNAVAILABLE: {"model": Failure, "description": "a model is missing, or there is too much to do"},
}
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Completion,
        "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Piece"}}},
        "description": "the answer; with `stream`, pieces of it as server-sent events",
    }
}


def create_api(questions: Questions) -> ASGIApp:
    """Return the API without access checks; the token of each request has been checked before."""
    app = FastAPI(
        title="localcrag",
        version=__version__,
        summary="Answers from your own documents, with the retrieval checked first.",
        openapi_url="/openapi.json",
        # FastAPI's documentation pages load scripts from another host.
        docs_url=None,
        redoc_url=None,
        responses=FAILURES,
        dependencies=[Depends(HTTPBearer(auto_error=False, description="`localcrag serve --show-token` prints it"))],
    )
    _add_errors(app)

    @app.get("/v1/models")
    def list_models() -> Models:
        """List the collections; each is presented as a model."""
        return {"object": "list", "data": [_model(name) for name in questions.collections()]}

    @app.get("/v1/models/{name:path}")
    def get_model(name: str) -> Model:
        """Return one collection."""
        return _model(questions.require(name))

    @app.post("/v1/chat/completions", response_model=None, responses=STREAMED)
    async def chat(body: openai_request.ChatRequest, request: Request) -> Response:
        """Answer the user's last message from a collection's documents."""
        asked = body.question()
        questions.require(asked.collection)  # An unknown collection gets a 404 before a stream begins.
        if not body.stream:
            run = await cancel_on_disconnect(request.receive, lambda: questions.answer(asked))
            return JSONResponse(completion(run, body.ignored))
        happened = questions.ask(asked)
        first = await anext(happened, None)
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return EventStream(first, happened, body.ignored, with_usage=with_usage)

    _add_stream_schema(app)
    return app


def _model(name: str) -> Model:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(LocalcragError)
    async def handle_localcrag_error(_request: Request, error: Exception) -> Response:
        return JSONResponse(openai_request.exception_body(error), openai_request.http_status(error))

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_request(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        text = f"{where}: {first['msg']}" if where else str(first["msg"])
        body = openai_request.error_body(text, openai_request.UNPROCESSABLE, param=where or None)
        return JSONResponse(body, openai_request.UNPROCESSABLE)

    @app.exception_handler(HTTPException)
    async def handle_http_error(_request: Request, error: HTTPException) -> Response:
        return JSONResponse(openai_request.error_body(str(error.detail), error.status_code), error.status_code)

    @app.exception_handler(Exception)
    async def handle_unexpected_error(_request: Request, error: Exception) -> Response:
        process.print_error(error)
        return JSONResponse(openai_request.exception_body(error), openai_request.SERVER_ERROR)


def _add_stream_schema(app: FastAPI) -> None:
    """Add the schema of a stream's pieces to the OpenAPI document, because FastAPI only knows whole answers."""
    made = app.openapi()
    piece = TypeAdapter(Piece).json_schema(ref_template="#/components/schemas/{model}")
    made["components"]["schemas"] |= piece.pop("$defs", {}) | {"Piece": piece}
