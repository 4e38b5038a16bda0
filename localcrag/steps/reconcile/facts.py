"""Facts in a sentence: numbers with units, dates, times of day, names.

Knows English number words, months and units, and nothing of what a sentence means (contradiction.py compares two).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import inf

from localcrag.steps.reconcile.fact_forms import (
    AND_A_HALF,
    BETWEEN,
    DATES,
    DIGITS,
    LABEL,
    LABELS,
    MAGNITUDE,
    MAGNITUDES,
    MONTH_NUMBERS,
    NO_UNITS,
    OF_MONEY,
    ORDINALS,
    PERCENT,
    SPELLED,
    TIME,
    TITLES,
    TOKEN,
    UNIT,
    UNITS,
    WORDS,
)
from localcrag.text.quantities import CURRENCIES
from localcrag.text.words import FUNCTION_WORDS, singular


class Kind(StrEnum):
    QUANTITY = "quantity"
    ORDINAL = "ordinal"
    LABEL = "label"
    """A number that only says which one: chapter 4, version 3.8."""
    DATE = "date"
    TIME = "time of day"


class Bound(StrEnum):
    """How a number is meant. MORE and LESS compare (more than), LEAST and MOST set a limit (at least)."""

    EXACT = ""
    ABOUT = "about"
    MORE = "more than"
    LESS = "less than"
    LEAST = "at least"
    MOST = "at most"


@dataclass(frozen=True, slots=True)
class Fact:
    """One comparable piece of a text, at `start`..`end` of it.

    `values` has every reading: 1.000 is a thousand or one, 3/4/2024 is in March or April. Of a date, a value is year,
    month and day, 0 for what is not said; of a time, minutes of the day; else a number in `unit`s. `step` is how finely
    a number is given: 0.01 for 0.38, 100,000 for 1.2 million.
    """

    kind: Kind
    values: tuple[tuple[float, ...], ...]
    unit: str
    start: int
    end: int
    step: float = 1.0
    bound: Bound = Bound.EXACT


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words; `words` in lower case, without titles."""

    words: frozenset[str]
    start: int
    end: int


ABOUT = 0.1
"""Share by which "about 100" may miss; a choice, wide enough for how people round."""

_BOUNDS = {
    Bound.ABOUT: "about|around|approximately|roughly|nearly|almost|some|circa|ca\\.",
    Bound.MORE: "(?<!no )(?<!not )(?:more|longer|higher|larger) than|over|above",
    Bound.LESS: "(?<!no )(?<!not )(?:less|fewer|shorter|lower) than|under|below",
    Bound.LEAST: "at least|(?:no|not) (?:less|fewer) than|minimum of",
    Bound.MOST: "at most|(?:no|not) (?:more|longer|higher|later) than|up to|within|maximum of",
}
_BOUND = [(bound, re.compile(rf"\b(?:{words})\s+$", re.IGNORECASE)) for bound, words in _BOUNDS.items()]


def facts_of(text: str) -> list[Fact]:
    """Return the numbers, dates and times of a sentence, in order."""
    found: list[Fact] = []
    for fact in (*_dates(text), *_times(text), *_digits(text), *_spelled(text)):
        if all(fact.end <= other.start or other.end <= fact.start for other in found):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.start)


def names_of(text: str) -> list[Name]:
    """Return the names of a sentence: runs of capitalised words, but for a single one that only begins it.

    Months and function words are no names.
    """
    runs: list[list[re.Match[str]]] = [[]]
    for match in TOKEN.finditer(text):
        word = match[0].rstrip(".").lower()
        capital = match[0][0].isupper() and word not in FUNCTION_WORDS and word not in MONTH_NUMBERS
        if capital and runs[-1] and not text[runs[-1][-1].end() : match.start()].isspace():
            runs.append([])
        if capital:
            runs[-1].append(match)
        elif runs[-1]:
            runs.append([])
    names = []
    for run in runs:
        words = {word for match in run if (word := _name_word(match[0])) not in TITLES}
        if words and (run[0].start() > 0 or len(words) > 1):
            end = run[-1].end() - run[-1][0].endswith(".")
            names.append(Name(frozenset(words), run[0].start(), end))
    return names


def _name_word(word: str) -> str:
    return word.lower().rstrip(".").removesuffix("'s").removesuffix("’s")


def _dates(text: str) -> Iterator[Fact]:
    for pattern in DATES:
        for match in pattern.finditer(text):
            said = match.groupdict()
            month = MONTH_NUMBERS[said["name"].lower()] if said.get("name") else int(said.get("month") or 0)
            year, day = int(said.get("year") or 0), int(said.get("day") or 0)
            readings = {(year, month, day), (year, day, month)} if said.get("month") else {(year, month, day)}
            if "-" in match[0]:
                readings = {(year, month, day)}
            values = tuple((float(y), float(m), float(d)) for y, m, d in sorted(readings) if m <= 12 and d <= 31)
            if values:
                places = [match.span(name) for name, part in said.items() if part]
                yield Fact(Kind.DATE, values, "", min(places)[0], max(end for _, end in places))


def _times(text: str) -> Iterator[Fact]:
    for match in TIME.finditer(text):
        hour, minute = int(match["hour"] or match[4]), int(match["minute"] or match[5] or 0)
        if match["half"]:
            values = [(hour % 12 + 12 * (match["half"].lower() == "p")) * 60 + minute]
        else:
            # 2:30 may be in the afternoon; 14:30 and 02:30 are what they are.
            afternoon = 0 < hour < 12 and not match[4].startswith("0")
            values = [hour * 60 + minute, *([(hour + 12) * 60 + minute] if afternoon else [])]
        if hour < 25 and minute < 60:
            yield Fact(Kind.TIME, tuple((float(value),) for value in values), "", match.start(), match.end())


def _digits(text: str) -> Iterator[Fact]:
    for match in DIGITS.finditer(text):
        readings = readings_of(match["number"])
        if match["ordinal"] and readings:
            yield _ordinal(text, readings[0][0], match.start(), match.end())
        elif readings:
            values, steps = zip(*readings, strict=True)
            yield _quantity(text, match.start(), match.end(), values, min(steps), currency=match["currency"])


def readings_of(number: str) -> list[tuple[float, float]]:
    """Return what digits may mean, each with its step: 1.000 is a thousand, or one given to three places."""
    number = re.sub(r"[ \u00a0\u202f]", "", number)
    groups = re.split(r"[.,]", number)
    marks = re.findall(r"[.,]", number)
    if not marks:
        return [(float(number), 1.0)]
    grouped = all(len(group) == 3 for group in groups[1:]) and 0 < len(groups[0]) < 4 and groups[0] != "0"
    readings = []
    if grouped and len(set(marks)) == 1:
        readings.append((float("".join(groups)), 1.0))
    # A comma before three digits is a thousand's in English; a point before them may be the Continent's.
    thousands = bool(readings) and marks[-1] == ","
    if marks[-1] not in marks[:-1] and len(set(marks[:-1])) <= 1 and not thousands:
        readings.append((float("".join(groups[:-1]) + "." + groups[-1]), 10.0 ** -len(groups[-1])))
    return readings


def _spelled(text: str) -> Iterator[Fact]:
    for match in SPELLED.finditer(text):
        word = match[1].lower()
        if word in ORDINALS:
            yield _ordinal(text, ORDINALS[word], match.start(), match.end())
            continue
        half = AND_A_HALF.match(text, match.end())
        value, end = WORDS[word] + (0.5 if half else 0.0), half.end() if half else match.end()
        fact = _quantity(text, match.start(), end, (value,), 0.5 if half else 1.0)
        # "One" is a pronoun more often than a number.
        if word != "one" or fact.unit in {unit for unit, _ in UNITS.values()}:
            yield fact


def _ordinal(text: str, value: float, start: int, end: int) -> Fact:
    following = UNIT.match(text, end)
    return Fact(Kind.ORDINAL, ((value,),), singular(following[1].lower()) if following else "", start, end)


def _quantity(
    text: str, start: int, end: int, values: Sequence[float], step: float, *, currency: str | None = None
) -> Fact:
    of_money = OF_MONEY[0 if currency else 1]
    if magnitude := MAGNITUDE.match(text, end) or of_money.match(text, end):
        factor, end = MAGNITUDES[magnitude[1].lower()], magnitude.end()
        values, step = [value * factor for value in values], step * factor
    label = LABEL.fullmatch(text[:start])
    unit, factor, unit_end = _unit(text, end)
    if currency:
        unit, factor, unit_end = CURRENCIES[currency.lower()], 1.0, end
    known = currency or unit in ("%", *CURRENCIES.values()) or unit in {unit for unit, _ in UNITS.values()}
    if label and not known:
        word = label["label"]
        named = word[0].isupper() and label["before"].strip() and word.lower() not in FUNCTION_WORDS
        if named or word.lower().rstrip(".") in LABELS:
            readings = tuple((value,) for value in values)
            return Fact(Kind.LABEL, readings, word.lower(), label.start("label"), end, step)
    bound = next((bound for bound, pattern in _BOUND if pattern.search(text[:start])), Bound.EXACT)
    readings = tuple((value * factor,) for value in values)
    return Fact(Kind.QUANTITY, readings, unit, start, unit_end, step * factor, bound)


def _unit(text: str, end: int) -> tuple[str, float, int]:
    """Return the unit that follows a number, what one of it is in the unit it is compared in, and its end."""
    following = UNIT.match(text, end)
    while following and following[1].lower() in BETWEEN:
        following = UNIT.match(text, following.end())
    if not following:
        return "", 1.0, end
    word = following[1].lower()
    if word in PERCENT:
        return "%", 1.0, following.end()
    if word in CURRENCIES:
        return CURRENCIES[word], 1.0, following.end()
    if word in FUNCTION_WORDS or word in NO_UNITS:
        return "", 1.0, end
    unit, factor = UNITS.get(word) or UNITS.get(singular(word)) or (singular(word), 1.0)
    return unit, factor, following.end()


def agree(a: Fact, b: Fact) -> bool:
    """Whether two facts of one kind and unit can both be true of the same thing."""
    if a.kind is Kind.DATE:
        return any(all(not x or not y or x == y for x, y in zip(one, other, strict=True))
                   for one, other in product(a.values, b.values))  # fmt: skip
    return any(_numbers_agree(one[0], other[0], a, b) for one, other in product(a.values, b.values))


def _numbers_agree(one: float, other: float, a: Fact, b: Fact) -> bool:
    if a.bound is b.bound and a.bound in (Bound.MORE, Bound.LESS):
        return True
    if a.bound is not b.bound:
        if Bound.ABOUT in (a.bound, b.bound):
            return abs(one - other) <= ABOUT * max(abs(one), abs(other))
        (low, high), (lower, higher) = _range(one, a.bound), _range(other, b.bound)
        return max(low, lower) <= min(high, higher)
    # What is given less finely may have been rounded.
    return abs(one - other) <= (max(a.step, b.step) / 2 if a.step != b.step else 0.0)


def _range(value: float, bound: Bound) -> tuple[float, float]:
    if bound in (Bound.MORE, Bound.LEAST):
        return value, inf
    if bound in (Bound.LESS, Bound.MOST):
        return -inf, value
    return value, value
