"""Whether a text holds an accepted answer, by SQuAD's rules (Rajpurkar et al. 2016, section 6.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")


def normalised(text: str) -> str:
    """Return the words of a text without case, punctuation and articles, one space between two."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", text.lower())).split())


def holds(text: str, answers: Sequence[str]) -> bool:
    """Whether a text holds one of the answers, as whole words; an answer that normalises to nothing never counts."""
    padded = f" {normalised(text)} "
    return any(f" {answer} " in padded for answer in map(normalised, answers) if answer)
