"""Places of passages on the scale of relevance, none on top of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.passages import GradedPassage

ROOM = 0.03
"""Share of the scale's width that a point takes."""


@dataclass(frozen=True, slots=True)
class Point:
    """A passage at `x`, in shares of relevance, `level` points above the line."""

    passage: GradedPassage
    x: float
    level: int


def points(passages: Sequence[GradedPassage]) -> list[Point]:
    """Return a point for each passage, from left to right; those that would overlap stand above each other."""
    ends: list[float] = []
    placed = []
    for passage in sorted(passages, key=lambda one: one.relevance):
        free = (level for level, end in enumerate(ends) if end <= passage.relevance)
        level = next(free, len(ends))
        if level == len(ends):
            ends.append(0.0)
        ends[level] = passage.relevance + ROOM
        placed.append(Point(passage, passage.relevance, level))
    return placed
