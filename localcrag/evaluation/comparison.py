"""A comparison of two evaluations of the same questions: figures, changed questions, and their page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localcrag.evaluation import analysis
from localcrag.evaluation.diagnosis import diagnose, is_right
from localcrag.evaluation.report_page import Card, Quote, ReportPage, ReportSection, ReportTable, Tone
from localcrag.evaluation.report_sections import HOLDERS, accepted, every_difference, verdict_lines, verdict_table
from localcrag.evaluation.results import About, Evaluation, measure_all
from localcrag.evaluation.wording import NONE, plain
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
class Changed:
    """A question whose outcome changed."""

    id: str
    question: str
    held_by: AnswerLocation
    accepted: tuple[str, ...]
    change: OutcomeChange
    before: analysis.QuestionOutcome
    after: analysis.QuestionOutcome


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
    verdict: analysis.ComparisonVerdict
    paired: analysis.Paired
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
    groups = analysis.groups_of(questions)
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
        verdict=analysis.verdict(values, groups, first, second),
        paired=analysis.paired(values, groups, first, second),
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
        before=analysis.question_outcome(before, diagnose(question, before)),
        after=analysis.question_outcome(after, diagnose(question, after)),
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


_TONES = {OutcomeChange.LOST: Tone.WORSE, OutcomeChange.WON: Tone.BETTER, OutcomeChange.DECIDED: Tone.NONE}
MOST_CARDS = 100
"""Maximum number of changed questions on the page: nobody reads more, and comparison.json contains all of them."""


def comparison_page(found: Comparison) -> ReportPage:
    """Return the page of a comparison."""
    alerts = []
    if found.only_before or found.only_after:
        alerts.append(
            f"Compared are the {found.questions} questions that were asked in both. Left out: {found.only_before} of "
            f"the first and {found.only_after} of the second, which are missing, worded or labelled otherwise in the "
            "other."
        )
    return ReportPage(
        f"{found.first} → {found.second}",
        f"{found.questions} questions · {found.before.id} → {found.after.id}",
        alerts,
        (_verdict_section(found), _settings_section(found), _figures_section(found), _questions_section(found)),
    )


def _verdict_section(found: Comparison) -> ReportSection:
    return ReportSection(
        "Verdict",
        f"What “{found.second}” gains or loses against “{found.first}” on the same questions.",
        lines=verdict_lines(found.verdict),
        tables=(verdict_table(found.verdict),),
    )


def _settings_section(found: Comparison) -> ReportSection:
    rows = [(one.name, one.before, one.after) for one in found.differing]
    return ReportSection(
        "What was changed",
        "Whatever differs between the two can be what made the difference; one thing at a time tells most.",
        tables=(ReportTable("Settings, models, code", ("", found.first, found.second), rows, words=True),),
    )


def _figures_section(found: Comparison) -> ReportSection:
    return ReportSection(
        "All differences",
        "Second minus first, on the questions that a figure applies to in both, with 95 % intervals.",
        tables=[every_difference(group, (found.paired,), folded=group != analysis.ALL) for group in found.groups],
    )


def _questions_section(found: Comparison) -> ReportSection:
    counts = Counter(one.change for one in found.changed)
    rows = [(change, str(counts[change])) for change in OutcomeChange]
    shown = found.changed[:MOST_CARDS]
    more = len(found.changed) - len(shown)
    return ReportSection(
        "Questions that changed",
        "What is lost comes first: a gain that costs as many questions as it wins is none.",
        lines=(f"{more} more are in comparison.json.",) if more else (),
        tables=(ReportTable("Questions", ("", "number"), rows),),
        cards=[_card(one, found) for one in shown],
    )


def _card(one: Changed, found: Comparison) -> Card:
    why = "; ".join(
        f"{name}: {outcome.cause}, {outcome.why}"
        for name, outcome in ((found.first, one.before), (found.second, one.after))
        if outcome.cause
    )
    facts = (f"held by: {HOLDERS[one.held_by]}", f"accepted: {accepted(one.accepted)}")
    return Card(
        one.question,
        one.change,
        why,
        facts,
        (_quote(found.first, one.before), _quote(found.second, one.after)),
        _TONES[one.change],
    )


def _quote(name: str, outcome: analysis.QuestionOutcome) -> Quote:
    decided = f"{outcome.action}: {outcome.rule}" if outcome.action else ""
    given = "abstained" if outcome.abstained else "not certain" if outcome.uncertain else ""
    text = ", ".join(part for part in (given, decided) if part)
    return Quote(name, outcome.answer, text, "" if outcome.cause else "right")
