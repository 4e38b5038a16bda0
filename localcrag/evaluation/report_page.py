"""Pages of a report: sections of tables, plots and cards, and their output as HTML and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from localcrag.runs.export import template_environment
from localcrag.text.sanitize import escape_markdown_line
from localcrag.text.translation import format_decimals
from localcrag.text.words import one_line


class Tone(StrEnum):
    """Whether a figure is better or worse than the one it is compared with; shown by a colour and a sign."""

    NONE = ""
    BETTER = "better"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class ReportCell:
    """A figure, with its interval and its number of questions as a note."""

    text: str
    note: str = ""
    tone: Tone = Tone.NONE


Row = Sequence[ReportCell | str]
"""A row of a table: its name and its cells; a cell without a note may be a string."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table; `folded`: it is collapsed at first. `words`: its cells are sentences, not figures."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Row]
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
class Plot:
    """A plot of a record, by the macro of this name in plots.html; `legend` maps the page's colours to meanings."""

    name: str
    record: object
    alt: str
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A question, its outcome (`badge`, with its `tone`), the reason, and the texts that show it."""

    title: str
    badge: str
    why: str
    lines: Sequence[str]
    quotes: Sequence[Quote]
    tone: Tone = Tone.WORSE


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section; `says` is a sentence on how to read it. `plots` are drawn only in formats that can show them."""

    title: str
    says: str
    lines: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    plots: Sequence[Plot] = ()
    cards: Sequence[Card] = ()

    @property
    def shown(self) -> bool:
        """Whether the section has anything to show."""
        return bool(self.cards) or any(table.rows for table in self.tables)


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report; `alerts` are shown above everything else."""

    title: str
    subtitle: str
    alerts: Sequence[str]
    sections: Sequence[ReportSection]


_TEMPLATES = template_environment("localcrag.evaluation")
_SIGNS = {Tone.BETTER: "▲", Tone.WORSE: "▼", Tone.NONE: ""}


def html(page: ReportPage) -> str:
    """Return the page as HTML, with a policy that forbids scripts and any content from other servers."""
    style = Markup(_TEMPLATES.get_template("report.css").render())  # noqa: S704  a file of this package
    return _TEMPLATES.get_template("report.html").render(page=page, style=style, signs=_SIGNS)


def markdown(page: ReportPage) -> str:
    """Return the page as Markdown, without plots: the tables contain their figures."""
    return _TEMPLATES.get_template("report.md").render(page=page, signs=_SIGNS).rstrip() + "\n"


def _text(text: str) -> str:
    # Before a space, ":" and "<" have no meaning in Markdown, and the tables are also read as plain text.
    return escape_markdown_line(one_line(text)).replace("\\: ", ": ").replace("\\< ", "< ")


_TEMPLATES.filters |= {"text": _text, "decimals": format_decimals}
