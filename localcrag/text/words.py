"""Words of a text as the steps compare them: those of English, or of the language that is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from localcrag.text.letters import CAPITAL
from localcrag.text.lexicon.languages import lexicon
from localcrag.text.lexicon.lexicon import Lexicon
from localcrag.text.lexicon.stems import cut
from localcrag.text.number_words import SMALL, TENS

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_SPACE = re.compile(r"\s+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(rf"(?<=[^\s.!?:…\"“”] )[{CAPITAL}]\S*")
HELD = 0.9
"""Share of a statement's content words that a text must hold to say the same (chosen in steps/answer/verify.py)."""
FUNCTION_WORDS = frozenset(
    "a an the and or but if of in on at to from by for with about as into than then that this these those it its is "
    "are was were be been being am do does did doing have has had having i you he she they we me him her them us my "
    "your his their our what which who whom whose when where why how there here not no so can could may might must "
    "shall should will would also any all some such very just only please tell say says cannot can't don't doesn't "
    "didn't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't couldn't haven't hasn't hadn't needn't".split()
)

# Not "one", which is more often a pronoun.
NUMBER_WORDS = {word: str(number) for number, word in enumerate(SMALL[2:], start=2)} | {
    word: str(10 * number) for number, word in enumerate(TENS, start=2)
}


def valid(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones, as undecodable bytes come in, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, characters: int = 160) -> str:
    """Return the text in one line, cut after a word with " …" when it has more than so many characters."""
    text = one_line(text)
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0] + " …"


def blanked(text: str, start: int, end: int) -> str:
    """Return the text with blanks at these places: what is behind them stays where it is."""
    return text[:start] + " " * (end - start) + text[end:]


def words_in(text: str) -> list[str]:
    """Return the words of the text as they are written, in order."""
    return [word.replace("’", "'") for word in _WORD.findall(text)]


def content_words(text: str) -> set[str]:
    """Return the words that carry meaning, in lower case, without plural and possessive endings, numbers in digits.

    In other languages they are stems, and pairs of characters where nothing separates words.
    """
    return set(word_list(text))


def overlap(question: str, text: str) -> float:
    """Return the share of the question's content words that the text holds; 0 for a question without any."""
    asked = content_words(question)
    return len(asked & content_words(text)) / len(asked) if asked else 0.0


def word_list(text: str) -> list[str]:
    """Return the same words in their order."""
    known = lexicon()
    found = _WORD.findall(text)
    parts = found if text.isascii() else [part for one in found for part in cut(one)]
    return [word for part in parts if (word := _content(part, known))]


def followed(text: str) -> list[tuple[str, str]]:
    """Return each content word with the one directly behind it, "" where a function word or a mark is between them."""
    found = list(_WORD.finditer(text))
    known = lexicon()
    words = [_content(one[0], known) for one in found]
    close = [not text[one.end() : other.start()].strip(" \u00a0") for one, other in pairwise(found)]
    return [
        (word, other if near else "")
        for word, other, near in zip(words, [*words[1:], ""], [*close, False], strict=True)
        if word
    ]


def numbers(text: str) -> set[str]:
    """Return the content words with a digit in them."""
    return with_digits(word_list(text))


def with_digits(words: Iterable[str]) -> set[str]:
    """Return the words with a digit in them."""
    return {word for word in words if _DIGIT.search(word)}


def names(text: str) -> set[str]:
    """Return the content words with a capital letter that are not the first word of a sentence."""
    known = lexicon()
    return content_words(" ".join((known.capitalised if known else _NAME).findall(text)))


def is_function_word(word: str) -> bool:
    """Whether a word, in lower case, carries no meaning."""
    known = lexicon()
    return word in (known.function_words if known else FUNCTION_WORDS)


def _content(word: str, known: Lexicon | None) -> str:
    """Return a word as content words are compared, "" for a function word."""
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
    """Return a word in lower case without the s of its plural; an irregular plural stays."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
