"""Duplicate strips: whether two say the same in nearly the same words."""

from __future__ import annotations

from collections import Counter

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


def say_the_same(one: str, other: str) -> bool:
    """Return whether the words of two texts are the same, or those of one with a few harmless words added.

    A number, a name or a word like "not" is never harmless, and no word may stand for another: "rose" and "fell" make
    two statements of any sentence.
    """
    if min(count_words(one), count_words(other)) < LEAST_WORDS:
        return False
    shorter, longer = sorted((words_in(one), words_in(other)), key=len)
    if not shorter:
        return False
    folded = [word.casefold() for word in shorter], [word.casefold() for word in longer]
    if folded[0] == folded[1]:
        return True
    if len(shorter) < SAME_SHARE * len(longer) or not _in_order(*folded):
        return False
    added = Counter(folded[1]) - Counter(folded[0])
    names = {word.casefold() for word in longer[1:] if word[0].isupper()}
    return not any(word in names or word in CHANGE_SENSE or any(map(str.isdigit, word)) for word in added)


def _in_order(shorter: list[str], longer: list[str]) -> bool:
    left = iter(longer)
    return all(word in left for word in shorter)
