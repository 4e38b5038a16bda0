"""Capital and small letters of every script that has them, for the character classes of patterns.

Python's `re` knows no Unicode categories, and a range such as `[A-ZÀ-Þ]` misses the names that begin with Ł, Š or Ж.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

LAST = 0xFFFF
"""The last character that is looked at: only historic scripts and mathematical letters have capitals beyond it."""

_LETTERS = [chr(place) for place in range(LAST + 1)]


def _ranges(letters: Sequence[str]) -> str:
    """Return letters in the order of their code points as the inside of a character class."""
    begins = [letters[0], *(after for before, after in pairwise(letters) if ord(after) != ord(before) + 1)]
    ends = [*(before for before, after in pairwise(letters) if ord(after) != ord(before) + 1), letters[-1]]
    return "".join(first if first == last else f"{first}-{last}" for first, last in zip(begins, ends, strict=True))


# `istitle` and `islower` come first because they are fast; alone they also take Ⓐ, and º of "ARTIGO 5.º".
CAPITAL = _ranges([one for one in _LETTERS if one.istitle() and unicodedata.category(one) in ("Lu", "Lt")])
"""Letters that a name begins with: A, É, Ł, Ж, ǅ."""
SMALL = _ranges([one for one in _LETTERS if one.islower() and unicodedata.category(one) == "Ll"])
"""Letters that a sentence goes on with: a, ß, œ, ж."""
