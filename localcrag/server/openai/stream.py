"""A response whose work ends when nobody waits for it any more: whole, or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localcrag.app.in_turn import Happened
from localcrag.privacy import unexpected
from localcrag.records.errors import LocalcragError
from localcrag.records.events import RunFinished
from localcrag.records.run import Run
from localcrag.server.openai.answer import last_pieces, piece, what_happens
from localcrag.server.openai.errors import body_of

DONE = b"data: [DONE]\n\n"
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]


async def unless_gone(receive: Receive, work: Callable[[], Awaitable[Run]]) -> Run:
    """Return what `work` comes to. Raises ClientDisconnect, and cancels it, when the connection is closed before."""
    done: Run | Exception = ClientDisconnect()
    async with anyio.create_task_group() as group:
        group.start_soon(_until_closed, receive, group.cancel_scope)
        try:
            done = await work()
        except Exception as error:  # noqa: BLE001 - raised below: here it would come out as one of a group
            done = error
        group.cancel_scope.cancel()
    if isinstance(done, Exception):
        raise done
    return done


async def _until_closed(receive: Receive, scope: anyio.CancelScope) -> None:
    """Wait for the other end to close the connection, and cancel what is done for it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class EventStream(Response):
    """The events of a question as pieces of a chat completion; closing the connection stops it."""

    def __init__(
        self, first: Happened | None, rest: AsyncGenerator[Happened, None], ignored: list[str], *, with_usage: bool
    ) -> None:
        """`first` has happened already, so that a question that is none gets a status of its own."""
        super().__init__()
        self._first, self._rest, self._ignored, self._with_usage = first, rest, ignored, with_usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces as they come."""
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        async with anyio.create_task_group() as group, aclosing(self._rest):
            group.start_soon(_until_closed, receive, group.cancel_scope)
            async with aclosing(self._sent()) as pieces:
                async for data in pieces:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()

    async def _sent(self) -> AsyncGenerator[bytes, None]:
        begun = False
        try:
            async for one in self._all():
                if one.run is None:
                    yield b": waiting for another answer to end\n\n"
                    continue
                if not begun:
                    begun = True
                    yield _event(piece(one.run, {"role": "assistant", "content": ""}))
                if step := what_happens(one.event):
                    yield _event({**piece(one.run, {}), "localcrag": step})
                if isinstance(one.event, RunFinished):
                    for last in last_pieces(one.event.run, self._ignored, with_usage=self._with_usage):
                        yield _event(last)
        except Exception as error:  # noqa: BLE001 - the status is sent: what went wrong is a piece of the stream
            if not isinstance(error, LocalcragError):
                unexpected.tell(error)
            yield _event(body_of(error))
        yield DONE

    async def _all(self) -> AsyncGenerator[Happened, None]:
        if self._first:
            yield self._first
        async for one in self._rest:
            yield one


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
