"""Split plain text and Markdown into blocks: headings, paragraphs, list items, tables and code.

The module first finds the width that the text was wrapped at, if any. In wrapped text a line break means nothing;
elsewhere it may separate entries of a list.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import accumulate, count, pairwise

from localcrag.text.lexicon import CAPITAL, SMALL
from localcrag.text.titles import end_of_front_matter

WIDEST_WRAPPED = 110
"""Characters per line of wrapped text; a text with a line of more than twice as many was not wrapped."""
WIDEST_FULL = 140
"""Characters per line of wide text; it counts as wrapped if most lines are full and one ends in mid-sentence."""
FULL_LINES_SHARE = 0.6
"""Share of the lines of running text that must be full in wide wrapped text."""
FULL_LINE_SHARE = 0.93
"""Share of the width that a full line must exceed, together with the first word of the next line."""
NARROWEST_WRAPPED = 40
"""Characters per line below which a text does not count as wrapped."""
OVERLONG_LINES_SHARE = 0.05
"""Share of the lines that may be longer than the width, such as links and table rows."""

HALF, NEARLY_FULL = 0.5, 0.75
"""Shares of the width that a line needs so that the next line may continue it."""

_LINE_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*\Z")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RECORD = re.compile(
    rf"(?P<named>[^\W_{SMALL}][^:!?]{{0,40}}:[ \t]+\S)"
    r"|(?P<dated>\d{1,4}(?:[-./]\d{1,2}){1,2}\.?(?!\w)|\d{1,2}[:.]\d\d(?!\w))"
)
"""An entry with a label ("Vet clinic: open day and night"), or one that begins with a date or time."""
_BEGINS_TEXT = re.compile(r"[\w\"'“„«(]")
_COMPARED = re.compile(r"=|[-+−±$€£¥]?[ \t]?[.,]?\d")


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line without surrounding white space and quote markers (">"); `text` is empty for a blank line.

    `indent` is the number of columns before the text.
    """

    start: int
    end: int
    text: str
    indent: int


def joins(above: TextLine, line: TextLine, width: int | None) -> bool:
    """Return whether a line continues the line above in a text whose lines are wrapped at `width` characters.

    It does if its first word had no room there, or if it continues a sentence and the line above is long enough.
    """
    if width is None:
        return False
    if _length_with_next_word(above, line) > width:
        return True
    # People who break lines by hand end them early, so a line need not be full to be continued.
    starts_small = line.text[0].islower()
    goes_on = starts_small or not _LINE_SENTENCE_END.search(above.text)
    return goes_on and above.indent + len(above.text) >= (HALF if starts_small else NEARLY_FULL) * width


def are_entries(above: str, line: str) -> bool:
    """Return whether both lines are entries of an unmarked list, such as a phone list or a diary."""
    one, other = _RECORD.match(above), _RECORD.match(line)
    return bool(one and other and one.lastgroup == other.lastgroup)


def split_lines(text: str) -> list[TextLine]:
    """Return the lines of a text in order, including blank ones."""
    lines = []
    position = 0
    every = text.splitlines(keepends=True)
    for number, raw in enumerate(every):
        marks = _marks(raw, every[number - 1] if number else "", every[number + 1] if number + 1 < len(every) else "")
        body = raw[marks:].expandtabs(4) if raw[marks:].startswith("\t") else raw[marks:]
        stripped = raw[marks:].strip()
        begin = position + marks + (len(raw[marks:]) - len(raw[marks:].lstrip())) if stripped else position
        lines.append(TextLine(begin, begin + len(stripped), stripped, len(body) - len(body.lstrip())))
        position += len(raw)
    return lines


def _marks(line: str, above: str, below: str) -> int:
    """Return the number of characters at a line's beginning that mark a quotation; a "greater than" is not a mark."""
    quoted = _QUOTED.match(line)
    if not quoted:
        return 0
    compares = _is_comparison(line)
    in_quotation = any(_QUOTED.match(other) and not _is_comparison(other) for other in (above, below))
    # Before a number, ">" is a quote marker only if a space follows it and a neighbouring line is quoted, too.
    return 0 if compares and (line[quoted.end() - 1] == ">" or not in_quotation) else quoted.end()


def _is_comparison(line: str) -> bool:
    """Return whether a number or "=" follows the quote markers, so that ">" may mean "greater than"."""
    quoted = _QUOTED.match(line)
    return quoted is not None and _COMPARED.match(line, quoted.end()) is not None


def find_width(lines: Sequence[TextLine]) -> int | None:
    """Return the width in characters that a text's lines were wrapped at; None if they were not wrapped."""
    lengths = sorted(line.indent + len(line.text) for line in lines if line.text and not line.text.startswith("|"))
    if not lengths:
        return None
    # A few overlong lines, such as links, must not count as the width.
    widest = lengths[min(len(lengths) - 1, int(len(lengths) * (1 - OVERLONG_LINES_SHARE)))]
    if lengths[-1] > 2 * WIDEST_WRAPPED or not NARROWEST_WRAPPED <= widest <= WIDEST_FULL:
        return None
    return widest if widest <= WIDEST_WRAPPED or _are_full(lines, widest) else None


def _are_full(lines: Sequence[TextLine], width: int) -> bool:
    """Return whether most lines of running text are full: the next line's first word would not have fitted."""
    running = [
        (above, line)
        for above, line in pairwise(lines)
        if _BEGINS_TEXT.match(above.text) and _BEGINS_TEXT.match(line.text)
    ]
    full = sum(_length_with_next_word(above, line) > FULL_LINE_SHARE * width for above, line in running)
    broken = any(not _LINE_SENTENCE_END.search(above.text) for above, _ in running)
    return broken and full >= FULL_LINES_SHARE * len(running)


def _length_with_next_word(above: TextLine, line: TextLine) -> int:
    """Return the length in characters that `above` would have with the first word of `line` appended."""
    return above.indent + len(above.text) + 1 + len(line.text.split(None, 1)[0])


_FENCE = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)\Z")
_FENCE_END = re.compile(r"(?:`{3,}|~{3,})\Z")


def opening_fence(line: str) -> str:
    """Return the mark of the code fence that a line opens; empty if it opens none."""
    found = _FENCE.match(line)
    return (found[1] or found[2]) if found else ""


class Fences:
    """Index of the lines of a text that may close a code fence."""

    def __init__(self, lines: Sequence[TextLine]) -> None:
        self._lines = lines
        ends = [number for number, line in enumerate(lines) if _FENCE_END.match(line.text)]
        self._closing = {mark: [at for at in ends if lines[at].text[0] == mark] for mark in "`~"}
        marks = {mark: [lines[at].text for at in reversed(closing)] for mark, closing in self._closing.items()}
        # For each closing line, the length of the longest closing mark from there on.
        self._longest = {mark: [*accumulate(map(len, some), max)][::-1] for mark, some in marks.items()}

    def closes(self, at: int, fence: str) -> int | None:
        """Return the number of the line that closes the fence opened in line `at`; None if no line does.

        The closing mark must be at least as long as the opening one.
        """
        closing = self._closing[fence[0]]
        first = bisect_right(closing, at)
        # Skip the search if no mark below is long enough: many unclosed fences would make it quadratic.
        found = max(self._longest[fence[0]][first : first + 1], default=0) >= len(fence)
        below = range(first, len(closing)) if found else range(0)
        return next((closing[one] for one in below if self._lines[closing[one]].text.startswith(fence)), None)


CODE_INDENT = 4
"""Columns of indentation from which Markdown treats a line as code."""

HASHES = re.compile(r"(#{1,6})[ \t]+\S")
WIKI_HEADING = re.compile(r"(={2,6})[ \t]*[^=\s].*?[ \t]*\1\Z")
"""A heading of DokuWiki, whose highest level has six marks."""
_CODE_DIRECTIVE = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal|highlight|doctest)::")
"""Beginning of code in reStructuredText."""
ORDERED = re.compile(r"(?:\(?(\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|\((\d{1,3}|[a-z])\)|Step[ \t]+\d+[.:]?)[ \t]+\S", re.I)
BOLD = re.compile(r"(\*\*|__)(?=\S)[^*_]+(?<=\S)\1[:.]?\s*\Z")
INTRODUCTION_END = re.compile(r":[*_\s]*\Z")
"""End of a line that introduces a list or table."""
_BULLET = re.compile(r"(?:[-*+•‣◦▪▫●○■□◆➢✓✔–—])[ \t]+\S")
_STEP = re.compile(r"((?:Step[ \t]+)?\(?)(\d{1,3})([.):]+)[ \t]", re.I)
_LOWER = re.compile(f"[{SMALL}]")
_UPPER = re.compile(f"[{CAPITAL}]")


def is_marked(line: TextLine) -> bool:
    """Return whether a line is a Markdown heading ("#"); in indented code the mark begins a comment."""
    return line.indent < CODE_INDENT and HASHES.match(line.text) is not None


def is_item(line: str) -> bool:
    """Return whether a line begins a list item."""
    return bool(_BULLET.match(line) or ORDERED.match(line)) and not BOLD.match(line)


def is_next_step(step: str, line: str) -> bool:
    """Return whether a line is the step after `step`: the next number, written in the same way."""
    one, other = _STEP.match(step), _STEP.match(line)
    if one is None or other is None:
        return False
    return one.group(1, 3) == other.group(1, 3) and int(one[2]) + 1 == int(other[2])


def is_bare_number(line: str) -> bool:
    """Return whether a line contains no two consecutive letters."""
    return not re.search(r"[^\W\d_]{2}", line)


def is_capitals(line: str) -> bool:
    """Return whether a line has at least three capital letters and no small ones."""
    return len(_UPPER.findall(line)) >= 3 and not _LOWER.search(line)


LONGEST_CELL, MANY_CELLS = 40, 3
"""Maximum characters of a cell, and minimum number of cells, in a table row without bars."""

_RULE = re.compile(r"(?=.*(?:--|==|\|))[|+]?[ \t]*:?[-=]+:?[ \t]*(?:[|+][ \t]*:?[-=]+:?[ \t]*)*[|+]?\Z")
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_CELL_END = re.compile(r"(?<!\\)\|")
_CELLS = re.compile(r"(?:\A|\|)((?:`[^`]*`|\\\||[^|])*)")
"""The cell after each bar; bars within inline code and escaped bars do not separate cells."""
_DIGIT = re.compile(r"\d")


def is_rule(line: str) -> bool:
    """Return whether a line is the rule below a table's header: Markdown's, or a drawn one ("+---+---+")."""
    return _RULE.match(line) is not None


def has_rule_below(line: str, below: str) -> bool:
    """Return whether a line is a table header with a rule below it; both need a bar, but not at their sides."""
    return "|" in line and "|" in below and is_rule(below)


def count_cells(line: str, *, header: bool = False) -> int:
    """Return the number of cells in a table row; 1 if the line is not a row.

    Columns are separated by tabs or at least two spaces. Typed sentences may be, too. So cells must be short, and a
    row other than the header needs a tab, a digit or many cells.
    """
    if " | " in line:
        return line.strip("|").count(" | ") + 1
    cells = _GAP.split(line)
    short = all(len(cell) <= LONGEST_CELL for cell in cells)
    is_row = header or "\t" in line or len(cells) >= MANY_CELLS or _DIGIT.search(line)
    return len(cells) if short and is_row else 1


def split_cells(line: str, *, header: str = "") -> list[str]:
    """Return the cells of a row, without Markdown's bars between them.

    The table's `header` decides whether a leading bar is a border, and how many cells to expect. If a row has more,
    bars within inline code are not separators: authors do not escape them there.
    """
    line = line.strip()
    if "|" not in line:
        return [cell.strip() for cell in _GAP.split(line)]
    closed = line.endswith("|") and not line.endswith(r"\|")
    if line.startswith("|") and (closed or not header or header.lstrip().startswith("|")):
        line = line[1:]
    if closed:
        line = line[:-1]
    # Escaped bars are rare, and this runs for every row: only rows with a backslash need the slower pattern.
    cells = [cell.strip() for cell in (_CELL_END.split(line) if "\\" in line else line.split("|"))]
    if header and len(cells) > _number_of_cells(header):
        cells = [cell.strip() for cell in _CELLS.findall(line)]
    return cells


@lru_cache(maxsize=8)
def _number_of_cells(header: str) -> int:
    """Return the number of cells in a header; cached, because each row of the table needs it."""
    return len(split_cells(header))


def escape_cell(text: str) -> str:
    """Return a text with its bars escaped, for a table row."""
    return _CELL_END.sub(r"\|", text)


def markdown_row(cells: Sequence[str]) -> str:
    """Return a table row with bars, also at both ends so that empty first and last cells are kept."""
    written = (f" {escape_cell(cell)}" if cell else "" for cell in cells)
    return f"|{' |'.join(written)} |"


DEEPEST_MARKED = 6
"""Deepest heading level of Markdown; headings that are recognised without a mark get deeper levels."""
LONGEST_HEADING = 90
"""Maximum characters of a heading; a longer line is a sentence without a full stop."""
MOST_HEADING_WORDS = 12
"""Maximum words of a heading that is recognised by its number, bold type or capitals."""
MOST_PLAIN_WORDS = 7
"""Maximum words of a heading without any mark; the text below it must have more."""

_UNDERLINE = re.compile(r"(=+|-{3,}|~{3,})\s*\Z")
_UNDERLINED = "=-~"
"""Underline characters of headings, highest level first: Markdown's two, and reStructuredText's usual third."""
_NUMBER = re.compile(
    r"(?:§+[ \t]*\d+[a-z]?|(?:section|article|chapter|part|clause|annex|appendix)[ \t]+[\dA-Z]+\b|"
    r"\d{1,2}(?:\.\d{1,2}){0,3}[.)]?|[IVX]{1,5}\.|[A-Z]\.)[ \t:.–—-]*",
    re.IGNORECASE,
)
_NO_HEADING = re.compile(
    r"[{}<>\[\]=`|]|://|[$€£¥][ \t]?\d|\d[.,]\d\d[ \t]*[€$£¥]|[ \t]{2,}\d+[.,]\d\d\Z|(?:\.[ \t]?){4,}"
    r"|[^\W\d]{3}[.!?][ \t]+[^\W\d_]+[ \t]+\w"
)
"""Part of a line that is no heading unless marked: markup, an address, an amount, leader dots, a second sentence."""
_SENTENCE_END = re.compile(r"[.!?…,;。！？，؟।][\"'”’»)\]]*\s*\Z")


class BlockKind(Enum):
    """The kind of a block. HEADER is a table's header, LINE a line that is not part of a paragraph."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    HEADER = "header"
    ROW = "row"
    CODE = "code"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that a file reader found: its position in the page's text, and its level, 1 being the highest.

    Level 0 marks a line that looks like a heading but is not, such as a running header.
    """

    start: int
    end: int
    level: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text: `text[start:end]`, without the white space around it.

    `level` is a heading's level (1 is the highest) or a list item's depth (0 is the outermost). `steps` is True for
    an item of a numbered list, whose order matters.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    steps: bool = False


def split_blocks(text: str, headings: Sequence[Heading] = ()) -> list[Block]:
    """Return the blocks of `text` in order; only white space lies outside them."""
    return list(iter_blocks(text, headings))


def iter_blocks(text: str, headings: Sequence[Heading] = ()) -> Iterator[Block]:
    """Yield the blocks of `text` one by one, for callers that process long texts step by step."""
    return _Parser(text, headings).blocks()


class _Parser:
    """Line-by-line parser with a look-ahead of a few lines."""

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        self._lines = split_lines(text)
        self._width = find_width(self._lines)
        self._known = {heading.start: heading for heading in headings}
        self._text_from = end_of_front_matter(text)
        self._last_step, self._after_last_step, self._last_title = "", 0, ""
        self._fences = Fences(self._lines)
        self._at = 0

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.text:
                self._at += 1
            elif line.start < self._text_from:
                # Each line of front matter stands for itself.
                self._at += 1
                yield Block(BlockKind.LINE, line.start, line.end)
            elif known := self._known_heading(line):
                yield known
            elif fence := self._fence():
                yield self._code(fence)
            elif last := self._literal_end():
                yield self._code_until(last)
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
        """Return the mark of the fence that the current line opens; empty if it opens none."""
        mark = opening_fence(self._text(0))
        # Tildes may also underline a heading.
        return "" if mark.startswith("~") and _underlines(self._text(0), self._text(-1)) else mark

    def _code(self, fence: str) -> Block:
        """Read code up to the closing fence; if there is none, up to the next blank line."""
        last = self._fences.closes(self._at, fence)
        if last is None:
            last = self._at + self._run_length() - 1
        return self._code_until(last)

    def _code_until(self, last: int) -> Block:
        first, self._at = self._at, last + 1
        return Block(BlockKind.CODE, self._lines[first].start, self._lines[last].end)

    def _literal_end(self) -> int:
        """Return the number of the last line of reStructuredText's code that begins here; 0 if none does.

        It begins with its directive, or it is indented below a line that ends with “::”.
        """
        here = self._lines[self._at]
        above = next((self._lines[at] for at in range(self._at - 1, -1, -1) if self._lines[at].text), None)
        if _CODE_DIRECTIVE.match(here.text):
            base = here.indent
        elif above and above.text.endswith("::") and here.indent > above.indent:
            base = above.indent
        else:
            return 0
        last = self._at
        for number in range(self._at + 1, len(self._lines)):
            if self._lines[number].text:
                if self._lines[number].indent <= base:
                    break
                last = number
        return last

    def _run_length(self) -> int:
        """Return the number of lines before the next blank line."""
        return next(ahead for ahead in count(1) if not self._text(ahead))

    def _is_table(self) -> bool:
        here, below = self._text(0), self._text(1)
        if here.startswith("|") or has_rule_below(here, below):
            return True
        # Without bars, the line and the row below its rule must both have several cells.
        first_row = self._text(2) if is_rule(below) else below
        return count_cells(first_row) > 1 and count_cells(here, header=True) > 1

    def _table(self) -> Iterator[Block]:
        first, bars = True, has_rule_below(self._text(0), self._text(1))
        while (line := self._peek(0)) and (
            line.text.startswith("|") or (bars and "|" in line.text) or count_cells(line.text, header=first) > 1
        ):
            if not first and (line.start in self._known or is_marked(line)):
                return
            below = self._peek(1)
            ruled = below is not None and is_rule(below.text)
            end = below.end if ruled and below else line.end
            # In a drawn table any row may have a rule below it; in Markdown only a header has one.
            is_markdown = below is not None and "|" in below.text and not below.text.startswith("+")
            header = (ruled and (first or is_markdown)) or (first and count_cells(self._text(1)) > 1)
            yield Block(BlockKind.HEADER if header else BlockKind.ROW, line.start, end)
            self._at += 2 if ruled else 1
            first = False

    def _heading_level(self) -> int:
        """Return the heading level of the current line; 0 if it is not a heading."""
        line = self._text(0)
        if is_marked(self._lines[self._at]):
            return len(line) - len(line.lstrip("#"))
        if len(line) > LONGEST_HEADING or is_bare_number(line):
            return 0
        if wiki := WIKI_HEADING.match(line):
            return DEEPEST_MARKED + 1 - len(wiki[1])
        if (below := _underlines(self._text(1), line)) and not is_item(line) and not self._text(2).startswith("|"):
            return 1 + _UNDERLINED.index(below[1][0])
        return self._unmarked_level(line)

    def _unmarked_level(self, line: str) -> int:
        """Return the level of a heading without a mark, deeper than all marked ones; 0 if the line is not a heading."""
        if _SENTENCE_END.search(line) or len(line.split()) > MOST_HEADING_WORDS or _NO_HEADING.search(line):
            return 0
        below = self._peek(1)
        if below and below.text and joins(self._lines[self._at], below, self._width) and below.text[0].islower():
            return 0
        alone = not self._text(-1)
        if alone and (number := _NUMBER.match(line)) and self._titles(line[number.end() :], line):
            return DEEPEST_MARKED + 1 + min(2, number[0].strip(" .):\t").count("."))
        if BOLD.match(line) and (alone or not self._text(1)):
            return DEEPEST_MARKED + 4
        if is_capitals(line) and alone and self._following():
            return DEEPEST_MARKED + 1
        return DEEPEST_MARKED + 3 if alone and self._precedes_text(line) else 0

    def _precedes_text(self, line: str) -> bool:
        """Return whether a short line is followed by a blank line and then running text."""
        below = self._following()
        if self._text(1) or below is None or not line[0].isupper() or line.endswith(":"):
            return False
        return len(line.split()) <= MOST_PLAIN_WORDS < len(below.text.split())

    def _titles(self, rest: str, line: str) -> bool:
        """Return whether the text after a number is a title and not a list item."""
        following = self._following()
        if not rest or not rest[0].isupper() or following is None or line.rstrip().endswith(":"):
            return False
        return not ORDERED.match(line) or not self._is_step(line, following)

    def _is_step(self, line: str, following: TextLine) -> bool:
        """Return whether a numbered line is a list item and not a heading: items like it come before or after it."""
        follows = is_next_step(self._last_step, line) and not is_next_step(self._last_title, line)
        follows = follows and not any(map(self._text, range(self._after_last_step - self._at, 0)))
        # A numbered line with items right below it may be the first item of a list, or a clause of a contract with its
        # own items. If the headings so far count up to this line, it is a clause, unless the steps also count up to it.
        over_items = bool(self._text(1) and ORDERED.match(following.text)) and (
            not is_next_step(self._last_title, line) or is_next_step(self._last_step, line)
        )
        in_run = over_items or any(is_next_step(line, self._text(ahead)) for ahead in range(1, self._run_length()))
        # In Markdown, further paragraphs of an item are indented to the column where its text begins.
        content = self._lines[self._at].indent + len(line) - len(re.sub(r"\S+[ \t]+", "", line, count=1))
        goes_on = following.indent >= content and not is_capitals(line)
        return follows or in_run or goes_on or is_next_step(line, following.text)

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
        """Read a list item and the lines that continue it."""
        first = self._lines[self._at]
        self._at += 1
        last = first
        while (line := self._peek(0)) and line.text and self._goes_on(first, last, line):
            last = line
            self._at += 1
        if steps := bool(ORDERED.match(first.text)):
            # Lettered items below a numbered step belong to it, so the step is still the last one.
            lettered = not any(map(str.isdigit, first.text[:3]))
            self._last_step, self._after_last_step = self._last_step if lettered else first.text, self._at
        return Block(BlockKind.ITEM, first.start, last.end, first.indent // 2, steps)

    def _goes_on(self, first: TextLine, above: TextLine, line: TextLine) -> bool:
        """Return whether a line continues the item that begins with `first`."""
        if self._begins_block(line):
            return False
        return line.indent > first.indent or joins(above, line, self._width)

    def _begins_block(self, line: TextLine) -> bool:
        text = line.text
        return bool(
            line.start in self._known or is_marked(line) or opening_fence(text) or text.startswith("|")
        ) or is_item(text)

    def _paragraph(self) -> Iterator[Block]:
        """Read running text up to a blank line or another block; each line that was not wrapped is its own block."""
        groups = [[self._lines[self._at]]]
        self._at += 1
        while (line := self._peek(0)) and line.text and not self._begins_block(line) and not self._is_table():
            above = groups[-1]
            # A wrapped line may begin like an entry by chance. Once a group has several lines it is running text.
            if joins(above[-1], line, self._width) and not (len(above) == 1 and are_entries(above[0].text, line.text)):
                groups[-1].append(line)
            else:
                groups.append([line])
            self._at += 1
        kind = BlockKind.LINE if len(groups) > 1 else BlockKind.PARAGRAPH
        for group in groups:
            yield Block(kind, group[0].start, group[-1].end)


def _underlines(rule: str, title: str) -> re.Match[str] | None:
    """Return the match if `rule` underlines `title`; short tildes, or tildes below a "#" title, begin code."""
    code = rule.startswith("~") and (len(rule) < len(title) or HASHES.match(title))
    return _UNDERLINE.match(rule) if title and not code else None
