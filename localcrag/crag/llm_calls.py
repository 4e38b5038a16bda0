"""Calls of the language model that steps share: JSON answers, and questions in other words."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from localcrag.crag.context import Clock, Context
from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError
from localcrag.records.events import Event, Warned
from localcrag.records.protocols import Decoding, JsonSchema
from localcrag.records.run import Message
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import shorten

Record = TypeVar("Record")


def line(most: int, least: int = 1) -> JsonSchema:
    """Return the schema of a text of `least` to `most` characters.

    No quotes, escapes or line breaks in it: they are what small models lose their way in.
    """
    return {"type": "string", "pattern": rf'^[^"\\\x00-\x1f\x7f]{{{least},{most}}}$'}


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[Record]):
    """What a language model is asked for, with `system` as its task and `form` as the keys of its answer.

    The keys are written in their order. `refusal` begins what is said of an answer that does not fit: cut off, say.
    """

    system: str
    form: Mapping[str, JsonSchema]
    record: TypeAdapter[Record]
    max_tokens: int
    refusal: str

    @property
    def schema(self) -> JsonSchema:
        """The form as a JSON schema."""
        return {"type": "object", "properties": dict(self.form), "required": list(self.form)}

    @property
    def decoding(self) -> Decoding:
        """How the model is to write it."""
        return Decoding(self.max_tokens, schema=self.schema)

    def prompt(self, **material: str) -> list[Message]:
        """Return the messages that ask for it. As a JSON string, a text of the material cannot end before its end."""
        return [Message("system", self.system), Message("user", json.dumps(material, ensure_ascii=False))]

    def read(self, written: str) -> Record:
        """Return what the model wrote. Raises GenerationError when it does not fit."""
        try:
            return self.record.validate_json(written, strict=True)
        except ValidationError as error:
            raise GenerationError(f"{self.refusal}: “{shorten(written)}”.") from error


NOT_REWRITTEN = {
    Skill.FOLLOW_UPS: later("The follow-up was not rewritten"),
    Skill.OTHER_WORDS: later("The question was not put in other words"),
    Skill.QUERIES: later("The question was not rewritten for the web search"),
}


def rewritten(
    what: Skill, messages: Sequence[Message], decoding: Decoding, context: Context, clock: Clock
) -> Generator[Event, None, str]:
    """Return what the language model writes; nothing where it is not to be asked, or fails, which is said."""
    if not context.rewrites(what):
        return ""
    try:
        return clock.complete(context.parts.llm, messages, decoding)
    except GenerationError as error:
        yield Warned(f"{_(NOT_REWRITTEN[what])}: {error}")
        return ""
