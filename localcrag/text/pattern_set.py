"""Many patterns looked for at once: RE2 says in one pass which of them a text can have at all.

To look for each by itself takes as many passes. What RE2 finds is looked at again with Python's own `re`, so that the
outcome is the same as without it. RE2 (Russ Cox, “Regular Expression Matching in the Wild”, 2010) knows no lookaround,
and letters of ASCII alone: patterns are given to it without what they look ahead and behind for, which finds more, and
texts in other letters are left to `re`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import re2

from localcrag.text.span import Span

MEMORY = 32 * 2**20
"""Bytes that RE2 may take for what it learns of its patterns; when they are full it begins anew, and is slower."""
_ANYTHING = ""
"""A pattern that every text has: where even this is not found, RE2 gave up, which it tells nobody."""
_NOT_PLAIN = re.compile(r"[^\W\x00-\x7f]|[^\S ]|[\x00-\x1f\x7f\ud800-\udfff]")
"""A letter, a digit or a space that RE2 does not know as one; what it cannot be given."""
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")


class PatternSet:
    """Patterns, by their places in the order given."""

    def __init__(self, patterns: Sequence[re.Pattern[str]], *, memory: int = MEMORY) -> None:
        """Learn the patterns; `memory` as above."""
        self._patterns = tuple(patterns)
        options: Any = re2.Options()
        options.max_mem, options.log_errors = memory, False
        self._set: Any = re2.Set.SearchSet(options)
        self._set.Add(_ANYTHING)
        self._known: list[int] = []
        """Places of the patterns that RE2 has, in its order."""
        self._unknown: list[int] = []
        for place, pattern in enumerate(self._patterns):
            (self._known if self._takes(pattern) else self._unknown).append(place)
        self._set.Compile()

    def _takes(self, pattern: re.Pattern[str]) -> bool:
        regardless = "(?i)" if pattern.flags & re.IGNORECASE else ""
        try:
            self._set.Add(regardless + without_lookaround(pattern.pattern))
        except re2.error:
            return False
        return True

    def fitting(self, text: str) -> list[int]:
        """Return the places of the patterns that are found in a text, ascending."""
        return [place for place in self._possible(text) if self._patterns[place].search(text)]

    def _possible(self, text: str) -> Sequence[int]:
        found = None if _NOT_PLAIN.search(text) else cast("list[int] | None", self._set.Match(text))
        if not found:
            return range(len(self._patterns))
        return sorted([*(self._known[number - 1] for number in found if number), *self._unknown])


def without_lookaround(pattern: str) -> str:
    """Return a pattern that finds whatever this one finds, and knows nothing of what comes before or after it."""
    while match := _LOOKS_AROUND.search(pattern):
        group = _group_at(pattern, match.start())
        pattern = f"{pattern[: group.start]}(?:){pattern[group.end :]}"
    return pattern


def _group_at(pattern: str, start: int) -> Span:
    """Return the group that is opened there."""
    depth, in_class, at = 0, False, start
    while True:
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return Span(start, at + 1, pattern[start : at + 1])
        at += 1
