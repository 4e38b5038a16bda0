"""The page of a comparison of two evaluations."""

from __future__ import annotations

from collections import Counter

from localcrag.evaluation.comparison import Change, Changed, Comparison, Outcome
from localcrag.evaluation.figures import ALL
from localcrag.evaluation.report.page import Card, Page, Quote, Section, Table, Tone, row
from localcrag.evaluation.report.sections import proved
from localcrag.evaluation.report.tables import HOLDERS, accepted, every_difference, verdict_table
from localcrag.runs.evaluation_set import HeldBy

_TONES = {Change.LOST: Tone.WORSE, Change.WON: Tone.BETTER, Change.DECIDED: Tone.NONE}
MOST_CARDS = 100
"""Of changed questions; beyond it nobody reads on, and comparison.json has them all."""


def comparison_page(found: Comparison) -> Page:
    """Return the page of a comparison."""
    alerts = []
    if found.only_before or found.only_after:
        alerts.append(
            f"Compared are the {found.questions} questions that were asked in both. Left out: {found.only_before} of "
            f"the first and {found.only_after} of the second, which are missing, worded or labelled otherwise in the "
            "other."
        )
    made = (_verdict(found), _differing(found), _figures(found), _changed(found))
    return Page(
        f"{found.first} → {found.second}",
        f"{found.questions} questions · {found.before.id} → {found.after.id}",
        tuple(alerts),
        tuple(section for section in made if section is not None),
    )


def _verdict(found: Comparison) -> Section:
    return Section(
        "Verdict",
        f"What “{found.second}” gains or loses against “{found.first}” on the same questions.",
        lines=proved(found.verdict),
        tables=(verdict_table(found.verdict),),
    )


def _differing(found: Comparison) -> Section:
    rows = tuple(row(one.name, one.before, one.after) for one in found.differing)
    return Section(
        "What was changed",
        "Whatever differs between the two can be what made the difference; one thing at a time tells most.",
        tables=(Table("Settings, models, code", ("", found.first, found.second), rows, words=True),),
    )


def _figures(found: Comparison) -> Section:
    return Section(
        "All differences",
        "Second minus first, on the questions that a figure applies to in both, with 95 % intervals.",
        tables=tuple(
            every_difference(group, (found.paired,), folded=group != ALL)
            for group in found.groups
            if found.paired.differences[group]
        ),
    )


def _changed(found: Comparison) -> Section:
    counts = Counter(one.change for one in found.changed)
    rows = tuple(row(change, str(counts[change])) for change in Change)
    shown = found.changed[:MOST_CARDS]
    more = len(found.changed) - len(shown)
    return Section(
        "Questions that changed",
        "What is lost comes first: a gain that costs as many questions as it wins is none.",
        lines=(f"{more} more are in comparison.json.",) if more else (),
        tables=(Table("Questions", ("", "number"), rows),),
        cards=tuple(_card(one, found) for one in shown),
    )


def _card(one: Changed, found: Comparison) -> Card:
    why = "; ".join(
        f"{name}: {outcome.cause}, {outcome.why}"
        for name, outcome in ((found.first, one.before), (found.second, one.after))
        if outcome.cause
    )
    facts = (f"held by: {HOLDERS[HeldBy(one.held_by)]}", f"accepted: {accepted(one.accepted)}")
    return Card(
        one.question,
        one.change,
        why,
        facts,
        (_quote(found.first, one.before), _quote(found.second, one.after)),
        _TONES[one.change],
    )


def _quote(name: str, outcome: Outcome) -> Quote:
    decided = f"{outcome.action}: {outcome.rule}" if outcome.action else ""
    given = "abstained" if outcome.abstained else "not certain" if outcome.uncertain else ""
    said = ", ".join(part for part in (given, decided) if part)
    return Quote(name, outcome.answer, said, "right" if outcome.right else "")
