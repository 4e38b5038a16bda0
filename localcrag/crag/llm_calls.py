"""Calls of the language model that several steps share: JSON answers, and rephrased questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from localcrag.crag.context import Clock, Context, Flow
from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError
from localcrag.records.events import Warned
from localcrag.records.protocols import Decoding, JsonSchema
from localcrag.records.run import Message
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop
from localcrag.text.words import shorten

Record = TypeVar("Record")


def line_schema(most: int, least: int = 1) -> JsonSchema:
    """Return the schema of a text of `least` to `most` characters.

    It forbids quotes, escapes and line breaks, which confuse small models.
    """
    return {"type": "string", "pattern": rf'^[^"\\\x00-\x1f\x7f]{{{least},{most}}}$'}


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[Record]):
    """A JSON answer of a language model: `system` describes the task, `form` has the keys of the answer.

    The model writes the keys in their order. `refusal` begins the error message if the answer does not fit, for
    instance because it was cut off.
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
        """Decoding settings for the answer."""
        return Decoding(self.max_tokens, schema=self.schema)

    def prompt(self, **material: str) -> list[Message]:
        """Return the messages that ask for the answer; as JSON strings, the texts in them cannot end early."""
        return [Message("system", self.system), Message("user", json.dumps(material, ensure_ascii=False))]

    def read(self, written: str) -> Record:
        """Return the model's answer as a record. Raises GenerationError if it does not fit."""
        try:
            return self.record.validate_json(written, strict=True)
        except ValidationError as error:
            raise GenerationError(f"{self.refusal}: “{shorten(written)}”.") from error


NOT_REWRITTEN = {
    Skill.FOLLOW_UPS: gettext_noop("The follow-up was not rewritten"),
    Skill.OTHER_WORDS: gettext_noop("The question was not rephrased"),
    Skill.QUERIES: gettext_noop("The question was not rewritten for the web search"),
}


def rewrite_with_llm(
    what: Skill, messages: Sequence[Message], decoding: Decoding, context: Context, clock: Clock
) -> Flow[str]:
    """Return the language model's text; "" if it must not be asked, or fails (then warn)."""
    if not context.rewrites(what):
        return ""
    try:
        return clock.complete(context.parts.llm, messages, decoding)
    except GenerationError as error:
        yield Warned(f"{_(NOT_REWRITTEN[what])}: {error}")
        return ""
