"""The parts of a report, independent of its format: sections of tables, plots and cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from localcrag.evaluation.metrics import Better
from localcrag.evaluation.report.plots import Plot


class Tone(StrEnum):
    """What a figure says against the one that it is compared with; shown as a colour and a sign."""

    NONE = ""
    BETTER = "better"
    WORSE = "worse"


TONES = {Better.HIGHER: Tone.BETTER, Better.LOWER: Tone.WORSE, Better.NEITHER: Tone.NONE, None: Tone.NONE}
"""For wording.direction."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, and its interval and number of questions as a note."""

    text: str
    note: str = ""
    tone: Tone = Tone.NONE


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: what it is of, and its cells."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A `folded` table is opened by who wants it; `words`: its cells are sentences, not figures."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    folded: bool = False
    words: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """A text of a document, the web or a model; `mark` says what is good about it, if anything."""

    label: str
    text: str
    note: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A question, what came of it (`badge`, and its `tone`), why, and the texts that show it."""

    title: str
    badge: str
    why: str
    lines: tuple[str, ...]
    quotes: tuple[Quote, ...]
    tone: Tone = Tone.WORSE


@dataclass(frozen=True, slots=True)
class Section:
    """`says` tells in a sentence what to read out of it; `plots` are drawn only where they can be shown."""

    title: str
    says: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Callable[[], Plot], ...] = ()
    cards: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A report; `alerts` stand above everything else."""

    title: str
    subtitle: str
    alerts: tuple[str, ...]
    sections: tuple[Section, ...]


def row(name: str, *cells: Cell | str) -> Row:
    """Return a line of a table; a text is a cell without a note."""
    return Row(name, tuple(Cell(one) if isinstance(one, str) else one for one in cells))
