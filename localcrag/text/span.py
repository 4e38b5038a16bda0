"""A span: a piece of a longer text with its place in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a longer text: `text == longer[start:end]`."""

    start: int
    end: int
    text: str
