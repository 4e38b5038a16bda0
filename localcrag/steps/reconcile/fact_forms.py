"""English number words, months, units and the forms in which numbers, dates and times are written."""

from __future__ import annotations

import re
from itertools import product

from localcrag.text.moments import MONTHS, SHORT_MONTHS
from localcrag.text.number_words import SMALL, TENS

WORDS = {
    **{word: float(number) for number, word in enumerate(SMALL)},
    **{word: 10.0 * number for number, word in enumerate(TENS, start=2)},
    **{f"{t}-{o}": 10.0 * tens + one for (tens, t), (one, o) in product(enumerate(TENS, 2), enumerate(SMALL[:10]))},
    "dozen": 12.0,
    "hundred": 100.0,
}
ORDINALS = {
    word: float(number)
    for number, word in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1)
}
_WRITTEN_OUT = {"thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
MAGNITUDES = {**_WRITTEN_OUT, "k": 1e3, "m": 1e6}
PERCENT = frozenset(("%", "percent", "per cent", "percentage"))
METRE, GRAM, SECOND, MONTH, LITRE = "metre", "gram", "second", "month", "litre"
UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("km", "kilometre", "kilometer"), (METRE, 1000.0)),
    **dict.fromkeys(("m", "metre", "meter"), (METRE, 1.0)),
    **dict.fromkeys(("cm", "centimetre", "centimeter"), (METRE, 0.01)),
    **dict.fromkeys(("mm", "millimetre", "millimeter"), (METRE, 0.001)),
    **dict.fromkeys(("t", "tonne"), (GRAM, 1e6)),
    **dict.fromkeys(("kg", "kilogram", "kilo"), (GRAM, 1000.0)),
    **dict.fromkeys(("g", "gram"), (GRAM, 1.0)),
    **dict.fromkeys(("mg", "milligram"), (GRAM, 0.001)),
    **dict.fromkeys(("l", "litre", "liter"), (LITRE, 1.0)),
    **dict.fromkeys(("ml", "millilitre", "milliliter"), (LITRE, 0.001)),
    "week": (SECOND, 604_800.0),
    "day": (SECOND, 86_400.0),
    **dict.fromkeys(("h", "hour"), (SECOND, 3600.0)),
    **dict.fromkeys(("min", "minute"), (SECOND, 60.0)),
    "year": (MONTH, 12.0),
    "month": (MONTH, 1.0),
}
BETWEEN = frozenset("working business calendar consecutive full whole paid".split())
"""Words that may stand between a number and its unit."""
NO_UNITS = frozenset("after before during between above below over under per every each within high long wide".split())
"""Words that go on with the sentence instead of saying what was counted."""
LABELS = frozenset(
    "chapter section page figure table edition version room number no line form level step part volume article "
    "paragraph gate platform bus route port phase release".split()
)
MONTH_NUMBERS = {
    name.lower(): MONTHS.index(month) + 1 for name, month in ({month: month for month in MONTHS} | SHORT_MONTHS).items()
}
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
        # A number of four digits is a year where a word before it says so, and no unit follows.
        rf"{BEFORE_YEAR}{YEAR}\b(?![.,]?\d| ?(?:[€$£%]|euro|dollar|pound|people|k?m|kg|metre|meter|kilo|gram|day))",
    )
]
TIME = re.compile(r"\b(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d)(?!\d))? ?(?P<half>[ap])\.?m\b|\b(\d\d?):(\d\d)\b", re.I)
DIGITS = re.compile(
    r"(?<![\w.,])(?:(?P<currency>[€$£]|\b(?:EUR|USD|GBP)) ?)?"
    r"(?P<number>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)*)(?P<ordinal>st\b|nd\b|rd\b|th\b)?"
)
SPELLED = re.compile(r"\b(?<!-)(" + "|".join(sorted(WORDS | ORDINALS, key=len, reverse=True)) + r")\b(?!-)", re.I)
AND_A_HALF = re.compile(r" and a half\b", re.IGNORECASE)
MAGNITUDE = re.compile(r"[ \u00a0]?(" + "|".join(_WRITTEN_OUT) + r")\b", re.IGNORECASE)
_MONEY = r"(?:[€$£](?!\d)|(?:EUR|USD|GBP|euros?|dollars?|pounds?)\b)"
OF_MONEY = re.compile(r"([km])\b", re.IGNORECASE), re.compile(rf"([km])(?=[ \u00a0]?{_MONEY})", re.IGNORECASE)
"""Thousand and million, behind an amount whose currency stands before it, and between the two; 5m are metres."""
UNIT = re.compile(r"[ \u00a0-]?([€$£%]|per cent\b|[^\W\d_]+(?:/[^\W\d_]+)?)", re.IGNORECASE)
LABEL = re.compile(r"(?P<before>^|.*\s)(?P<label>[^\W\d_]+\.?) $", re.DOTALL)
TOKEN = re.compile(r"[^\W\d_][\w’'&-]*\.?|\d\S*|[^\w\s]")
