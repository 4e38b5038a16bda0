"""The flow: one generator, readable top to bottom, that yields one event per step.

It knows the steps and their order; what each does, and what it comes to when it fails, is in stages.py and write.py. No
file, server or model library is known here. Every step says what it cost.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import UTC, datetime

from localcrag import stages
from localcrag.records.enums import Action, Grade, Origin, ScorerKind
from localcrag.records.errors import QuestionError
from localcrag.records.events import Answered, Event, RunFinished, RunStarted, Warned
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import Consent
from localcrag.records.run import Conflict, Run, Turn
from localcrag.records.web import WebUse
from localcrag.runs import record
from localcrag.settings import Settings
from localcrag.steps.answer import abstain, generate
from localcrag.steps.answer.stage import write_answer
from localcrag.steps.budget import Budget
from localcrag.steps.condense import condense
from localcrag.steps.context import EVERY_STEP, Context, Parts, Steps
from localcrag.steps.evaluate.decide import usable
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.reconcile import reconcile
from localcrag.steps.refine.manual_selection import Choice
from localcrag.steps.refine.refine import Refinement
from localcrag.steps.screen import prompt_injection
from localcrag.steps.web import ask_web
from localcrag.text.translation import gettext as _
from localcrag.text.words import valid

LONGEST_QUESTION = 4000
"""Characters; beyond it a text is not a question, and the scorer would not see its end."""


def answer(
    question: str,
    *,
    parts: Parts,
    settings: Settings,
    history: Sequence[Turn] = (),
    consent: Consent | None = None,
    replays: str | None = None,
    budget: Budget | None = None,
    steps: Steps = EVERY_STEP,
) -> Generator[Event, None, None]:
    """Answer `question` and yield what happens; the last event is RunFinished, with the run as it was stored.

    Where the web mode is `ask`, `consent` is called with the query that would leave, right after QueryProposed.
    `replays` is the id of the stored run that this one repeats, `budget` the time there is (that of the settings),
    `steps` what runs of the flow, for an evaluation.
    Closing the generator stops the language model; the run is then stored as far as it came, marked as stopped.
    Raises QuestionError before the first event, StoreError when the database fails.
    """
    question = valid(question).strip()
    if not question:
        raise QuestionError("The question is empty. Write one.")
    if len(question) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are the most. Put long texts into "
            "the collection as a document, and ask about them."
        )
    context = Context(parts, settings, budget or Budget(settings.time_budget), consent, steps)
    run = _new_run(question, context, history, replays)
    yield from _stored(run, _flow(run, context), parts)


def answer_forced(before: Run, choice: Choice, *, parts: Parts, settings: Settings) -> Generator[Event, None, None]:
    """Answer a run's question once more, from the sentences that a person chose among what it found.

    Nothing is retrieved or searched anew. Events and errors are those of `answer`; RunFinished has a new run.
    """
    context = Context(parts, settings, Budget(settings.time_budget))
    new = _new_run(before.question, context, (), None)
    found = ("standalone_question", "action", "rule", "attempts", "scorer", "thresholds", "passages", "max_relevance",
             "relevance_ratio", "web", "history")  # fmt: skip
    run = dataclasses.replace(new, forced_from=before.run_id, **{name: getattr(before, name) for name in found})
    yield from _stored(run, _from_choice(run, before, choice, context), parts)


def _stored(run: Run, flow: Generator[Event, None, None], parts: Parts) -> Generator[Event, None, None]:
    """Pass on the events; store the run that they make, also when it is stopped."""
    try:
        with closing(flow) as events:
            for event in events:
                run = record.apply(run, event)
                yield event
    except (GeneratorExit, KeyboardInterrupt):
        parts.runs.save(dataclasses.replace(run, stopped=True))
        raise
    parts.runs.save(run)
    yield RunFinished(run)


def _from_choice(run: Run, before: Run, choice: Choice, context: Context) -> Generator[Event, None, None]:
    yield RunStarted(run)
    refinement = yield from stages.force_strips(before, choice, context)
    used = [passage for passage in run.passages if any(piece.passage == passage.id for piece in refinement.evidence)]
    yield from _from_evidence(run, refinement, used, context, believed=choice.puts_in)


def _flow(run: Run, context: Context) -> Generator[Event, None, None]:
    yield RunStarted(run)
    yield from _what_is_not_calibrated(context)
    rules, settings = context.parts.rules, context.settings

    question, history = run.question, prompt_injection.screened_turns(run.history, rules)
    standalone = yield from stages.understand(question, history, context)
    found = yield from stages.look_through(standalone, context)
    ahead = (yield from ask_web.begin(standalone, context.web, settings)) if context.web else None
    local, action = yield from stages.judge(standalone, found, context)
    local, action = yield from stages.look_again(standalone, local, action, context)

    used, web = (() if action is Action.INCORRECT else local), WebUse()
    if action is not Action.CORRECT:
        from_web, web = yield from stages.search_web(standalone, local, ahead, context)
        used += from_web
    for message in prompt_injection.warnings(dict.fromkeys((*local, *used)), rules):
        yield Warned(message)

    used = usable(used, policy=settings.policy, thresholds=run.thresholds)
    refinement = yield from stages.pick_strips(standalone, used, context)
    yield from stages.count_plain_prompt(generate.plain_prompt(question, standalone, found, history), context)
    run = dataclasses.replace(run, standalone_question=standalone, history=history, passages=local, web=web)
    yield from _from_evidence(run, refinement, used, context)


def _from_evidence(
    run: Run, refinement: Refinement, used: Sequence[GradedPassage], context: Context, *, believed: bool = False
) -> Generator[Event, None, None]:
    """Answer from the evidence, made of the passages `used`; `believed`: a person says that it answers."""
    refinement, conflicts = yield from stages.compare_sides(refinement, context)
    if not refinement.evidence:
        nearest = prompt_injection.screened(
            [one for one in run.passages if one.origin is Origin.LOCAL], context.parts.rules
        )
        yield Answered(abstain.nothing_found(nearest, run.web, context.settings), abstained=True)
        return
    # Of questions that are AMBIGUOUS most have no answer in the documents (docs/evaluation.md).
    sure = any(passage.grade is Grade.CORRECT for passage in used) if is_scored(used) else None
    written = write_answer(
        run.question,
        run.standalone_question,
        refinement,
        context,
        history=run.history,
        web=run.web,
        sure=sure or believed if sure is not None else None,
        quoted=reconcile.quoted(conflicts),
    )
    yield from _with_what_sources_call_for(written, run.standalone_question, refinement, conflicts)


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


def _with_what_sources_call_for(
    events: Generator[Event, None, None], question: str, refinement: Refinement, conflicts: Sequence[Conflict]
) -> Generator[Event, None, None]:
    """Pass on the events; the answer gets what must be said of its sources: that they disagree, or how old they are."""
    with closing(events):
        for event in events:
            if isinstance(event, Answered):
                text = reconcile.told(event.answer, question, conflicts, refinement.evidence, refinement.sources)
                yield dataclasses.replace(event, answer=text)
            else:
                yield event


def _new_run(question: str, context: Context, history: Sequence[Turn], replays: str | None) -> Run:
    now = datetime.now(UTC)
    parts, settings = context.parts, context.settings
    return Run(
        # Sorts by time; the random part keeps two questions of one second apart.
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created_at=now.isoformat(timespec="seconds"),
        collection=settings.collection,
        question=question,
        standalone_question=question,
        preset=settings.preset,
        policy=settings.policy,
        scorer=settings.scorer,
        thresholds=context.thresholds,
        models={"embedder": parts.embedder.name, "relevance": parts.scorer.name, "llm": parts.llm.name},
        settings=settings.of_a_run(),
        history=condense.leans_on(question, history, turns=settings.history_turns),
        replays=replays,
    )
