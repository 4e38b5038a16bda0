"""A report as Markdown; whatever a document, the web or a model wrote is shown as text."""

from __future__ import annotations

from collections.abc import Iterable

from localcrag.evaluation.report.page import Card, Cell, Page, Quote, Section, Table, Tone
from localcrag.text.markdown import literal_line
from localcrag.text.words import one_line

_SIGNS = {Tone.BETTER: "▲ ", Tone.WORSE: "▼ ", Tone.NONE: ""}


def markdown(page: Page) -> str:
    """Return the page as Markdown. Plots are left out: the tables hold their figures."""
    parts = [f"# {_text(page.title)}", _text(page.subtitle)]
    parts += [f"> **{_text(alert)}**" for alert in page.alerts]
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> Iterable[str]:
    yield f"## {_text(section.title)}"
    yield _text(section.says)
    yield "\n".join(f"- {_text(line)}" for line in section.lines)
    for table in section.tables:
        yield _table(table)
    for card in section.cards:
        yield _card(card)


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    lines = [
        [_text(heading) for heading in table.headings],
        ["---"] + ["---" if table.words else "--:"] * (len(table.headings) - 1),
    ]
    lines += [[_text(row.name), *map(_cell, row.cells)] for row in table.rows]
    written = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"### {_text(table.title)}\n\n{written}"


def _cell(cell: Cell) -> str:
    return _SIGNS[cell.tone] + _text(cell.text) + (f" ({_text(cell.note)})" if cell.note else "")


def _card(card: Card) -> str:
    lines = [f"### {_text(card.title)}", f"**{_text(card.badge)}**: {_text(card.why)}"]
    lines.append("\n".join(f"- {_text(line)}" for line in card.lines))
    lines += [_quote(quote) for quote in card.quotes]
    return "\n\n".join(lines)


def _quote(quote: Quote) -> str:
    head = _text(quote.label) + (f" ({_text(quote.note)})" if quote.note else "")
    return f"> {head}{f', **{_text(quote.mark)}**' if quote.mark else ''}: “{_text(quote.text)}”"


def _text(text: str) -> str:
    # Before a space these two mean nothing in Markdown, and the tables are read as they are, too.
    return literal_line(one_line(text)).replace("\\: ", ": ").replace("\\< ", "< ")
