"""Contradiction by facts: the one thing in which two statements cannot both be right.

A number, date, time or name must differ while everything else agrees, and nothing may narrow one of the two statements
that does not narrow the other: a place, a condition, a year at the beginning. That misses many contradictions and
raises few false alarms, which is the aim: a card that is wrong teaches people not to look at cards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.steps.reconcile.facts import Fact, Kind, Name, agree, facts_of, names_of
from localcrag.text.lexicon.languages import lexicon
from localcrag.text.words import content_words, is_function_word

SHARED = 0.6
"""Share of the other words that two statements must have in common (Dice), chosen on conflict_pairs.jsonl."""
SHORTEST = 4
"""Words of a statement: "Rent costs 900 euros." Shorter ones are headings."""
SAME = 0.9
"""The same where a "not" is all that differs."""

_PREPOSITIONS = frozenset(
    "about above after against among around at before below between by during except for from in inside into of off on "
    "out outside over per since through to toward under until upon via with within without".split()
)
_RELATIONS = frozenset("above after before below except off on outside since under until without".split())
"""Prepositions that turn a statement round; the others are often a matter of wording."""
_CONDITION = re.compile(r"\b(?:if|unless|when|whenever|while|where|except|only|provided|otherwise)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\W*(?:it|this|that|these|those|they|he|she|there|its|their|his|her|such)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|never|cannot|no)\b|n['’]t\b", re.IGNORECASE)
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday weekday weekend".split())
_DETERMINER = r"(?:(?:the|a|an|his|her|its|their|our|[Dd]r\.?|[Mm]rs?\.?|[Mm]s\.?|[Pp]rof\.?) ?)*"
_SAID_OF = re.compile(rf"\b(?:is|are|was|were|by|called|named) {_DETERMINER}$")
"""Before a name: the statement says who or what something is, and there is only one such."""
_SAYS_WHO = re.compile(r"\s*(?:is|was) the\b")
"""After a name that begins a statement: likewise."""
_OPENING = re.compile(
    r"\W*(?:(?:the|in|on|by|since|from|as of|until|at|around|during|before|after)\W+)?", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_RANGE = re.compile(
    r"(?:\d[^\s\d]*\s?(?:[-–—]|to|or|and)\s?|(?:[<>≤≥~]=?|\b(?:max|min)\.?|\bfrom|\bstarts? at)\s*)$", re.IGNORECASE
)
_BEHIND_RANGE = re.compile(r"\s?(?:[-–—]|to|or)\s?\d|\s+or (?:more|less|fewer|longer)\b", re.IGNORECASE)
_RATE = re.compile(
    r"(?:\s*/\s*|\s+(?:an?|per|each|every)\s+)([a-z]+)|\s+(monthly|yearly|annually|daily|weekly|hourly)\b",
    re.IGNORECASE,
)
"""Behind a fact: what it is for, “10 euros an hour”."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What stands in the one statement and in the other; a negation stands in one of them only."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    facts: tuple[Fact, ...]
    names: tuple[Name, ...]
    words: tuple[str, ...]
    """Content words in order, without those of facts and names."""
    narrowing: frozenset[str]
    """Those of them that a preposition brings in."""

    @property
    def begins_with(self) -> frozenset[str]:
        """What the statement is about, as far as its order tells: its first name, or its first other word."""
        head = next(iter(self.words), "")
        at = self.text.lower().find(head) if head else len(self.text)
        first = next((name for name in self.names if name.start <= at), None)
        return first.words if first else frozenset((head,))


def difference(first: str, second: str) -> Difference | None:
    """Return what contradicts between two statements, or None where they agree or may both be true."""
    if not (_states(first) and _states(second)):
        return None
    a, b = _read(first), _read(second)
    facts_a, facts_b = _unmatched(a.facts, b.facts), _unmatched(b.facts, a.facts)
    names_a, names_b = _unnamed(a.names, b.names), _unnamed(b.names, a.names)
    if not _comparable(a, b, but=(*names_a, *names_b)):
        return None
    negated = [_negation().search(text) for text in (first, second)]
    if bool(negated[0]) != bool(negated[1]):
        alike = not (facts_a or facts_b or names_a or names_b) and _dice(a, b) >= SAME
        shown = [match[0] if match else "" for match in negated]
        return Difference(*shown) if alike else None
    if names_a or names_b:
        if facts_a or facts_b or not (len(names_a) == len(names_b) == 1 and _says_which(a, names_a[0], b, names_b[0])):
            return None
        return Difference(*(text[name.start : name.end] for text, (name,) in ((first, names_a), (second, names_b))))
    return _differing_fact(a, facts_a, b, facts_b)


def _states(text: str) -> bool:
    """Whether a sentence states something by itself: no heading, question, table row, or one about "it"."""
    known = lexicon()
    about_it = known.points_back.match(text.lstrip()) if known else _PRONOUN.match(text)
    return len(text.split()) >= SHORTEST and "|" not in text and text.rstrip()[-1] != "?" and not about_it


def _negation() -> re.Pattern[str]:
    known = lexicon()
    return known.denies if known else _NEGATION


def _prepositions() -> frozenset[str]:
    known = lexicon()
    return known.brings_in if known else _PREPOSITIONS


def _differing_fact(a: _Statement, left_a: Sequence[Fact], b: _Statement, left_b: Sequence[Fact]) -> Difference | None:
    """Return the one pair of facts that differs, if it is one, and what else is left over narrows nothing."""
    pairs = [(one, other) for one in left_a for other in left_b if (one.kind, one.unit) == (other.kind, other.unit)]
    if len(pairs) != 1:
        return None
    one, other = pairs[0]
    if _is_bound(a, one) != _is_bound(b, other) or _of_other_rates((a, one), (b, other)):
        return None
    rest = [(a, fact) for fact in left_a if fact != one] + [(b, fact) for fact in left_b if fact != other]
    # Two numbers of other units on either side: who knows which of them answers which.
    if len({id(statement) for statement, _ in rest}) > 1 or any(_narrows(*place) for place in rest):
        return None
    opens = any(_OPENING.fullmatch(statement.text[: fact.start]) for statement, fact in ((a, one), (b, other)))
    if one.kind is Kind.LABEL or (opens and one.kind in (Kind.DATE, Kind.ORDINAL)):
        return None
    return Difference(a.text[one.start : one.end], b.text[other.start : other.end])


def _is_bound(statement: _Statement, fact: Fact) -> bool:
    """Whether a fact is one end of a range, or an open bound: 4 days do not contradict 3 to 5."""
    before = _BEFORE_RANGE.search(statement.text[: fact.start])
    return before is not None or _BEHIND_RANGE.match(statement.text, fact.end) is not None


def _of_other_rates(*places: tuple[_Statement, Fact]) -> bool:
    """Whether two facts are for other things: 2 euros an hour do not contradict 20 euros a day."""
    rates = [_RATE.match(statement.text, fact.end) for statement, fact in places]
    said = {rate[1] or rate[2] for rate in rates if rate}
    return all(rates) and len(said) > 1


def _comparable(a: _Statement, b: _Statement, *, but: Sequence[Name]) -> bool:
    """Whether the two statements are about the same thing, under the same conditions; `but` are names that differ."""
    set_a, set_b = frozenset(a.words), frozenset(b.words)
    apart = set_a ^ set_b
    differing = frozenset(word for name in but for word in name.words)
    heads = all(
        one.begins_with <= differing or one.begins_with & (frozenset(other.words) | _name_words(other))
        for one, other in ((a, b), (b, a))
    )
    return (
        heads
        and _dice(a, b) >= SHARED
        and not apart & (a.narrowing | b.narrowing)
        and not apart & _WEEKDAYS
        and not _clash(_relations(a.text), _relations(b.text))
        and _conditions(a.text) == _conditions(b.text)
    )


def _dice(a: _Statement, b: _Statement) -> float:
    """Return 2 |A & B| / (|A| + |B|) of the two statements' words; names that they share count as one word each."""
    set_a, set_b = frozenset(a.words), frozenset(b.words)
    named = len(a.names) - len(_unnamed(a.names, b.names))
    shared = len(set_a & set_b) + named
    return 2 * shared / (len(set_a) + len(set_b) + 2 * named) if shared else 0.0


def _read(text: str) -> _Statement:
    facts, names = facts_of(text), names_of(text)
    taken = [(fact.start, fact.end) for fact in facts] + [(name.start, name.end) for name in names]
    words: list[str] = []
    narrowing: set[str] = set()
    brought_in = False
    prepositions, negation = _prepositions(), _negation()
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if any(start <= match.start() < end for start, end in taken):
            continue
        if word in prepositions:
            brought_in = True
        elif not is_function_word(word) and not negation.fullmatch(word) and (plain := content_words(word)):
            words += plain
            narrowing |= plain if brought_in else set()
            brought_in = False
    return _Statement(text, tuple(facts), tuple(names), tuple(words), frozenset(narrowing))


def _unmatched(facts: Sequence[Fact], others: Sequence[Fact]) -> list[Fact]:
    """Return the facts with which none of the others agrees."""
    return [
        fact
        for fact in facts
        if not any((fact.kind, fact.unit) == (other.kind, other.unit) and agree(fact, other) for other in others)
    ]


def _unnamed(names: Sequence[Name], others: Sequence[Name]) -> list[Name]:
    """Return the names of which none of the others has a word: Everest is Mount Everest."""
    return [name for name in names if not any(name.words & other.words for other in others)]


def _says_which(a: _Statement, name_a: Name, b: _Statement, name_b: Name) -> bool:
    """Whether both statements say who or what something is, by these names, and agree in what it is said of."""
    return all(
        _SAID_OF.search(statement.text[: name.start])
        or (not statement.text[: name.start].strip() and _SAYS_WHO.match(statement.text, name.end))
        for statement, name in ((a, name_a), (b, name_b))
    )


def _narrows(statement: _Statement, fact: Fact) -> bool:
    """Whether a fact that only one statement has limits what it holds for."""
    before = _WORD.findall(statement.text[: fact.start])
    return fact.kind is not Kind.QUANTITY or (bool(before) and before[-1].lower() in _prepositions())


def _name_words(statement: _Statement) -> frozenset[str]:
    return frozenset(word for name in statement.names for word in name.words)


def _relations(text: str) -> frozenset[str]:
    """Return the prepositions that turn the statement round; in other languages all of them, to be safe."""
    return frozenset(word.lower() for word in _WORD.findall(text)) & (_prepositions() if lexicon() else _RELATIONS)


def _clash(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other and one != other)


def _conditions(text: str) -> frozenset[str]:
    """Return the words from the first condition of a statement on; the facts in them count as words."""
    known = lexicon()
    found = (known.limits if known else _CONDITION).search(text)
    return frozenset(content_words(text[found.start() :]) | _relations(text[found.start() :])) if found else frozenset()
