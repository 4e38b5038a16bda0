"""The figures of an evaluation report: metrics by group, differences, decisions, times, lost answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from localcrag.evaluation import curves
from localcrag.evaluation.configurations import FULL, ablations
from localcrag.evaluation.diagnosis import Cause, diagnose
from localcrag.evaluation.figures import (
    ALL,
    KEYS,
    Actions,
    Decided,
    Figures,
    KeyFigure,
    Losses,
    MetricUsed,
    Paired,
    Time,
    Verdict,
)
from localcrag.evaluation.metrics import BY_NAME, METRICS
from localcrag.evaluation.results import GROUPS, Evaluation, measured, step_costs
from localcrag.evaluation.statistics import Difference, Estimate, difference, estimate
from localcrag.evaluation.wording import not_proved, says
from localcrag.evaluation.worst import worst
from localcrag.records.enums import Action
from localcrag.runs.evaluation_set import HeldBy, Question

FEWEST_ABLATED = 3
"""Configurations of an ablation from which on each is compared with the one before it."""

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Configuration, metric, question -> value."""


def figures(evaluation: Evaluation) -> Figures:
    """Return the figures of an evaluation, finished or not, over the questions asked so far."""
    asked = [name for name in evaluation.configurations if evaluation.pairs(name)]
    values = {name: measured(evaluation, name) for name in asked}
    groups = groups_of(evaluation.questions)
    pairs = [(asked[0], name) for name in asked[1:]] if asked else []
    actions = {name: found for name in asked if (found := _actions(evaluation, name, asked[0], values))}
    full = _full(asked)
    scored = full if full in actions else next(reversed(actions), None)
    of_scored = evaluation.pairs(scored) if scored else []
    return Figures(
        about=evaluation.about,
        questions=len(evaluation.questions),
        groups={name: len(ids) for name, ids in groups.items()},
        asked={name: len(evaluation.pairs(name)) for name in evaluation.configurations},
        missing=evaluation.missing,
        metrics={
            metric.name: MetricUsed(
                title=metric.title, definition=metric.definition, source=metric.source, better=metric.better
            )
            for metric in METRICS
        },
        verdicts=tuple(verdict(values, groups, *pair) for pair in pairs),
        estimates={name: {group: _estimates(values[name], ids) for group, ids in groups.items()} for name in asked},
        against_first=tuple(paired(values, groups, *pair) for pair in pairs),
        against_former=tuple(paired(values, groups, *pair) for pair in _steps(asked)),
        actions=actions,
        scored=scored,
        reliability=curves.reliability(of_scored),
        sweep=curves.sweep(of_scored),
        retention=curves.retention(of_scored),
        times={name: _time(evaluation, name, values) for name in asked},
        losses={name: _losses(evaluation, name) for name in asked},
        full=full,
        worst=worst(evaluation, full, asked[0]) if full else (),
    )


def _full(asked: Sequence[str]) -> str | None:
    """Return the configuration that is all of localcrag under the settings in use, else the last."""
    known = (FULL, ablations()[-1].name, *asked[-1:])
    return next((name for name in known if name in asked), None)


def verdict(values: Values, groups: Mapping[str, set[str]], first: str, second: str) -> Verdict:
    """Return the key figures under two configurations, without those that apply to no question."""
    found = (_key(values, groups, (first, second), *key) for key in KEYS)
    return Verdict(first=first, second=second, figures=tuple(one for one in found if one.first or one.second))


def _key(values: Values, groups: Mapping[str, set[str]], pair: tuple[str, str], metric: str, group: str) -> KeyFigure:
    before, after = (_within(values[name][metric], groups[group]) for name in pair)
    both = _both(before, after)
    change = difference(*both)
    title = BY_NAME[metric].title + ("" if group == ALL else f", {group}")
    return KeyFigure(
        metric=metric,
        group=group,
        title=title,
        first=estimate(list(before.values())),
        second=estimate(list(after.values())),
        difference=change,
        ratio=_ratio(*both),
        says=says(metric, change),
        not_proved=not_proved(metric, change),
    )


def groups_of(questions: Sequence[Question]) -> dict[str, set[str]]:
    """Return the ids of the questions in each group."""
    return {
        name: {question.id for question in questions if belongs is None or belongs(question)}
        for name, belongs in GROUPS.items()
    }


def _within(values: Mapping[str, float], ids: set[str]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name in ids}


def _both(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[list[float], list[float]]:
    names = [name for name in first if name in second]
    return [first[name] for name in names], [second[name] for name in names]


def _ratio(first: Sequence[float], second: Sequence[float]) -> float | None:
    return float(sum(second) / whole) if (whole := sum(first)) else None


def _estimates(values: Mapping[str, Mapping[str, float]], ids: set[str]) -> dict[str, Estimate]:
    found = {name: estimate(list(_within(one, ids).values())) for name, one in values.items()}
    return {name: one for name, one in found.items() if one is not None}


def paired(values: Values, groups: Mapping[str, set[str]], first: str, second: str) -> Paired:
    """Return every metric's difference between two configurations, by group."""
    differences: dict[str, dict[str, Difference]] = {}
    for group, ids in groups.items():
        found = {
            name: difference(*_both(_within(one, ids), _within(values[second][name], ids)))
            for name, one in values[first].items()
        }
        differences[group] = {name: one for name, one in found.items() if one is not None}
    return Paired(first=first, second=second, differences=differences)


def _steps(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Return each configuration of an ablation with the one before it; none where this is no ablation."""
    order = [configuration.name for configuration in ablations()]
    there = [name for name in order if name in asked]
    return list(pairwise(there)) if len(there) >= FEWEST_ABLATED else []


def _actions(evaluation: Evaluation, name: str, first: str, values: Values) -> Actions | None:
    pairs = [(question, run) for question, run in evaluation.pairs(name) if run.action is not None]
    if not pairs:
        return None
    confusion = {
        holder.value: {
            action.value: len([run for question, run in pairs if (question.held_by, run.action) == (holder, action)])
            for action in Action
        }
        for holder in HeldBy
        if any(question.held_by is holder for question, _ in pairs)
    }
    decided = {}
    for action in Action:
        ids = {question.id for question, run in pairs if run.action is action}
        before, after = _both(_within(values[first]["seconds"], ids), _within(values[name]["seconds"], ids))
        decided[action.value] = Decided(
            n=len(ids),
            share=len(ids) / len(pairs),
            accuracy=estimate(list(_within(values[name]["action_right"], ids).values())),
            answer_match=estimate(list(_within(values[name]["answer_match"], ids).values())),
            seconds=estimate(list(_within(values[name]["seconds"], ids).values())),
            speed=None if name == first else _ratio(before, after),
        )
    return Actions(decided=decided, confusion=confusion)


def _time(evaluation: Evaluation, name: str, values: Values) -> Time:
    seconds = list(values[name]["seconds"].values())
    mean = estimate(seconds)
    assert mean is not None  # noqa: S101  every run has seconds, and `name` was asked
    median, slowest = np.quantile(seconds, [0.5, 0.95])
    return Time(mean=mean, median=float(median), slowest=float(slowest), steps=step_costs(evaluation, name))


def _losses(evaluation: Evaluation, name: str) -> Losses:
    pairs = evaluation.pairs(name)
    found = [(question.held_by, loss.cause) for question, run in pairs if (loss := diagnose(question, run))]
    counts = Counter(cause for _, cause in found)
    by_holder = Counter(found)
    return Losses(
        questions=len(pairs),
        right=len(pairs) - len(found),
        causes={cause.value: counts[cause] for cause in Cause},
        by_holder={
            holder.value: {cause.value: by_holder[holder, cause] for cause in Cause}
            for holder in HeldBy
            if any(question.held_by is holder for question, _ in pairs)
        },
    )
