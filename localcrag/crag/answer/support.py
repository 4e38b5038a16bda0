"""Support: how far a piece of evidence backs a sentence, by words, numbers, names and negations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from localcrag.records.enums import Backing
from localcrag.text.lexicon import current_lexicon
from localcrag.text.quantities import KINDS, comparable, signed_numbers
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.sentences import CLAUSE_ENDS, split_sentences
from localcrag.text.translation import gettext as _
from localcrag.text.words import (
    SUPPORTED_SHARE,
    adjacent_words,
    content_words,
    names,
    numbers,
    word_list,
    words_with_digits,
)

_PARAGRAPHS = re.compile(r"\n\s*\n")
_CLAUSES = re.compile(rf"{CLAUSE_ENDS}|[|\n]|\b(?:and|but|or|while|whereas)\b|(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class _Clause:
    """The numbers of a clause, their kinds of quantity, and its other words (`label`), which describe the numbers."""

    numbers: frozenset[str]
    kinds: frozenset[str]
    label: frozenset[str]


def mixed_up_numbers(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's numbers that the evidence gives for something else (mixed up with others of their kind).

    A number is mixed up if the words around it in the sentence include all words that set another number's clause apart
    from the rest of its paragraph, and not all of those of its own clause. `asked` are the question's content words:
    its numbers are not checked, and its words count as context of a number without any. Both texts must be in the form
    that `comparable` returns. Numbers without a unit are not checked: the words next to them say less often what they
    mean.
    """
    paragraphs = [_distinct_labels(_clauses(paragraph)) for paragraph in _PARAGRAPHS.split(evidence)]
    own, words = _clauses(sentence), content_words(sentence)
    found = []
    for clause in own:
        label = clause.label if len(own) > 1 else frozenset(words - words_with_digits(words))
        label = label if label - asked - KINDS.keys() else label | asked
        for number in sorted(clause.numbers - asked):
            fits = any(number in one.numbers and one.label <= label for paragraph in paragraphs for one in paragraph)
            if not fits and any(_matches_other_clause(number, label, clause, paragraph) for paragraph in paragraphs):
                found.append(number)
    return found


def _matches_other_clause(number: str, label: frozenset[str], clause: _Clause, paragraph: list[_Clause]) -> bool:
    kinds = {kind for one in paragraph if number in one.numbers for kind in one.kinds}
    others = [one for one in paragraph if not one.numbers & clause.numbers and one.kinds & kinds]
    return any(one.label and one.label <= label for one in others)


def _clauses(text: str) -> list[_Clause]:
    """Return the clauses with numbers; the words of a clause without numbers belong to its neighbours."""
    parts = [words for part in _CLAUSES.split(text) if (words := word_list(part))]
    found = []
    for at, words in enumerate(parts):
        if not (own := words_with_digits(words)):
            continue
        kinds = {KINDS[unit] for number, unit in pairwise(words) if number in own and unit in KINDS}
        around = (*parts[max(0, at - 1) : at], *parts[at + 1 : at + 2])
        label = set(words).union(*(other for other in around if not words_with_digits(other))) - own - KINDS.keys()
        found.append(_Clause(frozenset(own), frozenset(kinds), frozenset(label)))
    return found


def _distinct_labels(clauses: list[_Clause]) -> list[_Clause]:
    """Return the clauses, keeping only the words of each label that no other clause has."""
    return [
        replace(clause, label=clause.label.difference(*(one.label for one in clauses if one is not clause)))
        for clause in clauses
    ]


UNIT_DISTANCE = 3
"""Number of words after a number that may include its unit: "20 whole working days"."""
MAX_AMOUNT_WORDS = 1
"""Maximum number of words, besides numbers, in a clause that is only an amount: its unit."""
_CLAUSE = re.compile(CLAUSE_ENDS)
_RANGE = re.compile(r"(?<![\w.,])(\d[\d.,:]*)(?: to |[-–‑/])(\d[\d.,:]*\d|\d)")


def misattributed_numbers(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's new numbers that the evidence gives with another unit or sign, or for something else."""
    new = sorted(numbers(sentence) - asked)
    mixed = mixed_up_numbers(sentence, evidence, asked) if new else []
    return [number for number in new if number in mixed or _has_other_unit(number, sentence, evidence)]


def doubtful_numbers(sentence: str, evidence: str, asked: set[str]) -> list[str]:
    """Return the sentence's new numbers that the evidence has without the following word, or in an unrelated clause.

    A small model that has to answer with a number may take any number: "2024" from "booked fourteen days before
    departure; tickets bought later cost 38 per cent more, as the bookings of 2024 show". This is only a doubt, because
    a model that turns a table row into a sentence adds words of its own.
    """

    def doubtful(number: str) -> bool:
        own, others = _neighbours(number, sentence), _neighbours(number, evidence)
        return not _same_word_follows(number, sentence, evidence) or (
            not own & others and _is_off_topic(number, evidence, asked)
        )

    return list(filter(doubtful, sorted(numbers(sentence) - asked)))


def _has_other_unit(number: str, sentence: str, evidence: str) -> bool:
    """Return whether the evidence gives the number only with another sign, in another range, or with another unit.

    A unit is the word right after a number: "14 days", "27 nations". In a table the unit is in the header. If the word
    before a number names it ("box 3 holds …"), or if the number is a name with a digit, the word after it is not a
    unit.
    """
    own, others = _signs(number, sentence), _signs(number, evidence)
    if (own and others and not own & others) or _in_other_range(number, sentence, evidence):
        return True
    units = {unit for word, unit in adjacent_words(sentence) if word == number and unit}
    if not units or not _is_amount(number) or _words_before(number, sentence) & _words_before(number, evidence):
        return False
    words = word_list(evidence)
    near = _near(number, words)
    behind = {unit for follow in near for unit in follow}
    if units & behind:
        return False
    # A known unit differs if the evidence has another known unit there, or lacks this unit everywhere, even in a
    # header.
    if units & KINDS.keys():
        return bool(behind & KINDS.keys()) or not units & set(words)
    # Any other word differs as a unit if the evidence counts other things in it, or always gives this number a known
    # unit.
    other_units = {unit for at, word in enumerate(words) if _is_amount(word) for unit in words[at + 1 : at + 2]}
    return bool(units & other_units) or all(KINDS.keys() & set(follow) for follow in near)


def _in_other_range(number: str, sentence: str, evidence: str) -> bool:
    """Return whether the evidence only has other ranges that begin with the number than the sentence has."""
    own, others = ({b for a, b in _RANGE.findall(text) if a == number} for text in (sentence, evidence))
    return bool(own and others and not own & others)


def _same_word_follows(number: str, sentence: str, evidence: str) -> bool:
    """Return whether the word after the number, if there is one, also follows it closely in the evidence."""
    units = {follow for _, follow in _neighbours(number, sentence) if follow}
    return not units or any(units & set(follow) for follow in _near(number, word_list(evidence)))


def _near(number: str, words: Sequence[str]) -> list[list[str]]:
    """Return, for each occurrence of the number, the words after it that may include its unit."""
    places = [at for at, word in enumerate(words) if word == number]
    return [_up_to_second_number(words[at + 1 : at + 1 + UNIT_DISTANCE]) for at in places]


def _is_amount(word: str) -> bool:
    return word[0].isdigit() and not any(letter.isalpha() for letter in word)


def _words_before(number: str, text: str) -> set[str]:
    return {word for word, behind in adjacent_words(text) if behind == number}


def _up_to_second_number(words: Sequence[str]) -> list[str]:
    """Return the words up to the second number; the first number may be the other end of a range."""
    first = next((word for word in words if word[0].isdigit()), None)
    return [word for word in words if word == first or not word[0].isdigit()]


def _signs(number: str, text: str) -> set[bool]:
    """Return the signs that a number has in a text: True for below zero."""
    return {below for written, below in signed_numbers(text) if number in content_words(written)}


def _neighbours(number: str, text: str) -> set[tuple[str, str]]:
    """Return the words before and after the number at each of its places, except where it is alone."""
    words = ["", *word_list(text), ""]
    found = {(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == number}
    return found - {("", "")}


def _is_off_topic(number: str, evidence: str, asked: set[str]) -> bool:
    """Return whether the number occurs only in clauses that are irrelevant to the question.

    Such a clause has less than half as many of the question's words as the best clause of its sentence.
    """
    aside = False
    for part in split_sentences(evidence):
        clauses = _amount_clauses(part.text)
        best = max(len(asked & clause) for clause in clauses)
        holding = [len(asked & clause) for clause in clauses if number in clause]
        if any(2 * shared >= best for shared in holding):
            return False
        aside = aside or bool(holding)
    return aside


def _amount_clauses(sentence: str) -> list[set[str]]:
    """Return each clause's words; a lone amount belongs to the clause before it: "two months' rent, 1,680 euros"."""
    found: list[set[str]] = [set()]
    for clause in _CLAUSE.split(sentence):
        words = content_words(clause)
        if words and len(words - words_with_digits(words)) <= MAX_AMOUNT_WORDS:
            found[-1] |= words
        else:
            found.append(words)
    return found


NEAR_SHARE = 0.75
"""Share of the nearest sentence's matching words from which another sentence of the evidence is near as well."""

_STATEMENTS = re.compile(rf"{CLAUSE_ENDS}|:(?=\s)|\b(?:and|but|or|because|since|unless)\b")
_DENIAL_CLAUSES = re.compile(rf"{CLAUSE_ENDS}|:(?=\s)")
_LIMITS = re.compile(
    r"(?i)\b(?:only|except|other than|exclud\w+|unless|refus\w+|forbidden|prohibited|void\w*|lapses?|ended|instead"
    r"|until)\b"
)
_NEGATION = re.compile(r"(?i)\b(?:not|no(?!\.?\s*\d)|never|none|nor|neither|without|cannot)\b|n['’]t\b")
_CONCLUDED_NO = re.compile(r"(?i)^\W*no\b(?:\s*[,.:;!–—]|\s+-(?=\s)|\s+(?=(?:it|they|he|she|we|you|this|that)\b))\s*")


def denial_backing(sentence: str, evidence: str) -> Backing:
    """Return how far the evidence backs the sentence's negations.

    Each negative clause is compared with the sentences of the evidence nearest to it. If none of them is negative, the
    clause is partly backed if one of them sets limits ("only", "except"), and otherwise not at all.
    """
    found = Backing.SUPPORTED
    no = concluded_no().match(sentence)
    if not (no or denies(sentence)):
        return found
    parts = [(content_words(span.text), span.text) for span in split_sentences(evidence)]
    for number, clause in enumerate(_statements(sentence[no.end() :] if no else sentence)):
        own = content_words(clause)
        if not own or not (denies(clause) or (no and number == 0)):
            continue
        near = max((len(own & words) for words, _ in parts), default=0)
        about = [text for words, text in parts if len(own & words) >= NEAR_SHARE * near]
        if any(denies(text) for text in about):
            continue
        if not any(_limits(text) for text in about):
            return Backing.NOT
        found = Backing.PARTLY
    return found


def denies(text: str) -> bool:
    """Return whether a text contains a negation."""
    known = current_lexicon()
    return (known.denies if known else _NEGATION).search(text) is not None


def concluded_no() -> re.Pattern[str]:
    """Return the pattern for a "no" that begins a sentence, in the language of the question."""
    known = current_lexicon()
    return known.leading_no_pattern if known else _CONCLUDED_NO


def _statements(sentence: str) -> list[str]:
    known = current_lexicon()
    if not known:
        return _STATEMENTS.split(sentence)
    return [part for clause in _DENIAL_CLAUSES.split(sentence) for part in known.joins.split(clause)]


def _limits(text: str) -> bool:
    known = current_lexicon()
    return (known.limits if known else _LIMITS).search(text) is not None


def nearest_sentence(words: set[str], evidence: str) -> str:
    """Return the sentence of the evidence that shares most of these words."""
    sentences = [span.text for span in split_sentences(evidence)]
    return max(sentences, key=lambda sentence: len(words & content_words(sentence)), default="")


MIN_NEW_SHARE = 0.6
"""Minimum share of a sentence's new content words, those not in the question, that the evidence must contain to back
it; SUPPORTED_SHARE is the minimum for all content words. Repeating the question is not an answer. Both were chosen
on 120 questions of SQuAD 2.0 dev, half of them without an answer."""
MIN_PARTLY_SHARE, MIN_PARTLY_NEW_SHARE = 0.6, 0.4
"""The same two minimum shares for a sentence to be partly backed."""


@dataclass(frozen=True, slots=True)
class SupportJudgement:
    """How far one piece of evidence backs a sentence, and the `share` of the sentence's content words in it."""

    backing: Backing
    share: float
    why: str


def judge(sentence: str, evidence: str, question: str, title: str) -> SupportJudgement:
    """Return how far a piece of evidence with this title backs a sentence of an answer to the question."""
    sentence, evidence, question = (comparable(text) for text in (sentence, evidence, question))
    sentence = _drop_concluded_no(sentence, evidence, question)
    own, held = content_words(sentence), content_words(evidence)
    share = len(own & held) / len(own)
    # A title tells what the evidence is about but states no facts, so it can only supply words of the question.
    about = content_words(title) & content_words(question)
    if why := _refutation(sentence, evidence, question, about):
        return SupportJudgement(Backing.NOT, share, why)
    if why := _doubt(sentence, evidence, question, about):
        return SupportJudgement(Backing.PARTLY, share, why)
    return SupportJudgement(Backing.SUPPORTED, share, "")


def _refutation(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return the reason why the evidence does not back the sentence at all, or an empty string."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if not new:
        return "" if _confirms_question(sentence, evidence, question) else _("it only repeats the question")
    if own <= numbers(sentence):
        # "6" is found in "6. Claims and deadlines", and nothing shows that this is not an answer.
        return _("a bare number says too little to be checked")
    if foreign := (numbers(sentence) | names(sentence)) - held:
        return _("not in the evidence: %(words)s", words=", ".join(sorted(foreign)))
    if len(own & held) < MIN_PARTLY_SHARE * len(own) or len(new & held) < MIN_PARTLY_NEW_SHARE * len(new):
        return _("the evidence does not say it")
    return _says_otherwise(sentence, evidence, question)


def _says_otherwise(sentence: str, evidence: str, question: str) -> str:
    """Return the reason if the evidence uses the sentence's words for another statement, or an empty string."""
    asked = content_words(question)
    if others := _other_subjects(sentence, evidence, question):
        return _("the source says this about %(others)s", others=others)
    if loose := misattributed_numbers(sentence, evidence, asked):
        return _("in the source, %(numbers)s refers to something else", numbers=", ".join(loose))
    return _("it denies what the evidence says") if denial_backing(sentence, evidence) is Backing.NOT else ""


def _doubt(sentence: str, evidence: str, question: str, about: set[str]) -> str:
    """Return which part of the sentence the evidence does not back, or an empty string if it backs everything."""
    own, held, asked = content_words(sentence), content_words(evidence) | about, content_words(question)
    new = own - asked
    if len(own & held) < SUPPORTED_SHARE * len(own) or len(new & held) < MIN_NEW_SHARE * len(new):
        return _("not in the evidence: %(words)s", words=", ".join(sorted(own - held)))
    denied = not denies(sentence) and denies(nearest_sentence(own, evidence))
    if denied or denial_backing(sentence, evidence) is Backing.PARTLY:
        return _("the evidence denies part of it")
    if loose := doubtful_numbers(sentence, evidence, asked):
        return _("in the source, %(numbers)s may refer to something else", numbers=", ".join(loose))
    return ""


def _drop_concluded_no(sentence: str, evidence: str, question: str) -> str:
    """Return a sentence without its leading "no", if that is a conclusion from the evidence.

    "Does it last 24 months?" – "No, it lasts 12 months." If the evidence has everything that the question asks about,
    the "no" denies it and stays.
    """
    rest = concluded_no().sub("", sentence, count=1)
    if rest == sentence or not content_words(rest) or not asks_yes_or_no(question):
        return sentence
    says_what_was_asked = content_words(question) <= content_words(nearest_sentence(content_words(sentence), evidence))
    return sentence if says_what_was_asked else rest


def _confirms_question(sentence: str, evidence: str, question: str) -> bool:
    """Return whether a sentence in the question's own words answers it.

    It does if the question asks for yes or no and the evidence says the same.
    """
    own = content_words(sentence)
    near = nearest_sentence(own, evidence)
    same = len(own & content_words(near)) >= SUPPORTED_SHARE * len(own) and denies(sentence) == denies(near)
    return same and asks_yes_or_no(question)


def concludes_yes(sentence: str, evidence: str, question: str) -> bool:
    """Return whether the evidence backs a "yes": it has all words of a yes-or-no question and no negation."""
    near = nearest_sentence(content_words(sentence), evidence)
    same = content_words(question) <= content_words(near) and not denies(near) and not denies(sentence)
    return same and asks_yes_or_no(question)


def _other_subjects(sentence: str, evidence: str, question: str) -> str:
    """Return the names that have the sentence's new facts in the evidence, if the sentence has other names.

    All words of "The limit in Gdynia is 195 euros" may be in a table whose row with 195 is London's. If a sentence of
    the evidence has the facts but no other name, it is assumed to continue about the previous sentence's name.
    """
    asked = content_words(question)
    own, known = content_words(sentence), names(evidence)
    wanted = names(question) & own
    named = names(sentence) | (own & known) | wanted
    facts, whom = (numbers(sentence) | named) - asked, named & asked
    parts = [part.text for part in split_sentences(evidence)] if facts and whom else []
    # If the name in the question begins a sentence, the first words of other sentences are names as well.
    first = [_first_name(part) for part in parts]
    begins = any(name & wanted for name in first)
    others: set[str] = set()
    for part, name in zip(parts, first, strict=True):
        words = content_words(part)
        if not facts <= words:
            continue
        if whom <= words or not (rivals := ((known | name if begins else known) & words) - own):
            return ""
        others |= rivals
    return ", ".join(sorted(others))


def _first_name(sentence: str) -> set[str]:
    first = sentence.split(None, 1)[0]
    return content_words(first) if first[:1].isupper() else set()
