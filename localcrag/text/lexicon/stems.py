"""Stems, which full text searches instead of words; pairs of characters where nothing separates words."""

from __future__ import annotations

import re
import unicodedata

from localcrag.text.lexicon.languages import LEXICONS

UNSPACED = r"[\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+"
"""Characters of Chinese and Japanese."""
BY_PAIRS = frozenset(("zh", "ja"))
STEMMED = frozenset(LEXICONS) | BY_PAIRS
"""Languages whose texts are searched by stems or pairs; those of others by their words, as SQLite stems English."""
_PART = re.compile(rf"{UNSPACED}|[^\W_]+")
_RUN = re.compile(UNSPACED)


def pairs(run: str) -> list[str]:
    """Return each two neighbouring characters of a run, or the only one."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def cut(word: str) -> list[str]:
    """Return a word, or the pairs of the characters in it that are not separated into words."""
    if not _RUN.search(word):
        return [word]
    return [one for part in _PART.findall(word) for one in (pairs(part) if is_unspaced(part) else [part])]


def is_unspaced(text: str) -> bool:
    """Whether a text is of characters that are not separated into words."""
    return _RUN.fullmatch(text) is not None


def stems(text: str, language: str) -> list[str]:
    """Return the stems of a text's words in their order, and pairs of what is not separated into words."""
    lexicon = LEXICONS.get(language)
    found: list[str] = []
    for part in _PART.findall(unicodedata.normalize("NFKC", text).lower()):
        if is_unspaced(part):
            found += pairs(part)
        else:
            found.append(lexicon.stem(part) if lexicon and part.isalpha() else part)
    return found
