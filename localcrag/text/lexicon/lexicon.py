"""What a language's words are: function words, stems, numbers, pronouns, negations and the like.

Function words and stems are Snowball's (packages bm25s and snowballstemmer); the rest is short enough to be written
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from typing import Protocol

from localcrag.text.letters import CAPITAL

_ELIDED = re.compile(r"^[^\W\d_]{1,7}'(?=[^\W\d_])")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - snowballstemmer's name


@dataclass(frozen=True)
class Lexicon:
    """The words of one language, in lower case; those of several are separated by blanks, as `words` reads them."""

    code: str
    name: str
    snowball: str
    """What Snowball calls the language."""
    common: str
    """Frequent words, which tell the language of a text."""
    asks: str
    """Words that ask."""
    pronouns: str
    """What stands for something that was said before."""
    opens: str
    """What a question begins with that goes on from the one before it."""
    prepositions: str
    conditions: str
    """What narrows a statement: if, only, except."""
    negation: str
    no: str
    """What denies a whole question."""
    numbers: str
    """2 to 19, then 20, 30 … 90."""
    more_numbers: dict[str, int]
    """Other forms of those."""
    defines: str
    """A question for what a word means, up to that word, as a regular expression."""
    abbreviations: str
    """What ends no sentence and sentencex does not know, without the full stop; in lower case, in both cases."""
    impersonal: str
    """Where a pronoun stands for nothing ("it is possible to"), as a regular expression."""
    elides: bool = False
    """Whether words are written together with the one before, by an apostrophe."""
    capital_nouns: bool = False
    """Whether a capital letter says no more than that a word is a noun."""

    @cached_property
    def function_words(self) -> frozenset[str]:
        """The words that carry no meaning."""
        from bm25s import stopwords  # noqa: PLC0415 - takes half a second, and English does without

        known: Iterable[str] = getattr(stopwords, f"STOPWORDS_{self.snowball.upper()}")
        own = (self.common, self.asks, self.pronouns, self.prepositions, self.conditions, self.negation, self.no)
        return (frozenset(known) | {word for some in own for word in some.split()}) - self.values.keys()

    @cached_property
    def values(self) -> dict[str, str]:
        """The words for numbers, each with its digits."""
        words = self.numbers.split()
        digits = [*range(2, 20), *range(20, 100, 10)]
        return {word: str(n) for word, n in [*zip(words, digits, strict=True), *self.more_numbers.items()]}

    @cached_property
    def brings_in(self) -> frozenset[str]:
        """The prepositions, each by itself."""
        return frozenset(self.prepositions.split())

    @cached_property
    def points_back(self) -> re.Pattern[str]:
        """A pronoun."""
        return any_of(self.pronouns)

    @cached_property
    def shortened(self) -> re.Pattern[str]:
        """An abbreviation, at the end of a text."""
        words = "|".join(f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}" for word in self.abbreviations.split())
        return re.compile(rf"\b(?:{words})\.\s*$")

    @cached_property
    def denies(self) -> re.Pattern[str]:
        """A negation."""
        return any_of(f"{self.negation} {self.no}")

    @cached_property
    def limits(self) -> re.Pattern[str]:
        """What narrows a statement."""
        return any_of(self.conditions)

    @cached_property
    def denies_first(self) -> re.Pattern[str]:
        """What denies a whole question, at the beginning of a sentence."""
        return re.compile(rf"^\W*{_any(self.no)}\s*[,.:;!–—]\s*", re.IGNORECASE)

    @cached_property
    def joins(self) -> re.Pattern[str]:
        """What joins two statements."""
        return any_of(self.opens)

    @cached_property
    def goes_on(self) -> re.Pattern[str]:
        """What begins a question that goes on from the one before."""
        return re.compile(rf"^[¿¡\s]*{_any(self.opens)}", re.IGNORECASE)

    @cached_property
    def asks_what_it_is(self) -> re.Pattern[str]:
        """A question for what one word means."""
        return re.compile(rf"^[¿\s]*{self.defines}[\w-]+\W*$", re.IGNORECASE)

    @cached_property
    def says_nothing(self) -> re.Pattern[str]:
        """A pronoun that stands for nothing."""
        return re.compile(self.impersonal, re.IGNORECASE)

    @cached_property
    def another(self) -> re.Pattern[str]:
        """A question for something else than the one before it: `what`, and the preposition in front of it, `by`."""
        opens, by = _any(self.opens), _any(self.prepositions)
        name = rf"(?-i:[{CAPITAL}0-9])[\w'’-]*"
        return re.compile(
            rf"^[¿¡\s]*(?={opens}|{by})(?:{opens} )?(?:(?P<by>{by}) )?(?P<what>{name}(?: {name})*)\W*$", re.IGNORECASE
        )

    @cached_property
    def capitalised(self) -> re.Pattern[str]:
        """A name within a sentence: a word with a capital letter, or one of several where nouns have one as well."""
        capital = f"[{CAPITAL}]"
        written = rf"{capital}\S*[{CAPITAL}0-9]\S*" if self.capital_nouns else rf"{capital}\S*"
        return re.compile(rf"(?<=[^\s.!?:…\"“”¿¡] ){written}")

    def bare(self, word: str) -> str:
        """Return a word without what is written together with it, and a number in the digits of English."""
        if _GROUPED.fullmatch(word):
            return word.replace(".", "").replace(",", ".")
        return _ELIDED.sub("", word) if self.elides else word

    def stem(self, word: str) -> str:
        """Return what all forms of a word have in common."""
        return _stem(self.snowball, word)


def any_of(words: str) -> re.Pattern[str]:
    """Return a pattern of any of these words, which are separated by blanks."""
    return re.compile(_any(words), re.IGNORECASE)


def _any(words: str) -> str:
    longest_first = sorted(words.split(), key=len, reverse=True)
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"


_stemmers: dict[str, _Stemmer] = {}
_one_at_a_time = Lock()
"""A stemmer keeps the word that it works on."""


@lru_cache(maxsize=100_000)
def _stem(snowball: str, word: str) -> str:
    from snowballstemmer import stemmer  # noqa: PLC0415 - English does without

    with _one_at_a_time:
        if snowball not in _stemmers:
            _stemmers[snowball] = stemmer(snowball)
        return _stemmers[snowball].stemWord(word)
