"""The step `refine`: passages become strips, and the strips that matter become evidence."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence

from localcrag.records import presets
from localcrag.records.enums import RefinerKind
from localcrag.records.errors import ModelError
from localcrag.records.events import Event, Refined, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.run import Run
from localcrag.steps.budget import NO_STRIPS
from localcrag.steps.clock import Clock
from localcrag.steps.context import Context
from localcrag.steps.evaluate.decide import usable
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.refine import manual_selection, refine_by_llm
from localcrag.steps.refine.manual_selection import Choice
from localcrag.steps.refine.refine import Refinement, Rules, decompose, whole
from localcrag.steps.refine.refine import refine as refine_by_relevance
from localcrag.steps.screen import prompt_injection
from localcrag.text.translation import gettext as _

WHOLE_PASSAGES = 2
"""Passages that become evidence whole, where there are no strips: more would take long to read as well."""


def refine(
    question: str, passages: Sequence[GradedPassage], context: Context
) -> Generator[Event, None, tuple[Refinement, tuple[GradedPassage, ...]]]:
    """Yield Refined, and return strips and evidence with the passages they are of: those that are worth it."""
    used = usable(passages, policy=context.settings.policy, thresholds=context.thresholds)
    if not used:
        return Refinement((), (), ()), ()
    yield StepStarted("refine", _("keeping the sentences that matter"))
    clock = context.clock("refine")
    rules = context.parts.rules
    refinement = yield from strips_and_evidence(question, prompt_injection.screened(used, rules), context, clock)
    strips = prompt_injection.with_left_out(refinement.strips, used, rules)
    yield Refined(strips, refinement.evidence, refinement.sources, clock.cost())
    return refinement, used


def select(
    before: Run, choice: Choice, context: Context
) -> Generator[Event, None, tuple[Refinement, tuple[GradedPassage, ...]]]:
    """Yield Refined, and return what `refine` does, as a person chose it among what the run `before` found.

    The sentences of a passage that was not looked at sentence by sentence are scored now.
    """
    yield StepStarted("refine", _("taking your choice of sentences"))
    clock = context.clock("refine")
    rules = context.parts.rules
    known = {strip.passage for strip in before.strips}
    new = [passage for passage in before.passages if choice.passages.get(passage.id) and passage.id not in known]
    strips = before.strips
    if new:
        looked_at = yield from strips_and_evidence(
            before.standalone_question, prompt_injection.screened(new, rules), context, clock
        )
        strips += prompt_injection.with_left_out(looked_at.strips, new, rules)
    refinement = manual_selection.apply(strips, prompt_injection.screened(before.passages, rules), choice)
    yield Refined(refinement.strips, refinement.evidence, refinement.sources, clock.cost())
    quoted = {piece.passage for piece in refinement.evidence}
    return refinement, tuple(passage for passage in before.passages if passage.id in quoted)


def strips_of(question: str, passages: Sequence[GradedPassage], context: Context) -> tuple[Strip, ...]:
    """Return the scored strips of passages, for `strips_and_evidence`; none where it scores none, or cannot."""
    if context.settings.refiner is not RefinerKind.STRIPS:
        return ()
    screened = prompt_injection.screened(passages, context.parts.rules)
    try:
        return decompose(question, screened, scorer=context.parts.scorer, rules=_rules(context))
    except ModelError:
        return ()  # It is tried once more at the end, and said then.


def strips_and_evidence(
    question: str, passages: Sequence[GradedPassage], context: Context, clock: Clock, known: Sequence[Strip] = ()
) -> Generator[Event, None, Refinement]:
    """Return strips and evidence, picked by what the settings name; whole passages where there is no score or time.

    `known` are strips of these passages that were scored before.
    """
    parts = context.parts
    if not context.steps.refine:
        return whole(passages, len(passages))
    if not is_scored(passages):
        return whole(passages, WHOLE_PASSAGES)
    if context.budget.spent(NO_STRIPS):
        yield Warned(
            _("The best passages were taken whole, not sentence by sentence: %(why)s.", why=context.budget.running_out)
        )
        return whole(passages, WHOLE_PASSAGES)
    scorer, rules, count_tokens = parts.scorer, _rules(context), parts.embedder.count_tokens
    try:
        if context.settings.refiner is RefinerKind.STRIPS:
            return refine_by_relevance(
                question, passages, scorer=scorer, rules=rules, count_tokens=count_tokens, known=known
            )
        return (
            yield from refine_by_llm.extract(
                question, passages, llm=parts.llm, scorer=scorer, rules=rules, count_tokens=count_tokens, clock=clock
            )
        )
    except ModelError as error:
        yield Warned(
            _("The best passages were taken whole, since their sentences could not be scored: %(error)s", error=error)
        )
        return whole(passages, WHOLE_PASSAGES)


def _rules(context: Context) -> Rules:
    settings = context.settings
    return Rules(
        threshold=context.thresholds.strip,
        lowest=presets.lowest_strip(context.own_thresholds),
        # Who has everything read wants all that there is.
        most=sys.maxsize if context.read_all else settings.most_strips,
        tokens=sys.maxsize if context.read_all else settings.evidence_tokens,
        retention=settings.minimum_retention,
        mode=settings.strip_mode,
        window_words=settings.window_words,
    )
