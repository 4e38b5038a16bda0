"""Contradictions between two statements: numbers, dates, times and names that cannot both be right.

The first half extracts the facts of a sentence. It knows English number words, months and units, but nothing about the
sentence's meaning. The second half compares two statements.

Two statements contradict each other only if a number, date, time or name differs while everything else agrees, and
nothing narrows one statement that does not narrow the other: a place, a condition, a year at the beginning. This misses
many contradictions and raises few false alarms. That is intended: wrong conflict cards teach people to ignore all of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import inf

from localcrag.text.lexicon import current_lexicon
from localcrag.text.quantities import CURRENCIES, MONTH_NUMBERS
from localcrag.text.words import FUNCTION_WORDS, SMALL_NUMBERS, TENS, content_words, is_function_word, singular

NUMBER_WORDS = {
    **{word: float(number) for number, word in enumerate(SMALL_NUMBERS)},
    **{word: 10.0 * number for number, word in enumerate(TENS, start=2)},
    **{f"{ten}-{one}": 10.0 * n + m for n, ten in enumerate(TENS, 2) for m, one in enumerate(SMALL_NUMBERS[:10])},
    "dozen": 12.0,
    "hundred": 100.0,
}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
ORDINALS = {word: float(number) for number, word in enumerate(_ORDINALS, start=1)}
_WRITTEN_OUT = {"thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
MAGNITUDES = {**_WRITTEN_OUT, "k": 1e3, "m": 1e6}
PERCENT = frozenset(("%", "percent", "per cent", "percentage"))
METRE, GRAM, SECOND, MONTH, LITRE = "metre", "gram", "second", "month", "litre"
_UNITS = {
    METRE: {
        "km kilometre kilometer": 1000.0,
        "m metre meter": 1.0,
        "cm centimetre centimeter": 0.01,
        "mm millimetre millimeter": 0.001,
    },
    GRAM: {"t tonne": 1e6, "kg kilogram kilo": 1000.0, "g gram": 1.0, "mg milligram": 0.001},
    LITRE: {"l litre liter": 1.0, "ml millilitre milliliter": 0.001},
    SECOND: {"week": 604_800.0, "day": 86_400.0, "h hour": 3600.0, "min minute": 60.0},
    MONTH: {"year": 12.0, "month": 1.0},
}
"""Names of units by the unit in which they are compared, with their factors to it."""
_FACTORS = [(words, (unit, factor)) for unit, names in _UNITS.items() for words, factor in names.items()]
UNITS = {word: value for words, value in _FACTORS for word in words.split()}
UNIT_ADJECTIVES = frozenset("working business calendar consecutive full whole paid".split())
"""Words that may come between a number and its unit: 5 working days."""
NO_UNITS = frozenset("after before during between above below over under per every each within high long wide".split())
"""Words after a number that continue the sentence instead of naming what was counted."""
LABELS = frozenset(
    "chapter section page figure table edition version room number no line form level step part volume article "
    "paragraph gate platform bus route port phase release".split()
)
"""Nouns that a number identifies instead of counting: chapter 4."""
TITLES = frozenset("dr dr. mr mr. mrs mrs. ms ms. prof prof. professor sir".split())

ANY_MONTH = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
BEFORE_YEAR = r"(?:\b(?:in|of|by|since|until|from|before|after|during|around|year|and|to) |\()"
YEAR = r"(?P<year>1\d{3}|20\d{2})"
DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<name>{ANY_MONTH})\b\.?(?:,? {YEAR}\b)?",
        rf"\b(?P<name>{ANY_MONTH})\.? (?P<day>\d\d?)(?:st|nd|rd|th)?\b(?![:.]\d)(?:,? {YEAR}\b)?",
        rf"\b(?P<name>{ANY_MONTH})\.? {YEAR}\b",
        rf"\b(?P<day>\d\d?)[/.](?P<month>\d\d?)[/.]{YEAR}\b",
        # Four digits are a year only if a word before them shows it and no unit follows.
        rf"{BEFORE_YEAR}{YEAR}\b(?![.,]?\d| ?(?:[€$£%]|euro|dollar|pound|people|k?m|kg|metre|meter|kilo|gram|day))",
    )
]
TIME = re.compile(r"(?i)\b(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d)(?!\d))? ?(?P<half>[ap])\.?m\b|\b(\d\d?):(\d\d)\b")
DIGITS = re.compile(
    r"(?<![\w.,])(?:(?P<currency>[€$£]|\b(?:EUR|USD|GBP)) ?)?"
    r"(?P<number>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)*)(?P<ordinal>st\b|nd\b|rd\b|th\b)?"
)
SPELLED = re.compile(r"(?i)\b(?<!-)(" + "|".join(sorted(NUMBER_WORDS | ORDINALS, key=len, reverse=True)) + r")\b(?!-)")
AND_A_HALF = re.compile(r"(?i) and a half\b")
MAGNITUDE = re.compile(r"(?i)[ \u00a0]?(" + "|".join(_WRITTEN_OUT) + r")\b")
_MONEY = r"(?:[€$£](?!\d)|(?:EUR|USD|GBP|euros?|dollars?|pounds?)\b)"
MONEY_MAGNITUDES = re.compile(r"(?i)([km])\b"), re.compile(rf"(?i)([km])(?=[ \u00a0]?{_MONEY})")
"""Patterns of k (thousand) and m (million) in amounts: after an amount with its currency in front, and between an
amount and its currency. Anywhere else, 5m are metres."""
UNIT = re.compile(r"(?i)[ \u00a0-]?([€$£%]|per cent\b|[^\W\d_]+(?:/[^\W\d_]+)?)")
LABEL = re.compile(r"(?P<before>^|.*\s)(?P<label>[^\W\d_]+\.?) $", re.DOTALL)
TOKEN = re.compile(r"[^\W\d_][\w’'&-]*\.?|\d\S*|[^\w\s]")


class FactKind(StrEnum):
    QUANTITY = "quantity"
    ORDINAL = "ordinal"
    LABEL = "label"
    """A number that only identifies: chapter 4, version 3.8."""
    DATE = "date"
    TIME = "time of day"


class Bound(StrEnum):
    """How exact a number is. MORE and LESS compare (more than), LEAST and MOST set a limit (at least)."""

    EXACT = ""
    ABOUT = "about"
    MORE = "more than"
    LESS = "less than"
    LEAST = "at least"
    MOST = "at most"


@dataclass(frozen=True, slots=True)
class Fact:
    """One comparable piece of a text: a number, date or time, at `start`..`end` of the text.

    `values` has every possible reading: 1.000 is a thousand or one, 3/4/2024 is in March or April. The value of a date
    is (year, month, day), with 0 for a missing part; that of a time is its minutes since midnight; any other value is a
    number in `unit`s. `step` is the precision of the number: 0.01 for 0.38, 100,000 for 1.2 million.
    """

    kind: FactKind
    values: tuple[tuple[float, ...], ...]
    unit: str
    start: int
    end: int
    step: float = 1.0
    bound: Bound = Bound.EXACT


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words. `words` are in lower case and without titles."""

    words: frozenset[str]
    start: int
    end: int


ABOUT = 0.1
"""Relative error allowed in "about 100"; chosen wide enough for how people round."""

_BOUNDS = {
    Bound.ABOUT: "about|around|approximately|roughly|nearly|almost|some|circa|ca\\.",
    Bound.MORE: "(?<!no )(?<!not )(?:more|longer|higher|larger) than|over|above",
    Bound.LESS: "(?<!no )(?<!not )(?:less|fewer|shorter|lower) than|under|below",
    Bound.LEAST: "at least|(?:no|not) (?:less|fewer) than|minimum of",
    Bound.MOST: "at most|(?:no|not) (?:more|longer|higher|later) than|up to|within|maximum of",
}
_BOUND = [(bound, re.compile(rf"(?i)\b(?:{words})\s+$")) for bound, words in _BOUNDS.items()]


def extract_facts(text: str) -> list[Fact]:
    """Return the numbers, dates and times of a sentence, in order."""
    found: list[Fact] = []
    # Dates and times come first, so that their digits do not also count as plain numbers.
    for fact in (*_dates(text), *_times(text), *_digits(text), *_spelled(text)):
        if all(fact.end <= other.start or other.end <= fact.start for other in found):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.start)


def extract_names(text: str) -> list[Name]:
    """Return the names in a sentence: runs of capitalised words.

    A single capitalised word that begins the sentence is not a name; nor are months and function words.
    """
    runs: list[list[re.Match[str]]] = [[]]
    for match in TOKEN.finditer(text):
        word = match[0].rstrip(".").lower()
        capital = match[0][0].isupper() and word not in FUNCTION_WORDS and word not in MONTH_NUMBERS
        # Anything but white space between two capitalised words separates two names.
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
            parts = match.groupdict()
            month = MONTH_NUMBERS[parts["name"].lower()] if parts.get("name") else int(parts.get("month") or 0)
            year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
            # 3/4/2024 may put the day or the month first; an ISO date (2024-04-03) is unambiguous.
            readings = {(year, month, day)}
            if parts.get("month") and "-" not in match[0]:
                readings.add((year, day, month))
            values = tuple((float(y), float(m), float(d)) for y, m, d in sorted(readings) if m <= 12 and d <= 31)
            if values:
                places = [match.span(name) for name, part in parts.items() if part]
                yield Fact(FactKind.DATE, values, "", min(places)[0], max(end for _, end in places))


def _times(text: str) -> Iterator[Fact]:
    for match in TIME.finditer(text):
        hour, minute = int(match["hour"] or match[4]), int(match["minute"] or match[5] or 0)
        if match["half"]:
            values = [(hour % 12 + 12 * (match["half"].lower() == "p")) * 60 + minute]
        else:
            # 2:30 may also be in the afternoon; 14:30 and 02:30 are unambiguous.
            afternoon = 0 < hour < 12 and not match[4].startswith("0")
            values = [hour * 60 + minute, *([(hour + 12) * 60 + minute] if afternoon else [])]
        if hour < 25 and minute < 60:
            yield Fact(FactKind.TIME, tuple((float(value),) for value in values), "", match.start(), match.end())


def _digits(text: str) -> Iterator[Fact]:
    for match in DIGITS.finditer(text):
        readings = number_readings(match["number"])
        if match["ordinal"] and readings:
            yield _ordinal(text, readings[0][0], match.start(), match.end())
        elif readings:
            values, steps = zip(*readings, strict=True)
            yield _quantity(text, match.start(), match.end(), values, min(steps), currency=match["currency"])


def number_readings(number: str) -> list[tuple[float, float]]:
    """Return the possible values of a number, each with its step: 1.000 is a thousand, or one with three decimals."""
    number = re.sub(r"[ \u00a0\u202f]", "", number)
    groups = re.split(r"[.,]", number)
    marks = re.findall(r"[.,]", number)
    if not marks:
        return [(float(number), 1.0)]
    grouped = all(len(group) == 3 for group in groups[1:]) and 0 < len(groups[0]) < 4 and groups[0] != "0"
    readings = []
    if grouped and len(set(marks)) == 1:
        readings.append((float("".join(groups)), 1.0))
    # In English a comma before three digits separates thousands; on the Continent a point may do so.
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
        value, end = NUMBER_WORDS[word] + (0.5 if half else 0.0), half.end() if half else match.end()
        fact = _quantity(text, match.start(), end, (value,), 0.5 if half else 1.0)
        # "One" is a pronoun more often than a number.
        if word != "one" or fact.unit in {unit for unit, _ in UNITS.values()}:
            yield fact


def _ordinal(text: str, value: float, start: int, end: int) -> Fact:
    following = UNIT.match(text, end)
    return Fact(FactKind.ORDINAL, ((value,),), singular(following[1].lower()) if following else "", start, end)


def _quantity(
    text: str, start: int, end: int, values: Sequence[float], step: float, *, currency: str | None = None
) -> Fact:
    magnitudes = MONEY_MAGNITUDES[0 if currency else 1]
    if magnitude := MAGNITUDE.match(text, end) or magnitudes.match(text, end):
        factor, end = MAGNITUDES[magnitude[1].lower()], magnitude.end()
        values, step = [value * factor for value in values], step * factor
    label = LABEL.fullmatch(text[:start])
    unit, factor, unit_end = _unit(text, end)
    if currency:
        unit, factor, unit_end = CURRENCIES[currency.lower()], 1.0, end
    known = currency or unit in ("%", *CURRENCIES.values()) or unit in {unit for unit, _ in UNITS.values()}
    if label and not known:
        word = label["label"]
        # A capitalised word within a sentence is a name that the number belongs to: Boeing 747.
        named = word[0].isupper() and label["before"].strip() and word.lower() not in FUNCTION_WORDS
        if named or word.lower().rstrip(".") in LABELS:
            readings = tuple((value,) for value in values)
            return Fact(FactKind.LABEL, readings, word.lower(), label.start("label"), end, step)
    bound = next((bound for bound, pattern in _BOUND if pattern.search(text[:start])), Bound.EXACT)
    readings = tuple((value * factor,) for value in values)
    return Fact(FactKind.QUANTITY, readings, unit, start, unit_end, step * factor, bound)


def _unit(text: str, end: int) -> tuple[str, float, int]:
    """Return the unit after a number, the factor that converts it for comparison, and where it ends."""
    following = UNIT.match(text, end)
    while following and following[1].lower() in UNIT_ADJECTIVES:
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
    """Return whether two facts of one kind and unit can both be true of the same thing."""
    if a.kind is FactKind.DATE:
        # A part that is missing from one date (0) agrees with any value.
        return any(all(not x or not y or x == y for x, y in zip(one, other, strict=True))
                   for one, other in product(a.values, b.values))  # fmt: skip
    return any(_numbers_agree(one[0], other[0], a, b) for one, other in product(a.values, b.values))


def _numbers_agree(one: float, other: float, a: Fact, b: Fact) -> bool:
    # Two comparisons in the same direction can always both be true: more than 5, more than 10.
    if a.bound is b.bound and a.bound in (Bound.MORE, Bound.LESS):
        return True
    if a.bound is not b.bound:
        if Bound.ABOUT in (a.bound, b.bound):
            return abs(one - other) <= ABOUT * max(abs(one), abs(other))
        lows = [-inf if bound in (Bound.LESS, Bound.MOST) else n for n, bound in ((one, a.bound), (other, b.bound))]
        highs = [inf if bound in (Bound.MORE, Bound.LEAST) else n for n, bound in ((one, a.bound), (other, b.bound))]
        return max(lows) <= min(highs)
    # The less precise number may have been rounded.
    return abs(one - other) <= (max(a.step, b.step) / 2 if a.step != b.step else 0.0)


MIN_SHARED = 0.6
"""Minimum share (Dice) of words in common, outside facts and names, for two statements to be compared; chosen on
conflict_pairs.jsonl."""
MIN_STATEMENT_WORDS = 4
"""Minimum words in a statement, such as "Rent costs 900 euros." Shorter texts are headings."""
MIN_SHARED_IF_NEGATED = 0.9
"""The same minimum share for two statements that differ only in a "not"."""

_PREPOSITIONS = frozenset(
    "about above after against among around at before below between by during except for from in inside into of off on "
    "out outside over per since through to toward under until upon via with within without".split()
)
_RELATIONS = frozenset("above after before below except off on outside since under until without".split())
"""Prepositions that reverse a statement; other prepositions often differ only in wording."""
_CONDITION = re.compile(r"(?i)\b(?:if|unless|when|whenever|while|where|except|only|provided|otherwise)\b")
_PRONOUN = re.compile(r"(?i)\W*(?:it|this|that|these|those|they|he|she|there|its|their|his|her|such)\b")
_NEGATION = re.compile(r"(?i)\b(?:not|never|cannot|no)\b|n['’]t\b")
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday weekday weekend".split())
_DETERMINER = r"(?:(?:the|a|an|his|her|its|their|our|[Dd]r\.?|[Mm]rs?\.?|[Mm]s\.?|[Pp]rof\.?) ?)*"
_IDENTIFIES_BEFORE = re.compile(rf"\b(?:is|are|was|were|by|called|named) {_DETERMINER}$")
"""Text in front of a name that says who or what something is, so that a second name contradicts it."""
_IDENTIFIES_AFTER = re.compile(r"\s*(?:is|was) the\b")
"""Text after a name at the beginning of a statement that identifies it as well: “X is the …”."""
_OPENING = re.compile(r"(?i)\W*(?:(?:the|in|on|by|since|from|as of|until|at|around|during|before|after)\W+)?")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_RANGE = re.compile(
    r"(?i)(?:\d[^\s\d]*\s?(?:[-–—]|to|or|and)\s?|(?:[<>≤≥~]=?|\b(?:max|min)\.?|\bfrom|\bstarts? at)\s*)$"
)
_AFTER_RANGE = re.compile(r"(?i)\s?(?:[-–—]|to|or)\s?\d|\s+or (?:more|less|fewer|longer)\b")
_RATE = re.compile(
    r"(?i)(?:\s*/\s*|\s+(?:an?|per|each|every)\s+)([a-z]+)|\s+(monthly|yearly|annually|daily|weekly|hourly)\b"
)
"""Text after a fact that makes it a rate: “10 euros an hour”."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The part of each statement that differs. A negation is in only one statement, so the other part is empty."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    facts: tuple[Fact, ...]
    names: tuple[Name, ...]
    words: tuple[str, ...]
    """Content words in order, without those of facts and names."""
    narrowing: frozenset[str]
    """The content words that a preposition introduces ("in Bergen"), which narrow the statement."""

    @property
    def begins_with(self) -> frozenset[str]:
        """The probable subject of the statement, judged by position: its first name, or else its first other word."""
        head = next(iter(self.words), "")
        at = self.text.lower().find(head) if head else len(self.text)
        first = next((name for name in self.names if name.start <= at), None)
        return first.words if first else frozenset((head,))


def difference(first: str, second: str) -> Difference | None:
    """Return the contradiction between two statements, or None if they agree or may both be true."""
    if not (_is_statement(first) and _is_statement(second)):
        return None
    a, b = _parse(first), _parse(second)
    facts_a, facts_b = _unmatched(a.facts, b.facts), _unmatched(b.facts, a.facts)
    names_a, names_b = _unnamed(a.names, b.names), _unnamed(b.names, a.names)
    if not _comparable(a, b, but=(*names_a, *names_b)):
        return None
    negated = [_negation().search(text) for text in (first, second)]
    if bool(negated[0]) != bool(negated[1]):
        alike = not (facts_a or facts_b or names_a or names_b) and _dice(a, b) >= MIN_SHARED_IF_NEGATED
        shown = [match[0] if match else "" for match in negated]
        return Difference(*shown) if alike else None
    if names_a or names_b:
        # Only one name that differs on each side is clear enough, and no fact may differ as well.
        clear = len(names_a) == len(names_b) == 1 and _both_identify(a, names_a[0], b, names_b[0])
        if facts_a or facts_b or not clear:
            return None
        return Difference(*(text[name.start : name.end] for text, (name,) in ((first, names_a), (second, names_b))))
    return _differing_fact(a, facts_a, b, facts_b)


def _is_statement(text: str) -> bool:
    """Return whether a sentence is a statement: not a heading, question or table row, and not about an unnamed "it"."""
    known = current_lexicon()
    about_it = known.pronoun_pattern.match(text.lstrip()) if known else _PRONOUN.match(text)
    return len(text.split()) >= MIN_STATEMENT_WORDS and "|" not in text and text.rstrip()[-1] != "?" and not about_it


def _negation() -> re.Pattern[str]:
    known = current_lexicon()
    return known.denies if known else _NEGATION


def _prepositions() -> frozenset[str]:
    known = current_lexicon()
    return known.preposition_words if known else _PREPOSITIONS


def _differing_fact(a: _Statement, left_a: Sequence[Fact], b: _Statement, left_b: Sequence[Fact]) -> Difference | None:
    """Return the only pair of facts that differs; None if there are several, or if another fact narrows a statement."""
    pairs = [(one, other) for one in left_a for other in left_b if (one.kind, one.unit) == (other.kind, other.unit)]
    if len(pairs) != 1:
        return None
    one, other = pairs[0]
    if _is_bound(a, one) != _is_bound(b, other) or _have_different_rates((a, one), (b, other)):
        return None
    rest = [(a, fact) for fact in left_a if fact != one] + [(b, fact) for fact in left_b if fact != other]
    # If both statements have further facts without a match, it is unclear which ones correspond.
    if len({id(statement) for statement, _ in rest}) > 1 or any(_narrows(*place) for place in rest):
        return None
    # A date or an ordinal at the beginning tells when the statement is true; it is not the claim itself.
    opens = any(_OPENING.fullmatch(statement.text[: fact.start]) for statement, fact in ((a, one), (b, other)))
    if one.kind is FactKind.LABEL or (opens and one.kind in (FactKind.DATE, FactKind.ORDINAL)):
        return None
    return Difference(a.text[one.start : one.end], b.text[other.start : other.end])


def _is_bound(statement: _Statement, fact: Fact) -> bool:
    """Return whether a fact is one end of a range or an open bound.

    Such a fact is not compared with a single value: 4 days do not contradict 3 to 5 days.
    """
    before = _BEFORE_RANGE.search(statement.text[: fact.start])
    return before is not None or _AFTER_RANGE.match(statement.text, fact.end) is not None


def _have_different_rates(*places: tuple[_Statement, Fact]) -> bool:
    """Return whether two facts are rates of different units: 2 euros an hour do not contradict 20 euros a day."""
    rates = [_RATE.match(statement.text, fact.end) for statement, fact in places]
    return all(rates) and len({rate[1] or rate[2] for rate in rates if rate}) > 1


def _comparable(a: _Statement, b: _Statement, *, but: Sequence[Name]) -> bool:
    """Return whether two statements are about the same thing under the same conditions; `but` are differing names."""
    set_a, set_b = frozenset(a.words), frozenset(b.words)
    apart = set_a ^ set_b
    differing = frozenset(word for name in but for word in name.words)
    # The subject of each statement must occur in the other one, unless it is the differing name.
    heads = all(
        one.begins_with <= differing or one.begins_with & (frozenset(other.words) | _name_words(other))
        for one, other in ((a, b), (b, a))
    )
    return (
        heads
        and _dice(a, b) >= MIN_SHARED
        and not apart & (a.narrowing | b.narrowing)
        and not apart & _WEEKDAYS
        and len({relations for text in (a.text, b.text) if (relations := _relations(text))}) < 2
        and _conditions(a.text) == _conditions(b.text)
    )


def _dice(a: _Statement, b: _Statement) -> float:
    """Return 2 |A & B| / (|A| + |B|) of the two statements' words; each name that they share counts as one word."""
    set_a, set_b = frozenset(a.words), frozenset(b.words)
    named = len(a.names) - len(_unnamed(a.names, b.names))
    shared = len(set_a & set_b) + named
    return 2 * shared / (len(set_a) + len(set_b) + 2 * named) if shared else 0.0


def _parse(text: str) -> _Statement:
    facts, names = extract_facts(text), extract_names(text)
    taken = [(fact.start, fact.end) for fact in facts] + [(name.start, name.end) for name in names]
    words: list[str] = []
    narrowing: set[str] = set()
    brought_in = False
    prepositions, negation = _prepositions(), _negation()
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if any(start <= match.start() < end for start, end in taken):
            continue
        if word in prepositions:
            brought_in = True
        elif not is_function_word(word) and not negation.fullmatch(word) and (plain := content_words(word)):
            words += plain
            narrowing |= plain if brought_in else set()
            brought_in = False
    return _Statement(text, tuple(facts), tuple(names), tuple(words), frozenset(narrowing))


def _unmatched(facts: Sequence[Fact], others: Sequence[Fact]) -> list[Fact]:
    """Return the facts that agree with none of the others."""

    def matches(one: Fact, other: Fact) -> bool:
        return (one.kind, one.unit) == (other.kind, other.unit) and agree(one, other)

    return [fact for fact in facts if not any(matches(fact, other) for other in others)]


def _unnamed(names: Sequence[Name], others: Sequence[Name]) -> list[Name]:
    """Return the names that share no word with any of the others: Everest and Mount Everest share one."""
    return [name for name in names if not any(name.words & other.words for other in others)]


def _both_identify(a: _Statement, name_a: Name, b: _Statement, name_b: Name) -> bool:
    """Return whether both statements use these names to say who or what something is."""
    return all(
        _IDENTIFIES_BEFORE.search(statement.text[: name.start])
        or (not statement.text[: name.start].strip() and _IDENTIFIES_AFTER.match(statement.text, name.end))
        for statement, name in ((a, name_a), (b, name_b))
    )


def _narrows(statement: _Statement, fact: Fact) -> bool:
    """Return whether a fact that only one statement has limits when or where that statement is true."""
    before = _WORD.findall(statement.text[: fact.start])
    return fact.kind is not FactKind.QUANTITY or (bool(before) and before[-1].lower() in _prepositions())


def _name_words(statement: _Statement) -> frozenset[str]:
    return frozenset(word for name in statement.names for word in name.words)


def _relations(text: str) -> frozenset[str]:
    """Return the prepositions that reverse the statement; in other languages all prepositions, to be safe."""
    reversing = _prepositions() if current_lexicon() else _RELATIONS
    return frozenset(word.lower() for word in _WORD.findall(text)) & reversing


def _conditions(text: str) -> frozenset[str]:
    """Return the statement's words from its first condition on, including words of facts."""
    known = current_lexicon()
    found = (known.limits if known else _CONDITION).search(text)
    rest = text[found.start() :] if found else ""
    return frozenset(content_words(rest) | _relations(rest))
