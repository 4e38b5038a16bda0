"""The pipeline: a generator that runs the steps of CRAG in order and yields events.

This module contains the steps and their order. Each step's module in `crag/` defines what the step does, and what
happens if it fails. The pipeline knows no files, servers or model libraries.
"""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.crag.answer.generate import GenerationTask
from localcrag.crag.answer.step import generate_and_verify
from localcrag.crag.compute import compute
from localcrag.crag.condense import condense
from localcrag.crag.context import (
    EVERY_STEP,
    AskedQuestion,
    Budget,
    Context,
    Flow,
    Parts,
    Steps,
    add_aliases,
    choose_documents,
)
from localcrag.crag.evaluate import decide, evaluate
from localcrag.crag.look_up import look_up
from localcrag.crag.read_all import read_all as read_all_passages
from localcrag.crag.reconcile import reconcile
from localcrag.crag.refine.step import refine, refine_selection
from localcrag.crag.retrieve import retrieve
from localcrag.crag.rewrite import retry
from localcrag.crag.screen.injection import screen, screened_turns
from localcrag.crag.web import search, search_speculatively
from localcrag.records.enums import Action
from localcrag.records.events import RunStarted
from localcrag.records.passages import Choice
from localcrag.records.protocols import Consent
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Run, Turn, WebUse
from localcrag.runs.recording import Recording, new_run, new_selection_run
from localcrag.settings import Settings
from localcrag.text.lexicon import comparing_in_language, run_in_language
from localcrag.text.words import question_language


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
    restriction: Restriction = EVERYWHERE,
    read_all: bool = False,
) -> Recording:
    """Answer `question`: return a recording that yields events as they happen and builds the run from them.

    If the web mode is `ask`, `consent` is called with the query to be sent, right after QueryProposed. `replays` is the
    id of the stored run that this one repeats, `budget` the time limit (default: that of the settings). `steps` are
    the steps to run, for an evaluation. `restriction` selects the documents to search; with `read_all`, all their
    passages are read.

    Raises QuestionError immediately, also if no document is selected. Iterating raises StoreError if the database
    fails.
    """
    choice = choose_documents(restriction, parts.store, parts.document_aliases)
    context = Context(parts, settings, budget or Budget(settings.time_budget), consent, steps, choice, read_all)
    language = question_language(question, parts.store.languages())
    with comparing_in_language(language):
        run = new_run(question, context, history, replays)
    events = add_aliases(_flow(run, context), parts.document_aliases)
    return Recording(run, run_in_language(language, events), parts.runs)


def answer_selection(before: Run, choice: Choice, *, parts: Parts, settings: Settings) -> Recording:
    """Answer a run's question again, from the sentences that a person selected among those it found.

    Nothing is retrieved or searched again. The result is a new run; errors are those of `answer`.
    """
    context = Context(parts, settings, Budget(settings.time_budget))
    run = new_selection_run(before, context)
    language = question_language(run.question, parts.store.languages())
    events = add_aliases(_selection_flow(run, before, choice, context), parts.document_aliases)
    return Recording(run, run_in_language(language, events), parts.runs)


def _flow(run: Run, context: Context) -> Flow[None]:
    """Run CRAG (arXiv 2401.15884, section 4): retrieve, evaluate, act on the result, refine, generate."""
    yield RunStarted(run)
    asked = yield from condense(run.question, run.history, context)
    if (yield from read_all_passages(asked, context)):
        return
    question = asked.standalone
    found = yield from retrieve(asked, context)
    ahead = yield from search_speculatively(question, context)
    local = yield from evaluate(question, found, context)
    action = yield from decide(question, local, context)
    if (yield from compute(asked, local, context)) or (yield from look_up(asked, local, context)):
        return
    local, action = yield from retry(question, local, action, context)

    used, web = (() if action is Action.INCORRECT else local), WebUse()
    if action is not Action.CORRECT:
        from_web, web = yield from search(question, local, ahead, context)
        used += from_web
    yield from screen((*local, *used), context.parts.rules)

    refinement, used = yield from refine(question, used, context)
    refinement, conflicts = yield from reconcile(refinement, context)
    yield from generate_and_verify(GenerationTask(asked, refinement, conflicts, used, local, web), context)


def _selection_flow(run: Run, before: Run, choice: Choice, context: Context) -> Flow[None]:
    """Run the flow from refinement on, with the sentences that a person selected."""
    yield RunStarted(run)
    history = screened_turns(run.history, context.parts.rules)
    asked = AskedQuestion(run.question, run.standalone_question, history)
    refinement, used = yield from refine_selection(before, choice, context)
    refinement, conflicts = yield from reconcile(refinement, context)
    task = GenerationTask(asked, refinement, conflicts, used, run.passages, run.web, believed=choice.puts_in)
    yield from generate_and_verify(task, context)
