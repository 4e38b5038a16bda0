"""Analysis of an evaluation: the figures that report.json contains and the report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localcrag.evaluation import curves
from localcrag.evaluation.diagnosis import Cause, best_passage, diagnose, is_right, severity
from localcrag.evaluation.metrics import BY_NAME, METRICS, contains_answer
from localcrag.evaluation.outcomes import OutcomeCounts, outcome_groups
from localcrag.evaluation.plan import FULL, ablations
from localcrag.evaluation.results import GROUPS, About, Evaluation, measure_all, step_costs
from localcrag.evaluation.wording import (
    Estimate,
    PairedDifference,
    describe_difference,
    difference,
    estimate,
    unproved_reason,
)
from localcrag.records.enums import Action, Grade, Origin
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import GradedPassage, Source
from localcrag.records.run import Run
from localcrag.text.places import SheetRow, place_name

ALL, IN_DOCUMENTS, ON_WEB, NOWHERE = GROUPS
KEYS = (
    ("answer_match", IN_DOCUMENTS),
    ("answer_match", ON_WEB),
    ("invention", NOWHERE),
    ("unmarked_invention", NOWHERE),
    ("action_right", ALL),
    ("support", ALL),
    ("seconds", ALL),
    ("prompt_tokens", ALL),
)
"""Figures of a verdict: a metric, and the group of questions that it is taken over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUsed:
    """The description of a metric, from metrics.py."""

    title: str
    definition: str
    source: str
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One of KEYS under two configurations, each over the questions that it applies to.

    `ratio` is second / first, over the questions that it applies to in both; None if the first is 0.
    """

    metric: str
    group: str
    title: str
    first: Estimate | None
    second: Estimate | None
    difference: PairedDifference | None
    ratio: float | None
    says: str
    not_proved: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonVerdict:
    """The key figures of one configuration compared with another's."""

    first: str
    second: str
    figures: tuple[KeyFigure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The differences second - first of every metric on the same questions, by group."""

    first: str
    second: str
    differences: dict[str, dict[str, PairedDifference]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFigures:
    """The questions for which one action was decided.

    `accuracy` is the share for which it was right; `speed` is their mean seconds as a share of the first
    configuration's.
    """

    n: int
    share: float
    accuracy: Estimate | None
    answer_match: Estimate | None
    seconds: Estimate | None
    speed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """The decisions under a configuration.

    `confusion` maps who holds the answer, then the action, to a number of questions.
    """

    decided: dict[str, ActionFigures]
    confusion: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """Seconds per question, and the mean cost of each step over all questions: seconds, calls and tokens.

    `slowest` is the 95th percentile.
    """

    mean: Estimate
    median: float
    slowest: float
    steps: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The number of questions answered right, and where the other answers were lost, also by who holds the answer."""

    questions: int
    right: int
    causes: dict[str, int]
    by_holder: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """A text with its relevance, None if it was not scored; `holds` is whether it contains an accepted answer."""

    where: str
    relevance: float | None
    grade: str | None
    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """A question that went wrong.

    `first_right` is whether the first configuration got it right; None if this is the first, or did not ask it.
    """

    id: str
    question: str
    standalone: str
    held_by: str
    accepted: tuple[str, ...]
    answer: str
    abstained: bool
    uncertain: bool
    action: str | None
    rule: str
    cause: str
    why: str
    passage: ShownText | None
    evidence: tuple[ShownText, ...]
    first_right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that a report shows.

    `scored` names the configuration of the curves, `full` the one whose worst questions are shown.
    """

    about: About
    questions: int
    groups: dict[str, int]
    asked: dict[str, int]
    missing: int
    metrics: dict[str, MetricUsed]
    verdicts: tuple[ComparisonVerdict, ...]
    estimates: dict[str, dict[str, dict[str, Estimate]]]
    against_first: tuple[Paired, ...]
    against_former: tuple[Paired, ...]
    actions: dict[str, Actions]
    scored: str | None
    reliability: curves.Reliability | None
    sweep: curves.Sweep | None
    retention: tuple[curves.Length, ...]
    times: dict[str, Time]
    losses: dict[str, Losses]
    full: str | None
    worst: tuple[Worst, ...]
    outcomes: dict[str, tuple[OutcomeCounts, ...]]


WORST = 20
"""Number of worst questions: as many as a person reads through."""


def worst(evaluation: Evaluation, name: str, first: str) -> tuple[Worst, ...]:
    """Return the WORST questions of a configuration, the worst first; `first` is the configuration to compare with."""
    found = [
        (question, run, loss) for question, run in evaluation.pairs(name) if (loss := diagnose(question, run))
    ]  # fmt: skip
    found.sort(key=lambda one: severity(*one))
    others = evaluation.runs.get(first, {}) if name != first else {}
    return tuple(
        Worst(
            id=question.id,
            question=question.question,
            standalone=run.standalone_question,
            held_by=question.held_by.value,
            accepted=question.answers,
            answer=run.answer,
            abstained=run.abstained,
            uncertain=run.uncertain,
            action=run.action.value if run.action else None,
            rule=run.rule,
            cause=loss.cause.value,
            why=loss.why,
            passage=_passage(question, run),
            evidence=_evidence(question, run),
            first_right=is_right(question, others[question.id]) if question.id in others else None,
        )
        for question, run, loss in found[:WORST]
    )


def _passage(question: Question, run: Run) -> ShownText | None:
    passage = best_passage(run, question.answers)
    if passage is None:
        return None
    graded: Grade | None = passage.grade if run.action else None
    return ShownText(
        where=_where(passage, passage.rows),
        relevance=passage.relevance if run.action else None,
        grade=graded.value if graded else None,
        text=passage.text,
        holds=contains_answer(passage.text, question.answers),
    )


def _evidence(question: Question, run: Run) -> tuple[ShownText, ...]:
    sources = {source.id: source for source in run.sources}
    pieces = []
    for piece in run.evidence:
        source = sources.get(piece.source)
        where = _where(source, piece.rows) if source else ""
        pieces.append(
            ShownText(
                where=f"[{piece.n}] {where}".strip(),
                relevance=piece.relevance if run.action else None,
                grade=None,
                text=piece.text,
                holds=contains_answer(piece.text, question.answers),
            )
        )
    return tuple(pieces)


def _where(one: Source | GradedPassage, rows: Sequence[SheetRow]) -> str:
    if one.origin is Origin.WEB or one.document is None:
        return f"web: {one.title or one.url or ''}"
    return place_name(one.document, one.page, rows)


FEWEST_ABLATED = 3
"""Minimum number of an ablation's configurations for each to be compared with the one before it."""

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Values by configuration, metric and question id."""


def figures(evaluation: Evaluation) -> Figures:
    """Return the figures of an evaluation, finished or not, over the questions asked so far."""
    asked = [name for name in evaluation.configurations if evaluation.pairs(name)]
    values = {name: measure_all(evaluation, name) for name in asked}
    groups = groups_of(evaluation.questions)
    pairs = [(asked[0], name) for name in asked[1:]] if asked else []
    actions = {name: found for name in asked if (found := _actions(evaluation, name, asked[0], values))}
    full = _full(asked)
    scored = full if full in actions else next(reversed(actions), None)
    scored_pairs = evaluation.pairs(scored) if scored else []
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
        reliability=curves.relevance_reliability(scored_pairs),
        sweep=curves.sweep(scored_pairs),
        retention=curves.retention(scored_pairs),
        times={name: _time(evaluation, name, values) for name in asked},
        losses={name: _losses(evaluation, name) for name in asked},
        full=full,
        worst=worst(evaluation, full, asked[0]) if full else (),
        outcomes={name: tuple(outcome_groups(evaluation, name)) for name in asked},
    )


def _full(asked: Sequence[str]) -> str | None:
    """Return the name of the configuration with all of localcrag and the settings in use, or else of the last one."""
    known = (FULL, ablations()[-1].name, *asked[-1:])
    return next((name for name in known if name in asked), None)


def verdict(values: Values, groups: Mapping[str, set[str]], first: str, second: str) -> ComparisonVerdict:
    """Return the key figures of two configurations, without those that apply to no question."""
    found = (_key(values, groups, (first, second), *key) for key in KEYS)
    return ComparisonVerdict(first=first, second=second, figures=tuple(one for one in found if one.first or one.second))


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
        says=describe_difference(metric, change),
        not_proved=unproved_reason(metric, change),
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
    differences: dict[str, dict[str, PairedDifference]] = {}
    for group, ids in groups.items():
        found = {
            name: difference(*_both(_within(one, ids), _within(values[second][name], ids)))
            for name, one in values[first].items()
        }
        differences[group] = {name: one for name, one in found.items() if one is not None}
    return Paired(first=first, second=second, differences=differences)


def _steps(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Return each configuration of an ablation with the one before it; empty if this is no ablation."""
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
        for holder in AnswerLocation
        if any(question.held_by is holder for question, _ in pairs)
    }
    decided = {}
    for action in Action:
        ids = {question.id for question, run in pairs if run.action is action}
        before, after = _both(_within(values[first]["seconds"], ids), _within(values[name]["seconds"], ids))
        decided[action.value] = ActionFigures(
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
            for holder in AnswerLocation
            if any(question.held_by is holder for question, _ in pairs)
        },
    )
