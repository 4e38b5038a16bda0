"""Terms that are never sent: found in a query however they are written, and taken out of it.

Compared are letters, digits, marks and symbols, after Unicode's NFKC and case folding. White space, punctuation
(hyphens, quotes, …) and invisible characters do not count, so that "Blue-Heron", "BLUE HERON" and "blueherons" all
hold "blue heron". A short term is therefore found in many a word: better a search too few than one too many.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

SHORTEST = 2
"""Letters or digits that a term needs: of one alone, every query would be full."""


def is_term(text: str) -> bool:
    """Return whether `text` can be looked for: it has at least two letters or digits."""
    return sum(letter.isalnum() for letter in _letters(text)) >= SHORTEST


def holds(text: str, terms: Sequence[str]) -> bool:
    """Return whether `text` holds one of the terms."""
    letters = _letters(text)
    return any(term in letters for term in map(_letters, terms) if term)


def without(query: str, terms: Sequence[str]) -> str:
    """Return `query` without the words that hold a term, or a part of one that runs over several words."""
    words = query.split()
    # Once more after each round: words that come together when others go may make a term between them.
    while found := _touched(words, terms):
        words = [word for number, word in enumerate(words) if number not in found]
    return query if len(words) == len(query.split()) else " ".join(words)


def _touched(words: Sequence[str], terms: Sequence[str]) -> set[int]:
    """Return the numbers of the words that a term lies in, wholly or in part."""
    spelled = [_letters(word) for word in words]
    letters = "".join(spelled)
    word_of = [number for number, word in enumerate(spelled) for _ in word]
    found: set[int] = set()
    for term in filter(None, map(_letters, terms)):
        at = letters.find(term)
        while at >= 0:
            found.update(word_of[at : at + len(term)])
            at = letters.find(term, at + 1)
    return found


def _letters(text: str) -> str:
    # Normalised twice: folding can leave characters that NFKC would have composed.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LNMS")
