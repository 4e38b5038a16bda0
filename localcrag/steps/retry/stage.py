"""The step `retry`: the documents are searched once more, in other words."""

from __future__ import annotations

from collections.abc import Generator

from localcrag.records.enums import Action, Skill
from localcrag.records.events import Evaluated, Event, Retried, StepStarted, Warned
from localcrag.records.passages import GradedPassage
from localcrag.steps.budget import NO_SECOND_LOOK
from localcrag.steps.context import Context
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.evaluate.stage import decide, keep, score
from localcrag.steps.retrieve.stage import passages_for
from localcrag.steps.retry import retry as other_words
from localcrag.steps.rewrite import rewritten
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


def retry(
    question: str, known: tuple[GradedPassage, ...], action: Action, context: Context
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], Action]]:
    """Return the best passages of both attempts with their action; what there is where no second one is made."""
    if action is Action.CORRECT or not context.settings.retry or not known or not is_scored(known):
        return known, action
    if context.budget.spent(NO_SECOND_LOOK):
        yield Warned(
            _("The documents were not looked through again in other words: %(why)s.", why=context.budget.running_out)
        )
        return known, action
    yield StepStarted("retry", _("looking again, in other words"))
    clock = context.clock("retry")
    asked = other_words.prompt(question)
    written = yield from rewritten(Skill.OTHER_WORDS, asked, other_words.DECODING, context, clock)
    query = other_words.accept(written, question)
    found = other_words.new_passages((yield from passages_for(query, question, context)), known)
    yield Retried(query, found, clock.cost())
    if not found:
        return known, action

    first = found[: context.scored_first]
    yield StepStarted("evaluate", ngettext("scoring %(num)s more passage", "scoring %(num)s more passages", len(first)))
    clock = context.clock("evaluate")
    more = yield from score(question, found, context, clock, first=len(first))
    both = yield from keep(question, known + more, context, clock)
    yield Evaluated(both, clock.cost())
    return both, (yield from decide(query, both, context))
