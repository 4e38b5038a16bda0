"""Cells and tables of reports: a value with interval and n, a difference with p."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.evaluation.figures import ALL, KEYS, KeyFigure, Paired, Verdict
from localcrag.evaluation.metrics import BY_NAME
from localcrag.evaluation.report.page import TONES, Cell, Row, Table, Tone, row
from localcrag.evaluation.statistics import Difference, Estimate
from localcrag.evaluation.wording import NONE, chance, direction, interval, number
from localcrag.runs.evaluation_set import HeldBy

SHARE = "share"
"""Stands for any metric that is one, where figures of no metric are written."""
HOLDERS = {HeldBy.DOCUMENTS: "documents", HeldBy.WEB: "only the web", HeldBy.NOWHERE: "neither"}

MOST_ACCEPTED = 6
"""Accepted answers shown of a question; some sets list dozens of spellings."""


def accepted(answers: Sequence[str]) -> str:
    """Return accepted answers in a line."""
    if not answers:
        return "none, since neither documents nor web answer it"
    more = f" and {len(answers) - MOST_ACCEPTED} more" if len(answers) > MOST_ACCEPTED else ""
    return " | ".join(answers[:MOST_ACCEPTED]) + more


def cell(metric: str, one: Estimate | None, tone: Tone = Tone.NONE) -> Cell:
    """Return a figure with its interval and number of questions."""
    if one is None:
        return Cell(NONE)
    return Cell(number(metric, one.mean), _note(interval(metric, one), f"n {one.n}"), tone)


def change(metric: str, one: Difference | None) -> Cell:
    """Return a paired difference with its interval, p and number of questions."""
    if one is None:
        return Cell(NONE)
    note = _note(interval(metric, one, signed=True), chance(one.p), f"n {one.n}")
    return Cell(number(metric, one.mean, signed=True), note, TONES[direction(metric, one)])


def _note(*parts: str) -> str:
    """Join the parts; a line breaks only between two."""
    return ", ".join(part.replace(" ", "\u00a0") for part in parts if part)


def titled(metric: str, group: str = ALL) -> str:
    """Return a metric's title, and of which questions it is when not of all."""
    title = BY_NAME[metric].title
    return title if group == ALL else f"{title}, {group}"


def verdict_table(verdict: Verdict, *, folded: bool = False) -> Table:
    """Return the key figures of two configurations side by side."""
    rows = tuple(
        row(
            titled(one.metric, one.group),
            cell(one.metric, one.first),
            cell(one.metric, one.second),
            change(one.metric, one.difference),
            NONE if one.ratio is None else f"{one.ratio:.2f} ×",
            _word(one),
        )
        for one in verdict.figures
    )
    headings = ("", verdict.first, verdict.second, "difference", "ratio", "")
    return Table(f"{verdict.first} → {verdict.second}", headings, rows, folded=folded)


def _word(one: KeyFigure) -> str:
    if one.difference is None:
        return "not compared"
    if one.not_proved:
        return "not proved"
    return TONES[direction(one.metric, one.difference)].value or "changed"


def paired_table(title: str, pairs: Sequence[Paired]) -> Table:
    """Return the differences of the key figures, a column for each pair."""
    rows = tuple(
        row(titled(metric, group), *(change(metric, paired.differences[group].get(metric)) for paired in pairs))
        for metric, group in KEYS
        if any(metric in paired.differences[group] for paired in pairs)
    )
    return Table(title, ("", *(paired.second for paired in pairs)), rows)


def every_difference(group: str, pairs: Sequence[Paired], *, folded: bool = True) -> Table:
    """Return the differences of every metric in a group, a column for each pair."""
    rows: tuple[Row, ...] = tuple(
        row(titled(metric), *(change(metric, paired.differences[group].get(metric)) for paired in pairs))
        for metric in BY_NAME
        if any(metric in paired.differences[group] for paired in pairs)
    )
    title = f"Every figure against {pairs[0].first}: {group}"
    return Table(title, ("", *(paired.second for paired in pairs)), rows, folded=folded)
