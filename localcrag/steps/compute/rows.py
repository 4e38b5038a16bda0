"""Rows of a table: their cells and places, and which of them are totals or labels of others."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOTAL = re.compile(
    r"(?:grand |sub-?|over-?all |sum )?(?:totals?|sums?|overall|summe|gesamt(?:summe)?|zwischensumme)\b|"
    r"(?:(?:all )?together|altogether)\b|"
    r"(?:average|mean|median|carried (?:forward|over))\b",
    re.IGNORECASE,
)
_OF_TOTAL = re.compile(
    r"(?: ?[(,]?(?:of|for|in|per|all|net|gross|amount|costs?|price|sum|due|year|month|incl|excl|including|excluding|"
    r"with|without|vat|tax|eur|usd|gbp|the|items?|rows?|entries|(?:19|20)\d\d)\b[).]?)*[ :.]*\Z",
    re.IGNORECASE,
)
"""What may stand behind the word in a row's label; with others it is a total where the row has no other words."""
_DUE = re.compile(
    r"(?:(?:net|gross) (?:amount|sum)|(?:amount|balance|sum) (?:due|payable|to pay)|(?:gesamt|rechnungs|end)betrag)\W*",
    re.IGNORECASE,
)
"""Whole labels of what is to be paid in the end."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells, as many as the header has, and its place in the document's text."""

    cells: tuple[str, ...]
    start: int
    end: int
    page: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether it sums up the rows above it. "Total Care Shampoo" is none."""
        first = next(filter(None, self.cells), "")
        found = _TOTAL.match(first)
        if found is None:
            # Behind a number or a day, as of any row, it is a total only where nothing else is said.
            label = next(filter(_has_letter, self.cells), "")
            found = _TOTAL.match(label) if not _has_letter(first) else None
            of_total = found is not None and _OF_TOTAL.match(label, found.end()) is not None
            return of_total or _DUE.fullmatch(label) is not None
        others = [cell for cell in self.cells if cell][1:]
        figures_alone = len(self.cells) > 2 and all(has_digit(cell) or not _has_letter(cell) for cell in others)
        return figures_alone or _OF_TOTAL.match(first, found.end()) is not None

    @property
    def is_label(self) -> bool:
        """Whether it has nothing but its first cell, as what stands over a group of rows."""
        return len(self.cells) > 2 and bool(self.cells[0]) and not any(self.cells[1:])


def has_digit(text: str) -> bool:
    """Whether a cell has a digit."""
    return any(map(str.isdigit, text))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
