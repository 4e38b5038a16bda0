"""The steps `evaluate` and `decide`: passages get relevance and grade, the question an action."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from localcrag.records.enums import Action, Grade, ScorerKind
from localcrag.records.errors import ModelError, StoreError
from localcrag.records.events import Decided, Evaluated, Event, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Passage
from localcrag.steps.budget import FEWER_PASSAGES
from localcrag.steps.clock import Clock
from localcrag.steps.context import Context
from localcrag.steps.evaluate import decide as policies
from localcrag.steps.evaluate import evaluate as cross_encoder
from localcrag.steps.evaluate import grade_by_llm
from localcrag.steps.evaluate.whole_lists import made_whole, without_doubles
from localcrag.steps.screen import prompt_injection
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

BATCH = 2
"""Passages scored between two looks at a time budget; without one all are a single batch, which is faster."""


def evaluate(
    question: str, found: Sequence[Passage], context: Context
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Yield Evaluated, and return the best k passages with their grades; say what is not calibrated."""
    yield from _what_is_not_calibrated(context)
    clock = context.clock("evaluate")
    if context.steps.evaluate:
        first = found[: context.scored_first]
        yield StepStarted("evaluate", ngettext("scoring %(num)s passage", "scoring %(num)s passages", len(first)))
        graded = yield from score(question, found, context, clock, first=len(first))
    else:
        graded = cross_encoder.unscored(found, thresholds=context.thresholds)
    kept = yield from keep(question, graded, context, clock)
    yield Evaluated(kept, clock.cost(), len(graded))
    return kept


def decide(query: str, passages: Sequence[GradedPassage], context: Context) -> Generator[Event, None, Action]:
    """Yield Decided, and return the action; `query` is what the documents were last searched for."""
    if not context.steps.evaluate:
        return Action.AMBIGUOUS
    clock = context.clock("decide")
    settings = context.settings
    action, rule = policies.decide(
        passages,
        policy=settings.policy,
        thresholds=context.thresholds,
        enough_relevant=settings.relevance_threshold,
    )
    yield Decided(query, action, settings.policy, rule, clock.cost())
    return action


def score(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock, *, first: int | None = None
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the passages graded: all, or the `first`, and the others only where none of these is CORRECT.

    Under a time budget, as many as there is time for, in batches.
    """
    done: tuple[GradedPassage, ...] = ()
    first = len(passages) if first is None else first
    for part in (passages[:first], passages[first:]):
        if any(one.grade is Grade.CORRECT for one in done):
            break
        if done and part:
            more = ngettext("scoring %(num)s more passage", "scoring %(num)s more passages", len(part))
            yield StepStarted("evaluate", more)
        for some in _batches(part, context):
            if done and context.budget.spent(FEWER_PASSAGES):
                yield Warned(
                    _(
                        "Only %(done)s of %(all)s passages were scored: %(why)s.",
                        done=len(done),
                        all=len(passages),
                        why=context.budget.running_out,
                    )
                )
                return done
            try:
                done += yield from grade(question, some, context, clock)
            except ModelError as error:
                yield Warned(
                    _(
                        "The passages could not be scored, and are taken in the order they were found: %(error)s",
                        error=error,
                    )
                )
                return cross_encoder.unscored(passages, thresholds=context.thresholds)
    return done


def _batches(passages: Sequence[Passage], context: Context) -> Iterator[Sequence[Passage]]:
    size = BATCH if context.budget.limited else max(1, len(passages))
    return (passages[at : at + size] for at in range(0, len(passages), size))


def grade(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the passages, graded by the scorer that the settings name. Raises ModelError.

    A sentence that reads like an instruction to the model is not graded with its passage.
    """
    parts = context.parts
    screened = prompt_injection.screened(passages, parts.rules)
    if context.settings.scorer is ScorerKind.CROSS_ENCODER:
        graded = cross_encoder.evaluate(question, screened, scorer=parts.scorer, thresholds=context.thresholds)
    else:
        graded = yield from grade_by_llm.grade(
            question,
            screened,
            llm=parts.llm,
            fallback=parts.scorer,
            thresholds=context.thresholds,
            known=parts.judgements,
            clock=clock,
        )
    return prompt_injection.as_they_came(graded, passages)


def keep(
    question: str, graded: Sequence[GradedPassage], context: Context, clock: Clock
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the best k passages; what is not incorrect with the rest of a list that is cut off.

    A list that goes on answers what its part answered: it is as relevant at least.
    """
    kept = cross_encoder.best(graded, context.settings.k)
    judged = context.steps.evaluate and context.settings.scorer is ScorerKind.CROSS_ENCODER
    if not judged or context.budget.limited:
        return kept
    try:
        whole = [
            longer
            for one in kept
            if one.grade is not Grade.INCORRECT and (longer := made_whole(one, context.parts.store)) is not one
        ]
        again = yield from grade(question, whole, context, clock)
    except (ModelError, StoreError) as error:
        yield Warned(_("Lists that go on behind a passage could not be read to their end: %(error)s", error=error))
        return kept
    longest = {
        one.id: max(one, part, key=lambda either: either.relevance) for one, part in zip(again, whole, strict=True)
    }
    return without_doubles([longest.get(one.id, one) for one in kept])


def _what_is_not_calibrated(context: Context) -> Generator[Event, None, None]:
    if not context.parts.scorer.calibration.fitted:
        yield Warned(
            _(
                "The relevance model %(name)s has no calibration: its scores are a plain sigmoid, and the thresholds "
                "were not made for them.",
                name=context.parts.scorer.name,
            )
        )
    if context.settings.scorer is ScorerKind.LLM:
        yield Warned(
            _(
                "The passages are graded by the language model %(name)s. How sure it says it is has not been "
                "calibrated, and the thresholds were not made for it.",
                name=context.parts.llm.name,
            )
        )
