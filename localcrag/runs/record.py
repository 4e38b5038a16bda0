"""Folding an event into a run, and the run as JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, assert_never

from pydantic import TypeAdapter

from localcrag.records.enums import Action
from localcrag.records.events import (
    Answered,
    AnswerPiece,
    Computed,
    Condensed,
    Decided,
    Evaluated,
    Event,
    Generated,
    GradePiece,
    PlainPromptCounted,
    PointPiece,
    QueryProposed,
    Reconciled,
    Refined,
    Retried,
    Retrieved,
    RunFinished,
    RunStarted,
    SearchBegun,
    Searched,
    StepStarted,
    Verified,
    Warned,
)
from localcrag.records.passages import GradedPassage
from localcrag.records.run import Attempt, Run
from localcrag.records.web import WebUse
from localcrag.runs.diagnostics import totals
from localcrag.steps.evaluate.decide import compared

_ADAPTER = TypeAdapter(Run)


def apply(run: Run, event: Event) -> Run:  # noqa: PLR0911, PLR0912  one case per event
    """Return the run with what `event` says."""
    match event:
        case RunStarted(started) | RunFinished(started):
            return started
        case StepStarted(name="generate"):
            return dataclasses.replace(run, answer="")  # What was written before was not backed.
        case StepStarted() | GradePiece() | PointPiece() | QueryProposed():
            return run
        case SearchBegun(query):
            return dataclasses.replace(run, web=WebUse(query=query, discarded=True))
        case Retried(cost=cost) | Generated(cost=cost):
            changed = run
        case Retrieved(cost=cost, scope=scope):
            changed = dataclasses.replace(run, scope=scope)
        case Condensed(standalone_question, cost, readings):
            by_itself = any(reading.kept and not reading.follows for reading in readings)
            changed = dataclasses.replace(
                run,
                standalone_question=standalone_question,
                readings=readings,
                history=() if by_itself else run.history,
            )
        case Evaluated(passages, cost, read):
            searched = run.scope and dataclasses.replace(run.scope, read=run.scope.read + read)
            changed = dataclasses.replace(_with_passages(run, passages), scope=searched)
        case Decided(query, action, policy, rule, cost):
            attempts = (*run.attempts, Attempt(query, action, rule, len(run.passages), run.max_relevance))
            changed = dataclasses.replace(run, action=action, policy=policy, rule=rule, attempts=attempts)
        case Computed(cost=cost):
            changed = _computed(run, event)
        case Searched(web, passages, cost):
            changed = dataclasses.replace(_with_passages(run, run.passages + passages), web=web)
        case Refined(strips, evidence, sources, cost):
            changed = dataclasses.replace(run, strips=strips, evidence=evidence, sources=sources)
        case Reconciled(conflicts, evidence, cost):
            changed = dataclasses.replace(run, conflicts=conflicts, evidence=evidence)
        case AnswerPiece(text):
            return dataclasses.replace(run, answer=run.answer + text)
        case PlainPromptCounted(tokens):
            return dataclasses.replace(run, plain_prompt_tokens=tokens)
        case Verified(support, cost):
            changed = dataclasses.replace(run, support=support)
        case Answered(answer, abstained, uncertain):
            return dataclasses.replace(run, answer=answer, abstained=abstained, uncertain=uncertain)
        case Warned(message):
            return dataclasses.replace(run, warnings=(*run.warnings, message))
        case _:
            assert_never(event)
    return dataclasses.replace(changed, steps=(*changed.steps, cost))


def _computed(run: Run, event: Computed) -> Run:
    return dataclasses.replace(
        _with_passages(run, run.passages + event.passages),
        action=Action.CORRECT,
        rule=event.rule,
        computation=event.computation,
        strips=event.strips,
        evidence=event.evidence,
        sources=event.sources,
    )


def _with_passages(run: Run, passages: tuple[GradedPassage, ...]) -> Run:
    relevances = [passage.relevance for passage in passages]
    relevant = sum(relevance >= run.thresholds.lower for relevance in relevances)
    return dataclasses.replace(
        run,
        passages=passages,
        max_relevance=max(relevances, default=None),
        relevance_ratio=relevant / len(relevances) if relevances else None,
    )


def to_json(run: Run) -> dict[str, Any]:
    """Return the run as `ask --json` prints it: what is stored, with its totals and each grade's reason."""
    document: dict[str, Any] = _ADAPTER.dump_python(run, mode="json")
    for passage, written in zip(run.passages, document["passages"], strict=True):
        written["grade_reason"] = compared(passage.relevance, run.thresholds)
    return {**document, "totals": dataclasses.asdict(totals(run))}


def dump(run: Run) -> bytes:
    """Return the run as the store keeps it; `read` is its inverse."""
    return _ADAPTER.dump_json(run)


def read(data: str | bytes) -> Run:
    """Return a stored run. Raises pydantic.ValidationError when it is not one."""
    return _ADAPTER.validate_json(data)
