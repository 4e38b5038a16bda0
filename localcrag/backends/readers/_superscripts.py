"""Raised digits of a printed page: exponents stay with their number, marks of notes do not."""

from __future__ import annotations

import re

SMALLER, HIGHER = 0.85, 0.15
"""Times the size of the word before it: how small a superscript is at most, and how much higher at least."""
MAY_HAVE_MARK = re.compile(r"\S.*[\d)]|\d.*\S")
"""Words that may have a superscript in them."""
MARK = re.compile(r"[-−–+]?\d{1,3}(?:,\d{1,2}){0,4}|\(\d{1,2}\)|\([a-z]\)")
"""A superscript that says something else than it would beside the letters before it."""

_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_EXPONENT = re.compile(r"[-−–+]?\d{1,3}")
_TAKES_EXPONENT = re.compile(r"(?:.*[^\d.,])?10|(?:.*[^\w])?(?:[a-zA-Zα-ωΑ-Ω]|[kcdmnµμ]m|ft|in|yd|mi)")
"""Ten, a variable, or a unit of length."""


def joined(word: str, mark: str) -> str:
    """Return a word with what stands raised behind it: 10⁶ and m², but 1,234 ¹ and revenue ¹."""
    if _EXPONENT.fullmatch(mark) and _TAKES_EXPONENT.fullmatch(word):
        return word + mark.translate(_RAISED)
    said = mark if mark.startswith("(") else mark.translate(_RAISED)
    return f"{word} {said}" if word else f"{said} "
