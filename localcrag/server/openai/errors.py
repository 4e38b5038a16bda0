"""Errors in OpenAI's form: `{"error": {"message": …, "type": …, "param": …, "code": …}}`."""

from __future__ import annotations

import json
from typing import Any

from starlette.types import Scope

from localcrag.records.errors import (
    GenerationError,
    LocalcragError,
    ModelError,
    QuestionError,
    SettingsError,
    UnknownCollection,
)
from localcrag.server.doors.refusal import Refusal

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, UNPROCESSABLE, FAULT, UNAVAILABLE = 401, 403, 404, 422, 500, 503
STATUS: dict[type[LocalcragError], int] = {
    UnknownCollection: NOT_FOUND,
    QuestionError: UNPROCESSABLE,
    SettingsError: UNPROCESSABLE,
    ModelError: UNAVAILABLE,
    GenerationError: UNAVAILABLE,
}
"""What an error of the app comes to; others are a fault of the server's."""
CODES = {
    UNAUTHORIZED: "invalid_api_key",
    FORBIDDEN: "forbidden",
    NOT_FOUND: "not_found",
    UNPROCESSABLE: "invalid_request",
    UNAVAILABLE: "unavailable",
}
UNEXPECTED = "This question ended in an error; the terminal that localcrag serve runs in shows which."


def error_body(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Return the body of an error, as OpenAI's clients read it."""
    kind = "server_error" if status >= FAULT else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code or CODES.get(status)}}


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), FAULT)


def body_of(error: Exception) -> dict[str, Any]:
    """Return the body of an error; one that is nobody's on purpose says nothing of the inside."""
    message = str(error) if isinstance(error, LocalcragError) else UNEXPECTED
    unknown = isinstance(error, UnknownCollection)
    code = "model_not_found" if unknown else None
    return error_body(message, status_of(error), param="model" if unknown else None, code=code)


def in_openais_form(refusal: Refusal, _scope: Scope) -> tuple[str, str]:
    """Return a refusal's media type and text."""
    return "application/json", json.dumps(error_body(refusal.sentence, refusal.status), ensure_ascii=False)
