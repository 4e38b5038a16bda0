"""Which language a text is in, by its script and its most frequent words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache

from localcrag.text.lexicon.languages import ENGLISH, LEXICONS
from localcrag.text.lexicon.russian import RUSSIAN
from localcrag.text.lexicon.stems import UNSPACED
from localcrag.text.words import FUNCTION_WORDS

OTHER = "other"
"""A language whose words are not known here."""
NAMES = {ENGLISH: "English", "zh": "Chinese", "ja": "Japanese"} | {code: one.name for code, one in LEXICONS.items()}
LEAST_SHARE = 0.16
LEAST_ENGLISH = 0.1
"""Of a text's words that are frequent ones of its language: prose has 0.2 to 0.5, tables and lists of names less, and
Vietnamese up to 0.14 of Spanish. To take a text for English changes nothing."""
LARGE_SHARE = 0.5
"""Of letters, from which on their script tells the language; of Chinese and Japanese a character is a word."""
UNSPACED_SHARE = 0.2
KANA_SHARE = 0.1
"""Of Japanese text; Chinese has none."""
PROSE_WORDS = 40
"""Words of whole sentences, from which on a text without frequent words of any language is taken to be of another."""
FEW_WORDS = 3
"""Words of a question, up to which one more frequent word than of the usual language tells its own; else two."""
MOST_CHARACTERS = 4_000
"""Of a text, beyond which nothing is looked at."""

_OTHER_LETTER = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u0300-\u036f\u0400-\u04ff\u1e00-\u1eff]")
"""Neither Latin nor Cyrillic."""
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_CHARACTER = re.compile(UNSPACED.removesuffix("+"))
_KANA = re.compile(r"[\u3040-\u30ff]")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"[^.!?|\n]{40,}[.!?]")


@cache
def _languages() -> dict[str, list[str]]:
    """Return of which languages a word is a frequent one."""
    common = {ENGLISH: FUNCTION_WORDS} | {
        code: frozenset(f"{one.common} {one.asks} {one.prepositions} {one.opens}".replace("'", " ").split())
        for code, one in LEXICONS.items()
    }
    found = defaultdict(list)
    for code, words in common.items():
        for word in words:
            found[word].append(code)
    return dict(found)


def language_of(text: str) -> str | None:
    """Return the code of a text's language (ISO 639-1), OTHER for one without words here, None where nothing tells."""
    text = text[:MOST_CHARACTERS]
    if script := _by_script(text):
        return script
    words = _words(text)
    counts = _counts(words)
    best = max(counts, key=lambda code: (counts[code], code == ENGLISH), default=ENGLISH)
    if counts[best] and counts[best] >= (LEAST_ENGLISH if best == ENGLISH else LEAST_SHARE) * len(words):
        return best
    prose = _words(" ".join(_SENTENCE.findall(text)))
    foreign = len(prose) >= PROSE_WORDS and max(_counts(prose).values(), default=0) < LEAST_SHARE * len(prose)
    return OTHER if foreign else None


def language_of_question(question: str, usual: str) -> str:
    """Return the code of a question's language; `usual`, that of the documents, where its words hardly tell."""
    if script := _by_script(question):
        return script
    if len(_CYRILLIC.findall(question)) > LARGE_SHARE * sum(map(str.isalpha, question)):
        return RUSSIAN.code
    words = _words(question)
    counts = _counts(words)
    best = max(counts, key=lambda code: (counts[code], code == usual, code == ENGLISH), default=usual)
    more = counts[best] - counts[usual]
    one_is_enough = len(words) <= FEW_WORDS or (usual != ENGLISH and not counts[usual])
    return best if more >= (1 if one_is_enough else 2) else usual


def language_among(question: str, languages: Mapping[str, int]) -> str:
    """Return the code of the language that a question is read in, asked of so many documents in these languages."""
    return language_of_question(question, usual_of(languages))


def usual_of(languages: Mapping[str, int]) -> str:
    """Return the language that most of so many documents are in; English where there is none."""
    known = {one: number for one, number in languages.items() if one != OTHER}
    return max(known, key=known.__getitem__, default=ENGLISH)


def _by_script(text: str) -> str | None:
    if text.isascii():
        return None
    letters = sum(map(str.isalpha, text))
    characters = len(_CHARACTER.findall(text))
    if characters and characters >= UNSPACED_SHARE * letters:
        return "ja" if len(_KANA.findall(text)) >= KANA_SHARE * characters else "zh"
    return OTHER if len(_OTHER_LETTER.findall(text)) > LARGE_SHARE * letters else None


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _counts(words: list[str]) -> Counter[str]:
    """Return how many of the words are frequent ones of each language."""
    known = _languages()
    return Counter(code for word in words for code in known.get(word, ()))
