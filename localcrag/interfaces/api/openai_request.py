"""Errors in OpenAI's form: `{"error": {"message": …, "type": …, "param": …, "code": …}}`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Scope

from localcrag.interfaces.api.middleware import Refusal
from localcrag.interfaces.api.questions import Question
from localcrag.records.enums import Policy, Preset, Strictness
from localcrag.records.errors import (
    GenerationError,
    LocalcragError,
    ModelError,
    QuestionError,
    SettingsError,
    UnknownCollection,
)
from localcrag.records.restriction import Restriction
from localcrag.records.run import Turn

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


OF_THE_QUESTION = ("policy", "k", "web", "strictness", "time_budget", "temperature")
"""Fields of Wishes that are settings by the same name."""


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str = "text"
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation."""

    role: str
    content: str | list[Part] | None = None

    @property
    def said(self) -> str:
        """The text of it. Raises QuestionError for what is no text."""
        if not isinstance(self.content, list):
            return self.content or ""
        if other := next((part.type for part in self.content if part.type != "text"), None):
            raise QuestionError(f"A message has a part of the type “{other}”, and localcrag reads text only.")
        return "\n".join(part.text for part in self.content)


class Wishes(BaseModel):
    """What is asked for beyond OpenAI's form; as the options of `localcrag ask`. Dates are 2024-01-31, 2024-01, 2024.

    `web` can only say that nothing is to be sent: whether anything may be is for the person to set.
    """

    model_config = ConfigDict(extra="forbid")

    preset: Preset | None = None
    policy: Policy | None = None
    k: int | None = None
    web: Literal["never"] | None = None
    strictness: Strictness | None = None
    time_budget: float | None = None
    temperature: float | None = None
    documents: list[str] = []
    folders: list[str] = []
    tags: list[str] = []
    kinds: list[str] = []
    since: str | None = None
    until: str | None = None
    read_all: bool = False


class StreamOptions(BaseModel):
    """Whether the last piece of a stream says how many tokens there were."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A chat completion: the last message of the user is the question, `model` is the collection that it is put to.

    What else OpenAI's form has is taken and changes nothing; the answer's `localcrag.ignored` names it.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    localcrag: Wishes = Wishes()

    @property
    def ignored(self) -> list[str]:
        """What was given and changes nothing."""
        system = ["messages of the system"] if any(one.role in {"system", "developer"} for one in self.messages) else []
        return sorted(self.model_extra or {}) + system

    def question(self) -> Question:
        """Return what is asked. Raises QuestionError."""
        at = max((number for number, one in enumerate(self.messages) if one.role == "user"), default=None)
        if at is None:
            raise QuestionError("There is no message of the user to answer. Send one with the role “user”.")
        wishes = self.localcrag
        settings: dict[str, Any] = {name: getattr(wishes, name) for name in OF_THE_QUESTION}
        return Question(
            question=self.messages[at].said,
            collection=self.model,
            history=_turns(self.messages[:at]),
            preset=wishes.preset,
            restriction=Restriction.of(wishes.model_dump()),
            read_all=wishes.read_all,
            settings={name: value for name, value in settings.items() if value is not None},
        )


def _turns(messages: Sequence[ChatMessage]) -> tuple[Turn, ...]:
    """Return the questions that got an answer, as the page's conversations count them."""
    turns: list[Turn] = []
    asked = ""
    for one in messages:
        if one.role == "user":
            asked = one.said
        elif one.role == "assistant" and asked.strip() and one.said.strip():
            turns.append(Turn(asked, one.said))
            asked = ""
    return tuple(turns)
