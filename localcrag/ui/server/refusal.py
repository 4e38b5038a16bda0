"""Refusals: a status and a plain sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

API = "/gradio_api/"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status, and what a person reads. `retry_after` is in seconds: when it is worth another try."""

    status: int
    sentence: str
    retry_after: int = 0


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a sentence; to Gradio's script as it reads them."""
    if scope["path"].startswith(API):
        media_type, text = "application/json", json.dumps({"detail": refusal.sentence})
    else:
        media_type, text = "text/plain; charset=utf-8", refusal.sentence + "\n"
    body = text.encode()
    headers = {"content-type": media_type, "content-length": str(len(body)), "connection": "close"}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
