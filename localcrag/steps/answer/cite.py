"""Citations in an answer: found, removed, put back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.passages import Evidence

_CITATION = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_PREFACE = re.compile(
    r"^(?:the )?(?:answer|evidence)(?: to (?:this|the) question)?(?: provided)?"
    r"(?: (?:is|shows|says|states|suggests|indicates))?(?::| that\b)\s*",
    re.IGNORECASE,
)
"""What small models put before an answer; it says nothing, and would count as words without backing."""


def citations(text: str) -> list[int]:
    """Return the numbers cited in a text, in order, each once."""
    found = [int(number) for group in _CITATION.findall(text) for number in group.split(",")]
    return list(dict.fromkeys(found))


def cited(answer: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the pieces of evidence that an answer cites, in their order."""
    numbers = set(citations(answer))
    return [piece for piece in evidence if piece.n in numbers]


def without_citations(text: str) -> str:
    """Return the text without any citation."""
    return _CITATION.sub("", text).strip()


def without_preface(text: str) -> str:
    """Return the text without "The answer is:" and the like before it."""
    rest = _PREFACE.sub("", text.strip())
    return rest[:1].upper() + rest[1:] if rest != text.strip() else rest


def with_citations(sentence: str, numbers: Sequence[int], note: str = "") -> str:
    """Return the sentence with these citations, and a note, before its full stop."""
    body = sentence.rstrip(".!?")
    added = [text for text in ("".join(f"[{number}]" for number in numbers), note) if text]
    return " ".join([body, *added]) + sentence[len(body) :]


def attached(answer: str) -> str:
    """Return the answer with citations behind a full stop moved before it: "x. [1]" is one sentence, not two."""
    return re.sub(r"([.!?])((?:\s*\[\d[\d, ]*\])+)", r"\2\1", answer)
