"""The pages of a PDF or of pictures: paragraphs, tables and headings of lines at places."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from localcrag.backends.readers._heading_lines import Place
from localcrag.backends.readers._headings import Entry, Headings, typography_of
from localcrag.backends.readers._paragraphs import Line, Printed, composed, rows_of
from localcrag.backends.readers._running_lines import RunningLines
from localcrag.backends.readers._tables import with_bars
from localcrag.backends.readers.text import normalise
from localcrag.records.documents import Page, Recognised, mean_confidence
from localcrag.text.blocks import Heading

LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
BULLETS = dict.fromkeys(map(ord, "\uf0a7\uf0b7\uf0d8\uf0fc"), "•")  # as Word writes them, in symbol fonts
TIDY = {**LIGATURES, **BULLETS, 0xAD: None}
LOOKED_AT = 20
"""Pages, before the first is read."""
MOST_LOOKED_AT = 300_000
"""Characters of them: some pages are a book."""


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page's lines; `shows` says that there is something on it that is text to the eye alone."""

    printed: list[Printed]
    shows: bool


def printed_page(lines: Sequence[Line], *, shows: bool) -> PrintedPage:
    """Return a page of which these are the lines, in reading order."""
    return PrintedPage(composed(with_bars(rows_of(lines))), shows)


def composed_pages(
    count: int, read: Callable[[int], PrintedPage], outline_of: Callable[[], Mapping[int, Sequence[Entry]]]
) -> Generator[Page, None, None]:
    """Yield `count` pages, read by their number from 0; `outline_of` returns the file's own headings, by page."""
    looked_at: dict[int, PrintedPage] = {}
    for index in _spread(count):
        if sum(len(line.text) for page in looked_at.values() for line in page.printed) > MOST_LOOKED_AT:
            break
        looked_at[index] = read(index)
    outline = outline_of()
    found = Headings(typography_of([(page.printed, outline.get(at, ())) for at, page in looked_at.items()]))
    running = RunningLines(found.typography.running)
    for index in range(count):
        page = looked_at.pop(index, None) or read(index)
        page = PrintedPage(running.without_said(index, page.printed), page.shows)
        headings = found.of_page(page.printed, outline.get(index, ()))
        # What stands on many pages is no heading where it stands first, either.
        none = [((at, at + 1), 0) for at in running.first_said(page.printed)]
        yield _page(index, page, sorted(dict([*none, *headings]).items()))


def _spread(count: int) -> list[int]:
    """Return which pages are looked at for what is usual in the document: the first ones, and others up to the last."""
    step = max(1.0, count / LOOKED_AT)
    return sorted({*range(min(3, count)), *(int(number * step) for number in range(min(count, LOOKED_AT)))})


def _page(index: int, page: PrintedPage, headings: Sequence[tuple[Place, int]]) -> Page:
    # Line by line, so that it is known where each begins; a newline is nothing that composes with its neighbours.
    lines = [normalise(printed.text.translate(TIDY)) for printed in page.printed]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    placed = []
    for (first, behind), level in headings:
        indent = len(lines[first]) - len(lines[first].lstrip())
        placed.append(Heading(starts[first] + indent, starts[behind] - 1, level))
    recognised = [
        Recognised(starts[at], starts[at] + len(lines[at]), confidence)
        for at, printed in enumerate(page.printed)
        if (confidence := _confidence(printed.rows)) is not None
    ]
    return Page(index + 1, "\n".join(lines), page.shows, tuple(placed), tuple(recognised))


def _confidence(rows: Sequence[Line]) -> float | None:
    return mean_confidence([(len(row.text), row.confidence) for row in rows if row.confidence is not None])
