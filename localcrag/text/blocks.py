"""Blocks: headings, paragraphs, list items, tables and code in a plain text, each with its place.

A sentence means what its heading, its table's header or the list that it is in says. What a reader of files knows of
headings by other means (type size, markup) is handed in; all else shows in the text itself: Markdown's marks, numbers,
bullets, columns, capital letters, blank lines. Knows no documents, tokens or scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count

from localcrag.text.fences import Fences, fence_of
from localcrag.text.line_marks import BOLD, HASHES, ORDERED, counts_on, is_bare_number, is_capitals, is_item, is_marked
from localcrag.text.lines import TextLine, are_records, lines_of, wrapped_at
from localcrag.text.table_lines import cells_in, has_rule_below, is_rule
from localcrag.text.titles import end_of_front_matter

DEEPEST_MARKED = 6
"""Markdown has six levels of headings; what looks like one without a mark is below them, in the order of `Heading`."""
LONGEST_HEADING = 90
"""Characters; what is longer is a sentence without a full stop."""
MOST_HEADING_WORDS = 12
MOST_PLAIN_WORDS = 7
"""Of a heading without any mark; the text below it has more."""

_UNDERLINE = re.compile(r"(=+|-{3,}|~{3,})\s*\Z")
_UNDERLINED = "=-~"
"""With what headings are underlined, the highest first: Markdown's two, and reStructuredText's usual third."""
_NUMBER = re.compile(
    r"(?:§+[ \t]*\d+[a-z]?|(?:section|article|chapter|part|clause|annex|appendix)[ \t]+[\dA-Z]+\b|"
    r"\d{1,2}(?:\.\d{1,2}){0,3}[.)]?|[IVX]{1,5}\.|[A-Z]\.)[ \t:.–—-]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…,;。！？，؟।][\"'”’»)\]]*\s*\Z")


class BlockKind(Enum):
    """What a block is. A HEADER is the head of a table, LINE a line that means something by itself."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    HEADER = "header"
    ROW = "row"
    CODE = "code"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that a reader of files knows of: its place in the page's text, and its level, 1 the highest.

    With level 0 it is known to be none: the header that stands on every page.
    """

    start: int
    end: int
    level: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text: `text[start:end]`, without the white space around it.

    `level` is a heading's (1 the highest), or how deep a list item lies within lists (0 the outermost). `steps` says
    of a list item that the list is numbered: its order matters.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    steps: bool = False


def blocks_of(text: str, headings: Sequence[Heading] = ()) -> list[Block]:
    """Return the blocks of `text` in order; nothing but white space is outside of them."""
    return list(each_block(text, headings))


def each_block(text: str, headings: Sequence[Heading] = ()) -> Iterator[Block]:
    """Yield the blocks of `text` one by one, for texts that take long."""
    return _Parser(text, headings).blocks()


class _Parser:
    """Reads a text line by line, looking a line or two ahead."""

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        self._lines = lines_of(text)
        self._width = wrapped_at(self._lines)
        self._known = {heading.start: heading for heading in headings}
        self._text_from = end_of_front_matter(text)
        self._last_step, self._behind_step, self._last_title = "", 0, ""
        self._fences = Fences(self._lines)
        self._at = 0

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.text:
                self._at += 1
            elif line.start < self._text_from:
                self._at += 1
                yield Block(BlockKind.LINE, line.start, line.end)
            elif known := self._known_heading(line):
                yield known
            elif fence := self._fence():
                yield self._code(fence)
            elif self._is_table():
                yield from self._table()
            elif level := self._heading_level():
                yield self._heading(level)
            elif is_item(line.text):
                yield self._item()
            else:
                yield from self._paragraph()

    def _peek(self, ahead: int) -> TextLine | None:
        at = self._at + ahead
        return self._lines[at] if 0 <= at < len(self._lines) else None

    def _text(self, ahead: int) -> str:
        line = self._peek(ahead)
        return line.text if line else ""

    def _known_heading(self, line: TextLine) -> Block | None:
        found = self._known.get(line.start)
        if found is None:
            return None
        while self._at < len(self._lines) and self._lines[self._at].start < found.end:
            self._at += 1
        return Block(BlockKind.HEADING if found.level else BlockKind.LINE, found.start, found.end, found.level)

    def _fence(self) -> str:
        """Return the mark of the fence that the line opens, empty where it opens none."""
        mark = fence_of(self._text(0))
        return "" if mark.startswith("~") and _underlines(self._text(0), self._text(-1)) else mark

    def _code(self, fence: str) -> Block:
        """Read up to the closing fence, which is as long at least; where there is none, up to the next blank line."""
        last = self._fences.closes(self._at, fence)
        if last is None:
            last = self._at + self._run_length() - 1
        first, self._at = self._at, last + 1
        return Block(BlockKind.CODE, self._lines[first].start, self._lines[last].end)

    def _run_length(self) -> int:
        """Return the number of lines up to the next blank one."""
        return next(ahead for ahead in count(1) if not self._text(ahead))

    def _is_table(self) -> bool:
        here, below = self._text(0), self._text(1)
        if here.startswith("|") or has_rule_below(here, below):
            return True
        first_row = self._text(2) if is_rule(below) else below
        return cells_in(first_row) > 1 and cells_in(here, header=True) > 1

    def _table(self) -> Iterator[Block]:
        first, bars = True, has_rule_below(self._text(0), self._text(1))
        while (line := self._peek(0)) and (
            line.text.startswith("|") or (bars and "|" in line.text) or cells_in(line.text, header=first) > 1
        ):
            if not first and (line.start in self._known or is_marked(line)):
                return
            below = self._peek(1)
            ruled = below is not None and is_rule(below.text)
            end = below.end if ruled and below else line.end
            # In a table drawn with lines, any row may have one below it; in Markdown, a header alone.
            of_markdown = below is not None and "|" in below.text and not below.text.startswith("+")
            header = (ruled and (first or of_markdown)) or (first and cells_in(self._text(1)) > 1)
            yield Block(BlockKind.HEADER if header else BlockKind.ROW, line.start, end)
            self._at += 2 if ruled else 1
            first = False

    def _heading_level(self) -> int:
        """Return the level of the heading that the line is, 0 where it is none."""
        line = self._text(0)
        if is_marked(self._lines[self._at]):
            return len(line) - len(line.lstrip("#"))
        if len(line) > LONGEST_HEADING or is_bare_number(line):
            return 0
        if (below := _underlines(self._text(1), line)) and not is_item(line) and not self._text(2).startswith("|"):
            return 1 + _UNDERLINED.index(below[1][0])
        return self._unmarked_level(line)

    def _unmarked_level(self, line: str) -> int:
        """Return the level of what looks like a heading without any mark, below all marked ones."""
        if _SENTENCE_END.search(line) or len(line.split()) > MOST_HEADING_WORDS:
            return 0
        alone = not self._text(-1)
        if alone and (number := _NUMBER.match(line)) and self._titles(line[number.end() :], line):
            return DEEPEST_MARKED + 1 + min(2, number[0].strip(" .):\t").count("."))
        if BOLD.match(line) and (alone or not self._text(1)):
            return DEEPEST_MARKED + 4
        if is_capitals(line) and alone and self._following():
            return DEEPEST_MARKED + 1
        return DEEPEST_MARKED + 3 if alone and self._stands_over_text(line) else 0

    def _stands_over_text(self, line: str) -> bool:
        """Whether a short line between blank ones has running text below it."""
        below = self._following()
        return bool(
            not self._text(1)
            and below
            and line[0].isupper()
            and len(line.split()) <= MOST_PLAIN_WORDS
            and not line.endswith(":")
            and len(below.text.split()) > MOST_PLAIN_WORDS
        )

    def _titles(self, rest: str, line: str) -> bool:
        """Whether what stands behind a number is a title, and not an item of a list."""
        following = self._following()
        if not rest or not rest[0].isupper() or following is None or line.rstrip().endswith(":"):
            return False
        return not ORDERED.match(line) or not self._is_step(line, following)

    def _is_step(self, line: str, following: TextLine) -> bool:
        """Whether what is numbered like an item is one, and no heading: others of its kind stand before or below it."""
        follows = counts_on(self._last_step, line) and not counts_on(self._last_title, line)
        follows = follows and not any(map(self._text, range(self._behind_step - self._at, 0)))
        # The first one, over several lines perhaps, and the next without a blank line in between.
        # The next clause of a contract has items right below it, too, and so has the next step of a procedure.
        over_items = bool(self._text(1) and ORDERED.match(following.text)) and (
            not counts_on(self._last_title, line) or counts_on(self._last_step, line)
        )
        in_run = over_items or any(counts_on(line, self._text(ahead)) for ahead in range(1, self._run_length()))
        # In Markdown, an item's further paragraphs begin where its own text does.
        content = self._lines[self._at].indent + len(line) - len(re.sub(r"\S+[ \t]+", "", line, count=1))
        goes_on = following.indent >= content and not is_capitals(line)
        return follows or in_run or goes_on or counts_on(line, following.text)

    def _following(self) -> TextLine | None:
        """Return the next line that is not blank."""
        below = range(self._at + 1, len(self._lines))
        return next((self._lines[number] for number in below if self._lines[number].text), None)

    def _heading(self, level: int) -> Block:
        line = self._lines[self._at]
        underlined = not HASHES.match(line.text) and _UNDERLINE.match(self._text(1)) and level <= len(_UNDERLINED)
        end = self._lines[self._at + 1].end if underlined else line.end
        self._last_title, self._last_step = (line.text if ORDERED.match(line.text) else self._last_title), ""
        self._at += 2 if underlined else 1
        return Block(BlockKind.HEADING, line.start, end, level)

    def _item(self) -> Block:
        """Read a list item with the lines that go on with it."""
        first = self._lines[self._at]
        self._at += 1
        last = first
        while (line := self._peek(0)) and line.text and self._goes_on(first, last, line):
            last = line
            self._at += 1
        if steps := bool(ORDERED.match(first.text)):
            # Lettered items below a step are of that step.
            lettered = not any(map(str.isdigit, first.text[:3]))
            self._last_step, self._behind_step = self._last_step if lettered else first.text, self._at
        return Block(BlockKind.ITEM, first.start, last.end, first.indent // 2, steps)

    def _goes_on(self, first: TextLine, above: TextLine, line: TextLine) -> bool:
        """Whether a line is of the item that begins with `first`."""
        if self._begins_block(line):
            return False
        return line.indent > first.indent or self._width.joins(above, line)

    def _begins_block(self, line: TextLine) -> bool:
        text = line.text
        return bool(line.start in self._known or is_marked(line) or fence_of(text) or text.startswith("|")) or is_item(
            text
        )

    def _paragraph(self) -> Iterator[Block]:
        """Read running text up to a blank line or another block; lines that are not wrapped are lines of their own."""
        groups = [[self._lines[self._at]]]
        self._at += 1
        while (line := self._peek(0)) and line.text and not self._begins_block(line) and not self._is_table():
            above = groups[-1]
            # Two lines of one entry may begin like entries, by chance: what went on already is running text.
            if self._width.joins(above[-1], line) and not (len(above) == 1 and are_records(above[0].text, line.text)):
                groups[-1].append(line)
            else:
                groups.append([line])
            self._at += 1
        kind = BlockKind.LINE if len(groups) > 1 else BlockKind.PARAGRAPH
        for group in groups:
            yield Block(kind, group[0].start, group[-1].end)


def _underlines(rule: str, title: str) -> re.Match[str] | None:
    """Return the underline that a line is of a title; tildes that are shorter, or below a marked title, begin code."""
    code = rule.startswith("~") and (len(rule) < len(title) or HASHES.match(title))
    return _UNDERLINE.match(rule) if title and not code else None
