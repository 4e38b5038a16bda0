"""Search texts: find those with an answer, similar ones, and the results of a search engine.

This module knows paragraphs and candidate questions, but not sets, files or random choice.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.evaluation_sets.texts import Candidate
from localcrag.evaluation.metrics import normalised as as_squad
from localcrag.text.sentences import split_sentences
from localcrag.text.words import FUNCTION_WORDS, NUMBER_WORDS, content_words

SHORTEST_SNIPPET, LONGEST_SNIPPET = 200, 500
"""Characters in a snippet, as shown by search engines behind SearXNG."""
SHORTEST_ANSWER = 3
"""Characters; an answer as short as this occurs in any kind of text."""
COMMON = 0.01
"""Share of the paragraphs above which an answer counts as occurring in any kind of text."""
SAME_SUBJECT = 0.5
"""Share of the question's words, weighted by rarity, that makes a paragraph one about the same subject."""

_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()
) | frozenset("hundred thousand million billion percent century centuries year years".split())


def normalised(text: str) -> str:
    """Return the text normalised as in SQuAD (no case, punctuation, articles), between spaces."""
    return f" {as_squad(text)} "


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph in the forms that comparisons need."""

    plain: str
    normalised: str
    words: frozenset[str]


def text_of(paragraph: str) -> Text:
    return Text(paragraph, normalised(paragraph), frozenset(content_words(paragraph)))


def sentences_of(text: Text) -> list[frozenset[str]]:
    """Return the content words of each sentence."""
    return [frozenset(content_words(sentence.text)) for sentence in split_sentences(text.plain)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A candidate with its normalised, non-empty answers, and whether each is too common to mean anything alone."""

    candidate: Candidate
    answers: Mapping[str, bool]
    words: frozenset[str]


class Judge:
    """Decides by string comparison whether a text may answer a question; it counts words over given paragraphs."""

    def __init__(self, paragraphs: Sequence[Text]) -> None:
        self._paragraphs = paragraphs
        self._seen = Counter(word for paragraph in paragraphs for word in paragraph.words)

    def asked(self, candidate: Candidate) -> Asked:
        """Return the candidate with its answers, marked as common if they occur in any kind of text."""
        answers = {one: self._common(one) for one in map(normalised, candidate.answers) if one.strip()}
        told = frozenset(word for answer in candidate.answers for word in content_words(answer))
        # The subject of a follow-up is in the conversation.
        spoken = " ".join([candidate.question, *(turn.question for turn in candidate.history)])
        return Asked(candidate, answers, frozenset(content_words(spoken)) - told)

    def may_answer(self, asked: Asked, text: Text) -> bool:
        """Return whether the text contains an accepted answer; a common one must be in a text on the same subject."""
        return any(
            answer in text.normalised and (not common or self.likeness(asked, text) >= SAME_SUBJECT)
            for answer, common in asked.answers.items()
        )

    def likeness(self, asked: Asked, text: Text) -> float:
        """Return the share of the question's words in the text, 0..1, weighted by rarity."""
        weights = {word: math.log((1 + len(self._paragraphs)) / (1 + self._seen[word])) for word in asked.words}
        whole = sum(weights.values())
        return sum(weight for word, weight in weights.items() if word in text.words) / whole if whole else 1.0

    def _common(self, answer: str) -> bool:
        words = answer.split()
        if len(answer.strip()) <= SHORTEST_ANSWER or all(_is_number(word) for word in words):
            return True
        return sum(answer in paragraph.normalised for paragraph in self._paragraphs) > COMMON * len(self._paragraphs)


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or word in NUMBER_WORDS or word in _MONTHS or word in FUNCTION_WORDS


def holds(asked: Asked, text: Text) -> bool:
    """Return whether the text contains any accepted answer, however common."""
    return any(answer in text.normalised for answer in asked.answers)


def snippet(asked: Asked, paragraph: str, judge: Judge, *, answering: bool) -> str | None:
    """Return the consecutive sentences that match the question best, within a snippet's length.

    With `answering`, they contain an accepted answer, and may be shorter than a snippet if necessary. Otherwise, they
    contain none. None if there are no such sentences.
    """
    spans = split_sentences(paragraph)
    best: tuple[bool, float, int, str] | None = None
    for first in range(len(spans)):
        for last in range(first, len(spans)):
            words = paragraph[spans[first].start : spans[last].end]
            if len(words) > LONGEST_SNIPPET:
                break
            text = text_of(words)
            if not (_says(asked, words) if answering else not holds(asked, text)):
                continue
            long = len(words) >= SHORTEST_SNIPPET
            if not long and not answering:
                continue
            shown = f"{'' if first == 0 else '… '}{words}{'' if last == len(spans) - 1 else ' …'}"
            found = (long, judge.likeness(asked, text), -len(words), shown)
            best = max(best, found) if best else found
    return best[3] if best else None


def _says(asked: Asked, text: str) -> bool:
    """Return whether the text contains an accepted answer as it is written: “$72” is not “72 ounces”."""
    return any(
        re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) for answer in asked.candidate.answers
    )


class Engine:
    """Finds paragraphs by BM25 over any of their words."""

    def __init__(self, paragraphs: Sequence[str]) -> None:
        self._index = sqlite3.connect(":memory:")
        self._index.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
        self._index.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(paragraphs))

    def close(self) -> None:
        self._index.close()

    def find(self, words: str, most: int) -> list[int]:
        """Return the positions of up to `most` paragraphs, best first."""
        terms = sorted(content_words(words))
        if not terms:
            return []
        query = " OR ".join('"{}"'.format(term.replace('"', "")) for term in terms)
        rows = self._index.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid LIMIT ?", (query, most)
        )
        return [int(place) for (place,) in rows]
