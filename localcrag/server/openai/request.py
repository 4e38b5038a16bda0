"""Requests of chat completions: what is read of them, and the question that they ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from localcrag.records.enums import Policy, Preset, Strictness
from localcrag.records.errors import QuestionError
from localcrag.records.restriction import Restriction
from localcrag.records.run import Turn
from localcrag.server.questions import Question

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
