"""Conditions in a question: amounts, days, months, quarters, times of day, and relative dates.

The first part reads days relative to the day of the question ("last month"); the second part finds all conditions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum

from localcrag.tables.values import (
    CLOCK,
    LAST_MONTH,
    MONTHS_PER_QUARTER,
    Amount,
    DecimalMark,
    Moment,
    decimal_mark,
    moment_at,
    parse_amount,
    parse_clock,
)
from localcrag.text.quantities import CURRENCIES, MONTHS, UNITS
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop
from localcrag.text.words import NUMBER_WORDS, blank_out

_WEEK = 7
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SHIFT = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1, "coming": 1}
"""Number of periods between the one that a word names and the current one."""
_MAY_ROLL = ("last", "next", "coming")
"""Words that, after "the", can also mean the days up to now: "in the last month"."""
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
"""Number of days between the day that a word names and today."""
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(NUMBER_WORDS)}|few|couple of|several)"
_RELATIVE = re.compile(
    r"(?:the )?(?P<said>"
    r"(?P<day>yesterday|today|tomorrow)"
    r"|(?P<so_far>so far )?(?P<shift>this|current|last|previous|next|coming) (?P<unit>week|month|quarter|year)"
    r"(?P<to_date> so far| to date)?"
    rf"|(?P<unclear>(?:last|past|previous|next|coming|these) (?:{_COUNT} )?(?:days|weeks|months|quarters|years)"
    rf"|past (?:week|month|quarter|year)|{_COUNT} (?:days?|weeks?|months?|quarters?|years?) ago"
    rf"|(?:last|this|next|past|coming) (?:{'|'.join(MONTHS)}|{_WEEKDAYS}|weekend|spring|summer|autumn|fall|winter))"
    rf")\b(?!['’]s\b| (?:of|before|after|to)\b| in (?:{'|'.join(MONTHS)}|\d))",
    re.IGNORECASE,
)
"""Relative days. The group `unclear` matches phrases that people use for different dates: "last March", "past week"."""

_UNCLEAR = gettext_noop(
    "it is not clear which days “%(words)s” are; ask with dates, as in “between 1 and 5 April 2026”"
)
_FROM_OTHER_DAY = re.compile(
    r"\b(?:day|week|month|quarter|year)s? (?:before|after|from) (?:yesterday|today|tomorrow|now|this|last|next)\b",
    re.IGNORECASE,
)
"""Words that count from a relative day, such as "the week after next"."""


@dataclass(frozen=True, slots=True)
class RelativeDays:
    """Days that a question names relative to the day on which it is asked.

    `low` and `high` are the first and the last of these days, `written` is the question's wording. `problem` explains
    why the days are unclear; it is empty if they are clear.
    """

    written: str
    low: Moment
    high: Moment
    asked: date
    problem: str = ""

    @property
    def note(self) -> str:
        """A sentence that states which days were used."""
        days = str(self.low) if self.low == self.high else _("%(low)s to %(high)s", low=self.low, high=self.high)
        return _("Asked on %(today)s, “%(words)s” means %(days)s.", words=self.written, days=days,
                 today=_day(self.asked))  # fmt: skip


def relative_days_at(text: str, start: int, today: date) -> tuple[RelativeDays, int] | None:
    """Return the relative days named at a place of a text, and where their words end; None if there are none."""
    found = _RELATIVE.match(text, start)
    if found is None:
        return None
    has_article = f"{text[:start]}{found[0]}".lower().endswith(f"the {found['said'].lower()}")
    written = f"the {found['said']}" if has_article else found["said"]
    if found["unclear"] or (has_article and (found["shift"] or "").lower() in _MAY_ROLL):
        return RelativeDays(written, _day(today), _day(today), today, _(_UNCLEAR, words=written)), found.end()
    if found["day"]:
        day = _day(today + timedelta(days=_DAYS[found["day"].lower()]))
        return RelativeDays(written, day, day, today), found.end()
    shift, so_far = _SHIFT[found["shift"].lower()], found["so_far"] or found["to_date"]
    low, high = _period(today, found["unit"].lower(), shift)
    if so_far and shift:
        return None
    if so_far and low.first:
        low, high = _day(low.first), _day(today)
    return RelativeDays(written, low, high, today), found.end()


def _day(day: date) -> Moment:
    return Moment(day.year, day.month, day.day)


def _period(today: date, unit: str, shift: int) -> tuple[Moment, Moment]:
    """Return the first and the last part of a week (from Monday to Sunday), month, quarter or year."""
    if unit == "week":
        monday = today + timedelta(days=_WEEK * shift - today.weekday())
        return _day(monday), _day(monday + timedelta(days=_WEEK - 1))
    if unit == "year":
        return Moment(today.year + shift), Moment(today.year + shift)
    length = MONTHS_PER_QUARTER if unit == "quarter" else 1
    first = (today.year * LAST_MONTH + today.month - 1) // length * length + length * shift
    low, high = (Moment(month // LAST_MONTH, month % LAST_MONTH + 1) for month in (first, first + length - 1))
    return low, high


NOON = 12


class Relation(Enum):
    """How a value must relate to a condition's value. WITHIN has two bounds, both included; EMPTY needs no value."""

    ABOVE = "more than"
    BELOW = "less than"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    EQUAL = "exactly"
    WITHIN = "between"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on amounts or moments; `start` and `end` are the place of its words in the question.

    `high` is the upper bound of WITHIN. `quarter` is the number of the quarter whose months are the bounds. `relative`
    is set if the question names days relative to today.
    """

    relation: Relation
    low: Amount | Moment
    start: int
    end: int
    high: Amount | Moment | None = None
    quarter: int | None = None
    relative: RelativeDays | None = None


_UNITS = {"m²", "m³", "km²", "kwh", "mwh", "kw", *CURRENCIES, *UNITS, *UNITS.values()}
_UNITS |= {f"{unit}s" for unit in UNITS.values()}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_WORDS = "|".join(NUMBER_WORDS)
_NUMBER = (
    rf"(?:[€$£][ \u00a0]?)?[-−]?(?:\d(?:[\d.,'’]*\d)?|(?:{_WORDS})\b)"
    rf"(?:[ \u00a0]?(?:%|per ?cent\b|(?:{_UNIT})(?![\w])))?"
)
_ABOVE = (
    r"(?:\b(?:(?:more|greater|higher|larger|bigger|longer|heavier|dearer|taller|more expensive) than|over|above|"
    r"exceed(?:s|ing)?|in excess of) |> ?)NUMBER"
)
_FORMS = (
    (r"\b(?:(?:lies?|is|are) )?(?:between|from) NUMBER (?:and|to) NUMBER", Relation.WITHIN),
    (r"(?:\b(?:at least|no less than|not less than|no fewer than|a minimum of) |≥ ?)NUMBER", Relation.AT_LEAST),
    (r"(?:\b(?:at most|no more than|not more than|up to|a maximum of) |≤ ?)NUMBER", Relation.AT_MOST),
    (_ABOVE, Relation.ABOVE),
    (
        r"(?:\b(?:(?:less|fewer|lower|smaller|cheaper|shorter|lighter|less expensive) than|under|below) |< ?)NUMBER",
        Relation.BELOW,
    ),
    (r"(?<!\w)NUMBER or (?:more|above|over|higher)\b", Relation.AT_LEAST),
    (r"(?<!\w)NUMBER or (?:less|fewer|below|under|lower)\b", Relation.AT_MOST),
    (r"\b(?:exactly|equal to|equals) NUMBER", Relation.EQUAL),
)
"""Patterns of conditions on a number, with NUMBER in place of its pattern."""


def _compiled(form: str) -> re.Pattern[str]:
    low, high = rf"(?:a |the )?(?P<low>{_NUMBER})", rf"(?P<high>{_NUMBER})"
    return re.compile(form.replace("NUMBER", low, 1).replace("NUMBER", high), re.IGNORECASE)


def _each_compiled(*forms: tuple[str, Relation]) -> tuple[tuple[re.Pattern[str], Relation], ...]:
    return tuple((re.compile(form, re.IGNORECASE), relation) for form, relation in forms)


_COMPARED = tuple((_compiled(form), relation) for form, relation in _FORMS)
_DATED = _each_compiled(
    (r"\b(?:between|from) (?:the )?", Relation.WITHIN),
    (r"\b(?:before|earlier than|prior to) (?:the )?", Relation.BELOW),
    (r"\b(?:after|later than) (?:the )?", Relation.ABOVE),
    (r"\b(?:since|starting from) (?:the )?", Relation.AT_LEAST),
    (r"\b(?:until|till|up to|no later than|by) (?:the )?(?:end of (?:the )?)?", Relation.AT_MOST),
    (r"\b(?:in|during|for|of|from|on|dated) (?:the month of |the year |the )?", Relation.EQUAL),
    (r"(?<=\bwas )(?=[^\W\d])", Relation.EQUAL),
)
"""Patterns for the beginnings of conditions on days, up to the days themselves."""
_TIME = r"(\d{1,2}[:.]\d\d|\d{1,2}(?= ?[ap]m\b)|noon)(?: ?([ap]m)\b| o'clock\b)?"
_CLOCKED = _each_compiled(
    (rf"\b(?:between|from) {_TIME} (?:and|to|until) {_TIME}", Relation.WITHIN),
    (rf"\b(?:before|earlier than) {_TIME}", Relation.BELOW),
    (rf"\b(?:after|later than) {_TIME}", Relation.ABOVE),
    (rf"\b(?:since|from) {_TIME} on(?:wards)?\b", Relation.AT_LEAST),
    (rf"\b(?:until|till|up to|by) {_TIME}", Relation.AT_MOST),
    (rf"\bat {_TIME}", Relation.EQUAL),
)
"""Patterns of conditions on a time of day."""
_QUARTER = re.compile(
    r"(?:(?:the )?(?P<word>first|second|third|fourth|1st|2nd|3rd|4th) quarter|q(?P<number>[1-4]))\b"
    r"(?:,? (?:of )?(?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_BARE_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\b")
_AND = re.compile(r" (?:and|to|until|till) (?:the )?", re.IGNORECASE)
_ONWARDS = re.compile(r" (?:on|onwards?)\b", re.IGNORECASE)
"""Words after a day that include all later days: "from May onwards"."""


def conditions_in(text: str, today: date | None = None) -> tuple[tuple[Condition, ...] | None, str]:
    """Return the conditions of a question, and its text without them.

    The conditions are None if a number, a time or a date like "the day before yesterday" cannot be read. Without
    `today`, "last month" and the like are no conditions.
    """
    if today and _FROM_OTHER_DAY.search(text):
        return None, text
    found: list[Condition] = []
    rest = text
    for form, relation in _DATED:
        for match in form.finditer(text):
            condition = _date_condition(rest, match, relation, today)
            # Words of a condition that was already found are blank in `rest`.
            if condition and rest[condition.start : condition.end].strip() == text[condition.start : condition.end]:
                found.append(condition)
                rest = blank_out(rest, condition.start, condition.end)
    for condition in _unprefixed_days(rest, today) if today else ():
        found.append(condition)
        rest = blank_out(rest, condition.start, condition.end)
    for clocked, relation in _CLOCKED:
        while timed := clocked.search(rest):
            times = [_clock(*timed.group(at, at + 1)) for at in range(1, 1 + len(timed.groups()), 2)]
            first, last = times[0], times[-1] if len(times) > 1 else None
            if first is None or (len(times) > 1 and last is None):
                return None, rest
            found.append(Condition(relation, first, timed.start(), timed.end(), last))
            rest = blank_out(rest, *timed.span())
    for compared, relation in _COMPARED:
        while number := compared.search(rest):
            low, high = _amount(number, "low"), _amount(number, "high")
            if low is None or (relation is Relation.WITHIN and high is None):
                return None, rest
            # In "between 10 and 20 euros" only the second number has the unit.
            if relation is Relation.WITHIN and high and low.unit != high.unit:
                low = Amount(low.value, high.unit, low.decimals, high.written, high.before)
            found.append(Condition(relation, low, number.start(), number.end(), high))
            rest = blank_out(rest, *number.span())
    return tuple(sorted(found, key=lambda condition: condition.start)), rest


def _date_condition(text: str, match: re.Match[str], relation: Relation, today: date | None) -> Condition | None:
    """Return the condition formed by a preposition and the day, month or year after it."""
    if today and (relative := relative_days_at(text, match.end(), today)):
        message, end = relative
        onwards = _ONWARDS.match(text, end) if relation is Relation.EQUAL else None
        if onwards:
            relation, end = Relation.AT_LEAST, onwards.end()
        return None if relation is Relation.WITHIN else _relative_condition(message, end, match.start(), relation)
    if quarter := _QUARTER.match(text, match.end()):
        return _quarter_condition(quarter, match.start(), relation)
    first = moment_at(text, match.end())
    if relation is Relation.WITHIN:
        return _range_condition(text, match, first) if first else _day_range(text, match)
    if first is None or re.match(r"\w|[.,]\d", text[first[1] :]):
        return None
    moment, end = first
    if relation is Relation.EQUAL and (onwards := _ONWARDS.match(text, end)):
        return Condition(Relation.AT_LEAST, moment, match.start(), onwards.end())
    return Condition(relation, moment, match.start(), end)


def _range_condition(text: str, match: re.Match[str], first: tuple[Moment, int]) -> Condition | None:
    """Return the condition formed by two moments: "between March and May 2025"."""
    moment, end = first
    joins = _AND.match(text, end)
    second = moment_at(text, joins.end()) if joins else None
    if second is None:
        return None
    low = Moment(moment.year or second[0].year, moment.month, moment.day)
    return Condition(Relation.WITHIN, low, match.start(), second[1], second[0])


def _unprefixed_days(text: str, today: date) -> list[Condition]:
    """Return the conditions of relative days that have no preposition: "last month"."""
    starts = [found.start() for found in re.finditer(rf"(?<!\w){_RELATIVE.pattern}", text, re.IGNORECASE)]
    places = [(relative_days_at(text, start, today), start) for start in starts]
    return [_relative_condition(*one, start, Relation.EQUAL) for one, start in places if one]


def _relative_condition(text: RelativeDays, end: int, start: int, relation: Relation) -> Condition:
    """Return the condition formed by relative days."""
    low, high = text.low, text.high
    if relation is Relation.EQUAL and low != high:
        return Condition(Relation.WITHIN, low, start, end, high, relative=text)
    last = relation in (Relation.ABOVE, Relation.AT_MOST)
    return Condition(relation, high if last else low, start, end, relative=text)


def _quarter_condition(text: re.Match[str], start: int, relation: Relation) -> Condition | None:
    """Return the condition formed by a quarter: its three months."""
    number = _ORDINALS[text["word"].lower()] if text["word"] else int(text["number"])
    year = int(text["year"]) if text["year"] else None
    low, high = Moment(year, 3 * number - 2), Moment(year, 3 * number)
    if relation is Relation.EQUAL:
        return Condition(Relation.WITHIN, low, start, text.end(), high, quarter=number)
    if relation in (Relation.BELOW, Relation.AT_LEAST):
        return Condition(relation, low, start, text.end())
    return Condition(relation, high, start, text.end()) if relation is not Relation.WITHIN else None


def _day_range(text: str, match: re.Match[str]) -> Condition | None:
    """Return the condition formed by two days of one month: "between 1 and 10 March"."""
    day = _BARE_DAY.match(text, match.end())
    joins = _AND.match(text, day.end()) if day else None
    second = moment_at(text, joins.end()) if joins else None
    if day is None or second is None or second[0].day is None or not 1 <= int(day[1]) <= second[0].day:
        return None
    moment, end = second
    low = Moment(moment.year, moment.month, int(day[1]))
    return Condition(Relation.WITHIN, low, match.start(), end, moment)


def _clock(text: str, half: str | None) -> Amount | None:
    """Return a time of day in minutes; None if no such time exists."""
    digits = "12:00" if text.lower() == "noon" else text.replace(".", ":")
    time = parse_clock(digits if ":" in digits else f"{digits}:00")
    if time is None or not half:
        return replace(time, written=text) if time else None
    hours = int(time.value) // 60
    if not 1 <= hours <= NOON:
        return None
    minutes = Decimal((hours % NOON + (NOON if half.lower() == "pm" else 0)) * 60 + int(time.value) % 60)
    return Amount(minutes, CLOCK, written=f"{text} {half}")


def _amount(match: re.Match[str], name: str) -> Amount | None:
    text = match.groupdict().get(name)
    if text is None:
        return None
    word = re.match(rf"(?:{_WORDS})\b", text, re.IGNORECASE)
    text = NUMBER_WORDS[word[0].lower()] + text[word.end() :] if word else text
    text = re.sub(r"per ?cent\Z", "%", text, flags=re.IGNORECASE)
    number = re.search(r"\d[\d.,]*", text)
    mark = decimal_mark([number[0]]) if number else DecimalMark.POINT
    return parse_amount(text, mark)


def amount_text(amount: Amount) -> str:
    """Return a condition's amount as a person would write it, with its unit."""
    if amount.unit == CLOCK:
        return amount.written
    number = f"{amount.value.normalize():,f}" if amount.value != amount.value.to_integral() else f"{amount.value:,.0f}"
    if not amount.written:
        return number
    return f"{amount.written}{number}" if amount.before else f"{number} {amount.written}"
