"""The sections of an evaluation's report, in reading order; sections_of_flow.py has the second half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcrag.evaluation.figures import ALL, Figures, Verdict
from localcrag.evaluation.metrics import METRICS
from localcrag.evaluation.report import sections_of_flow
from localcrag.evaluation.report.page import TONES, Page, Section, Table, Tone, row
from localcrag.evaluation.report.tables import cell, every_difference, paired_table, titled, verdict_table
from localcrag.evaluation.results import GROUPS
from localcrag.evaluation.statistics import CONFIDENCE, RESAMPLES, Difference
from localcrag.evaluation.wording import direction, plain

DIGEST_CHARACTERS = 12
"""As many as tell two sets apart by eye; the whole digest is in report.json."""


def page(figures: Figures) -> Page:
    """Return the report of an evaluation."""
    about = figures.about
    alerts = list(about.warnings)
    if figures.missing:
        total = figures.questions * len(figures.asked)
        missing = f"Unfinished: {figures.missing} of {total} runs are missing. The figures are of those that are there"
        alerts.insert(0, f"{missing}; give the command of this evaluation again to make the others.")
    sections = (_verdicts, _asked, _metrics, _differences, *sections_of_flow.SECTIONS)
    made = (section(figures) for section in sections)
    when = about.created_at[:16].replace("T", " ")
    return Page(
        f"Evaluation of {', '.join(used.name for used in about.sets)}",
        f"{figures.questions} questions · {when} · localcrag {about.version} · {about.id}",
        tuple(alerts),
        tuple(section for section in made if section is not None),
    )


def _verdicts(figures: Figures) -> Section | None:
    if not figures.verdicts:
        return None
    last = next((one for one in figures.verdicts if one.second == figures.full), figures.verdicts[-1])
    others = [verdict for verdict in figures.verdicts if verdict is not last]
    return Section(
        "Verdict",
        f"What “{last.second}” gains or loses against “{last.first}” on the same questions. What is called significant "
        f"would come about by chance in fewer than {100 * (1 - CONFIDENCE):.0f} of 100 cases.",
        lines=proved(last),
        tables=(verdict_table(last), *(verdict_table(verdict, folded=True) for verdict in others)),
    )


def proved(verdict: Verdict) -> tuple[str, ...]:
    """Return in words what a verdict proves, and what it does not and why."""
    found = [(one, direction(one.metric, one.difference)) for one in verdict.figures if one.difference]
    lines = []
    for word, tone in (("Better, significant", Tone.BETTER), ("Worse, significant", Tone.WORSE)):
        if titles := [titled(one.metric, one.group) for one, way in found if way and TONES[way] is tone]:
            lines.append(f"{word}: {'; '.join(titles)}.")
    lines += [
        f"Not proved: {titled(one.metric, one.group)}, since {one.not_proved}." for one, _ in found if one.not_proved
    ]
    return tuple(lines)


def _asked(figures: Figures) -> Section:
    about = figures.about
    sets = tuple(
        row(used.name, str(used.questions), str(used.documents), used.digest[:DIGEST_CHARACTERS]) for used in about.sets
    )
    configurations = tuple(
        row(name, str(figures.asked.get(name, 0)), _listed(changes) or "the settings below")
        for name, changes in about.configurations.items()
    )
    return Section(
        "What was asked",
        "Two evaluations can be compared where sets and digests are the same; localcrag’s own code had the digest "
        f"{about.code}.",
        tables=(
            Table("Sets", ("", "questions", "documents", "digest"), sets),
            Table(
                "Questions", ("", "number"), tuple(row(group, str(number)) for group, number in figures.groups.items())
            ),
            Table("Models", ("", "name"), tuple(row(role, name) for role, name in about.models.items()), words=True),
            Table("Configurations", ("", "asked", "differ in"), configurations, words=True),
            Table(
                "Settings",
                ("", "value"),
                tuple(row(name, plain(value)) for name, value in about.settings.items()),
                folded=True,
                words=True,
            ),
        ),
    )


def _listed(changes: Mapping[str, Any]) -> str:
    """Return what makes a configuration, settings and steps, in words."""
    settings = changes.get("changes", {})
    without = [step for step, runs in changes.get("steps", {}).items() if not runs]
    said = [f"{name} {plain(value)}" for name, value in settings.items()]
    return ", ".join(said + ([f"without {', '.join(without)}"] if without else []))


def _metrics(figures: Figures) -> Section:
    names = tuple(figures.estimates)
    compared = {paired.second: paired.differences for paired in figures.against_first}
    tables = []
    for group, size in figures.groups.items():
        rows = []
        for metric in METRICS:
            found = {name: figures.estimates[name][group].get(metric.name) for name in names}
            if any(found.values()):
                toned = {name: _tone(metric.name, compared.get(name, {}).get(group, {})) for name in names}
                rows.append(row(titled(metric.name), *(cell(metric.name, found[name], toned[name]) for name in names)))
        if rows:
            title = f"{group[0].upper()}{group[1:]} ({size})"
            tables.append(Table(title, ("", *names), tuple(rows), folded=group != ALL))
    definitions = tuple(row(metric.title, metric.definition, metric.source) for metric in METRICS)
    tables.append(Table("What each figure means", ("", "definition", "source"), definitions, folded=True, words=True))
    first = f"; ▲ better and ▼ worse than {names[0]}, where that is significant" if len(names) > 1 else ""
    return Section(
        "All figures",
        f"Each is a mean over the questions that it applies to (n), with its 95 % interval from {RESAMPLES} bootstrap "
        f"resamples of the questions, and without one where they are all alike{first}.",
        tables=tuple(tables),
    )


def _tone(metric: str, differences: Mapping[str, Difference]) -> Tone:
    return TONES[direction(metric, differences[metric])] if metric in differences else Tone.NONE


def _differences(figures: Figures) -> Section | None:
    if not figures.against_first:
        return None
    tables = []
    if figures.against_former:
        tables.append(paired_table("What each step adds to the one before it", figures.against_former))
    if len(figures.against_first) > 1:
        tables.append(paired_table(f"Each against {figures.against_first[0].first}", figures.against_first))
    tables += [
        every_difference(group, figures.against_first)
        for group in GROUPS
        if any(paired.differences[group] for paired in figures.against_first)
    ]
    return Section(
        "Paired differences",
        "The same questions under both: the interval is a bootstrap’s, p a paired permutation test’s, two-sided, for "
        "each figure by itself; where all is chance, one in twenty is below 0.05 all the same.",
        tables=tuple(tables),
    )
