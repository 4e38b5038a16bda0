"""What a number stands for: "adults pay 12 euros and children 5 euros" says 5 euros of children."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from localcrag.text.quantities import KINDS
from localcrag.text.sentences import CLAUSE_ENDS
from localcrag.text.words import content_words, with_digits, word_list

_PARAGRAPHS = re.compile(r"\n\s*\n")
_CLAUSES = re.compile(rf"{CLAUSE_ENDS}|[|\n]|\b(?:and|but|or|while|whereas)\b|(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause's numbers, what kinds of quantity they are, and its other words: what they stand for."""

    numbers: frozenset[str]
    kinds: frozenset[str]
    label: frozenset[str]


def mixed_up(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's numbers that the evidence has, but for what it says another number of the same kind.

    That is so where all words that tell the other number's clause from the rest of its paragraph stand around the
    number in the sentence, and not all of the number's own. `asked` are the question's content words: its numbers are
    not looked at, and its words stand around a number that stands alone. Both texts are as `comparable` has them.
    Numbers without a unit are left alone: what they stand for is less often beside them.
    """
    paragraphs = [_told_apart(_clauses(paragraph)) for paragraph in _PARAGRAPHS.split(evidence)]
    own, words = _clauses(sentence), content_words(sentence)
    found = []
    for clause in own:
        label = clause.label if len(own) > 1 else frozenset(words - with_digits(words))
        label = label if label - asked - KINDS.keys() else label | asked
        found += [
            number
            for number in sorted(clause.numbers - asked)
            if any(_is_of_another(number, label, clause, paragraph) for paragraph in paragraphs)
            and not any(_is_its_own(number, label, paragraph) for paragraph in paragraphs)
        ]
    return found


def _is_its_own(number: str, label: frozenset[str], paragraph: list[_Clause]) -> bool:
    return any(number in clause.numbers and clause.label <= label for clause in paragraph)


def _is_of_another(number: str, label: frozenset[str], said: _Clause, paragraph: list[_Clause]) -> bool:
    kinds = {kind for clause in paragraph if number in clause.numbers for kind in clause.kinds}
    others = [clause for clause in paragraph if not clause.numbers & said.numbers and clause.kinds & kinds]
    return any(clause.label and clause.label <= label for clause in others)


def _clauses(text: str) -> list[_Clause]:
    """Return the clauses with numbers; words of a clause without any belong to those beside it."""
    parts = [words for part in _CLAUSES.split(text) if (words := word_list(part))]
    found = []
    for at, words in enumerate(parts):
        if not (own := with_digits(words)):
            continue
        kinds = {KINDS[unit] for number, unit in pairwise(words) if number in own and unit in KINDS}
        beside = [other for other in (*parts[max(0, at - 1) : at], *parts[at + 1 : at + 2]) if not with_digits(other)]
        label = {word for clause in (words, *beside) for word in clause} - own - KINDS.keys()
        found.append(_Clause(frozenset(own), frozenset(kinds), frozenset(label)))
    return found


def _told_apart(clauses: list[_Clause]) -> list[_Clause]:
    """Return the clauses, of their words those alone that no other has."""
    return [
        _Clause(
            clause.numbers, clause.kinds, clause.label.difference(*(one.label for one in clauses if one is not clause))
        )
        for clause in clauses
    ]
