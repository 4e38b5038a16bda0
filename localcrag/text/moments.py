"""Dates and times of day in one way of writing, to compare texts: "18:30" and "6.30 p.m."."""

from __future__ import annotations

import re

MONTHS = "January February March April May June July August September October November December".split()
NOON = 12
SHORT_MONTHS = {month[:3]: month for month in MONTHS} | {"Sept": "September"}

_ABBREVIATED = re.compile(
    rf"(?:(?<=\d )|\b(?=\w+\.? \d))({'|'.join(sorted(SHORT_MONTHS, reverse=True))})\b(?:\.(?= ))?"
)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d\d?)(?:st|nd|rd|th)?(?![\d:]|[.,]\d)(?:,(?= \d{{4}}\b))?")
_HALF = re.compile(r"(?<![\d:.,])(\d\d?)(?:[:.]([0-5]\d))? ?([ap])\.?m\b", re.IGNORECASE)
_TIME = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4]):([0-5]\d)(?![\d:]|[.,]\d| [ap]\.m\b)")


def comparable_moments(text: str) -> str:
    """Return a text with dates as "1 March 2026" or "1 march 2026", and times as "6:30 p.m".

    "8:00" is "8", which may be of the morning or of the evening; "08:00" is "8 a.m", and so is "8:00" in a text that
    says "18:00" as well. ("am" is a word of its own.)
    """
    text = _ABBREVIATED.sub(lambda found: SHORT_MONTHS[found[1]], text)
    text = _HALF.sub(_of_half, _MONTH_FIRST.sub(r"\2 \1", _ISO.sub(_date, text)))
    counts_to_24 = any(int(hour) > NOON for hour, _ in _TIME.findall(text))

    def time(found: re.Match[str]) -> str:
        hour = int(found[1])
        said = _short(str(hour % NOON or NOON), found[2])
        if 0 < hour <= NOON and not (counts_to_24 or found[1].startswith("0")):
            return said
        return f"{said} {'p' if NOON <= hour < 2 * NOON else 'a'}.m"

    return _TIME.sub(time, text)


def _date(found: re.Match[str]) -> str:
    month = int(found[2])
    # In lower case: no name of anybody comes to a text in which none stood.
    return f"{int(found[3])} {MONTHS[month - 1].lower()} {found[1]}" if 0 < month <= len(MONTHS) else found[0]


def _of_half(found: re.Match[str]) -> str:
    return f"{_short(found[1], found[2])} {found[3].lower()}.m"


def _short(hour: str, minutes: str | None) -> str:
    """Return a time without a zero in front, and without minutes where there are none."""
    return str(int(hour)) + (f":{minutes}" if minutes and minutes != "00" else "")
