"""The steps of the flow as they happen: each calls its step's pure functions, yields events, and returns what it found.

Here is what each fault comes to. A stage that fails says so (`Warned`) and returns a lesser result; none ends the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence

from localcrag.records import presets
from localcrag.records.enums import Action, NotAsked, RefinerKind, ScorerKind, Skill
from localcrag.records.errors import GenerationError, ModelError, StoreError
from localcrag.records.events import (
    Condensed,
    Decided,
    Evaluated,
    Event,
    PlainPromptCounted,
    Reconciled,
    Refined,
    Retried,
    Retrieved,
    Searched,
    StepStarted,
    Warned,
)
from localcrag.records.passages import GradedPassage, Passage
from localcrag.records.run import Conflict, Message, Run, Turn
from localcrag.records.web import WebUse
from localcrag.steps.budget import FEWER_PASSAGES, NO_SECOND_LOOK, NO_STRIPS
from localcrag.steps.clock import Clock
from localcrag.steps.condense import condense
from localcrag.steps.context import Context
from localcrag.steps.evaluate import grade_by_llm
from localcrag.steps.evaluate.decide import decide
from localcrag.steps.evaluate.evaluate import evaluate, is_scored, unscored
from localcrag.steps.reconcile import reconcile
from localcrag.steps.refine import manual_selection, refine_by_llm
from localcrag.steps.refine.manual_selection import Choice
from localcrag.steps.refine.refine import Refinement, Rules, refine, whole
from localcrag.steps.retrieve.retrieve import retrieve
from localcrag.steps.retry import retry
from localcrag.steps.screen import prompt_injection
from localcrag.steps.web import ask_web, search
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later, ngettext

BATCH = 2
"""Passages scored between two looks at a time budget; without one all are a single batch, which is faster."""
NOT_REWRITTEN = {
    Skill.FOLLOW_UPS: later("The follow-up was not rewritten"),
    Skill.OTHER_WORDS: later("The question was not put in other words"),
    Skill.QUERIES: later("The question was not rewritten for the web search"),
}
WHOLE_PASSAGES = 2
"""Passages that become evidence whole, where there are no strips: more would take long to read as well."""


def understand(question: str, history: Sequence[Turn], context: Context) -> Generator[Event, None, str]:
    """Yield Condensed where the question leans on what was said before, and return the question that stands alone."""
    if not history:
        return question
    yield StepStarted("condense", _("reading the question with the conversation before it"))
    clock = context.clock("condense")
    standalone = condense.by_rule(question, history)
    if standalone is None:
        asked = condense.prompt(question, history)
        written = yield from _rewritten(Skill.FOLLOW_UPS, asked, context, clock, condense.MAX_TOKENS)
        standalone = condense.accept(written, question, history)
    yield Condensed(standalone, clock.cost())
    return standalone


def look_through(question: str, context: Context) -> Generator[Event, None, tuple[Passage, ...]]:
    """Yield Retrieved, and return the passages."""
    yield StepStarted("retrieve", _("looking through the documents"))
    clock = context.clock("retrieve")
    found = yield from _retrieve(question, question, context)
    yield Retrieved(found, clock.cost())
    return found


def judge(
    question: str, found: Sequence[Passage], context: Context
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], Action]]:
    """Yield Evaluated and Decided, and return the graded passages and the action."""
    if not context.steps.evaluate:
        graded = unscored(found, thresholds=context.thresholds)
        yield Evaluated(graded, context.clock("evaluate").cost())
        return graded, Action.AMBIGUOUS
    yield StepStarted("evaluate", ngettext("scoring %(num)s passage", "scoring %(num)s passages", len(found)))
    clock = context.clock("evaluate")
    graded = yield from _score(question, found, context, clock)
    yield Evaluated(graded, clock.cost())
    return graded, (yield from _decide(question, graded, context))


def look_again(
    question: str, known: tuple[GradedPassage, ...], action: Action, context: Context
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], Action]]:
    """Look through the documents in other words, and return the best passages of both attempts with their action."""
    if action is Action.CORRECT or not context.settings.retry or not known or not is_scored(known):
        return known, action
    if context.budget.spent(NO_SECOND_LOOK):
        yield Warned(
            _("The documents were not looked through again in other words: %(why)s.", why=context.budget.running_out)
        )
        return known, action
    yield StepStarted("retry", _("looking again, in other words"))
    clock = context.clock("retry")
    asked = retry.prompt(question)
    written = yield from _rewritten(Skill.OTHER_WORDS, asked, context, clock, retry.MAX_TOKENS, stop=("\n",))
    query = retry.accept(written, question)
    found = retry.new_passages((yield from _retrieve(query, question, context)), known)
    yield Retried(query, found, clock.cost())
    if not found:
        return known, action

    yield StepStarted("evaluate", ngettext("scoring %(num)s more passage", "scoring %(num)s more passages", len(found)))
    clock = context.clock("evaluate")
    more = yield from _score(question, found, context, clock)
    both = retry.best(known + more, context.settings.k)
    yield Evaluated(both, clock.cost())
    return both, (yield from _decide(query, both, context))


def search_web(
    question: str, local: Sequence[GradedPassage], ahead: ask_web.Ahead | None, context: Context
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], WebUse]]:
    """Yield Searched, and return what the web gave, graded, and what it was asked; nothing where it may not be."""
    web = context.web
    if web is None or (local and not is_scored(local)):
        return (), WebUse()
    clock = context.clock("search")
    if ahead:
        use = yield from ask_web.collect(ahead)
    elif context.budget.spent(NO_SECOND_LOOK):
        yield Warned(_("The web was not asked: %(why)s.", why=context.budget.running_out))
        use = WebUse(not_asked=NotAsked.NO_TIME)
    else:
        query = yield from _web_query(question, context, clock)
        use = yield from ask_web.ask(query, web, context.settings, clock)
    passages = search.to_passages(question, use.results, embedder=context.parts.embedder)
    graded = yield from _score(question, passages, context, clock)
    yield Searched(use, graded, clock.cost())
    return graded, use


def pick_strips(
    question: str, passages: Sequence[GradedPassage], context: Context
) -> Generator[Event, None, Refinement]:
    """Yield Refined, and return strips and evidence; no evidence where there are no passages."""
    if not passages:
        return Refinement((), (), ())
    yield StepStarted("refine", _("keeping the sentences that matter"))
    clock = context.clock("refine")
    rules = context.parts.rules
    refinement = yield from _refine(question, prompt_injection.screened(passages, rules), context, clock)
    strips = prompt_injection.with_left_out(refinement.strips, passages, rules)
    yield Refined(strips, refinement.evidence, refinement.sources, clock.cost())
    return refinement


def force_strips(before: Run, choice: Choice, context: Context) -> Generator[Event, None, Refinement]:
    """Yield Refined, and return strips and evidence as a person chose them among what a run found.

    The sentences of a passage that was not looked at sentence by sentence are scored now.
    """
    yield StepStarted("refine", _("taking your choice of sentences"))
    clock = context.clock("refine")
    rules = context.parts.rules
    known = {strip.passage for strip in before.strips}
    new = [passage for passage in before.passages if choice.passages.get(passage.id) and passage.id not in known]
    strips = before.strips
    if new:
        looked_at = yield from _refine(
            before.standalone_question, prompt_injection.screened(new, rules), context, clock
        )
        strips += prompt_injection.with_left_out(looked_at.strips, new, rules)
    refinement = manual_selection.apply(strips, before.passages, choice)
    yield Refined(refinement.strips, refinement.evidence, refinement.sources, clock.cost())
    return refinement


def compare_sides(
    refinement: Refinement, context: Context
) -> Generator[Event, None, tuple[Refinement, tuple[Conflict, ...]]]:
    """Yield Reconciled where there is evidence of both sides; return what is left of it, and the contradictions."""
    if not reconcile.has_both_sides(refinement.evidence, refinement.sources):
        return refinement, ()
    yield StepStarted("reconcile", _("comparing your documents with the web"))
    clock = context.clock("reconcile")
    result = yield from reconcile.reconcile(
        refinement.evidence,
        refinement.sources,
        refinement.strips,
        embedder=context.parts.embedder,
        llm=context.parts.llm,
        judge=context.settings.conflict_judge,
        rule=context.settings.conflict_rule,
        clock=clock,
    )
    yield Reconciled(result.conflicts, result.evidence, clock.cost())
    strips = reconcile.strips_of(result.evidence, refinement)
    return dataclasses.replace(refinement, strips=strips, evidence=result.evidence), result.conflicts


def count_plain_prompt(messages: Sequence[Message], context: Context) -> Generator[Event, None, None]:
    """Yield PlainPromptCounted, unless there is no language model to count."""
    try:
        yield PlainPromptCounted(context.parts.llm.count_tokens(messages))
    except GenerationError as error:
        yield Warned(_("What plain RAG would have cost could not be counted: %(error)s", error=error))


def _retrieve(query: str, question: str, context: Context) -> Generator[Event, None, tuple[Passage, ...]]:
    """Return passages; where the vector index fails, those that full text alone finds. Raises StoreError."""
    parts, settings = context.parts, context.settings
    sizes = {"k": settings.k, "candidates": settings.candidates}
    try:
        return retrieve(query, question, **sizes, embedder=parts.embedder, index=parts.index, store=parts.store)
    except StoreError as error:
        yield Warned(
            _("The vector index could not be searched, so that only words were looked for: %(error)s", error=error)
        )
        return retrieve(query, question, **sizes, embedder=parts.embedder, index=None, store=parts.store)


def _score(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the passages graded: all, or under a time budget as many as there is time for, in batches."""
    done: tuple[GradedPassage, ...] = ()
    size = BATCH if context.budget.limited else max(1, len(passages))
    for at in range(0, len(passages), size):
        if done and context.budget.spent(FEWER_PASSAGES):
            yield Warned(
                _(
                    "Only %(done)s of %(all)s passages were scored: %(why)s.",
                    done=len(done),
                    all=len(passages),
                    why=context.budget.running_out,
                )
            )
            break
        batch = passages[at : at + size]
        try:
            done += yield from _grade(question, batch, context, clock)
        except ModelError as error:
            yield Warned(
                _(
                    "The passages could not be scored, and are taken in the order they were found: %(error)s",
                    error=error,
                )
            )
            return unscored(passages, thresholds=context.thresholds)
    return done


def _grade(
    question: str, passages: Sequence[Passage], context: Context, clock: Clock
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the passages, graded by the scorer that the settings name. Raises ModelError.

    A sentence that reads like an instruction to the model is not graded with its passage.
    """
    parts = context.parts
    screened = prompt_injection.screened(passages, parts.rules)
    if context.settings.scorer is ScorerKind.CROSS_ENCODER:
        graded = evaluate(question, screened, scorer=parts.scorer, thresholds=context.thresholds)
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


def _decide(query: str, passages: Sequence[GradedPassage], context: Context) -> Generator[Event, None, Action]:
    """Yield Decided, and return the action."""
    clock = context.clock("decide")
    settings = context.settings
    action, rule = decide(
        passages,
        policy=settings.policy,
        thresholds=context.thresholds,
        enough_relevant=settings.relevance_threshold,
    )
    yield Decided(query, action, settings.policy, rule, clock.cost())
    return action


def _web_query(question: str, context: Context, clock: Clock) -> Generator[Event, None, str]:
    """Return the question as a query for a search engine."""
    yield StepStarted("search", _("writing a web query"))
    asked = search.prompt(question)
    written = yield from _rewritten(Skill.QUERIES, asked, context, clock, search.MAX_TOKENS, stop=("\n",))
    return search.accept(written, question)


def _rewritten(
    what: Skill,
    messages: Sequence[Message],
    context: Context,
    clock: Clock,
    max_tokens: int,
    *,
    stop: Sequence[str] = (),
) -> Generator[Event, None, str]:
    """Return what the language model writes; nothing where it is not to be asked, or fails, which is said."""
    if not context.rewrites(what):
        return ""
    try:
        return clock.complete(context.parts.llm, messages, max_tokens, stop=stop)
    except GenerationError as error:
        yield Warned(f"{_(NOT_REWRITTEN[what])}: {error}")
        return ""


def _refine(
    question: str, passages: Sequence[GradedPassage], context: Context, clock: Clock
) -> Generator[Event, None, Refinement]:
    """Return strips and evidence, picked by what the settings name; whole passages where there is no score or time."""
    parts, settings = context.parts, context.settings
    if not context.steps.refine:
        return whole(passages, len(passages))
    if not is_scored(passages):
        return whole(passages, WHOLE_PASSAGES)
    if context.budget.spent(NO_STRIPS):
        yield Warned(
            _("The best passages were taken whole, not sentence by sentence: %(why)s.", why=context.budget.running_out)
        )
        return whole(passages, WHOLE_PASSAGES)
    rules = Rules(
        threshold=context.thresholds.strip,
        lowest=presets.lowest_strip(context.own_thresholds),
        most=settings.most_strips,
        tokens=settings.evidence_tokens,
        retention=settings.minimum_retention,
        mode=settings.strip_mode,
        window_words=settings.window_words,
    )
    count_tokens = parts.embedder.count_tokens
    try:
        if settings.refiner is RefinerKind.STRIPS:
            return refine(question, passages, scorer=parts.scorer, rules=rules, count_tokens=count_tokens)
        return (
            yield from refine_by_llm.extract(
                question,
                passages,
                llm=parts.llm,
                scorer=parts.scorer,
                rules=rules,
                count_tokens=count_tokens,
                clock=clock,
            )
        )
    except ModelError as error:
        yield Warned(
            _("The best passages were taken whole, since their sentences could not be scored: %(error)s", error=error)
        )
        return whole(passages, WHOLE_PASSAGES)
