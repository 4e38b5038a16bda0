"""Answers in the format of OpenAI's chat completions, whole or streamed in pieces.

Beyond OpenAI's format they contain citations (`citations`) and how the answer was found (`localcrag`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Literal, NotRequired

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict

from localcrag.app.chats import AnswerProgress
from localcrag.interfaces.api.openai_request import exception_body
from localcrag.privacy import process
from localcrag.records.errors import LocalcragError
from localcrag.records.events import AnswerPiece, Event, RunFinished, StepStarted
from localcrag.records.run import Run
from localcrag.runs.for_programs import Citation, Details, citations, details
from localcrag.runs.recording import totals

# TypedDict comes from typing_extensions, because pydantic makes schemas from these classes, and before Python 3.12 it
# rejects typing's own.


class AnswerDetails(Details):
    """How the answer was found; `ignored` names parts of the request that localcrag does not support."""

    ignored: list[str]


class Answer(TypedDict):
    """A message of the assistant."""

    role: Literal["assistant"]
    content: str


class Choice(TypedDict):
    """The only answer of a completion."""

    index: int
    message: Answer
    finish_reason: Literal["stop"]
    logprobs: None


class Usage(TypedDict):
    """Tokens that the language model read and wrote in all steps."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(TypedDict):
    """An answer. `citations` are the sources of [1], [2], … in its text."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    citations: list[Citation]
    localcrag: AnswerDetails


class Delta(TypedDict, total=False):
    """The text that a piece adds to the message."""

    role: str
    content: str


class PieceChoice(TypedDict):
    """The part of a piece that belongs to the only answer."""

    index: int
    delta: Delta
    finish_reason: str | None
    logprobs: None


class Step(TypedDict, total=False):
    """Progress before the answer: a step that began, or a piece of the draft, which is not verified yet."""

    step: str
    detail: str
    draft: str


class Piece(TypedDict):
    """A piece of a stream."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[PieceChoice]
    usage: NotRequired[Usage | None]
    citations: NotRequired[list[Citation]]
    localcrag: NotRequired[AnswerDetails | Step]


def completion(run: Run, ignored: list[str]) -> Completion:
    """Return a finished run as a chat completion."""
    message: Answer = {"role": "assistant", "content": run.answer}
    return {
        "id": _id(run),
        "object": "chat.completion",
        "created": _created(run),
        "model": run.collection,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage(run),
        "citations": citations(run),
        "localcrag": answer_details(run, ignored),
    }


def piece(run: Run, delta: Delta, finish_reason: str | None = None) -> Piece:
    """Return a piece of a stream."""
    return {
        "id": _id(run),
        "object": "chat.completion.chunk",
        "created": _created(run),
        "model": run.collection,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}],
    }


def progress_step(event: Event) -> Step | None:
    """Return the progress that an event reports, for programs that display it; None for other events."""
    match event:
        case StepStarted(name, detail):
            return {"step": name, "detail": detail}
        case AnswerPiece(text):
            return {"draft": text}
    return None


def last_pieces(run: Run, ignored: list[str], *, with_usage: bool) -> list[Piece]:
    """Return the last pieces of the stream of a finished run: the answer, its citations, and its token counts."""
    last = piece(run, {}, "stop")
    last["citations"], last["localcrag"] = citations(run), answer_details(run, ignored)
    pieces = [piece(run, {"content": run.answer}), last]
    if with_usage:
        # OpenAI's format has the token counts in a last piece without choices.
        counted = piece(run, {})
        counted["choices"], counted["usage"] = [], usage(run)
        pieces.append(counted)
    return pieces


def answer_details(run: Run, ignored: list[str]) -> AnswerDetails:
    """Return how the answer of a run was found, and which parts of the request were ignored."""
    return {**details(run), "ignored": ignored}


def usage(run: Run) -> Usage:
    """Return the tokens that the language model read and wrote."""
    sums = totals(run)
    read, written = sums.prompt_tokens, sums.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _id(run: Run) -> str:
    return f"chatcmpl-{run.run_id}"


def _created(run: Run) -> int:
    return int(datetime.fromisoformat(run.created_at).timestamp())


DONE = b"data: [DONE]\n\n"
AllProgress = AsyncGenerator[AnswerProgress, None]
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]


async def cancel_on_disconnect(receive: Receive, work: Callable[[], Awaitable[Run]]) -> Run:
    """Return the result of `work`; if the client disconnects first, cancel it and raise ClientDisconnect."""
    done: Run | Exception = ClientDisconnect()
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_disconnected, receive, group.cancel_scope)
        try:
            done = await work()
        except Exception as error:  # noqa: BLE001 - raised below: raised here, it would be wrapped in an ExceptionGroup
            done = error
        group.cancel_scope.cancel()
    if isinstance(done, Exception):
        raise done
    return done


async def _cancel_when_disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    """Wait until the client closes the connection, and then cancel the work for it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class EventStream(Response):
    """A response that streams the events of a question; it stops the question if the client disconnects."""

    def __init__(
        self, first: AnswerProgress | None, rest: AllProgress, ignored: list[str], *, with_usage: bool
    ) -> None:
        """Prepare the response to a question whose `first` event has already been awaited.

        An error before that event therefore gets its own HTTP status.
        """
        super().__init__()
        self._first, self._rest, self._ignored, self._with_usage = first, rest, ignored, with_usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces as soon as they arrive."""
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        async with anyio.create_task_group() as group, aclosing(self._rest):
            group.start_soon(_cancel_when_disconnected, receive, group.cancel_scope)
            async with aclosing(self._encoded_pieces()) as pieces:
                async for data in pieces:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()

    async def _encoded_pieces(self) -> AsyncGenerator[bytes, None]:
        begun = False
        try:
            async for one in self._progress():
                # Until the model is free, comment lines keep the connection open.
                if one.run is None:
                    yield b": waiting for another answer to end\n\n"
                    continue
                if not begun:
                    begun = True
                    yield _event(piece(one.run, {"role": "assistant", "content": ""}))
                if step := progress_step(one.event):
                    yield _event({**piece(one.run, {}), "localcrag": step})
                if isinstance(one.event, RunFinished):
                    for last in last_pieces(one.event.run, self._ignored, with_usage=self._with_usage):
                        yield _event(last)
        except Exception as error:  # noqa: BLE001 - the status has been sent already, so the error becomes a piece of the stream
            if not isinstance(error, LocalcragError):
                process.print_error(error)
            yield _event(exception_body(error))
        yield DONE

    async def _progress(self) -> AllProgress:
        if self._first:
            yield self._first
        async for one in self._rest:
            yield one


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
