"""Requests and errors in OpenAI's format, and how they map to localcrag's questions and errors.

The body of an error is `{"error": {"message": …, "type": …, "param": …, "code": …}}`. A request is a chat completion
(`ChatRequest`), with localcrag's own options in its field `localcrag` (`AnswerOptions`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Scope

from localcrag.interfaces.api.middleware import Refusal
from localcrag.interfaces.api.questions import ApiQuestion, DocumentFilter
from localcrag.records import errors
from localcrag.records.enums import Policy, Preset, Strictness
from localcrag.records.restriction import Restriction
from localcrag.records.run import Turn

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, UNPROCESSABLE, SERVER_ERROR, UNAVAILABLE = 401, 403, 404, 422, 500, 503
STATUS: dict[type[errors.LocalcragError], int] = {
    errors.UnknownCollection: NOT_FOUND,
    **dict.fromkeys((errors.QuestionError, errors.SettingsError), UNPROCESSABLE),
    **dict.fromkeys((errors.ModelError, errors.GenerationError), UNAVAILABLE),
}
"""HTTP statuses of the app's errors; any other error is the server's fault (500)."""
CODES = {UNAUTHORIZED: "invalid_api_key", FORBIDDEN: "forbidden", NOT_FOUND: "not_found"}
CODES |= {UNPROCESSABLE: "invalid_request", UNAVAILABLE: "unavailable"}
UNEXPECTED = "An unexpected error ended this question. The terminal that runs `localcrag serve` shows which one."


def error_body(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Return the body of an error in the format that OpenAI's clients read."""
    kind = "server_error" if status >= SERVER_ERROR else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code or CODES.get(status)}}


def http_status(error: Exception) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), SERVER_ERROR)


def exception_body(error: Exception) -> dict[str, Any]:
    """Return the body of an error; for an unexpected error, the message does not reveal its text."""
    message = str(error) if isinstance(error, errors.LocalcragError) else UNEXPECTED
    unknown = isinstance(error, errors.UnknownCollection)
    code = "model_not_found" if unknown else None
    return error_body(message, http_status(error), param="model" if unknown else None, code=code)


def openai_refusal(refusal: Refusal, _scope: Scope) -> tuple[str, str]:
    """Return a refusal's media type and text, in OpenAI's format."""
    return "application/json", json.dumps(error_body(refusal.sentence, refusal.status), ensure_ascii=False)


SETTING_FIELDS = {"policy", "k", "web", "strictness", "time_budget", "temperature"}
"""Fields of `AnswerOptions` that are settings of the same name."""


class Part(BaseModel):
    """A part of a message; only parts of the type “text” are accepted."""

    type: str = "text"
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation."""

    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The message's text. Raises QuestionError if a part of it is not text."""
        if not isinstance(self.content, list):
            return self.content or ""
        if other := next((part.type for part in self.content if part.type != "text"), None):
            raise errors.QuestionError(f"A message has a part of the type “{other}”, but localcrag reads only text.")
        return "\n".join(part.text for part in self.content)


class AnswerOptions(DocumentFilter):
    """Options beyond OpenAI's format, like those of `localcrag ask`. Dates are 2024-01-31, 2024-01 or 2024.

    `web` can only forbid web queries; only the user can allow them.
    """

    preset: Preset | None = None
    policy: Policy | None = None
    k: int | None = None
    web: Literal["never"] | None = None
    strictness: Strictness | None = None
    time_budget: float | None = None
    temperature: float | None = None
    read_all: bool = False


class StreamOptions(BaseModel):
    """Options of a stream; with `include_usage`, its last piece has the token counts."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A chat completion: the user's last message is the question, and `model` is the collection to answer from.

    Other fields of OpenAI's format are accepted and ignored; the answer's `localcrag.ignored` names them.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    localcrag: AnswerOptions = AnswerOptions()

    @property
    def ignored(self) -> list[str]:
        """Names of the parts of the request that have no effect."""
        system = ["messages of the system"] if any(one.role in {"system", "developer"} for one in self.messages) else []
        return sorted(self.model_extra or {}) + system

    def question(self) -> ApiQuestion:
        """Return the question that the request asks. Raises QuestionError."""
        at = max((number for number, one in enumerate(self.messages) if one.role == "user"), default=None)
        if at is None:
            raise errors.QuestionError("The request has no user message. Send a message with the role “user”.")
        wishes = self.localcrag
        return ApiQuestion(
            question=self.messages[at].text,
            collection=self.model,
            history=_turns(self.messages[:at]),
            preset=wishes.preset,
            restriction=Restriction.of(wishes.model_dump()),
            read_all=wishes.read_all,
            settings=wishes.model_dump(include=SETTING_FIELDS, exclude_none=True),
        )


def _turns(messages: Sequence[ChatMessage]) -> tuple[Turn, ...]:
    """Return the turns before the question: each question with an answer, as in the app's chats."""
    turns: list[Turn] = []
    asked = ""
    for one in messages:
        if one.role == "user":
            asked = one.text
        elif one.role == "assistant" and asked.strip() and one.text.strip():
            turns.append(Turn(asked, one.text))
            asked = ""
    return tuple(turns)
