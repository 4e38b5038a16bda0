"""Numbers of a sentence against those of the evidence: unit, sign, range, and what each stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.steps.answer.number_labels import mixed_up
from localcrag.text.quantities import KINDS, signed
from localcrag.text.sentences import CLAUSE_ENDS, split_sentences
from localcrag.text.words import content_words, followed, numbers, with_digits, word_list

UNIT_WITHIN = 3
"""Words behind a number within which its unit stands: "20 whole working days"."""
WORDS_OF_AN_AMOUNT = 1
"""Its unit, beside numbers."""
_CLAUSE = re.compile(CLAUSE_ENDS)
_RANGE = re.compile(r"(?<![\w.,])(\d[\d.,:]*)(?: to |[-–‑/])(\d[\d.,:]*\d|\d)")


def of_something_else(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's new numbers that the evidence has, but with another unit, sign, or for something else."""
    new = sorted(numbers(sentence) - asked)
    mixed = mixed_up(sentence, evidence, asked) if new else []
    return [number for number in new if number in mixed or _another_unit(number, sentence, evidence)]


def perhaps_of_something_else(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return those that the evidence has without the word that follows, or in an unrelated clause.

    A small model that has to answer with a number takes any: "2024", out of "booked fourteen days before departure;
    tickets bought later cost 38 per cent more, as the bookings of 2024 show". One that puts a table's row in words
    brings words of its own.
    """
    return [
        number
        for number in sorted(numbers(sentence) - asked)
        if not _followed_alike(number, sentence, evidence)
        or (_aside(number, evidence, asked) and not _neighbours(number, sentence) & _neighbours(number, evidence))
    ]


def _another_unit(number: str, sentence: str, evidence: str) -> bool:
    """Whether the evidence has the number below zero and the sentence not, in another range, or with another unit.

    A unit is what directly follows: "14 days", "27 nations". In a table it stands in the header. What follows a number
    that is called by the word before it ("box 3 holds …"), or a name with a digit in it, is no unit.
    """
    own, others = _signs(number, sentence), _signs(number, evidence)
    if (own and others and not own & others) or _ends_of_others(number, sentence, evidence):
        return True
    units = {unit for word, unit in followed(sentence) if word == number and unit}
    if not units or not _is_amount(number) or _called(number, sentence) & _called(number, evidence):
        return False
    words = word_list(evidence)
    near = _near(number, words)
    behind = {unit for follow in near for unit in follow}
    if units & behind:
        return False
    if units & KINDS.keys():
        return bool(behind & KINDS.keys()) or not units & set(words)
    of_another = {unit for at, word in enumerate(words) if _is_amount(word) for unit in words[at + 1 : at + 2]}
    return bool(units & of_another) or all(KINDS.keys() & set(follow) for follow in near)


def _ends_of_others(number: str, sentence: str, evidence: str) -> bool:
    """Whether the sentence has a range or a joined number that begins so, and the evidence has only others that do."""
    own, others = ({b for a, b in _RANGE.findall(text) if a == number} for text in (sentence, evidence))
    return bool(own and others and not own & others)


def _followed_alike(number: str, sentence: str, evidence: str) -> bool:
    """Whether the word that follows the number, if any, stands near behind it in the evidence as well."""
    units = {follow for _, follow in _neighbours(number, sentence) if follow}
    return not units or any(units & set(follow) for follow in _near(number, word_list(evidence)))


def _near(number: str, words: Sequence[str]) -> list[list[str]]:
    """Return the words within which a unit stands, behind each place of the number."""
    return [_up_to_number(words[at + 1 : at + 1 + UNIT_WITHIN]) for at, word in enumerate(words) if word == number]


def _is_amount(word: str) -> bool:
    return word[0].isdigit() and not any(letter.isalpha() for letter in word)


def _called(number: str, text: str) -> set[str]:
    return {word for word, behind in followed(text) if behind == number}


def _up_to_number(words: Sequence[str]) -> list[str]:
    """Return words without the numbers behind the first one: the other end of a range is the next number alone."""
    first = next((word for word in words if word[0].isdigit()), None)
    return [word for word in words if word == first or not word[0].isdigit()]


def _signs(number: str, text: str) -> set[bool]:
    """Return whether a number is below zero, as often as it is written differently."""
    return {below for written, below in signed(text) if number in content_words(written)}


def _neighbours(number: str, text: str) -> set[tuple[str, str]]:
    """Return the words before and behind the number, wherever it is; none where it stands alone."""
    words = ["", *word_list(text), ""]
    found = {(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == number}
    return found - {("", "")}


def _aside(number: str, evidence: str, asked: set[str]) -> bool:
    """Whether every clause with the number has less than half of the question's words that its sentence's best has."""
    aside = False
    for part in split_sentences(evidence):
        clauses = _clauses(part.text)
        best = max(len(asked & clause) for clause in clauses)
        holding = [len(asked & clause) for clause in clauses if number in clause]
        if any(2 * shared >= best for shared in holding):
            return False
        aside = aside or bool(holding)
    return aside


def _clauses(sentence: str) -> list[set[str]]:
    """Return the words of each clause; an amount by itself is of the clause before: "two months' rent, 1,680 euros"."""
    found: list[set[str]] = [set()]
    for clause in _CLAUSE.split(sentence):
        words = content_words(clause)
        if words and len(words - with_digits(words)) <= WORDS_OF_AN_AMOUNT:
            found[-1] |= words
        else:
            found.append(words)
    return found
