"""Amounts in cells: exact decimal numbers, with the unit and the marks that they are written with.

Whether "1.234" is a little more than one or more than a thousand is told by the other numbers of the table. Where they
do not tell, it is no number here: nothing is computed with a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from localcrag.text.quantities import CURRENCIES, UNITS
from localcrag.text.words import singular

EMPTY = frozenset(("", "-", "–", "—", "n/a", "n.a.", "na", "none", "null", "?", "…", "..."))
"""What a cell that says nothing is written as, in lower case."""

CLOCK = "clock"
"""The unit of a time of day, in minutes."""

LAST_HOUR = 24
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::[0-5]\d)?")
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
_POINT = re.compile(r"\.(?:\d{1,2}|\d{4,})\Z|^0\.\d+\Z|,\d{3}\.\d|,\d{3},\d{3}")
_COMMA = re.compile(r",(?:\d{1,2}|\d{4,})\Z|^0,\d+\Z|\.\d{3},\d|\.\d{3}\.\d{3}")
_OF_THREE = re.compile(r"\d{1,3}[.]\d{3}\Z")


class Mark(Enum):
    """What stands before the decimals of a table's numbers."""

    POINT = "."
    COMMA = ","
    UNKNOWN = "?"

    @property
    def thousands(self) -> str:
        """What stands between thousands."""
        return "," if self is Mark.POINT else "."


_THOUSANDS = {mark: re.compile(f"[{re.escape(mark.thousands)}{_SPACES}]") for mark in Mark}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as a cell has it: exact, with `unit` in one way of writing ("euro", "percent", "" for none).

    `written` is the unit as it stands there, `before` whether it stands in front of the number.
    """

    value: Decimal
    unit: str = ""
    decimals: int = 0
    written: str = ""
    before: bool = False
    grouped: bool = False


def is_empty(text: str) -> bool:
    """Whether a cell says nothing."""
    return text.strip().lower() in EMPTY


def unit_of(written: str) -> str:
    """Return a unit in one way of writing: "euro" for €, EUR and euros."""
    word = written.strip().rstrip(".")
    return (
        CURRENCIES.get(word.lower())
        or UNITS.get(word)
        or UNITS.get(word.lower())
        or {"%": "percent", "chf": "franc"}.get(word.lower())
        or singular(word.lower())
    )


def mark_of(cells: Iterable[str]) -> Mark:
    """Return what the numbers of a table have before their decimals, by those that tell."""
    numbers = [
        found["number"]
        for cell in cells
        if (found := _AMOUNT.fullmatch(cell.strip())) and not _DATE.fullmatch(cell.strip())
    ]
    point, comma = (any(form.search(number) for number in numbers) for form in (_POINT, _COMMA))
    if point != comma:
        return Mark.POINT if point else Mark.COMMA
    of_three = any(_OF_THREE.fullmatch(number) for number in numbers)
    return Mark.UNKNOWN if point or of_three else Mark.POINT


def looks_like_amount(text: str) -> bool:
    """Whether a cell is a number, with or without a unit, however it is to be read."""
    return _AMOUNT.fullmatch(text.strip()) is not None


def amount_of(text: str, mark: Mark) -> Amount | None:
    """Return the amount that a whole cell is, None where it is anything else: "about 12", "12–15", "12, in May"."""
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
        unit_of(written) if written else "",
        len(number.partition(".")[2]),
        written,
        bool(found["before"] or found["outside"]),
        grouped=not found["number"].partition(mark.value)[0].isdigit(),
    )


def clock_of(text: str) -> Amount | None:
    """Return the time of day that a whole cell is, None where it is anything else."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None or int(found[1]) > LAST_HOUR:
        return None
    return Amount(Decimal(60 * int(found[1]) + int(found[2])), CLOCK, written=text.strip())


def _plain(number: str, mark: Mark) -> str | None:
    """Return a number as Decimal reads it, None where its marks are not where they belong."""
    if number.isdecimal():
        return number
    if mark is Mark.UNKNOWN:
        return None
    whole, _, decimals = number.partition(mark.value)
    if decimals and not decimals.isdecimal():
        return None
    groups = [whole] if whole.isdecimal() else _THOUSANDS[mark].split(whole)
    regular = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    if not regular or not all(group.isdecimal() for group in groups):
        return None
    return "".join(groups) + (f".{decimals}" if decimals else "")


def written(value: Decimal, like: Sequence[Amount], mark: Mark, unit: str = "") -> str:
    """Return a number as the amounts of its column are written: their marks, decimals and unit.

    `unit` is the column's own, where its header says it and the cells do not.
    """
    places = max([one.decimals for one in like] + [max(0, -int(value.as_tuple().exponent))])
    grouped = any(one.grouped for one in like) or not any(abs(one.value) >= 1000 for one in like)
    text = f"{abs(value):{',' if grouped else ''}.{places}f}"
    if mark is Mark.COMMA:
        text = text.translate({ord(","): ".", ord("."): ","})
    sign = "-" if value < 0 else ""
    units = Counter((one.written, one.before) for one in like if one.written)
    name, before = units.most_common(1)[0][0] if units else (unit, False)
    if before:
        return f"{sign}{name}{' ' if name.isalpha() else ''}{text}"
    return f"{sign}{text}{'' if name == '%' else ' '}{name}".rstrip()
