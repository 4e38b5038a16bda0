"""Normalise the words of a text for comparison, and detect the language of a text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise

from localcrag.text.lexicon import (
    CAPITAL,
    ENGLISH,
    LEXICONS,
    RUSSIAN,
    UNSPACED,
    Lexicon,
    current_lexicon,
    split_unspaced,
)

SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
"""Number words for 0 to 19."""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_SPACE = re.compile(r"\s+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(rf"(?<=[^\s.!?:…\"“”] )[{CAPITAL}]\S*")
SUPPORTED_SHARE = 0.9
"""Share of a statement's content words that a text must contain to support it (chosen in crag/answer/verify.py)."""
FUNCTION_WORDS = frozenset(
    "a an the and or but if of in on at to from by for with about as into than then that this these those it its is "
    "are was were be been being am do does did doing have has had having i you he she they we me him her them us my "
    "your his their our what which who whom whose when where why how there here not no so can could may might must "
    "shall should will would also any all some such very just only please tell say says cannot can't don't doesn't "
    "didn't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't couldn't haven't hasn't hadn't needn't".split()
)

# Without "one", which is more often a pronoun than a number.
NUMBER_WORDS = {word: str(number) for number, word in enumerate(SMALL_NUMBERS[2:], start=2)} | {
    word: str(10 * number) for number, word in enumerate(TENS, start=2)
}


def replace_surrogates(text: str) -> str:
    """Return `text` with surrogate pairs joined, and lone surrogates (from undecodable bytes) replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """Return the text with each run of white space replaced by one space."""
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, characters: int = 160) -> str:
    """Return the text in one line; if it has more than `characters`, cut it after a word and append " …"."""
    text = one_line(text)
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0] + " …"


def blank_out(text: str, start: int, end: int) -> str:
    """Return the text with spaces from `start` to `end`, so that all offsets stay valid."""
    return text[:start] + " " * (end - start) + text[end:]


def split_words(text: str) -> list[str]:
    """Return the words of the text as written, in order."""
    return [word.replace("’", "'") for word in _WORD.findall(text)]


def content_words(text: str) -> set[str]:
    """Return the words that carry meaning: in lower case, without plural and possessive endings, numbers as digits.

    In languages other than English the words are stemmed. Chinese and Japanese text becomes pairs of characters.
    """
    return set(word_list(text))


def overlap(question: str, text: str) -> float:
    """Return the share of the question's content words that the text contains; 0 if the question has none."""
    asked = content_words(question)
    return len(asked & content_words(text)) / len(asked) if asked else 0.0


def word_list(text: str) -> list[str]:
    """Return the content words of the text in order, with repetitions."""
    known = current_lexicon()
    found = _WORD.findall(text)
    parts = found if text.isascii() else [part for one in found for part in split_unspaced(one)]
    return [word for part in parts if (word := _content(part, known))]


def adjacent_words(text: str) -> list[tuple[str, str]]:
    """Return each content word with the content word directly after it; "" if more than spaces is between."""
    found = list(_WORD.finditer(text))
    known = current_lexicon()
    words = [_content(one[0], known) for one in found]
    close = [not text[one.end() : other.start()].strip(" \u00a0") for one, other in pairwise(found)]
    return [
        (word, other if near else "")
        for word, other, near in zip(words, [*words[1:], ""], [*close, False], strict=True)
        if word
    ]


def numbers(text: str) -> set[str]:
    """Return the content words of the text that contain a digit."""
    return words_with_digits(word_list(text))


def words_with_digits(words: Iterable[str]) -> set[str]:
    """Return the words that contain a digit."""
    return {word for word in words if _DIGIT.search(word)}


def names(text: str) -> set[str]:
    """Return the content words with a capital letter, except the first word of each sentence."""
    known = current_lexicon()
    return content_words(" ".join((known.name_pattern if known else _NAME).findall(text)))


def is_function_word(word: str) -> bool:
    """Return whether a word, given in lower case, is a function word, which carries no meaning of its own."""
    known = current_lexicon()
    return word in (known.function_words if known else FUNCTION_WORDS)


def _content(word: str, known: Lexicon | None) -> str:
    """Return a word in the form in which content words are compared; "" for a function word."""
    if known:
        word = known.bare(word.lower().replace("’", "'"))
        return "" if word in known.function_words else known.values.get(word) or known.stem(word)
    word = word.lower().replace("’", "'").removesuffix("'s")
    return "" if word in FUNCTION_WORDS else _plain(word)


def _plain(word: str) -> str:
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if _THOUSANDS.fullmatch(word):
        return word.replace(",", "")
    return singular(word)


def singular(word: str) -> str:
    """Return a lower-case word without its plural s; irregular plurals are not changed."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


OTHER_LANGUAGE = "other"
"""Code for a language that has no lexicon."""
NAMES = {ENGLISH: "English", "zh": "Chinese", "ja": "Japanese"} | {code: one.name for code, one in LEXICONS.items()}
LEAST_SHARE = 0.16
"""Minimum share of a text's words that are frequent in its language. Prose has 0.2 to 0.5, tables and lists of names
have less, and Vietnamese has up to 0.14 by the Spanish list."""
LEAST_ENGLISH = 0.1
"""Minimum share of frequent words for English. A false "English" is harmless, because English is the default."""
LARGE_SHARE = 0.5
"""Share of letters in one script above which the script determines the language."""
UNSPACED_SHARE = 0.2
"""Minimum share of Chinese and Japanese characters among the letters; lower, because one character is a whole word."""
KANA_SHARE = 0.1
"""Minimum share of kana among these characters for Japanese; Chinese has no kana."""
PROSE_WORDS = 40
"""Minimum words of prose for which a text without known frequent words counts as an unknown language."""
FEW_WORDS = 3
"""Maximum words of a question for which one additional frequent word decides its language; longer ones need two."""
MOST_CHARACTERS = 4_000
"""Characters of a text that are examined."""

_OTHER_LETTER = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u0300-\u036f\u0400-\u04ff\u1e00-\u1eff]")
"""A letter that is neither Latin nor Cyrillic."""
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_CHARACTER = re.compile(UNSPACED.removesuffix("+"))
_KANA = re.compile(r"[\u3040-\u30ff]")
_ANY_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"[^.!?|\n]{40,}[.!?]")


@cache
def _languages() -> dict[str, list[str]]:
    """Return the languages in which each word is frequent."""
    common = {ENGLISH: FUNCTION_WORDS} | {
        code: frozenset(f"{one.common} {one.asks} {one.prepositions} {one.opens}".replace("'", " ").split())
        for code, one in LEXICONS.items()
    }
    found = defaultdict(list)
    for code, words in common.items():
        for word in words:
            found[word].append(code)
    return dict(found)


def detect_text_language(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language; OTHER_LANGUAGE if it has no lexicon, None if unknown."""
    text = text[:MOST_CHARACTERS]
    if script := _by_script(text):
        return script
    words = _words(text)
    counts = _counts(words)
    # English wins a tie.
    best = max(counts, key=lambda code: (counts[code], code == ENGLISH), default=ENGLISH)
    if counts[best] and counts[best] >= (LEAST_ENGLISH if best == ENGLISH else LEAST_SHARE) * len(words):
        return best
    # Lists and tables have few frequent words in any language, so only whole sentences show that it is unknown.
    prose = _words(" ".join(_SENTENCE.findall(text)))
    foreign = len(prose) >= PROSE_WORDS and max(_counts(prose).values(), default=0) < LEAST_SHARE * len(prose)
    return OTHER_LANGUAGE if foreign else None


def detect_question_language(question: str, usual: str) -> str:
    """Return the code of a question's language; `usual`, the documents' language, if its words do not decide."""
    if script := _by_script(question):
        return script
    # Russian is the only language with Cyrillic letters that has a lexicon.
    if len(_CYRILLIC.findall(question)) > LARGE_SHARE * sum(map(str.isalpha, question)):
        return RUSSIAN.code
    words = _words(question)
    counts = _counts(words)
    best = max(counts, key=lambda code: (counts[code], code == usual, code == ENGLISH), default=usual)
    more = counts[best] - counts[usual]
    one_is_enough = len(words) <= FEW_WORDS or (usual != ENGLISH and not counts[usual])
    return best if more >= (1 if one_is_enough else 2) else usual


def question_language(question: str, languages: Mapping[str, int]) -> str:
    """Return the code of the language to read a question in; `languages` maps languages to numbers of documents."""
    known = {one: number for one, number in languages.items() if one != OTHER_LANGUAGE}
    return detect_question_language(question, max(known, key=known.__getitem__, default=ENGLISH))


def _by_script(text: str) -> str | None:
    if text.isascii():
        return None
    letters = sum(map(str.isalpha, text))
    characters = len(_CHARACTER.findall(text))
    if characters and characters >= UNSPACED_SHARE * letters:
        return "ja" if len(_KANA.findall(text)) >= KANA_SHARE * characters else "zh"
    return OTHER_LANGUAGE if len(_OTHER_LETTER.findall(text)) > LARGE_SHARE * letters else None


def _words(text: str) -> list[str]:
    return [word.lower() for word in _ANY_WORD.findall(text)]


def _counts(words: list[str]) -> Counter[str]:
    """Return for each language how many of the words are frequent in it."""
    known = _languages()
    return Counter(code for word in words for code in known.get(word, ()))
