"""The results of an evaluation: each question's run under each configuration, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from localcrag.evaluation.metrics import METRICS, Metric
from localcrag.evaluation.statistics import Difference, Estimate, difference, estimate
from localcrag.records.errors import EvaluationError
from localcrag.records.run import Run
from localcrag.runs.evaluation_set import HeldBy, Question

Group = Callable[[Question], bool]


@dataclass(frozen=True, slots=True)
class SetUsed:
    """An evaluation set that questions came from; `digest` tells its exact content."""

    name: str
    digest: str
    questions: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an evaluation was made of. `code` is the digest of localcrag's own source files at its start.

    `configurations` maps each name to what differs from `settings`: settings, and steps left out.
    """

    id: str
    created_at: str
    version: str
    code: str
    sets: tuple[SetUsed, ...]
    configurations: dict[str, dict[str, Any]]
    models: dict[str, str]
    settings: dict[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`runs` maps a configuration's name, then a question's id, to the run; an unfinished one lacks some."""

    about: About
    questions: tuple[Question, ...]
    runs: Mapping[str, Mapping[str, Run]] = field(default_factory=dict)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The names, in the order in which they were given: plain RAG first, where it is there."""
        return tuple(self.about.configurations)

    @property
    def missing(self) -> int:
        """How many runs are still to be made."""
        asked = sum(len(self.runs.get(name, {})) for name in self.configurations)
        return len(self.questions) * len(self.configurations) - asked

    def pairs(self, configuration: str, group: Group | None = None) -> list[tuple[Question, Run]]:
        """Return the questions that were asked under a configuration, with their runs. Raises EvaluationError."""
        if configuration not in self.about.configurations:
            there = ", ".join(f"“{name}”" for name in self.configurations)
            raise EvaluationError(f"The evaluation {self.about.id} has no “{configuration}”; it has {there}.")
        runs = self.runs.get(configuration, {})
        return [
            (question, runs[question.id])
            for question in self.questions
            if question.id in runs and (group is None or group(question))
        ]


GROUPS: dict[str, Group | None] = {
    "all questions": None,
    "documents hold the answer": lambda question: question.held_by is HeldBy.DOCUMENTS,
    "only the web holds it": lambda question: question.held_by is HeldBy.WEB,
    "neither holds it": lambda question: question.held_by is HeldBy.NOWHERE,
}
"""How questions are told apart in every table."""


def values(evaluation: Evaluation, configuration: str, metric: Metric, group: Group | None = None) -> dict[str, float]:
    """Return a metric's values by question, of those that it applies to."""
    measured = (
        (question.id, metric.measure(question, run)) for question, run in evaluation.pairs(configuration, group)
    )
    return {name: value for name, value in measured if value is not None}


def measured(evaluation: Evaluation, configuration: str) -> dict[str, dict[str, float]]:
    """Return every metric's values by question: what tables of groups are made of without measuring twice."""
    return {metric.name: values(evaluation, configuration, metric) for metric in METRICS}


def estimates(evaluation: Evaluation, configuration: str, group: Group | None = None) -> dict[str, Estimate]:
    """Return every metric that applies to any of the questions."""
    found = {
        metric.name: estimate(list(values(evaluation, configuration, metric, group).values())) for metric in METRICS
    }
    return {name: one for name, one in found.items() if one is not None}


def differences(
    before: tuple[Evaluation, str], after: tuple[Evaluation, str], group: Group | None = None
) -> dict[str, Difference]:
    """Return after - before of every metric, over the questions that it applies to in both.

    Questions are the same when id, wording and accepted answers are. Raises EvaluationError when no two are.
    """
    same = common(before[0].questions, after[0].questions)
    if not same:
        raise EvaluationError(
            f"The evaluations {before[0].about.id} and {after[0].about.id} have no question in common: compare two of "
            "the same evaluation set."
        )
    found = {}
    for metric in METRICS:
        first, second = (values(*side, metric, group) for side in (before, after))
        both = [name for name in first if name in second and name in same]
        found[metric.name] = difference([first[name] for name in both], [second[name] for name in both])
    return {name: one for name, one in found.items() if one is not None}


def common(first: Sequence[Question], second: Sequence[Question]) -> set[str]:
    """Return the ids of the questions that are the same in both: id, wording and accepted answers."""
    others = {question.id: question for question in second}
    return {
        question.id
        for question in first
        if (other := others.get(question.id))
        and (other.question, other.answers) == (question.question, question.answers)
    }


def step_costs(evaluation: Evaluation, configuration: str) -> dict[str, dict[str, float]]:
    """Return for each step the mean seconds, calls and tokens a question, over all questions, asked or not of it."""
    pairs = evaluation.pairs(configuration)
    sums: dict[str, dict[str, float]] = {}
    for _, run in pairs:
        for step in run.steps:
            costs = sums.setdefault(step.name, dict.fromkeys(_COSTS, 0.0))
            for cost in _COSTS:
                costs[cost] += getattr(step, cost)
    return {step: {cost: total / len(pairs) for cost, total in costs.items()} for step, costs in sums.items()}


_COSTS = ("seconds", "llm_calls", "prompt_tokens", "completion_tokens")
