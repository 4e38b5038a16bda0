"""What a sentence denies, against what the evidence does."""

from __future__ import annotations

import re

from localcrag.records.enums import Backing
from localcrag.text.lexicon.languages import lexicon
from localcrag.text.sentences import CLAUSE_ENDS, split_sentences
from localcrag.text.words import content_words

NEARLY = 0.75
"""Share of the words that the nearest sentence of the evidence has in common with a clause, for others to be near."""

_STATEMENTS = re.compile(rf"{CLAUSE_ENDS}|:(?=\s)|\b(?:and|but|or|because|since|unless)\b")
_CLAUSES = re.compile(rf"{CLAUSE_ENDS}|:(?=\s)")
_LIMITS = re.compile(
    r"\b(?:only|except|other than|exclud\w+|unless|refus\w+|forbidden|prohibited|void\w*|lapses?|ended|instead"
    r"|until)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|no(?!\.?\s*\d)|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_CONCLUDED_NO = re.compile(
    r"^\W*no\b(?:\s*[,.:;!–—]|\s+-(?=\s)|\s+(?=(?:it|they|he|she|we|you|this|that)\b))\s*", re.IGNORECASE
)


def denied(sentence: str, evidence: str) -> Backing:
    """Return how far the evidence backs what the sentence denies.

    Clause by clause: where no sentence of the evidence that denies something is nearly as near to a clause that does,
    it is backed partly if one that sets limits is ("only", "except"), and else not at all.
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
        about = [text for words, text in parts if len(own & words) >= NEARLY * near]
        if any(denies(text) for text in about):
            continue
        if not any(_limits(text) for text in about):
            return Backing.NOT
        found = Backing.PARTLY
    return found


def denies(text: str) -> bool:
    """Whether a text denies anything."""
    known = lexicon()
    return (known.denies if known else _NEGATION).search(text) is not None


def concluded_no() -> re.Pattern[str]:
    """Return the pattern of a "no" that begins a sentence, in the language that is read."""
    known = lexicon()
    return known.denies_first if known else _CONCLUDED_NO


def _statements(sentence: str) -> list[str]:
    known = lexicon()
    if not known:
        return _STATEMENTS.split(sentence)
    return [part for clause in _CLAUSES.split(sentence) for part in known.joins.split(clause)]


def _limits(text: str) -> bool:
    known = lexicon()
    return (known.limits if known else _LIMITS).search(text) is not None


def nearest(words: set[str], evidence: str) -> str:
    """Return the evidence's sentence that shares most of these words."""
    sentences = [span.text for span in split_sentences(evidence)]
    return max(sentences, key=lambda sentence: len(words & content_words(sentence)), default="")
