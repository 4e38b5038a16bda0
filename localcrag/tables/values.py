"""Values in cells and questions: exact amounts with units, and days, months and years.

Whether "1.234" means a little more than one or more than a thousand depends on the table's other numbers. If they leave
it open, the cell is not read as a number: localcrag computes nothing from a guess.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

from localcrag.text.quantities import CURRENCIES, MONTH_NUMBERS, MONTHS, UNITS
from localcrag.text.words import singular

EMPTY = frozenset(("", "-", "–", "—", "n/a", "n.a.", "na", "none", "null", "?", "…", "..."))
"""Contents of cells without a value, in lower case."""

CLOCK = "clock"
"""Unit of times of day, which are counted in minutes."""

LAST_HOUR = 24
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::[0-5]\d)?")
"""A time of day; seconds are allowed and ignored."""
_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d\d|\d{4})")
_SIGN = "[-−–+]"
_SPACES = "'’ \u00a0\u202f\u2009"
_CURRENCY = r"[€$£]|EUR|USD|GBP|CHF"
_AMOUNT = re.compile(
    rf"(?:(?P<outside>{_CURRENCY})[ \u00a0]?(?=\())?"
    rf"(?P<open>\()?(?P<sign>{_SIGN})?[ \u00a0]?(?P<before>{_CURRENCY})?[ \u00a0]?(?P<inner>{_SIGN})?"
    rf"(?P<number>\d(?:[\d.,{_SPACES}]*\d)?)"
    rf"[ \u00a0]?(?P<unit>[%‰]|{_CURRENCY}|[^\W\d_][^\W_]{{0,14}}(?:[/²³][^\W\d_]*)?(?: per [a-z]+)?|°[CF]?)?"
    rf"(?P<close>\))?(?:(?<=\))[ \u00a0]?(?P<behind>%|{_CURRENCY}))?"
)
"""Pattern for a cell that is an amount: a number with a sign or in brackets, perhaps with a unit before or after it."""
_POINT = re.compile(r"\.(?:\d{1,2}|\d{4,})\Z|^0\.\d+\Z|,\d{3}\.\d|,\d{3},\d{3}")
"""Numbers that are only possible with a decimal point: "1.5", "1,234,567"."""
_COMMA = re.compile(r",(?:\d{1,2}|\d{4,})\Z|^0,\d+\Z|\.\d{3},\d|\.\d{3}\.\d{3}")
"""Numbers that are only possible with a decimal comma: "1,5", "1.234.567"."""
_THREE_DIGITS = re.compile(r"\d{1,3}[.]\d{3}\Z")
"""Numbers that do not show the decimal mark: "1.234" is possible with both marks."""


class DecimalMark(Enum):
    """The decimal mark of a table's numbers."""

    POINT = "."
    COMMA = ","
    UNKNOWN = "?"

    @property
    def thousands(self) -> str:
        """The thousands separator."""
        return "," if self is DecimalMark.POINT else "."


_THOUSANDS = {mark: re.compile(f"[{re.escape(mark.thousands)}{_SPACES}]") for mark in DecimalMark}


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact number from a cell or a question.

    `unit` is normalised ("euro", "percent", "" for none); `written` is the unit as it was spelt, and `before` whether
    it was in front of the number. `decimals` is the number of decimals; `grouped`: the number has thousands separators.
    """

    value: Decimal
    unit: str = ""
    decimals: int = 0
    written: str = ""
    before: bool = False
    grouped: bool = False


def is_empty(text: str) -> bool:
    """Return whether a cell contains no value."""
    return text.strip().lower() in EMPTY


def normalised_unit(written: str) -> str:
    """Return the normalised name of a unit: "euro" for €, EUR and euros."""
    word = written.strip().rstrip(".")
    low = word.lower()
    other = {"%": "percent", "chf": "franc"}.get(low) or singular(low)
    return CURRENCIES.get(low) or UNITS.get(word) or UNITS.get(low) or other


def decimal_mark(cells: Iterable[str]) -> DecimalMark:
    """Return the decimal mark of a table's numbers, judged by the numbers that show it."""
    texts = [text for text in map(str.strip, cells) if not _DATE.fullmatch(text)]
    numbers = [found["number"] for text in texts if (found := _AMOUNT.fullmatch(text))]
    point, comma = (any(form.search(number) for number in numbers) for form in (_POINT, _COMMA))
    if point != comma:
        return DecimalMark.POINT if point else DecimalMark.COMMA
    # If no number shows the mark, or numbers contradict each other, "1.234" could be either.
    three_digits = any(_THREE_DIGITS.fullmatch(number) for number in numbers)
    return DecimalMark.UNKNOWN if point or three_digits else DecimalMark.POINT


def looks_like_amount(text: str) -> bool:
    """Return whether a cell is a number with or without a unit, whatever its decimal mark."""
    return _AMOUNT.fullmatch(text.strip()) is not None


def parse_amount(text: str, mark: DecimalMark) -> Amount | None:
    """Return the amount that a whole cell consists of; None for anything else: "about 12", "12–15", "12, in May"."""
    found = _AMOUNT.fullmatch(text.strip())
    units = [name for name in ("outside", "before", "unit", "behind") if found and found[name]]
    if found is None or bool(found["open"]) != bool(found["close"]) or len(units) > 1:
        return None
    number = _plain(found["number"], mark)
    if number is None:
        return None
    signs = [sign for sign in (found["sign"], found["inner"]) if sign]
    negative = bool(found["open"]) or signs in (["-"], ["−"], ["–"])
    written = found[units[0]] if units else ""
    value = Decimal(number)
    return Amount(
        -value if negative else value,
        normalised_unit(written) if written else "",
        len(number.partition(".")[2]),
        written,
        bool(found["before"] or found["outside"]),
        grouped=not found["number"].partition(mark.value)[0].isdigit(),
    )


def parse_clock(text: str) -> Amount | None:
    """Return the time of day that a whole cell consists of; None for anything else."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None or int(found[1]) > LAST_HOUR:
        return None
    return Amount(Decimal(60 * int(found[1]) + int(found[2])), CLOCK, written=text.strip())


def _plain(number: str, mark: DecimalMark) -> str | None:
    """Return a number as Decimal reads it; None if its separators are misplaced."""
    if number.isdecimal():
        return number
    if mark is DecimalMark.UNKNOWN:
        return None
    whole, _, decimals = number.partition(mark.value)
    if decimals and not decimals.isdecimal():
        return None
    groups = [whole] if whole.isdecimal() else _THOUSANDS[mark].split(whole)
    regular = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    if not regular or not all(group.isdecimal() for group in groups):
        return None
    return "".join(groups) + (f".{decimals}" if decimals else "")


def format_amount(value: Decimal, like: Sequence[Amount], mark: DecimalMark, unit: str = "") -> str:
    """Return a number in the style of its column's amounts: their separators, decimals and unit.

    `unit` is the column's unit if only its header names it.
    """
    places = max([one.decimals for one in like] + [max(0, -int(value.as_tuple().exponent))])
    # Without an amount of 1,000 or more, the column does not show its style, so thousands are separated.
    grouped = any(one.grouped for one in like) or not any(abs(one.value) >= 1000 for one in like)
    text = f"{abs(value):{',' if grouped else ''}.{places}f}"
    if mark is DecimalMark.COMMA:
        text = text.translate({ord(","): ".", ord("."): ","})
    sign = "-" if value < 0 else ""
    units = Counter((one.written, one.before) for one in like if one.written)
    name, before = units.most_common(1)[0][0] if units else (unit, False)
    if before:
        return f"{sign}{name}{' ' if name.isalpha() else ''}{text}"
    return f"{sign}{text}{'' if name == '%' else ' '}{name}".rstrip()


_MONTH = rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
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
"""Patterns of days, months and years with only one possible reading."""
_FORMS = tuple(re.compile(form, re.IGNORECASE) for form in FORMS)
_TIME = re.compile(r"(?i)[ T]\d{1,2}:\d\d(?::\d\d)?(?:Z|\s?[ap]m)?\Z")
_WEEKDAY = re.compile(r"(?i)^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? ")
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)")
"""Dates with slashes, which begin with the day or the month."""
_YEAR_OR_LETTERS = re.compile(r"(?:19|20)\d\d|[^\W\d_]{3}")
"""A year or three letters; a cell without either is not a date."""
LAST_MONTH = 12
MONTHS_PER_QUARTER = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """A year, month or day, as far as it is known: "March" has neither a year nor a day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def first(self) -> date | None:
        """The moment's first day; None without a year."""
        return date(self.year, self.month or 1, self.day or 1) if self.year else None

    @property
    def last(self) -> date | None:
        """The moment's last day; None without a year."""
        if self.year is None:
            return None
        month = self.month or LAST_MONTH
        return date(self.year, month, self.day or calendar.monthrange(self.year, month)[1])

    def holds(self, other: Moment) -> bool | None:
        """Return whether another moment is within this one; None if the other is not precise enough to tell."""
        for own, its in ((self.year, other.year), (self.month, other.month), (self.day, other.day)):
            if own is not None and its is None:
                return None
            if own is not None and own != its:
                return False
        return True

    def __str__(self) -> str:
        """Return the moment as people write it: "3 March 2026", "March", "2026"."""
        parts = (str(self.day or ""), MONTHS[self.month - 1] if self.month else "", str(self.year or ""))
        return " ".join(part for part in parts if part)


def moment_at(text: str, start: int = 0) -> tuple[Moment, int] | None:
    """Return the day, month or year at a place of a text, and where it ends; None if there is none."""
    for form in _FORMS:
        if (found := form.match(text, start)) and (moment := _moment(found.groupdict())):
            return moment, found.end()
    return None


def moments_in(cells: Sequence[str]) -> list[Moment | None] | None:
    """Return the moment of each cell, None for cells without one.

    Returns None for all if it is unclear whether dates with slashes begin with the day or the month.
    """
    bare = list(map(_bare, cells))
    slashes = [found for cell in bare if "/" in cell and (found := _SLASHES.fullmatch(cell))]
    day_first = any(int(found[1]) > LAST_MONTH for found in slashes)
    month_first = any(int(found[2]) > LAST_MONTH for found in slashes)
    if slashes and day_first == month_first:
        return None
    return [_cell_moment(cell, day_first=day_first) for cell in bare]


def _bare(cell: str) -> str:
    cell = cell.strip()
    if not cell[:1].isdigit():
        cell = _WEEKDAY.sub("", cell)
    return _TIME.sub("", cell) if ":" in cell else cell


def _cell_moment(cell: str, *, day_first: bool) -> Moment | None:
    if not _YEAR_OR_LETTERS.search(cell):
        return None
    if found := _SLASHES.fullmatch(cell):
        day, month = (found[1], found[2]) if day_first else (found[2], found[1])
        return _moment({"day": day, "month": month, "year": found[3]})
    at = moment_at(cell)
    return at[0] if at and at[1] == len(cell) else None


def _moment(text: dict[str, str | None]) -> Moment | None:
    month = text.get("month")
    number = None if month is None else int(month) if month.isdecimal() else MONTH_NUMBERS[month.lower()]
    year, day = (int(value) if (value := text.get(name)) else None for name in ("year", "day"))
    moment = Moment(year, number, day)
    try:
        # 29 February without a year is valid, because 2000 was a leap year.
        date(year or 2000, number or 1, day or 1)
    except ValueError:
        return None
    return moment
