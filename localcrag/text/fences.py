"""Fences of code in a plain text: which line opens one, and which closes it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from localcrag.text.lines import TextLine

_FENCE = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)\Z")
_FENCE_END = re.compile(r"(?:`{3,}|~{3,})\Z")


def fence_of(line: str) -> str:
    """Return the mark of the fence that a line opens, empty where it opens none."""
    found = _FENCE.match(line)
    return (found[1] or found[2]) if found else ""


class Fences:
    """The lines of a text that may close a fence."""

    def __init__(self, lines: Sequence[TextLine]) -> None:
        self._lines = lines
        ends = [number for number, line in enumerate(lines) if _FENCE_END.match(line.text)]
        self._closing = {mark: [at for at in ends if lines[at].text[0] == mark] for mark in "`~"}
        marks = {mark: [lines[at].text for at in reversed(closing)] for mark, closing in self._closing.items()}
        self._longest = {mark: [*accumulate(map(len, some), max)][::-1] for mark, some in marks.items()}

    def closes(self, at: int, fence: str) -> int | None:
        """Return which line closes the fence that is opened by line number `at`; it is as long at least."""
        closing = self._closing[fence[0]]
        first = bisect_right(closing, at)
        # Many that none closes are not sought again and again.
        found = max(self._longest[fence[0]][first : first + 1], default=0) >= len(fence)
        below = range(first, len(closing)) if found else range(0)
        return next((closing[one] for one in below if self._lines[closing[one]].text.startswith(fence)), None)
