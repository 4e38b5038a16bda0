"""Pages of a report: sections of tables, plots and cards, and their output as HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from localcrag.evaluation.analysis import ALL, KEYS, ComparisonVerdict, KeyFigure, Paired
from localcrag.evaluation.metrics import BY_NAME, Better
from localcrag.evaluation.report_plots import Plot
from localcrag.evaluation.wording import NONE, Estimate, PairedDifference, chance, direction, interval, number
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.runs.export import template_environment
from localcrag.text.sanitize import escape_markdown_line
from localcrag.text.words import one_line


class Tone(StrEnum):
    """Whether a figure is better or worse than the one it is compared with; shown by a colour and a sign."""

    NONE = ""
    BETTER = "better"
    WORSE = "worse"


TONES = {Better.HIGHER: Tone.BETTER, Better.LOWER: Tone.WORSE, Better.NEITHER: Tone.NONE, None: Tone.NONE}
"""Tones of the results of `wording.direction`."""


@dataclass(frozen=True, slots=True)
class ReportCell:
    """A figure, with its interval and its number of questions as a note."""

    text: str
    note: str = ""
    tone: Tone = Tone.NONE


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of a table: its name and its cells."""

    name: str
    cells: tuple[ReportCell, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table; `folded`: it is collapsed at first. `words`: its cells are sentences, not figures."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    folded: bool = False
    words: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """A text of a document, the web or a model; `mark` says what is good about it, if anything is."""

    label: str
    text: str
    note: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A question, its outcome (`badge`, with its `tone`), the reason, and the texts that show it."""

    title: str
    badge: str
    why: str
    lines: tuple[str, ...]
    quotes: tuple[Quote, ...]
    tone: Tone = Tone.WORSE


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section; `says` is a sentence on how to read it. `plots` are drawn only in formats that can show them."""

    title: str
    says: str
    lines: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    plots: tuple[Callable[[], Plot], ...] = ()
    cards: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report; `alerts` are shown above everything else."""

    title: str
    subtitle: str
    alerts: tuple[str, ...]
    sections: tuple[ReportSection, ...]


def row(name: str, *cells: ReportCell | str) -> ReportRow:
    """Return a row of a table; a string becomes a cell without a note."""
    return ReportRow(name, tuple(ReportCell(one) if isinstance(one, str) else one for one in cells))


_TEMPLATES = template_environment("localcrag.evaluation")
_SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.NONE: ""}


def html(page: ReportPage) -> str:
    """Return the page as HTML, with a policy that forbids scripts and any content from other servers."""
    style = Markup(_TEMPLATES.get_template("report.css").render())  # noqa: S704  a file of this package
    return _TEMPLATES.get_template("report.html").render(page=page, style=style, drawn=_drawn, signs=_SIGNS)


def _drawn(section: ReportSection) -> list[tuple[Plot, Markup]]:
    plots = [plot() for plot in section.plots]
    # matplotlib has escaped the texts in its SVG.
    return [(plot, Markup(plot.svg)) for plot in plots]  # noqa: S704


def markdown(page: ReportPage) -> str:
    """Return the page as Markdown, without plots: the tables contain their figures."""
    return _TEMPLATES.get_template("report.md").render(page=page, signs=_SIGNS).rstrip() + "\n"


def _text(text: str) -> str:
    # Before a space, ":" and "<" have no meaning in Markdown, and the tables are also read as plain text.
    return escape_markdown_line(one_line(text)).replace("\\: ", ": ").replace("\\< ", "< ")


_TEMPLATES.filters["text"] = _text

SHARE = "share"
"""Name that stands for any metric that is a share, for figures without a metric."""
HOLDERS = {AnswerLocation.DOCUMENTS: "documents", AnswerLocation.WEB: "only the web", AnswerLocation.NOWHERE: "neither"}

MOST_ACCEPTED = 6
"""Maximum number of accepted answers shown for a question; some sets list dozens of spellings."""


def accepted(answers: Sequence[str]) -> str:
    """Return the accepted answers as one line."""
    if not answers:
        return "none, since neither documents nor web answer it"
    more = f" and {len(answers) - MOST_ACCEPTED} more" if len(answers) > MOST_ACCEPTED else ""
    return " | ".join(answers[:MOST_ACCEPTED]) + more


def cell(metric: str, one: Estimate | None, tone: Tone = Tone.NONE) -> ReportCell:
    """Return a figure with its interval and number of questions."""
    if one is None:
        return ReportCell(NONE)
    return ReportCell(number(metric, one.mean), _note(interval(metric, one), f"n {one.n}"), tone)


def change(metric: str, one: PairedDifference | None) -> ReportCell:
    """Return a paired difference with its interval, p and number of questions."""
    if one is None:
        return ReportCell(NONE)
    note = _note(interval(metric, one, signed=True), chance(one.p), f"n {one.n}")
    return ReportCell(number(metric, one.mean, signed=True), note, TONES[direction(metric, one)])


def _note(*parts: str) -> str:
    """Join the parts, so that a line can only break between two parts."""
    return ", ".join(part.replace(" ", "\u00a0") for part in parts if part)


def metric_title(metric: str, group: str = ALL) -> str:
    """Return a metric's title, followed by the group of questions unless it is all questions."""
    title = BY_NAME[metric].title
    return title if group == ALL else f"{title}, {group}"


def verdict_table(verdict: ComparisonVerdict, *, folded: bool = False) -> ReportTable:
    """Return a table of the key figures of two configurations side by side."""
    rows = tuple(
        row(
            metric_title(one.metric, one.group),
            cell(one.metric, one.first),
            cell(one.metric, one.second),
            change(one.metric, one.difference),
            NONE if one.ratio is None else f"{one.ratio:.2f} ×",
            _word(one),
        )
        for one in verdict.figures
    )
    headings = ("", verdict.first, verdict.second, "difference", "ratio", "")
    return ReportTable(f"{verdict.first} → {verdict.second}", headings, rows, folded=folded)


def _word(one: KeyFigure) -> str:
    if one.difference is None:
        return "not compared"
    if one.not_proved:
        return "not proved"
    return TONES[direction(one.metric, one.difference)].value or "changed"


def _difference_table(
    title: str, named: Mapping[str, tuple[str, str]], pairs: Sequence[Paired], *, folded: bool
) -> ReportTable:
    """Return a table of differences with a column for each pair; `named` maps each row to a metric and a group."""
    rows = []
    for name, (metric, group) in named.items():
        found = [paired.differences[group].get(metric) for paired in pairs]
        if any(found):
            rows.append(row(name, *(change(metric, one) for one in found)))
    return ReportTable(title, ("", *(paired.second for paired in pairs)), tuple(rows), folded=folded)


def key_differences(title: str, pairs: Sequence[Paired]) -> ReportTable:
    """Return a table of the differences of the key figures."""
    return _difference_table(title, {metric_title(*key): key for key in KEYS}, pairs, folded=False)


def every_difference(group: str, pairs: Sequence[Paired], *, folded: bool) -> ReportTable:
    """Return a table of the differences of every metric in a group."""
    named = {metric_title(metric): (metric, group) for metric in BY_NAME}
    return _difference_table(f"Every figure against {pairs[0].first}: {group}", named, pairs, folded=folded)
