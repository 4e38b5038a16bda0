"""Completeness: keep the context that kept strips need, and drop duplicates.

A row means nothing without its table's header, a single step is not a procedure, and a rule without its exception is
another rule. The only scores that this module uses are those of the strips.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Self

from localcrag.crag.refine.strips import StripPlace, count_words, strip_places
from localcrag.records.enums import StripReason
from localcrag.records.passages import Passage, Strip
from localcrag.text.blocks import BlockKind
from localcrag.text.quantities import comparable_moments
from localcrag.text.question_form import asks_for_list, asks_how
from localcrag.text.words import content_words, split_words, words_with_digits

MIN_WORDS = 3
"""Number of words below which a text ("Yes.", a heading, "Total: 5") has meaning only in its own place."""
SAME_SHARE = 0.9
"""Share of the longer text's words that the shorter text must have, in the same order."""
SENSE_CHANGING_WORDS = frozenset(
    "not no never none nobody nothing neither nor without hardly barely only unless except if may might could should "
    "must almost nearly about".split()
)
"""Words that change the meaning of a sentence."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a text, prepared once for many comparisons; `number` is the result of `count_words`."""

    number: int
    words: list[str]
    folded: list[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the wording of a text."""
        words = split_words(text)
        return cls(count_words(text), words, [word.casefold() for word in words])


def are_duplicates(one: Wording, other: Wording) -> bool:
    """Return whether two texts have the same words, except that one of them may have a few harmless words more.

    A number, a name or a word like "not" is never harmless, and no word may replace another: "rose" and "fell" make two
    statements of any sentence.
    """
    if min(one.number, other.number) < MIN_WORDS:
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
    return not any(word in names or word in SENSE_CHANGING_WORDS or any(map(str.isdigit, word)) for word in added)


def _in_order(shorter: list[str], longer: list[str]) -> bool:
    # `in` consumes the iterator, so each word must come after the previous one.
    left = iter(longer)
    return all(word in left for word in shorter)


CountTokens = Callable[[Sequence[str]], list[int]]

STEPS_SHARE, STEPS = 1 / 3, 2
"""Share, or number, of a procedure's steps that must be kept for all of them to be kept."""
ITEMS_SHARE = 1 / 2
"""Share of a list's items, or a table's rows, that must be kept for all of them to be kept."""
SECTION_SHARE, SECTION_WORDS = 0.7, 40
"""Share of a passage's words that must be kept for the rest to be kept, and minimum words of such a passage."""
MAX_BEFORE = 2
"""Maximum number of sentences that are kept because a later one points back to them."""

_LIMITED = (StripReason.OVER_CAP, StripReason.OVER_TOKENS)
_NEVER = (StripReason.INSTRUCTION, StripReason.HIDDEN, StripReason.TAKEN_OUT)
_CELL = re.compile(r"\s*\|\s*| {2,}|\t+")
_TEXT = (BlockKind.PARAGRAPH, BlockKind.LINE)
_POINTS_BACK = re.compile(
    r"(?i)^[\"'“‘(*_]*(?:it|they|this|these|that|those|he|she|its|their|his|her|such|the same|both|either|neither"
    r"|otherwise|(?:in|for) (?:this|that|these|such|either|both|all other) (?:cases?|events?|situations?)|if (?:so|not)"
    r"|except|but|however|then|therefore|thus|also|instead|after(?:wards| that| this)|the (?:former|latter|exceptions?)"
    r"|likewise|similarly|nor|and|or|until then|unless this)\b(?! (?:of|to) (?:the|a|an)\b)"
)
_NARROWS = re.compile(
    r"(?i)^[\"'“‘(*_]*(?:but|however|except(?:ions?)?|the (?:only )?exceptions?|unless|only|otherwise"
    r"|(?:this|that|it) (?:does|do|is|will) not|(?:these|those|they) (?:do|are|will) not|not|nevertheless|conversely"
    r"|in (?:this|that|these|such) (?:cases?|events?)|if (?:so|not)|provided|even (?:so|then))\b"
)
_QUESTION = re.compile(r"\?[\"'”’)*_]*\Z")
_LABEL = re.compile(r"(\*\*|__)(?:(?!\1).){1,60}\1[.:]?\Z")
"""A paragraph's name, in bold at its beginning."""
_ANSWER = re.compile(r"^[*_]*(?:A|Answer)[*_]*[:.)]")


def complete(
    question: str,
    passages: Sequence[Passage],
    strips: Sequence[Strip],
    *,
    tokens: int,
    count_tokens: CountTokens,
    whole: Sequence[Passage] = (),
) -> tuple[Strip, ...]:
    """Return the strips, also keeping those that the kept ones need, up to a total of `tokens` tokens.

    Units of the most relevant strips come first: headings, headers and neighbouring sentences, then rows that the
    question names, then whole lists, then the little that is left of a passage. A list is completed as a whole or not
    at all. Every strip of the passages `whole` is kept, if there is room.
    """
    closure = _Closure(question, strips, tokens, count_tokens)
    looked_at = [_passage_strips(passage, strips) for passage in passages]
    found = [own for own in looked_at if any(strip.kept for strip in own.strips)]
    for find in (closure.companions, closure.named_rows, closure.lists, closure.rest):
        wanted = [unit for own in found for unit in find(own)]
        for _, unit in sorted(wanted, key=lambda one: -one[0]):
            closure.add(unit)
    places = {own.strips[0].passage: own.places for own in found}
    for passage in whole:
        closure.add(places.get(passage.id, []))
    return closure.result()


def names_row(asked: Set[str], row: str) -> bool:
    """Return whether the words of a question, with its dates comparable, name a row by its first cell or a name in it.

    A cell of one word that any row may have ("rain") names none, unless it is the first one.
    """
    first, *others = (content_words(comparable_moments(cell)) for cell in _CELL.split(row.strip("| \t")))
    names = [first, *(words for words in others if len(words) > 1 and not words_with_digits(words))]
    return any(words and words <= asked for words in names)


@dataclass(frozen=True, slots=True)
class _PassageStrips:
    """The strips of a passage, with their indices among all strips and their places in the passage."""

    places: list[int]
    strips: list[Strip]
    parts: list[StripPlace]

    @property
    def numbers(self) -> range:
        return range(len(self.places))


Unit = tuple[float, list[int]]
"""Relevance of the strip that a unit belongs to, and the indices of the strips in the unit."""


def _passage_strips(passage: Passage, strips: Sequence[Strip]) -> _PassageStrips:
    places = [place for place, strip in enumerate(strips) if strip.passage == passage.id]
    own = [strips[place] for place in places]
    return _PassageStrips(places, own, strip_places(passage, own))


class _Closure:
    """The strips that are kept so far, and the number of tokens left."""

    def __init__(self, question: str, strips: Sequence[Strip], tokens: int, count_tokens: CountTokens) -> None:
        self._strips = strips
        self._asked = content_words(comparable_moments(question))
        self._how, self._several = asks_how(question), asks_for_list(question)
        self._first = frozenset(place for place, strip in enumerate(strips) if strip.kept)
        # Strips that were dropped only by a limit are relevant as well.
        limited = {place for place, strip in enumerate(strips) if strip.reason in _LIMITED}
        self._relevant = self._first | limited
        self._kept = set(self._first)
        self._named: set[int] = set()
        self._lengths = count_tokens([strip.text for strip in strips]) if strips else []
        self._room = tokens - sum(self._lengths[place] for place in self._kept)

    def add(self, unit: Sequence[int]) -> None:
        """Keep all strips of a unit, if there is room for them."""
        new = {place for place in unit if place not in self._kept and self._strips[place].reason not in _NEVER}
        length = sum(self._lengths[place] for place in new)
        if length <= self._room:
            self._kept |= new
            self._room -= length

    def result(self) -> tuple[Strip, ...]:
        """Return the strips; those that were added have the reason CONTEXT."""
        strips = list(self._strips)
        for place in self._kept - self._first:
            strips[place] = dataclasses.replace(strips[place], kept=True, reason=StripReason.CONTEXT)
        return tuple(strips)

    def companions(self, own: _PassageStrips) -> Iterator[Unit]:
        """Yield the context that each kept strip needs: headings, header, and neighbouring sentences."""
        first_by_block = {own.parts[number].block: own.places[number] for number in reversed(own.numbers)}
        leads = {part.group: place for place, part in zip(own.places, own.parts, strict=True) if part.leads}
        for number in own.numbers:
            if own.places[number] not in self._first:
                continue
            part, relevance = own.parts[number], own.strips[number].relevance
            over = [first_by_block[heading] for heading in part.headings if heading in first_by_block]
            if _LABEL.match(self._strips[first := first_by_block[part.block]].text):
                over.append(first)
            if part.group in leads and part.group is not None:
                over.append(leads[part.group])
            if over:
                yield relevance, over
            named = self._under(number, own)
            # A relevant heading represents the text under it.
            self._named.update(own.places[other] for other in named)
            if around := [*_before(number, own), *_after(number, own), *named]:
                yield relevance, [own.places[other] for other in around]

    def _under(self, number: int, own: _PassageStrips) -> list[int]:
        """Return the first strip under a kept heading, if no other strip under it is kept."""
        if own.parts[number].kind is not BlockKind.HEADING:
            return []
        block = own.parts[number].block
        under = [other for other in own.numbers if block in own.parts[other].headings]
        texts = [other for other in under if own.parts[other].kind is not BlockKind.HEADING]
        return texts[:1] if not any(own.places[other] in self._first for other in texts) else []

    def named_rows(self, own: _PassageStrips) -> Iterator[Unit]:
        """Yield the rows that the question names."""
        for number in own.numbers:
            part = own.parts[number]
            if part.kind is BlockKind.ROW and names_row(self._asked, own.strips[number].text):
                # A row needs its header; the most relevant sentence shows how much its passage matters.
                group = [n for n in own.numbers if own.parts[n].group == part.group]
                header = [n for n in group if own.parts[n].kind is BlockKind.HEADER]
                yield max(strip.relevance for strip in own.strips), [own.places[n] for n in (*header, number)]

    def lists(self, own: _PassageStrips) -> Iterator[Unit]:
        """Yield lists and tables of which enough is kept, or that have the form that the question asks for."""
        for group in dict.fromkeys(part.group for part in own.parts if part.group is not None):
            members = [number for number in own.numbers if own.parts[number].group == group]
            kept = [number for number in members if own.places[number] in self._first | self._named]
            if kept and self._wanted_whole(members, own):
                relevance = max(own.strips[number].relevance for number in kept)
                yield relevance, [own.places[number] for number in members]

    def _wanted_whole(self, members: Sequence[int], own: _PassageStrips) -> bool:
        blocks = {own.parts[number].block for number in members if not own.parts[number].leads}
        relevant = [number for number in members if own.places[number] in self._relevant | self._named]
        kept = {own.parts[number].block for number in relevant if not own.parts[number].leads}
        table = own.parts[members[-1]].kind is BlockKind.ROW
        if table:
            # A relevant header without any relevant row represents all rows.
            return not kept or len(kept) >= ITEMS_SHARE * len(blocks)
        led = any(own.parts[number].leads for number in relevant)
        if led or self._how or (self._several and bool(kept)):
            return True
        if own.parts[members[-1]].steps:
            return len(kept) >= min(STEPS, len(blocks)) or len(kept) >= STEPS_SHARE * len(blocks)
        return len(kept) >= ITEMS_SHARE * len(blocks)

    def rest(self, own: _PassageStrips) -> Iterator[Unit]:
        """Yield the whole passage if nearly all of it is kept."""
        words = [count_words(strip.text) for strip in own.strips]
        kept = sum(words[number] for number in own.numbers if own.places[number] in self._kept)
        if sum(words) >= SECTION_WORDS and kept >= SECTION_SHARE * sum(words):
            yield max(own.strips[number].relevance for number in own.numbers), own.places


def _before(number: int, own: _PassageStrips) -> list[int]:
    """Return the sentences that a strip points back to: one, or two if that sentence also points back."""
    found: list[int] = []
    while number > 0 and len(found) < MAX_BEFORE:
        text, before = own.strips[number].text, own.strips[number - 1].text
        same_block = own.parts[number].block == own.parts[number - 1].block
        answers = _ANSWER.match(text) and _QUESTION.search(before)
        if not (answers or (same_block and _POINTS_BACK.match(text))):
            break
        number -= 1
        found.append(number)
    return found


def _after(number: int, own: _PassageStrips) -> list[int]:
    """Return the sentence after a strip if it narrows or answers it."""
    behind = number + 1
    if behind == len(own.strips):
        return []
    here, there = own.parts[number], own.parts[behind]
    both_text = here.kind in _TEXT and there.kind in _TEXT
    running = here.block == there.block or (both_text and here.headings == there.headings)
    narrows = running and _NARROWS.match(own.strips[behind].text)
    answers = here.kind in _TEXT and there.kind is not BlockKind.HEADING and _QUESTION.search(own.strips[number].text)
    return [behind] if narrows or answers else []
