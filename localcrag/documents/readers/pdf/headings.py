"""Headings, running headers and footers of PDF pages, found by their type, numbering and position.

`guess_headings` finds headings by their look. `Headings` adds the headings of the file's outline, and levels.
`RunningLines` removes headers and footers that repeat from page to page.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import takewhile

from localcrag.documents.readers.pdf.paragraphs import BULLET, PARALLEL, PROSE, Line, Printed
from localcrag.text.titles import PAGE_NUMBER, is_date

LARGER = 1.1
"""Minimum size of a larger line, as a multiple of the body size; lines of one paragraph may differ by slightly less."""
LEAST_BOLD = 0.95
"""Minimum size of a heading, as a multiple of the body size; smaller bold text is a label in a table or a figure."""
MOST_WORDS, MOST_CHARACTERS, MOST_ROWS = 16, 130, 3
LEAST_LETTERS = 3  # "OR" has too few letters; Chinese headings may have two characters
MOST_LINES = 1000  # lines of a page, which are compared with each other; a printed page has some 60
WIDE = 5  # multiple of the type size: minimum space on both sides of a centred line
LONGEST_LEAD = 8
"""Maximum words of a heading that ends with a colon; a longer line is a sentence that introduces the next one."""
WORDS_OF_HEADER = 3
LEAST_CAPITALS = 8  # letters; an abbreviation alone does not count as a heading in capitals
WIDEST_CELL = 12  # multiple of the type size
SAME_HEIGHT = 0.3  # multiple of the type size
MOST_BOLD_IN_A_ROW = 3
"""Maximum number of consecutive bold lines; more are an address or a form."""

BOLD = re.compile(r"bold|black|heavy|demi|semib|cmbx|cmssbx|sfbx|medi\b|[-,]bd|bd\b", re.IGNORECASE)
LIGHTER = re.compile(r"demilight|semilight", re.IGNORECASE)
ITALIC = re.compile(r"ital|obli|cmti|kursiv|slant", re.IGNORECASE)
NUMBER = re.compile(r"(?:§\s*)?(\d{1,2}(?:\.\d{1,2}){0,4})[.)]?\s+(?=[^\W\d_])")
NAMED = re.compile(
    r"(?:(?P<highest>(?i:part|chapter|teil|kapitel))|(?P<high>(?i:item|article|annex|appendix|exhibit|schedule|anhang))|"
    r"(?i:note|section|step|abschnitt)|§)\s*(?:\d[\w.]{0,5}|[IVXLC]{1,5}|[A-Z])\b[.:)]?\s*"
)
_GAP = re.compile(r"\S {2,}\S")
_LEADERS = re.compile(r"(?:\.\s?){4,}|…\s*…|_{4,}|-{4,}")
_SENTENCE_END = re.compile(r"[.…,;。，；؛][\"'”’»)\]]*$")
_UNFINISHED = re.compile(r"\b(?:a|an|the|of|and|or|to|in|on|at|by|for|from|with|as|under|der|die|das|und|von|et|de)$")
_WORD = re.compile(r"[^\W\d_]{2}|[\u2e80-\u9fff\uac00-\ud7a3]")
_PERIOD = re.compile(r"\b(?:months|years?|quarters?|weeks|period)\s+end(?:ed|ing)\b", re.IGNORECASE)
"""A reporting period, which is above the columns of figures and is not a heading."""

Key = tuple[float, bool, int, int, bool, bool, bool]
"""Sort key of a style, highest style first: negative size, not bold, rank of a word such as "Item", dots in its
number, not in capitals, not centred, italic."""
Place = tuple[int, int]
"""Index of a heading's first line among a page's lines, and of the line after its last."""


@dataclass(frozen=True, slots=True)
class Typography:
    """The usual type of a document.

    `body` is the size of its text, `least` the smaller size if it has two. `bold_marks_headings` tells whether bold
    type marks headings. `running` are lines at the same place on many pages; `styles` are the styles of headings,
    highest first, and `levels` the level of each.
    """

    body: float
    least: float
    bold_marks_headings: bool
    running: Set[tuple[str, int]] = frozenset()
    styles: Sequence[Key] = ()
    levels: Sequence[int] = ()


def guess_headings(
    page: Sequence[Printed], typography: Typography, running: Set[tuple[str, int]]
) -> Iterator[tuple[Place, Key]]:
    """Yield the lines that look like headings, with their style."""
    if len(page) > MOST_LINES:
        return
    at, angle = 0, _usual_angle(page)
    while at < len(page):
        behind = at + 1
        # The text of a watermark runs in another direction than the page's.
        if _angle(page[at]) not in (angle - 1, angle, angle + 1) or not _may_be_heading(page, at, typography, running):
            at += 1
            continue
        key = style_key(page, at, typography)
        # A heading may have several lines; if the first line is full, they are already one line of text.
        while behind < len(page) and behind - at < MOST_ROWS and _continues_heading(page[behind - 1], page[behind]):
            behind += 1
        text = " ".join(printed.text for printed in page[at:behind])
        # A large heading may have a page of its own.
        is_large = -key[0] >= LARGER * typography.body
        if _reads_as_heading(text) and (is_large or any(printed.rows for printed in page[behind:])):
            yield (at, behind), key
        at = behind


def _may_be_heading(page: Sequence[Printed], at: int, typography: Typography, running: Set[tuple[str, int]]) -> bool:
    """Return whether a line is larger than the body, bold or numbered, and positioned like a heading."""
    printed = page[at]
    if not printed.rows or len(printed.rows) > MOST_ROWS or all(place_of(row) in running for row in printed.rows):
        return False
    if BULLET.match(printed.text) or _has_columns(printed) or _PERIOD.search(printed.text):
        return False
    size = min(row.size for row in printed.rows)
    if size < LEAST_BOLD * typography.least:
        return False
    larger = size >= LARGER * typography.body
    if not larger and not (typography.bold_marks_headings and all(map(is_bold, printed.rows))):
        return _is_numbered(page, at)
    if _in_table(page, at) or (not larger and _in_bold_lines(page, at)):
        return False
    return not _in_columns(page, at)


def _angle(printed: Printed) -> int:
    return round(printed.rows[0].angle / PARALLEL) if printed.rows else 0


def _usual_angle(page: Sequence[Printed]) -> int:
    angles = Counter(_angle(printed) for printed in page if printed.rows)
    return angles.most_common(1)[0][0] if angles else 0


def _has_columns(printed: Printed) -> bool:
    """Return whether a line has gaps as wide as those between columns, except after a heading's number."""
    text = printed.text
    if mark := NUMBER.match(text) or NAMED.match(text):
        text = text[mark.end() :]
    return _GAP.search(text) is not None


def _in_table(page: Sequence[Printed], at: int) -> bool:
    """Return whether a line is a row's label or is above columns."""
    above, below = _neighbour(page, at, -1), _neighbour(page, at, 1)
    line = page[at].rows[0]
    # A line that is larger than the rows is not a label.
    if below is None or not _is_row(below) or line.size >= LARGER * below.rows[0].size:
        return False
    over_columns = line.left > below.rows[0].left + PROSE / 2 * line.size
    return over_columns or (above is not None and _is_row(above))


def _in_columns(page: Sequence[Printed], at: int) -> bool:
    """Return whether a short text is at the same height, so that the line is a column's header or a value's label."""
    own = page[at].rows
    # The lines of a paragraph in another column are not cells.
    others = [row for printed in page if printed.rows is not own and len(printed.rows) <= 2 for row in printed.rows]
    return any(
        abs(row.baseline - line.baseline) < SAME_HEIGHT * line.size
        and row.right - row.left < WIDEST_CELL * row.size
        and (row.left > line.right or row.right < line.left)
        for row in others
        for line in own
    )


def _in_bold_lines(page: Sequence[Printed], at: int) -> bool:
    """Return whether a line is one of many consecutive bold lines, unless these are table rows."""

    def goes_on(printed: Printed) -> bool:
        return all(map(is_bold, printed.rows)) and not printed.text.startswith("|")

    run = [page[at], *takewhile(goes_on, reversed(page[:at])), *takewhile(goes_on, page[at + 1 :])]
    return sum(bool(printed.rows) for printed in run) > MOST_BOLD_IN_A_ROW


def _is_numbered(page: Sequence[Printed], at: int) -> bool:
    """Return whether a line of ordinary type has a heading's number and more space around it."""
    mark = NUMBER.match(page[at].text)
    if not mark or len(page[at].rows) > 1 or (at and page[at - 1].rows):
        return False
    above, below = _neighbour(page, at, -1), _neighbour(page, at, 1)
    if below is None or _is_row(below) or (above is not None and _is_row(above)):
        return False
    listed = any(neighbour is not None and NUMBER.match(neighbour.text) for neighbour in (above, below))
    title = page[at].text[mark.end() :]
    return not listed and title[:1].isupper() and not title.rstrip().endswith((":", "?", "!"))


def _neighbour(page: Sequence[Printed], at: int, step: int) -> Printed | None:
    """Return the nearest line with text in the direction of `step`."""
    others = page[at + 1 :] if step > 0 else reversed(page[:at])
    return next((printed for printed in others if printed.rows), None)


def _is_row(printed: Printed) -> bool:
    return any(row.tabular for row in printed.rows) and (printed.text.startswith("|") or _has_columns(printed))


def single_cells(page: Sequence[Printed]) -> Iterator[int]:
    """Yield the lines that are single cells of a table, between its rows or above them in columns."""
    texts = [at for at, printed in enumerate(page) if printed.rows]
    if len(texts) > MOST_LINES:
        return
    over_row = False
    for place in reversed(range(len(texts))):
        at = texts[place]
        if _is_row(page[at]):
            over_row = True
            continue
        above = place > 0 and _is_row(page[texts[place - 1]])
        below = place + 1 < len(texts) and _is_row(page[texts[place + 1]])
        over_row = over_row and len(page[at].text) <= MOST_CHARACTERS and ((above and below) or _in_columns(page, at))
        if over_row:
            yield at


def _continues_heading(above: Printed, line: Printed) -> bool:
    """Return whether a line continues a heading: it has the same type and is right below it."""
    if not line.rows or _has_columns(line) or NUMBER.match(line.text) or NAMED.match(line.text):
        return False
    a, b = above.rows[-1], line.rows[0]
    return abs(a.size - b.size) < 0.5 and is_bold(a) == is_bold(b) and a.baseline - b.baseline < 1.6 * a.size


def _reads_as_heading(text: str) -> bool:
    text = text.strip()
    if len(text) > MOST_CHARACTERS or len(text.split()) > MOST_WORDS or not _WORD.search(text):
        return False
    numbered = NUMBER.match(text) or NAMED.match(text)
    if (_SENTENCE_END.search(text) and not (numbered and text.endswith("."))) or _UNFINISHED.search(text):
        return False
    if text.endswith((":", "：")) and len(text.split()) > LONGEST_LEAD:
        return False
    letters = sum(letter.isalpha() for letter in text)
    if letters < LEAST_LETTERS and text.isascii():
        return False
    if _LEADERS.search(text) or is_date(text) or PAGE_NUMBER.fullmatch(text):
        return False
    starts_well = text[0].isalnum() or text[0] in "§“\"'‘«¿¡„"
    return starts_well and not text[0].islower() and letters >= len(text) / 2


def style_key(page: Sequence[Printed], at: int, typography: Typography) -> Key:
    """Return the style of a heading that begins at a line of a page."""
    printed = page[at]
    row = printed.rows[0]
    size = rounded(row.size)
    number, named = NUMBER.match(printed.text), NAMED.match(printed.text)
    rank = 3 if not named else 0 if named["highest"] else 1 if named["high"] else 2
    depth = number[1].count(".") if number else 0
    letters = [letter for letter in printed.text if letter.isalpha()]
    capitals = len(letters) >= LEAST_CAPITALS and all(letter.isupper() for letter in letters)
    italic, centred = bool(ITALIC.search(row.font)), any(_is_centred(page, row) for row in printed.rows)
    # A size that hardly differs from the body size counts as the body size.
    size = typography.body if LEAST_BOLD * typography.body <= size < LARGER * typography.body else size
    return -size, not is_bold(row), rank, depth, not capitals, not centred, italic


def _is_centred(page: Sequence[Printed], line: Line) -> bool:
    """Return whether a line has equal and wide margins on its left and right."""
    rows = [row for printed in page for row in printed.rows]
    before = line.left - min(row.left for row in rows)
    behind = max(row.right for row in rows) - line.right
    return min(before, behind) > WIDE * line.size and abs(before - behind) < 2 * line.size


def rounded(size: float) -> float:
    """Return a type size to the nearest half point."""
    return round(size * 2) / 2


def is_bold(row: Line) -> bool:
    """Return whether a line is set in bold type."""
    return bool(BOLD.search(row.font)) and not LIGHTER.search(row.font)


def place_of(row: Line) -> tuple[str, int]:
    """Return a line's text and its height on the page; longer lines lose their digits, which may be page numbers."""
    words = re.findall(r"[^\W\d_]+", row.text)
    # A short line keeps its digits: "Chapter 3" is not the same header as "Chapter 4".
    text = re.sub(r"\d+", "", row.text) if len(words) >= WORDS_OF_HEADER else row.text
    return text, round(row.baseline)


COMMON = 0.3
"""Share of the text that a type size needs to count as the body size; if two sizes reach it, the smaller one is for
notes or tables."""
MOSTLY_BOLD = 0.5
"""Maximum share of bold type in the body; with more, bold type does not mark headings."""
RUNNING_SHARE, LEAST_RUNNING = 0.3, 3
"""Minimum share and number of sampled pages with a line at the same place; left and right pages may differ."""
TOP_LINES = 3
"""Lines at the top of a page that may be a running header."""
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of the file's own outline; level 1 is the highest."""

    title: str
    level: int


@dataclass(slots=True)
class Headings:
    """Finds the headings of a document's pages, which must be passed in order."""

    typography: Typography
    _before: list[set[tuple[str, int]]] = field(default_factory=list)
    _tops: set[str] = field(default_factory=set)

    def page_headings(self, page: Sequence[Printed], entries: Sequence[OutlineEntry]) -> list[tuple[Place, int]]:
        """Return the places of a page's headings and their levels; level 0 marks lines that are not headings.

        Single cells of a table get level 0. `entries` are the outline's entries for this page.
        """
        running = set(self.typography.running).union(*self._before)
        places = {line for printed in page for line in map(place_of, printed.rows)}
        # A header with the chapter's name is not on most pages, and left and right pages may have different ones. So
        # the lines of the last two pages count as running, too.
        self._before = [*self._before[-1:], places]
        # A heading may be repeated at the top of a page on which its section continues.
        tops = [place_of(row) for printed in page for row in printed.rows][:TOP_LINES]
        running |= {(text, height) for text, height in tops if text in self._tops}
        self._tops |= {text for text, _ in tops}
        found = dict(_outlined(page, entries, running))
        taken = {line for first, behind in found for line in range(first, behind)}
        for (first, behind), key in guess_headings(page, self.typography, running):
            if taken.isdisjoint(range(first, behind)):
                found[first, behind] = _level(self.typography, key)
                taken.update(range(first, behind))
        found.update({(at, at + 1): 0 for at in single_cells(page) if at not in taken})
        return sorted(found.items())


def find_typography(pages: Sequence[tuple[Sequence[Printed], Sequence[OutlineEntry]]]) -> Typography:
    """Return a document's usual type, from sample pages and each page's outline entries."""
    rows = [row for page, _ in pages for printed in page for row in printed.rows]
    prose = [row for row in rows if row.right - row.left > PROSE * row.size and not row.tabular] or rows
    sizes: Counter[float] = Counter()
    for row in prose:
        sizes[rounded(row.size)] += len(row.text)
    if not sizes:
        return Typography(0, 0, bold_marks_headings=False)
    common = [size for size, characters in sizes.items() if characters >= COMMON * sizes.total()]
    body = max(common, default=sizes.most_common(1)[0][0])
    body_rows = [row for row in prose if rounded(row.size) == body]
    bold = sum(len(row.text) for row in body_rows if is_bold(row))
    bold_marks_headings = bold <= MOSTLY_BOLD * sum(len(row.text) for row in body_rows)
    found = Typography(body, min(common, default=body), bold_marks_headings, _running([page for page, _ in pages]))
    styles: Counter[Key] = Counter()
    outline_levels: dict[Key, Counter[int]] = {}
    for page, entries in pages:
        styles.update(key for _, key in guess_headings(page, found, found.running))
        for (first, _), level in _outlined(page, entries, found.running):
            key = style_key(page, first, found)
            styles[key] += 1
            outline_levels.setdefault(key, Counter())[level] += 1
    kept = sorted({*outline_levels, *(key for key, _ in styles.most_common(DEEPEST))})
    levels: list[int] = []
    for key in kept:
        # The usual level in the outline; a style without one is a level below the next higher style.
        deeper = 1 + (levels[-1] if levels else 0)
        usual_level = outline_levels[key].most_common(1)[0][0] if key in outline_levels else deeper
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
    page: Sequence[Printed], entries: Sequence[OutlineEntry], running: Set[tuple[str, int]]
) -> Iterator[tuple[Place, int]]:
    """Yield the lines on this page that the file's outline names as headings, with their level."""
    plain = [letters_only(printed.text) for printed in page] if entries else []
    taken: set[int] = set()
    for entry in entries:
        places = [place for place in _matches(plain, letters_only(entry.title)) if taken.isdisjoint(range(*place))]
        if not places:
            continue

        def prominence(place: Place) -> tuple[bool, float]:
            rows = page[place[0]].rows
            return not all(place_of(row) in running for row in rows), max(row.size for row in rows)

        best = max(places, key=prominence)
        taken.update(range(*best))
        yield best, min(entry.level, DEEPEST)


def _matches(lines: Sequence[str], title: str) -> Iterator[Place]:
    """Yield the places where one or more consecutive lines match a title; either may lack the leading number."""
    bare = title.lstrip("0123456789")
    for first, line in enumerate(lines):
        text, behind = line, first + 1
        while text and len(text) < len(title) and title.startswith(text) and behind < len(lines):
            if behind - first > 2 * MOST_ROWS:
                break
            text += lines[behind]
            behind += 1
        if text and (text == title or (len(bare) > 3 and bare in (line, line.lstrip("0123456789")))):
            yield (first, behind if text == title else first + 1)


def letters_only(text: str) -> str:
    """Return the letters and digits of a text, without case and differences of form."""
    return "".join(letter for letter in unicodedata.normalize("NFKC", text) if letter.isalnum()).casefold()


EDGE = 4
"""Number of lines at the top, and at the bottom, of a page that may be its header or footer."""
SET_APART = 1.8
"""Distance that separates headers and footers from the text, as a multiple of the type size; lines of text are
closer together."""
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(slots=True)
class RunningLines:
    """Removes lines that repeat at the edges of pages, which must be passed in order.

    `usual` are the lines at the same place on many pages of the document (`Typography.running`).
    """

    usual: Set[tuple[str, int]]
    _seen: dict[tuple[str, int], tuple[int, list[int]]] = field(default_factory=dict)

    def remove_repeated(self, index: int, page: Sequence[Printed]) -> list[Printed]:
        """Return a page's lines, without lines at its edges that an earlier page has at the same place."""
        texts = _texts(page)
        top, bottom = self._repeated_lines(index, page, texts), self._repeated_lines(index, page, texts[::-1])
        for printed in page:
            self._seen.update((_place(row), (index, _numbers(row))) for row in printed.rows)
        kept = [at for at in texts if at not in {*top, *bottom}]
        # This also removes the empty lines between them and the text.
        return list(page[kept[0] : kept[-1] + 1]) if kept else []

    def running_lines(self, page: Sequence[Printed]) -> list[int]:
        """Return which lines at a page's edges are running headers or footers of the document."""
        texts = _texts(page)
        edges = sorted({*texts[:EDGE], *texts[-EDGE:]})
        return [at for at in edges if all(place_of(row) in self.usual for row in page[at].rows)]

    def _repeated_lines(self, index: int, page: Sequence[Printed], texts: Sequence[int]) -> Sequence[int]:
        """Return the lines of one edge, from the outermost, that repeat lines of an earlier page."""
        repeated = list(takewhile(lambda at: all(self._is_repeated(index, row) for row in page[at].rows), texts[:EDGE]))
        # A line close to the text may be a table's header, which describes the lines below it.
        while repeated and len(repeated) < len(texts) and _are_close(page[repeated[-1]], page[texts[len(repeated)]]):
            repeated.pop()
        return repeated

    def _is_repeated(self, index: int, row: Line) -> bool:
        before, numbers = self._seen.get(_place(row), (index, []))
        apart = index - before
        # Left and right pages may differ, so the page before the previous one counts, too.
        if apart != 1 and (apart != 2 or place_of(row) not in self.usual):
            return False
        same = numbers == _numbers(row)
        return same or (_counts_pages(row.text) and _numbers(row) in _advanced(numbers, apart))


def _texts(page: Sequence[Printed]) -> list[int]:
    """Return the indices of the lines with text."""
    return [at for at, printed in enumerate(page) if printed.rows]


def _counts_pages(text: str) -> bool:
    """Return whether a number in a line may be the page number.

    On a page with "Chapter 4" after one with "Chapter 3", it is not: the line is new information.
    """
    words = len(re.findall(r"[^\W\d_]{2,}", text))
    return not words or PAGE_NUMBER.fullmatch(text.strip()) is not None or words >= WORDS_OF_HEADER


def _advanced(numbers: Sequence[int], pages: int) -> list[list[int]]:
    """Return the variants of `numbers` in which exactly one number, the page number, has advanced by `pages`."""
    return [[number + pages * (at == one) for at, number in enumerate(numbers)] for one in range(len(numbers))]


def _are_close(one: Printed, other: Printed) -> bool:
    rows = [(a, b) for a in one.rows for b in other.rows]
    return any(abs(a.baseline - b.baseline) < SET_APART * max(a.size, b.size) for a, b in rows)


def _place(row: Line) -> tuple[str, int]:
    return _NUMBER.sub("#", row.text), round(row.baseline)


def _numbers(row: Line) -> list[int]:
    return [int(number) for number in _NUMBER.findall(row.text)]
