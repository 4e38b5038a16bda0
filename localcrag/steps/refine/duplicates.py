"""Duplicate strips: whether two say the same in nearly the same words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Self

from localcrag.steps.refine.strips import count_words
from localcrag.text.words import words_in

LEAST_WORDS = 3
"""Fewer ("Yes.", a heading, "Total: 5") say something only where they stand."""
SAME_SHARE = 0.9
"""Of the longer one's words that the shorter one must have, in the same order."""
CHANGE_SENSE = frozenset(
    "not no never none nobody nothing neither nor without hardly barely only unless except if may might could should "
    "must almost nearly about".split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a text, made once to be compared with many; `number` is of all that count as words."""

    number: int
    words: list[str]
    folded: list[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the words of a text."""
        words = words_in(text)
        return cls(count_words(text), words, [word.casefold() for word in words])


def say_the_same(one: Wording, other: Wording) -> bool:
    """Return whether the words of two texts are the same, or those of one with a few harmless words added.

    A number, a name or a word like "not" is never harmless, and no word may stand for another: "rose" and "fell" make
    two statements of any sentence.
    """
    if min(one.number, other.number) < LEAST_WORDS:
        return False
    shorter, longer = sorted((one, other), key=lambda either: len(either.words))
    if not shorter.words:
        return False
    if shorter.folded == longer.folded:
        return True
    if len(shorter.words) < SAME_SHARE * len(longer.words) or not _in_order(shorter.folded, longer.folded):
        return False
    added = Counter(longer.folded) - Counter(shorter.folded)
    names = {word.casefold() for word in longer.words[1:] if word[0].isupper()}
    return not any(word in names or word in CHANGE_SENSE or any(map(str.isdigit, word)) for word in added)


def _in_order(shorter: list[str], longer: list[str]) -> bool:
    left = iter(longer)
    return all(word in left for word in shorter)
