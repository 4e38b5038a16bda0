"""Running headers and footers of printed pages: read once, and no headings. Uses no PDF library."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import takewhile

from localcrag.backends.readers._heading_lines import WORDS_OF_HEADER, place_of
from localcrag.backends.readers._paragraphs import Line, Printed
from localcrag.text.titles import PAGE_NUMBER

EDGE = 4
"""Lines at the top and at the bottom of a page that may be its header and footer."""
SET_APART = 1.8
"""Times the size: headers and footers are further from the text than its lines are from each other."""
_NUMBER = re.compile(r"\d{1,9}")

_Place = tuple[str, int]


@dataclass(slots=True)
class RunningLines:
    """Finds what pages say again at their edges; asked page by page, in order.

    `usual` are the lines that stand at one place on many pages of the document (`Typography.running`).
    """

    usual: Set[_Place]
    _seen: dict[_Place, tuple[int, list[int]]] = field(default_factory=dict)

    def without_said(self, index: int, page: Sequence[Printed]) -> list[Printed]:
        """Return a page's lines without those at its edges that a page shortly before has at the same place."""
        texts = _texts(page)
        top, bottom = self._said(index, page, texts), self._said(index, page, texts[::-1])
        for printed in page:
            self._seen.update((_place(row), (index, _numbers(row))) for row in printed.rows)
        kept = [at for at in texts if at not in {*top, *bottom}]
        # Empty lines parted them from the text.
        return list(page[kept[0] : kept[-1] + 1]) if kept else []

    def first_said(self, page: Sequence[Printed]) -> list[int]:
        """Return which lines at a page's edges are running ones."""
        texts = _texts(page)
        edges = sorted({*texts[:EDGE], *texts[-EDGE:]})
        return [at for at in edges if all(place_of(row) in self.usual for row in page[at].rows)]

    def _said(self, index: int, page: Sequence[Printed], texts: Sequence[int]) -> Sequence[int]:
        """Return the lines of an edge, from the outermost, that were said before."""
        said = list(takewhile(lambda at: all(self._was_said(index, row) for row in page[at].rows), texts[:EDGE]))
        # What is close to the text may be a table's header, which says what stands below it.
        while said and len(said) < len(texts) and _are_close(page[said[-1]], page[texts[len(said)]]):
            said.pop()
        return said

    def _was_said(self, index: int, row: Line) -> bool:
        before, numbers = self._seen.get(_place(row), (index, []))
        apart = index - before
        # Left and right pages may differ.
        if apart != 1 and (apart != 2 or place_of(row) not in self.usual):
            return False
        same = numbers == _numbers(row)
        return same or (_counts_pages(row.text) and _numbers(row) in _counted_on(numbers, apart))


def _texts(page: Sequence[Printed]) -> list[int]:
    """Return which lines have text in them."""
    return [at for at, printed in enumerate(page) if printed.rows]


def _counts_pages(text: str) -> bool:
    """Whether a number in a line may be its page's: "Chapter 4" on the page behind "Chapter 3" says something new."""
    words = len(re.findall(r"[^\W\d_]{2,}", text))
    return not words or PAGE_NUMBER.fullmatch(text.strip()) is not None or words >= WORDS_OF_HEADER


def _counted_on(numbers: Sequence[int], pages: int) -> list[list[int]]:
    """Return what numbers are so many pages on: one of them counts."""
    return [[number + pages * (at == one) for at, number in enumerate(numbers)] for one in range(len(numbers))]


def _are_close(one: Printed, other: Printed) -> bool:
    rows = [(a, b) for a in one.rows for b in other.rows]
    return any(abs(a.baseline - b.baseline) < SET_APART * max(a.size, b.size) for a, b in rows)


def _place(row: Line) -> _Place:
    return _NUMBER.sub("#", row.text), round(row.baseline)


def _numbers(row: Line) -> list[int]:
    return [int(number) for number in _NUMBER.findall(row.text)]
