"""Dates and times of day in one way of writing, to compare texts: "2026-03-01" and "March 1st, 2026"."""

from __future__ import annotations

import re

MONTHS = "January February March April May June July August September October November December".split()

_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d\d?)(?:st|nd|rd|th)?(?![\d:]|[.,]\d)(?:,(?= \d{{4}}\b))?")
_LEADING_ZERO = re.compile(r"(?<![\d:.,])0(?=\d:[0-5]\d(?!\d))")


def comparable_moments(text: str) -> str:
    """Return a text with dates as "1 March 2026" or "1 march 2026", and times without a zero in front."""
    return _LEADING_ZERO.sub("", _MONTH_FIRST.sub(r"\2 \1", _ISO.sub(_date, text)))


def _date(found: re.Match[str]) -> str:
    month = int(found[2])
    # In lower case: no name of anybody comes to a text in which none stood.
    return f"{int(found[3])} {MONTHS[month - 1].lower()} {found[1]}" if 0 < month <= len(MONTHS) else found[0]
