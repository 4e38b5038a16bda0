"""Numbers as they are shown and typed: thresholds, whole numbers, how many there are of something."""

from __future__ import annotations

LARGEST = 2**63 - 1
"""The largest whole number that SQLite can store."""


def decimals(number: float) -> str:
    """Return a number with two decimals, or with three or four where two would say another one: 0.13, 0.015."""
    for digits in (2, 3):
        if abs(float(text := f"{number:.{digits}f}") - number) < 5e-5:
            return text
    return f"{number:.4f}"


def whole_number(text: str) -> int | None:
    """Return the whole number that a text is; None if it is anything else, or larger than LARGEST.

    `str.isdigit` is no check for this: it is true for "²", which `int` cannot read.
    """
    # The length first: Python refuses to read a number of more than 4,300 digits.
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        return None
    return int(text)


def counted(number: int, noun: str) -> str:
    """Return a number with its English noun: "1 chunk", "2 chunks"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
