"""Days, months and years in cells and questions, with what of them is said."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from localcrag.text.moments import MONTHS, SHORT_MONTHS

_NUMBER_OF = {name.lower(): 1 + at for at, name in enumerate(MONTHS)} | {
    short.lower(): 1 + MONTHS.index(long) for short, long in SHORT_MONTHS.items()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBER_OF, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\d:])"
FORMS = (
    rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)",
    rf"{_YEAR}-(?P<month>\d\d)(?![\d-])",
    rf"{_DAY}\.? (?:of )?{_MONTH}(?:,? {_YEAR})?",
    rf"{_MONTH} {_DAY}(?:,? {_YEAR})?",
    rf"{_MONTH}(?: (?:of )?{_YEAR})?",
    rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_YEAR}",
    _YEAR,
)
"""How days, months and years are written where there is one way to read them."""
_FORMS = tuple(re.compile(form, re.IGNORECASE) for form in FORMS)
_TIME = re.compile(r"[ T]\d{1,2}:\d\d(?::\d\d)?(?:Z|\s?[ap]m)?\Z", re.IGNORECASE)
_WEEKDAY = re.compile(r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? ", re.IGNORECASE)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)")
_SAYS_ONE = re.compile(r"(?:19|20)\d\d|[^\W\d_]{3}")
"""A year or three letters: without these a cell is no moment."""
LAST_MONTH = 12
MONTHS_OF_A_QUARTER = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """A year, month or day, as far as it is said: "March" has neither year nor day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def first(self) -> date | None:
        """Its first day; None where no year is said."""
        return date(self.year, self.month or 1, self.day or 1) if self.year else None

    @property
    def last(self) -> date | None:
        """Its last day; None where no year is said."""
        if self.year is None:
            return None
        month = self.month or LAST_MONTH
        return date(self.year, month, self.day or calendar.monthrange(self.year, month)[1])

    def holds(self, other: Moment) -> bool | None:
        """Whether another one lies in this one; None where the other does not say enough to tell."""
        for own, its in ((self.year, other.year), (self.month, other.month), (self.day, other.day)):
            if own is not None and its is None:
                return None
            if own is not None and own != its:
                return False
        return True

    def __str__(self) -> str:
        """Return it as people say it: "3 March 2026", "March", "2026"."""
        said = (str(self.day or ""), MONTHS[self.month - 1] if self.month else "", str(self.year or ""))
        return " ".join(part for part in said if part)


def moment_at(text: str, start: int = 0) -> tuple[Moment, int] | None:
    """Return the day, month or year that a text has at a place, and where it ends; None where there is none."""
    for form in _FORMS:
        if (found := form.match(text, start)) and (moment := _moment(found.groupdict())):
            return moment, found.end()
    return None


def moments_in(cells: Sequence[str]) -> list[Moment | None] | None:
    """Return the moment of each cell, None for those that are none; None for all where days could be months."""
    bare = list(map(_bare, cells))
    slashes = [found for cell in bare if "/" in cell and (found := _SLASHES.fullmatch(cell))]
    day_first = any(int(found[1]) > LAST_MONTH for found in slashes)
    month_first = any(int(found[2]) > LAST_MONTH for found in slashes)
    if slashes and day_first == month_first:
        return None
    return [_of_cell(cell, day_first=day_first) for cell in bare]


def _bare(cell: str) -> str:
    cell = cell.strip()
    if not cell[:1].isdigit():
        cell = _WEEKDAY.sub("", cell)
    return _TIME.sub("", cell) if ":" in cell else cell


def _of_cell(cell: str, *, day_first: bool) -> Moment | None:
    if not _SAYS_ONE.search(cell):
        return None
    if found := _SLASHES.fullmatch(cell):
        day, month = (found[1], found[2]) if day_first else (found[2], found[1])
        return _moment({"day": day, "month": month, "year": found[3]})
    at = moment_at(cell)
    return at[0] if at and at[1] == len(cell) else None


def _moment(said: dict[str, str | None]) -> Moment | None:
    month = said.get("month")
    number = None if month is None else int(month) if month.isdecimal() else _NUMBER_OF[month.lower()]
    year, day = (int(value) if (value := said.get(name)) else None for name in ("year", "day"))
    moment = Moment(year, number, day)
    try:
        # 29 February is a day of some year.
        date(year or 2000, number or 1, day or 1)
    except ValueError:
        return None
    return moment
