"""Refusals as Gradio’s script reads them, where it is what asked."""

from __future__ import annotations

import json

from starlette.types import Scope

from localcrag.server.doors.refusal import Refusal, in_plain_text

API = "/gradio_api/"


def in_gradios_form(refusal: Refusal, scope: Scope) -> tuple[str, str]:
    """Return a refusal’s media type and text."""
    if scope["path"].startswith(API):
        return "application/json", json.dumps({"detail": refusal.sentence})
    return in_plain_text(refusal, scope)
