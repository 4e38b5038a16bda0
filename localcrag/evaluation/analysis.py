"""Analysis of an evaluation: the figures that report.json contains and the report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from localcrag.evaluation import curves, diagnosis
from localcrag.evaluation.metrics import BY_NAME, Metric, contains_answer
from localcrag.evaluation.plan import FULL, ablations
from localcrag.evaluation.results import GROUPS, About, Evaluation, measure_all, step_costs
from localcrag.evaluation.wording import Estimate, PairedDifference, difference, estimate, unproved_reason
from localcrag.records.enums import Action, Grade
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import Evidence, GradedPassage
from localcrag.records.run import Run

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
"""Key figures of a verdict: a metric, and the group of questions that it covers."""


Counts = dict[AnswerLocation, dict[Action, int]]
"""Number of questions, by who holds the answer and the action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One key figure under two configurations, each over the questions that it applies to.

    `ratio` is second / first, over the questions that it applies to in both; None if the first is 0.
    """

    metric: str
    group: str
    first: Estimate | None
    second: Estimate | None
    difference: PairedDifference | None
    ratio: float | None
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
class Losses:
    """The number of questions answered right, and where the other answers were lost."""

    questions: int
    right: int
    causes: dict[diagnosis.Cause, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """A text with its relevance, None if it was not scored; `holds` tells whether it contains an accepted answer."""

    where: str
    relevance: float | None
    grade: Grade | None
    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutcome:
    """A short form of a question's run; `cause` tells what went wrong, None if the run is right."""

    action: Action | None
    rule: str
    answer: str
    abstained: bool
    uncertain: bool
    cause: diagnosis.Cause | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst(QuestionOutcome):
    """A question that went wrong.

    `first_right` tells whether the first configuration got it right; None if this is the first one, or if that one did
    not ask it.
    """

    id: str
    question: str
    standalone: str
    held_by: AnswerLocation
    accepted: tuple[str, ...]
    passage: ShownText | None
    evidence: tuple[ShownText, ...]
    first_right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that a report shows.

    `actions` has the number of questions by configuration, who holds the answer, and action; `steps` the mean cost of
    each step, by configuration.

    `scored` names the configuration of the curves, `full` the one whose worst questions are shown.
    """

    about: About
    questions: int
    groups: dict[str, int]
    asked: dict[str, int]
    missing: int
    metrics: dict[str, Metric]
    verdicts: tuple[ComparisonVerdict, ...]
    estimates: dict[str, dict[str, dict[str, Estimate]]]
    against_first: tuple[Paired, ...]
    against_former: tuple[Paired, ...]
    actions: dict[str, Counts]
    scored: str | None
    reliability: curves.Reliability | None
    sweep: curves.Sweep | None
    retention: tuple[curves.Length, ...]
    steps: dict[str, dict[str, dict[str, float]]]
    losses: dict[str, Losses]
    full: str | None
    worst: tuple[Worst, ...]
    outcomes: dict[str, tuple[diagnosis.OutcomeCounts, ...]]


WORST = 20
"""Number of worst questions to list: as many as a person will read."""


def worst(evaluation: Evaluation, name: str, first: str) -> tuple[Worst, ...]:
    """Return the WORST questions of a configuration, the worst first; `first` is the configuration to compare with."""
    found = [
        (question, run, loss) for question, run in evaluation.pairs(name) if (loss := diagnosis.diagnose(question, run))
    ]  # fmt: skip
    found.sort(key=lambda one: diagnosis.severity(*one))
    others = evaluation.runs.get(first, {}) if name != first else {}
    return tuple(
        Worst(
            **asdict(question_outcome(run, loss)),
            id=question.id,
            question=question.question,
            standalone=run.standalone_question,
            held_by=question.held_by,
            accepted=question.answers,
            passage=_passage(question, run),
            evidence=_evidence(question, run),
            first_right=diagnosis.is_right(question, others[question.id]) if question.id in others else None,
        )
        for question, run, loss in found[:WORST]
    )


def question_outcome(run: Run, loss: diagnosis.Loss | None) -> QuestionOutcome:
    """Return a run in its short form; `loss` is what went wrong."""
    return QuestionOutcome(
        action=run.action,
        rule=run.rule,
        answer=run.answer,
        abstained=run.abstained,
        uncertain=run.uncertain,
        cause=loss.cause if loss else None,
        why=loss.why if loss else "",
    )


def _passage(question: Question, run: Run) -> ShownText | None:
    passage = diagnosis.best_passage(run, question.answers)
    if passage is None:
        return None
    grade = passage.grade if run.action else None
    return _shown(question, run, passage, diagnosis.place_in_source(passage, passage.rows), grade)


def _evidence(question: Question, run: Run) -> tuple[ShownText, ...]:
    sources = {source.id: source for source in run.sources}
    places = [
        diagnosis.place_in_source(sources[one.source], one.rows) if one.source in sources else ""
        for one in run.evidence
    ]
    return tuple(
        _shown(question, run, piece, f"[{piece.n}] {place}".strip(), None)
        for piece, place in zip(run.evidence, places, strict=True)
    )


def _shown(question: Question, run: Run, one: GradedPassage | Evidence, where: str, grade: Grade | None) -> ShownText:
    holds = contains_answer(one.text, question.answers)
    relevance = one.relevance if run.action else None
    return ShownText(where=where, relevance=relevance, grade=grade, text=one.text, holds=holds)


FEWEST_ABLATED = 3
"""Minimum number of configurations in an ablation for each to be compared with the previous one."""

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Values by configuration, metric and question id."""


def figures(evaluation: Evaluation) -> Figures:
    """Return the figures of an evaluation, finished or not, over the questions asked so far."""
    asked = [name for name in evaluation.configurations if evaluation.pairs(name)]
    values = {name: measure_all(evaluation, name) for name in asked}
    groups = groups_of(evaluation.questions)
    pairs = [(asked[0], name) for name in asked[1:]] if asked else []
    actions = {name: found for name in asked if (found := _decisions(evaluation, name))}
    # The configuration with all of localcrag and the current settings, or else the last configuration.
    full = next((name for name in (FULL, ablations()[-1].name, *asked[-1:]) if name in asked), None)
    scored = full if full in actions else next(reversed(actions), None)
    scored_pairs = evaluation.pairs(scored) if scored else []
    return Figures(
        about=evaluation.about,
        questions=len(evaluation.questions),
        groups={name: len(ids) for name, ids in groups.items()},
        asked={name: len(evaluation.pairs(name)) for name in evaluation.configurations},
        missing=evaluation.missing,
        metrics=BY_NAME,
        verdicts=tuple(verdict(values, groups, *pair) for pair in pairs),
        estimates={name: {group: _estimates(values[name], ids) for group, ids in groups.items()} for name in asked},
        against_first=tuple(paired(values, groups, *pair) for pair in pairs),
        against_former=tuple(paired(values, groups, *pair) for pair in _steps(asked)),
        actions=actions,
        scored=scored,
        reliability=curves.relevance_reliability(scored_pairs),
        sweep=curves.sweep(scored_pairs),
        retention=curves.retention(scored_pairs),
        steps={name: step_costs(evaluation, name) for name in asked},
        losses={name: _losses(evaluation, name) for name in asked},
        full=full,
        worst=worst(evaluation, full, asked[0]) if full else (),
        outcomes={name: tuple(diagnosis.outcome_groups(evaluation, name)) for name in asked},
    )


def verdict(values: Values, groups: Mapping[str, set[str]], first: str, second: str) -> ComparisonVerdict:
    """Return the key figures of two configurations, without figures that apply to no question."""
    found = (_key(values, groups, (first, second), *key) for key in KEYS)
    return ComparisonVerdict(first=first, second=second, figures=tuple(one for one in found if one.first or one.second))


def _key(values: Values, groups: Mapping[str, set[str]], pair: tuple[str, str], metric: str, group: str) -> KeyFigure:
    before, after = (_select(values[name][metric], groups[group]) for name in pair)
    both = _common_values(before, after)
    change = difference(*both)
    return KeyFigure(
        metric=metric,
        group=group,
        first=estimate(list(before.values())),
        second=estimate(list(after.values())),
        difference=change,
        ratio=float(sum(both[1]) / whole) if (whole := sum(both[0])) else None,
        not_proved=unproved_reason(metric, change),
    )


def groups_of(questions: Sequence[Question]) -> dict[str, set[str]]:
    """Return the ids of the questions in each group."""
    return {
        name: {question.id for question in questions if holder in (None, question.held_by)}
        for name, holder in GROUPS.items()
    }


def _select(values: Mapping[str, float], ids: set[str]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name in ids}


def _common_values(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[list[float], list[float]]:
    names = [name for name in first if name in second]
    return [first[name] for name in names], [second[name] for name in names]


def _estimates(values: Mapping[str, Mapping[str, float]], ids: set[str]) -> dict[str, Estimate]:
    found = {name: estimate(list(_select(one, ids).values())) for name, one in values.items()}
    return {name: one for name, one in found.items() if one is not None}


def paired(values: Values, groups: Mapping[str, set[str]], first: str, second: str) -> Paired:
    """Return every metric's difference between two configurations, by group."""
    differences: dict[str, dict[str, PairedDifference]] = {}
    for group, ids in groups.items():
        found = {
            name: difference(*_common_values(_select(one, ids), _select(values[second][name], ids)))
            for name, one in values[first].items()
        }
        differences[group] = {name: one for name, one in found.items() if one is not None}
    return Paired(first=first, second=second, differences=differences)


def _steps(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Return each configuration of an ablation with the previous one; empty if the evaluation is not an ablation."""
    order = [configuration.name for configuration in ablations()]
    there = [name for name in order if name in asked]
    return list(pairwise(there)) if len(there) >= FEWEST_ABLATED else []


def _decisions(evaluation: Evaluation, name: str) -> Counts:
    """Return how often each action was decided, by who holds the answer; empty if nothing was decided."""
    decided = Counter((question.held_by, run.action) for question, run in evaluation.pairs(name) if run.action)
    holders = {holder for holder, _ in decided}
    return {
        holder: {action: decided[holder, action] for action in Action} for holder in AnswerLocation if holder in holders
    }


def _losses(evaluation: Evaluation, name: str) -> Losses:
    pairs = evaluation.pairs(name)
    counts = Counter(loss.cause for question, run in pairs if (loss := diagnosis.diagnose(question, run)))
    return Losses(
        questions=len(pairs),
        right=len(pairs) - counts.total(),
        causes={cause: counts[cause] for cause in diagnosis.Cause},
    )
