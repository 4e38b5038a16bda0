"""Phrases by which a document is told from all others, as they may stand in files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator

WORDS = 5
"""Of a phrase: of five words in a row hardly any occur twice by chance."""
LEAST_CHARACTERS = 12
LONGEST = 120
"""Characters: a longer one would more often lie across two pages of a database's file."""
SECTIONS, EACH = 40, 3
"""Parts of a text that phrases are taken from, so that any piece of it is noticed, and how many are looked at of each:
others may have some of them, too."""
_TOKEN = re.compile(r"\S+")
_PLAIN = re.compile(r'[^\x00-\x1f\x7f"\\\ud800-\udfff\ufffd]+')
"""What JSON and SQLite write as it is."""


def phrases(text: str, others: Iterable[str]) -> list[str]:
    """Return phrases of a text that none of the other texts has, the rarest of each part of it, in their order."""
    count = Counter(_TOKEN.findall(text))
    found = list(_candidates(text))
    size = max(1, -(-len(found) // SECTIONS))
    chosen: list[list[str]] = []
    for at in range(0, len(found), size):
        some = dict.fromkeys(found[at : at + size])
        chosen.append(sorted(some, key=lambda one: sum(count[word] for word in one.split()) / len(one.split()))[:EACH])
    known = {one for some in chosen for one in some}
    for other in others:
        known -= {one for one in known if one in other}
    return list(dict.fromkeys(one for some in chosen for one in [c for c in some if c in known][:1]))


def forms(phrase: str) -> tuple[bytes, ...]:
    """Return the bytes that a phrase may be stored as: UTF-8, UTF-16 either way, and JSON in ASCII."""
    made = [phrase.encode(), phrase.encode("utf-16-le"), phrase.encode("utf-16-be"), json.dumps(phrase)[1:-1].encode()]
    return tuple(dict.fromkeys(made))


def _candidates(text: str) -> Iterator[str]:
    """Yield runs of words within a line, and pieces of a line without words."""
    for line in text.splitlines():
        for piece in _PLAIN.findall(line):
            tokens = list(_TOKEN.finditer(piece))
            for first, last in zip(tokens, tokens[WORDS - 1 :], strict=False):
                yield from _fitting(piece[first.start() : last.end()])
            if 0 < len(tokens) < WORDS:
                yield from _fitting(piece[tokens[0].start() : tokens[-1].end()])


def _fitting(words: str) -> Iterator[str]:
    if len(words) >= LEAST_CHARACTERS:
        yield words[:LONGEST]
