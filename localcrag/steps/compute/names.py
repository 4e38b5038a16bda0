"""Words of a question that are written as names: with a capital inside the sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W_]+)?")
_I = re.compile(r"i(?:['’]\w+)?", re.IGNORECASE)
_BEGINS = re.compile(r"(?:^|[?!.;:]\s)\W*\Z")


@dataclass(frozen=True, slots=True)
class Names:
    """Where words begin that are written as names. `telling`: whether a capital makes a name of a word here at all.

    It does not where nothing has one, or most words do, as in a headline.
    """

    at: frozenset[int] = frozenset()
    telling: bool = False


def names_in(text: str) -> Names:
    """Return the words of a question that are written as names; the first one of a sentence may be any word."""
    words = [found for found in _WORD.finditer(text) if not _I.fullmatch(found[0])]
    inside = [found for found in words if not _BEGINS.search(text[: found.start()])]
    named = frozenset(found.start() for found in inside if found[0][0].isupper())
    if not any(found[0][0].isupper() for found in words) or 2 * len(named) > len(inside):
        return Names()
    return Names(named, telling=True)
