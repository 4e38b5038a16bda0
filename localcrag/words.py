"""Words of a text as the steps compare them. Knows English function words and nothing else of the language."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_SPACE = re.compile(r"\s+")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+")
FUNCTION_WORDS = frozenset(
    "a an the and or but if of in on at to from by for with about as into than then that this these those it its is "
    "are was were be been being am do does did doing have has had having i you he she they we me him her them us my "
    "your his their our what which who whom whose when where why how there here not no so can could may might must "
    "shall should will would also any all some such very just only please tell say says".split()
)


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


def content_words(text: str) -> set[str]:
    """Return the words that carry meaning, in lower case, plural and possessive endings taken off."""
    words = (word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    return {_singular(word) for word in words if word not in FUNCTION_WORDS}


def numbers(text: str) -> set[str]:
    """Return the content words with a digit in them."""
    return {word for word in content_words(text) if _DIGIT.search(word)}


def names(text: str) -> set[str]:
    """Return the content words with a capital letter that are not the first word of a sentence."""
    return content_words(" ".join(_NAME.findall(text)))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
