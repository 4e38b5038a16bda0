"""Refusals: a status and a plain sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Scope, Send


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status, and what a person reads. `retry_after` is in seconds: when it is worth another try."""

    status: int
    sentence: str
    retry_after: int = 0


Wording = Callable[[Refusal, Scope], tuple[str, str]]
"""How a server says it: media type and text."""


def in_plain_text(refusal: Refusal, _scope: Scope) -> tuple[str, str]:
    """Return the sentence by itself."""
    return "text/plain; charset=utf-8", refusal.sentence + "\n"


async def refuse(refusal: Refusal, scope: Scope, send: Send, wording: Wording = in_plain_text) -> None:
    """Answer with the refusal, and end the connection."""
    media_type, text = wording(refusal, scope)
    body = text.encode()
    headers = {"content-type": media_type, "content-length": str(len(body)), "connection": "close"}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
