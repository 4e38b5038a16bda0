"""The step `condense`: a follow-up becomes a question that stands alone."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from localcrag.records.enums import Skill
from localcrag.records.events import Condensed, Event, StepStarted
from localcrag.records.run import Turn
from localcrag.steps.asked import Asked
from localcrag.steps.condense import condense as follow_up
from localcrag.steps.context import Context
from localcrag.steps.rewrite import rewritten
from localcrag.steps.screen import prompt_injection
from localcrag.text.translation import gettext as _


def condense(question: str, history: Sequence[Turn], context: Context) -> Generator[Event, None, Asked]:
    """Return the question with its history; yield Condensed where there is one."""
    if not history:
        return Asked(question, question)
    history = prompt_injection.screened_turns(history, context.parts.rules)
    yield StepStarted("condense", _("reading the question with the conversation before it"))
    clock = context.clock("condense")
    standalone = follow_up.by_rule(question, history)
    if standalone is None:
        asked = follow_up.prompt(question, history)
        written = yield from rewritten(Skill.FOLLOW_UPS, asked, follow_up.DECODING, context, clock)
        standalone = follow_up.accept(written, question, history)
    yield Condensed(standalone, clock.cost())
    return Asked(question, standalone, history)
