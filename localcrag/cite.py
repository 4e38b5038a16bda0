"""The model's answer -> sentences that a piece of evidence backs, each with its citation.

A small model writes fluent sentences with wrong numbers in them. What is let through here is only what the words of the
evidence can carry; everything else is handed back, so that the run can say so and quote the evidence instead. This is a
comparison of words, numbers and names, not of meanings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.datatypes import Evidence
from localcrag.sentences import split_sentences
from localcrag.words import content_words, names, numbers

_CITATION = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_PREFACE = re.compile(r"^(?:the )?(?:answer|evidence)(?: to (?:this|the) question)?(?: is)?:\s*", re.IGNORECASE)
"""What small models put before an answer; it says nothing, and would count as words without backing."""

HELD = 0.9
"""Share of a sentence's content words that a piece of evidence must hold to back it."""
NEW_HELD = 0.6
"""The same for the words that the question did not bring in: repeating the question is no answer."""


@dataclass(frozen=True, slots=True)
class Cited:
    """The sentences that are backed, with citations, and those that are not, as the model wrote them."""

    text: str
    refused: tuple[str, ...]


def cite(answer: str, evidence: Sequence[Evidence], question: str) -> Cited:
    """Return the answer with each sentence cited, those without backing taken out.

    A citation of the model's own stays when that evidence backs the sentence; else the evidence that backs it best is
    cited.
    """
    kept: list[tuple[int, str]] = []
    refused: list[str] = []
    answer = _attached(answer)
    for span in split_sentences(answer):
        plain = _PREFACE.sub("", without_citations(span.text))
        if not content_words(plain):
            continue
        backing = {piece.n: share for piece in evidence if (share := _backing(plain, piece.text, question)) > 0}
        own = [number for number in citations(span.text) if number in backing]
        chosen = own or sorted(backing, key=lambda number: -backing[number])[:1]
        if not chosen:
            refused.append(plain)
            continue
        kept.append((span.start, _with_citations(plain, chosen)))
    # A sentence keeps the line break before it, if it had one: lists stay lists.
    parts = [("\n" if "\n" in answer[max(0, start - 2) : start] else " ") + sentence for start, sentence in kept]
    return Cited("".join(parts).strip(), tuple(refused))


def citations(text: str) -> list[int]:
    """Return the numbers cited in a text, in order, each once."""
    found = [int(number) for group in _CITATION.findall(text) for number in group.split(",")]
    return list(dict.fromkeys(found))


def without_citations(text: str) -> str:
    """Return the text without any citation."""
    return _CITATION.sub("", text).strip()


def _attached(answer: str) -> str:
    """Return the answer with citations behind a full stop moved before it: "x. [1]" is one sentence, not two."""
    return re.sub(r"([.!?])((?:\s*\[\d[\d, ]*\])+)", r"\2\1", answer)


def _backing(sentence: str, evidence: str, question: str) -> float:
    """Return the share of the sentence's words that the evidence holds; 0 when it does not back the sentence."""
    own, held, asked = content_words(sentence), content_words(evidence), content_words(question)
    new = own - asked
    if not new:
        return 0.0
    if not (numbers(sentence) | names(sentence)) - asked <= held:
        return 0.0
    share = len(own & held) / len(own)
    return share if share >= HELD and len(new & held) >= NEW_HELD * len(new) else 0.0


def _with_citations(sentence: str, numbers: Sequence[int]) -> str:
    body = sentence.rstrip(".!?")
    return f"{body} {''.join(f'[{number}]' for number in numbers)}{sentence[len(body) :]}"
