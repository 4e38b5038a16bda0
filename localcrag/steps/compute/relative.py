"""Days, weeks, months and years that are said from today: "last month", "this year so far"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from localcrag.steps.compute.moments import LAST_MONTH, MONTHS_OF_A_QUARTER, Moment
from localcrag.text.moments import MONTHS
from localcrag.text.translation import gettext as _
from localcrag.text.words import NUMBER_WORDS

_WEEK = 7
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SHIFT = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1, "coming": 1}
_MAY_ROLL = ("last", "next", "coming")
"""With "the", also the days up to now: "in the last month"."""
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(NUMBER_WORDS)}|few|couple of|several)"
_RELATIVE = re.compile(
    r"(?:the )?(?P<said>"
    r"(?P<day>yesterday|today|tomorrow)"
    r"|(?P<so_far>so far )?(?P<shift>this|current|last|previous|next|coming) (?P<unit>week|month|quarter|year)"
    r"(?P<to_date> so far| to date)?"
    rf"|(?P<unclear>(?:last|past|previous|next|coming|these) (?:{_NUMBER} )?(?:days|weeks|months|quarters|years)"
    rf"|past (?:week|month|quarter|year)|{_NUMBER} (?:days?|weeks?|months?|quarters?|years?) ago"
    rf"|(?:last|this|next|past|coming) (?:{'|'.join(MONTHS)}|{_WEEKDAYS}|weekend|spring|summer|autumn|fall|winter))"
    rf")\b(?!['’]s\b| (?:of|before|after|to)\b| in (?:{'|'.join(MONTHS)}|\d))",
    re.IGNORECASE,
)

_AT_A_REMOVE = re.compile(
    r"\b(?:day|week|month|quarter|year)s? (?:before|after|from) (?:yesterday|today|tomorrow|now|this|last|next)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relative:
    """Days that a question says from the day on which it is asked; `low` and `high` are the first and last of them.

    `written` is how it says them. `problem` says why it is not clear which they are; empty where it is.
    """

    written: str
    low: Moment
    high: Moment
    asked: date
    problem: str = ""

    @property
    def note(self) -> str:
        """Which days were taken, in words."""
        days = str(self.low) if self.low == self.high else _("%(low)s to %(high)s", low=self.low, high=self.high)
        return _("“%(words)s” is taken as %(days)s, asked on %(today)s.", words=self.written, days=days,
                 today=_day(self.asked))  # fmt: skip


def relative_at(text: str, start: int, today: date) -> tuple[Relative, int] | None:
    """Return the days that a text says from `today` at a place, and where it ends; None where it says none."""
    found = _RELATIVE.match(text, start)
    if found is None:
        return None
    has_article = f"{text[:start]}{found[0]}".lower().endswith(f"the {found['said'].lower()}")
    written = f"the {found['said']}" if has_article else found["said"]
    if found["unclear"] or (has_article and (found["shift"] or "").lower() in _MAY_ROLL):
        problem = _(
            "it is not clear which days “%(words)s” are; ask with dates, as in “between 1 and 5 April 2026”",
            words=written,
        )
        return Relative(written, _day(today), _day(today), today, problem), found.end()
    if found["day"]:
        day = _day(today + timedelta(days=_DAYS[found["day"].lower()]))
        return Relative(written, day, day, today), found.end()
    shift, so_far = _SHIFT[found["shift"].lower()], found["so_far"] or found["to_date"]
    low, high = _period(today, found["unit"].lower(), shift)
    if so_far and shift:
        return None
    if so_far and low.first:
        low, high = _day(low.first), _day(today)
    return Relative(written, low, high, today), found.end()


def is_at_a_remove(text: str) -> bool:
    """Whether a text counts from other days than today: "the day before yesterday", "the week after next"."""
    return _AT_A_REMOVE.search(text) is not None


def places_in(text: str) -> list[int]:
    """Return where a text says days from today."""
    return [found.start() for found in re.finditer(rf"(?<!\w){_RELATIVE.pattern}", text, re.IGNORECASE)]


def _day(day: date) -> Moment:
    return Moment(day.year, day.month, day.day)


def _period(today: date, unit: str, shift: int) -> tuple[Moment, Moment]:
    """Return the first and the last part of a week (from Monday to Sunday), month, quarter or year."""
    if unit == "week":
        monday = today + timedelta(days=_WEEK * shift - today.weekday())
        return _day(monday), _day(monday + timedelta(days=_WEEK - 1))
    if unit == "year":
        return Moment(today.year + shift), Moment(today.year + shift)
    length = MONTHS_OF_A_QUARTER if unit == "quarter" else 1
    first = (today.year * LAST_MONTH + today.month - 1) // length * length + length * shift
    low, high = (Moment(month // LAST_MONTH, month % LAST_MONTH + 1) for month in (first, first + length - 1))
    return low, high
