"""Questions put in other words by the language model, where it can; what a failure comes to."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError
from localcrag.records.events import Event, Warned
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.steps.clock import Clock
from localcrag.steps.context import Context
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later

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
