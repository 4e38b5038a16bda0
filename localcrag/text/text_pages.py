"""Paging a document's text for display, with sentences marked where they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PAGE_CHARACTERS = 4000
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?]) |\s")


@dataclass(frozen=True, slots=True)
class TextPage:
    """Page `number`, from 1, of `count`; `parts` are its text in pieces, with whether each is marked."""

    number: int
    count: int
    parts: tuple[tuple[str, bool], ...]


def text_page(
    text: str, *, number: int | None = None, sought: Sequence[str] = (), near: int = 0, size: int = PAGE_CHARACTERS
) -> TextPage:
    """Return a page of a text with every sought text on it marked; without `number` the page of the first of them.

    A text that stands there several times is marked where it follows the place `near`, or first of all.
    """
    text = text.replace("\f", "\n")  # Between the pages, or slides, of a document.
    starts = _starts(text, size)
    places = sorted(place for one in sought if (place := _find(text, one, near)))
    at = places[0][0] if places else near
    if number is None:
        number = sum(start <= at for start in starts)
    number = min(max(number, 1), len(starts))
    begin, end = starts[number - 1], [*starts, len(text)][number]
    parts, done = [], begin
    for start, stop in places:
        start, stop = max(start, done), min(stop, end)  # noqa: PLW2901 - cut down to this page
        if start < stop:
            parts += [(text[done:start], False), (text[start:stop], True)]
            done = stop
    parts.append((text[done:end], False))
    return TextPage(number, len(starts), tuple((part, marked) for part, marked in parts if part))


def _starts(text: str, size: int) -> list[int]:
    """Return where each page begins: after a paragraph if one ends in its last third, or else a line or a word."""
    starts = [0]
    while len(text) - starts[-1] > size:
        window = text[starts[-1] + 2 * size // 3 : starts[-1] + size]
        ends = list(_BREAK.finditer(window))
        best = min(ends, key=lambda found: (_rank(found[0]), -found.end()), default=None)
        starts.append(starts[-1] + (2 * size // 3 + best.end() if best else size))
    return starts


def _rank(cut: str) -> int:
    return 0 if cut.count("\n") > 1 else 1 if "\n" in cut else 2


def _find(text: str, sought: str, near: int) -> tuple[int, int] | None:
    """Return where a text stands, whatever spaces and ends of lines it is written with."""
    words = sought.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found = pattern.search(text, max(near, 0)) or pattern.search(text)
    return found.span() if found else None
