"""The step `condense`: a follow-up becomes a question that stands alone."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from localcrag.records.enums import Skill
from localcrag.records.events import Condensed, Event, StepStarted
from localcrag.records.run import Reading, Turn
from localcrag.steps.asked import Asked
from localcrag.steps.clock import Clock
from localcrag.steps.condense import condense as follow_up
from localcrag.steps.condense.leaning import Leaning, leaning
from localcrag.steps.condense.readings import both_readings
from localcrag.steps.context import Context
from localcrag.steps.rewrite import rewritten
from localcrag.steps.screen import prompt_injection
from localcrag.text.translation import gettext as _


def condense(question: str, history: Sequence[Turn], context: Context) -> Generator[Event, None, Asked]:
    """Return the question with its history; yield Condensed where there is one.

    Where the words do not tell whether it is a follow-up, what the documents say to both readings does.
    """
    if not history:
        return Asked(question, question)
    history = prompt_injection.screened_turns(history, context.parts.rules)
    yield StepStarted("condense", _("reading the question with the conversation before it"))
    clock = context.clock("condense")
    joined = yield from _joined(question, history, context, clock)
    readings: tuple[Reading, ...] = ()
    if leaning(question) is Leaning.DOUBTFUL:
        yield StepStarted("condense", _("comparing two readings of the question"))
        readings = both_readings(question, joined, history, context)
    by_itself = any(reading.kept and not reading.follows for reading in readings)
    asked = Asked(question, question) if by_itself else Asked(question, joined, history)
    yield Condensed(asked.standalone, clock.cost(), readings)
    return asked


def _joined(question: str, history: Sequence[Turn], context: Context, clock: Clock) -> Generator[Event, None, str]:
    """Return the question with what it takes from the conversation."""
    ruled = follow_up.by_rule(question, history)
    if ruled is not None:
        return ruled
    asked = follow_up.prompt(question, history)
    written = yield from rewritten(Skill.FOLLOW_UPS, asked, follow_up.DECODING, context, clock)
    return follow_up.accept(written, question, history)
