"""Headings of printed pages: by type, by number, and by the outline of the file. Uses no PDF library.

What is large or bold shows only beside what is usual in the document, so some of its pages are looked at before the
first is read. Wrong headings do more harm than missing ones: passages would be found under them.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from localcrag.backends.readers._heading_lines import (
    MOST_ROWS,
    Key,
    Place,
    Typography,
    cells_alone,
    guessed,
    is_bold,
    key_of,
    place_of,
    rounded,
)
from localcrag.backends.readers._paragraphs import PROSE, Printed

COMMON = 0.3
"""Share of a document's prose that is set in a size; where two have it, the smaller is that of notes or tables."""
MOSTLY_BOLD = 0.5
"""Share of the body that is bold where bold type means nothing."""
RUNNING_SHARE, LEAST_RUNNING = 0.3, 3
"""Share and number of the pages looked at that have a line at the same place: left and right pages may differ."""
TOP_LINES = 3
"""Of a page, those that may repeat what the page before had."""
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the file's own outline, with its level, 1 the highest."""

    title: str
    level: int


@dataclass(slots=True)
class Headings:
    """Finds the headings of a document's pages; asked page by page, in order."""

    typography: Typography
    _before: list[set[tuple[str, int]]] = field(default_factory=list)
    _tops: set[str] = field(default_factory=set)

    def of_page(self, page: Sequence[Printed], entries: Sequence[Entry]) -> list[tuple[Place, int]]:
        """Return where the headings of a page are, and the level of each: 0 of lines that are none, as a table's cells.

        `entries` are the outline's for this page.
        """
        running = set(self.typography.running).union(*self._before)
        places = {line for printed in page for line in map(place_of, printed.rows)}
        # A header that names the chapter is not on most pages; on left and right pages there may be two.
        self._before = [*self._before[-1:], places]
        # A heading that is said anew where its section goes on.
        tops = [place_of(row) for printed in page for row in printed.rows][:TOP_LINES]
        running |= {(said, height) for said, height in tops if said in self._tops}
        self._tops |= {said for said, _ in tops}
        found = dict(_outlined(page, entries, running))
        taken = {line for first, behind in found for line in range(first, behind)}
        for (first, behind), key in guessed(page, self.typography, running):
            if taken.isdisjoint(range(first, behind)):
                found[first, behind] = _level(self.typography, key)
                taken.update(range(first, behind))
        found.update({(at, at + 1): 0 for at in cells_alone(page) if at not in taken})
        return sorted(found.items())


def typography_of(pages: Sequence[tuple[Sequence[Printed], Sequence[Entry]]]) -> Typography:
    """Return what is usual in a document, by some of its pages and the outline's entries for each."""
    rows = [row for page, _ in pages for printed in page for row in printed.rows]
    prose = [row for row in rows if row.right - row.left > PROSE * row.size and not row.tabular] or rows
    sizes: Counter[float] = Counter()
    for row in prose:
        sizes[rounded(row.size)] += len(row.text)
    if not sizes:
        return Typography(0, 0, bold_says=False)
    common = [size for size, characters in sizes.items() if characters >= COMMON * sizes.total()]
    body = max(common, default=sizes.most_common(1)[0][0])
    of_body = [row for row in prose if rounded(row.size) == body]
    bold = sum(len(row.text) for row in of_body if is_bold(row))
    bold_says = bold <= MOSTLY_BOLD * sum(len(row.text) for row in of_body)
    found = Typography(body, min(common, default=body), bold_says, _running([page for page, _ in pages]))
    styles: Counter[Key] = Counter()
    told: dict[Key, Counter[int]] = {}
    for page, entries in pages:
        styles.update(key for _, key in guessed(page, found, found.running))
        for (first, _), level in _outlined(page, entries, found.running):
            key = key_of(page, first, found)
            styles[key] += 1
            told.setdefault(key, Counter())[level] += 1
    kept = sorted({*told, *(key for key, _ in styles.most_common(DEEPEST))})
    levels: list[int] = []
    for key in kept:
        usual_level = told[key].most_common(1)[0][0] if key in told else 1 + (levels[-1] if levels else 0)
        levels.append(min(usual_level, DEEPEST))
    return replace(found, styles=kept, levels=levels)


def _running(pages: Sequence[Sequence[Printed]]) -> Set[tuple[str, int]]:
    seen = Counter(place for page in pages for place in {place_of(row) for printed in page for row in printed.rows})
    least = max(LEAST_RUNNING, RUNNING_SHARE * len(pages))
    return {place for place, times in seen.items() if times >= least}


def _level(typography: Typography, key: Key) -> int:
    if not typography.styles:
        return 1
    at = min(bisect_left(typography.styles, key), len(typography.styles) - 1)
    return typography.levels[at]


def _outlined(
    page: Sequence[Printed], entries: Sequence[Entry], running: Set[tuple[str, int]]
) -> Iterator[tuple[Place, int]]:
    """Yield the lines that the file's outline names as beginning something on this page."""
    plain = [_plain(printed.text) for printed in page] if entries else []
    taken: set[int] = set()
    for entry in entries:
        places = [place for place in _matches(plain, _plain(entry.title)) if taken.isdisjoint(range(*place))]
        if not places:
            continue

        def prominence(place: Place) -> tuple[bool, float]:
            rows = page[place[0]].rows
            return not all(place_of(row) in running for row in rows), max(row.size for row in rows)

        best = max(places, key=prominence)
        taken.update(range(*best))
        yield best, min(entry.level, DEEPEST)


def _matches(lines: Sequence[str], title: str) -> Iterator[Place]:
    """Yield where lines say a title, over one or more of them; either may lack the number in front."""
    bare = title.lstrip("0123456789")
    for first, line in enumerate(lines):
        said, behind = line, first + 1
        while said and len(said) < len(title) and title.startswith(said) and behind < len(lines):
            if behind - first > 2 * MOST_ROWS:
                break
            said += lines[behind]
            behind += 1
        if said and (said == title or (len(bare) > 3 and bare in (line, line.lstrip("0123456789")))):
            yield (first, behind if said == title else first + 1)


def _plain(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKC", text) if letter.isalnum()).casefold()
