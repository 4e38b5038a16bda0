"""A comparison of two evaluations of the same questions: their figures, and questions that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localcrag.evaluation.analysis import ComparisonVerdict, Paired, groups_of, paired, verdict
from localcrag.evaluation.diagnosis import Cause, diagnose, is_right
from localcrag.evaluation.results import About, Evaluation, measure_all
from localcrag.evaluation.wording import NONE, plain
from localcrag.records.enums import Action
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.run import Run

Side = tuple[Evaluation, str]
"""An evaluation and one of its configurations."""


class OutcomeChange(StrEnum):
    """The ways in which a question's outcome can change, worst first."""

    LOST = "right before, wrong now"
    WON = "wrong before, right now"
    DECIDED = "another action, and as right or wrong as before"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutcome:
    """A short form of a question's run; `cause` tells what went wrong, None if the run is right."""

    action: Action | None
    rule: str
    answer: str
    abstained: bool
    uncertain: bool
    cause: Cause | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A question whose outcome changed."""

    id: str
    question: str
    held_by: AnswerLocation
    accepted: tuple[str, ...]
    change: OutcomeChange
    before: QuestionOutcome
    after: QuestionOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A setting, model or version that differs between the two evaluations."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two evaluations; `questions` were asked in both.

    `only_before` and `only_after` were asked in only one of them, or are worded or labelled differently in the other.
    """

    before: About
    after: About
    first: str
    second: str
    questions: int
    only_before: int
    only_after: int
    groups: dict[str, int]
    differing: tuple[Differing, ...]
    verdict: ComparisonVerdict
    paired: Paired
    changed: tuple[Changed, ...]


def compare(before: Side, after: Side) -> Comparison:
    """Return the comparison of two evaluations. Raises EvaluationError if no question was asked in both."""
    pairs = {question.id: (question, run) for question, run in before[0].pairs(before[1])}
    others = {question.id: (question, run) for question, run in after[0].pairs(after[1])}
    both = [name for name in pairs if name in others and _same(pairs[name][0], others[name][0])]
    if not both:
        raise EvaluationError(
            f"The evaluations {before[0].about.id} and {after[0].about.id} have no question in common that was asked "
            "in both. Compare two evaluations of the same set."
        )
    questions = [pairs[name][0] for name in both]
    first, second = _names(before, after)
    values = {
        name: {metric: {one: measure[one] for one in both if one in measure} for metric, measure in found.items()}
        for name, found in ((first, measure_all(*before)), (second, measure_all(*after)))
    }
    groups = groups_of(questions)
    changed = [found for name in both if (found := _changed(pairs[name][0], pairs[name][1], others[name][1]))]
    changed.sort(key=lambda one: list(OutcomeChange).index(one.change))
    return Comparison(
        before=before[0].about,
        after=after[0].about,
        first=first,
        second=second,
        questions=len(both),
        only_before=len(pairs) - len(both),
        only_after=len(others) - len(both),
        groups={name: len(ids) for name, ids in groups.items()},
        differing=_differing(before, after),
        verdict=verdict(values, groups, first, second),
        paired=paired(values, groups, first, second),
        changed=tuple(changed),
    )


def _same(one: Question, other: Question) -> bool:
    return (one.question, one.answers) == (other.question, other.answers)


def _names(before: Side, after: Side) -> tuple[str, str]:
    """Return names for the two sides: the configurations' names, or if these are equal, the evaluations'."""
    if before[1] != after[1]:
        return before[1], after[1]
    first, second = before[0].about.id, after[0].about.id
    return (first, second) if first != second else (f"{first}, before", f"{second}, after")


def _changed(question: Question, before: Run, after: Run) -> Changed | None:
    was, now = is_right(question, before), is_right(question, after)
    decided = {action for action in (before.action, after.action) if action}
    if was == now and len(decided) < 2:
        return None
    change = OutcomeChange.DECIDED if was == now else OutcomeChange.LOST if was else OutcomeChange.WON
    return Changed(
        id=question.id,
        question=question.question,
        held_by=question.held_by,
        accepted=question.answers,
        change=change,
        before=_outcome(question, before),
        after=_outcome(question, after),
    )


def _outcome(question: Question, run: Run) -> QuestionOutcome:
    loss = diagnose(question, run)
    return QuestionOutcome(
        action=run.action,
        rule=run.rule,
        answer=run.answer,
        abstained=run.abstained,
        uncertain=run.uncertain,
        cause=loss.cause if loss else None,
        why=loss.why if loss else "",
    )


def _differing(before: Side, after: Side) -> tuple[Differing, ...]:
    first, second = _described(before), _described(after)
    names = dict.fromkeys((*first, *second))
    return tuple(
        Differing(name=name, before=first.get(name, NONE), after=second.get(name, NONE))
        for name in names
        if first.get(name) != second.get(name)
    )


def _described(side: Side) -> dict[str, str]:
    about = side[0].about
    configuration: Mapping[str, Any] = about.configurations[side[1]]
    settings = {**about.settings, **configuration.get("changes", {})}
    steps = configuration.get("steps", {})
    return {
        "made at": about.created_at,
        "localcrag": about.version,
        "digest of localcrag’s code": about.code,
        **{f"set {used.name}": used.digest for used in about.sets},
        **{f"model: {role}": name for role, name in about.models.items()},
        **{f"setting {name}": plain(value) for name, value in settings.items()},
        **{f"step {name}": "runs" if runs else "left out" for name, runs in steps.items()},
    }
