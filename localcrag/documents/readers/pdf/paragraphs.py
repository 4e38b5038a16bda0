"""Compose the lines of a PDF page into paragraphs, list items and table rows.

Of superscripts, exponents stay attached to their number; footnote marks do not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

SMALLER, HIGHER = 0.85, 0.15
"""Multiples of the preceding word's size: maximum size of a superscript, and minimum distance above the baseline."""
MAY_HAVE_MARK = re.compile(r"\S.*[\d)]|\d.*\S")
"""Words that may contain a superscript."""
MARK = re.compile(r"[-−–+]?\d{1,3}(?:,\d{1,2}){0,4}|\(\d{1,2}\)|\([a-z]\)")
"""A superscript that would change its meaning if it were written directly after the preceding letters."""

_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_EXPONENT = re.compile(r"[-−–+]?\d{1,3}")
_TAKES_EXPONENT = re.compile(r"(?:.*[^\d.,])?10|(?:.*[^\w])?(?:[a-zA-Zα-ωΑ-Ω]|[kcdmnµμ]m|ft|in|yd|mi)")
"""Words that take an exponent: ten, a variable, or a unit of length."""


def join_superscript(word: str, mark: str) -> str:
    """Return a word joined with the superscript after it: 10⁶ and m², but 1,234 ¹ and revenue ¹."""
    if _EXPONENT.fullmatch(mark) and _TAKES_EXPONENT.fullmatch(word):
        return word + mark.translate(_RAISED)
    superscript = mark if mark.startswith("(") else mark.translate(_RAISED)
    return f"{word} {superscript}" if word else f"{superscript} "


@dataclass(frozen=True, slots=True)
class LineCell:
    """The text between two wide gaps of a line, or all of its text."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run of text on one baseline.

    Lengths are in points; left and right follow the reading direction, baselines count upwards. `size` is the type size
    as displayed, `first_word` the first word's width. `hyphen` tells whether a hyphen was removed from its end,
    `tabular` whether gaps like those between columns separate its `cells`. `font` is empty if the line begins in one
    font and ends in another; `monospaced` marks typewriter fonts. `confidence` comes from text recognition; None if the
    file itself contains the text.
    """

    text: str
    left: float
    right: float
    baseline: float
    size: float
    first_word: float
    angle: float = 0.0
    font: str = ""
    monospaced: bool = False
    hyphen: bool = False
    tabular: bool = False
    cells: tuple[LineCell, ...] = ()
    confidence: float | None = None


# Multiples of the type size, unless stated otherwise; found by trial on some 100 PDFs of all kinds.
COLUMN_GAP = 1.7  # wider than the spaces of justified text
WORD_GAP = 0.12  # maximum distance of a superscript from its word
INDENT = 0.8
RAGGED = 0.5  # space that hyphenation and rounding leave on a full line
PROSE = 20  # a line of this length is part of a sentence; labels and cells are shorter
SAME_BASELINE = 0.5  # maximum distance of super- and subscripts
LEADING = (0.8, 3.2)  # from solid to double spacing
DEFAULT_LEADING = 1.3  # for pages with too few lines to tell
LOOSE_LEADING = 1.25  # times the usual line distance; a wider gap separates paragraphs
SAME_SIZE = 0.12  # share by which the lines of one paragraph may differ in size
PARALLEL = 0.02  # radians, about one degree

BULLET = re.compile(r"[•‣▪▫■□◦●○◆◇➢➤✓✔\uf0a7\uf0b7\uf0d8\uf0fc]")
NUMBERED = re.compile(r"([-–—*·§]|\(?(\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\d{1,2}(\.\d{1,2}){1,4}\.?)(?=\s|$)")
SENTENCE_END = re.compile(r"[.!?:;…。！？]['\"’”»)\]]*$")
PLAIN_HYPHEN = re.compile(r"\w[-\u2010]$")
# Scripts that are written without spaces between words.
SPACELESS = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True, slots=True)
class Printed:
    """A line of composed text, with the rows that form it; an empty line has none."""

    text: str
    rows: tuple[Line, ...]


def composed(rows: Sequence[Line]) -> list[Printed]:
    """Return the lines of the composed text in order, each with the rows that are in it.

    A paragraph is one line, with an empty line before and behind it. Items and rows have lines of their own.
    """
    spelled = set(re.findall(r"\w+-\w+", " ".join(row.text for row in rows)))
    found: list[tuple[list[str], list[Line]]] = [([], [])]
    previous: Line | None = None
    for block in _blocks(rows):
        between = _between_blocks(previous, block[0], spelled) if previous is not None else ""
        for separator, row in zip([between, *_separators(block, spelled)], block, strict=True):
            before, *others = separator.split("\n")
            found[-1][0].append(before)
            found += [([other], []) for other in others]
            found[-1][0].append(row.text)
            found[-1][1].append(row)
        previous = block[-1]
    if previous is not None and previous.hyphen:
        found[-1][0].append("-")
    return [Printed("".join(parts), tuple(own_rows)) for parts, own_rows in found]


def join_rows(lines: Sequence[Line]) -> list[Line]:
    """Join lines on the same baseline: words with their superscripts, and the cells of a table row."""
    rows: list[Line] = []
    for line in lines:
        if rows and _same_row(rows[-1], line):
            rows[-1] = _merge_lines(rows[-1], line)
        else:
            rows.append(line)
    return rows


def _same_row(a: Line, b: Line) -> bool:
    """Return whether `b` continues `a` on the right, on about the same baseline."""
    size = max(a.size, b.size)
    level = abs(a.baseline - b.baseline) < SAME_BASELINE * size
    return level and b.left > a.right - SAME_BASELINE * size and parallel(a, b)


def _merge_lines(a: Line, b: Line) -> Line:
    main = a if len(a.text) >= len(b.text) else b
    gap = (b.left - a.right) / max(a.size, b.size)
    wide = gap > COLUMN_GAP
    space = "-" if a.hyphen else "  " if wide else " " if gap > WORD_GAP else ""
    if not space and MARK.fullmatch(b.text) and b.size < SMALLER * a.size and b.baseline > a.baseline + HIGHER * a.size:
        word = a.text.rsplit(" ", 1)[-1]
        b = replace(b, text=join_superscript(word, b.text)[len(word) :])
        b = replace(b, cells=(LineCell(b.text, b.left, b.right),))
    cells = (*a.cells, *b.cells) if wide and a.cells and b.cells else _join_cells(a, b, space)
    return replace(
        main,
        text=a.text + space + b.text,
        left=a.left,
        right=max(a.right, b.right),
        first_word=a.first_word,
        hyphen=b.hyphen,
        tabular=a.tabular or b.tabular or wide,
        cells=cells,
    )


def _join_cells(a: Line, b: Line, space: str) -> tuple[LineCell, ...]:
    """Return the cells of two lines in one row, the last cell of `a` joined with the first cell of `b`."""
    if not a.cells or not b.cells:
        return ()
    last, first = a.cells[-1], b.cells[0]
    return (*a.cells[:-1], LineCell(last.text + space + first.text, last.left, first.right), *b.cells[1:])


def _blocks(rows: Sequence[Line]) -> list[list[Line]]:
    """Split rows where the size changes, where a gap is wider than the page's usual one, and where a column ends."""
    usual = _usual_leading(rows)
    blocks: list[list[Line]] = []
    for row in rows:
        leading = _leading(blocks[-1][-1], row) if blocks else None
        if leading is not None and leading <= usual * LOOSE_LEADING:
            blocks[-1].append(row)
        else:
            blocks.append([row])
    return blocks


def _leading(a: Line, b: Line) -> float | None:
    """Return the distance from `a` down to `b` in type sizes, or None if they cannot be lines of one paragraph."""
    if not parallel(a, b) or not _same_size(a, b) or min(a.right, b.right) <= max(a.left, b.left):
        return None
    leading = (a.baseline - b.baseline) / max(a.size, b.size)
    return leading if LEADING[0] < leading < LEADING[1] else None


def _usual_leading(rows: Sequence[Line]) -> float:
    """Return the page's usual line distance (the lower third by amount of text); gaps between paragraphs are wider."""
    found = sorted((x, len(b.text)) for a, b in pairwise(rows) if (x := _leading(a, b)) is not None)
    left = sum(weight for _, weight in found) / 3
    for leading, weight in found:
        left -= weight
        if left <= 0:
            return leading
    return DEFAULT_LEADING


def _separators(block: Sequence[Line], spelled: set[str]) -> list[str]:
    """Return the separators between the rows of a block."""
    edge = max(row.right for row in block)
    separators = []
    in_item = _opens_item(block[0])
    for a, b in pairwise(block):
        separator = _break(a, b, edge, in_item=in_item)
        if separator:
            in_item = _opens_item(b)
            separator = "-" * a.hyphen + separator
        separators.append(separator or _line_separator(a, b, spelled))
    return separators


def _break(a: Line, b: Line, edge: float, *, in_item: bool) -> str:
    """Return the newlines between two rows of a block; none if the second row continues the first one's sentence."""
    ended = SENTENCE_END.search(a.text) is not None
    if a.tabular or b.tabular or BULLET.match(b.text) or (NUMBERED.match(b.text) and (in_item or ended)):
        return "\n"
    if a.monospaced and b.monospaced and a.right - a.left < PROSE * a.size:
        return "\n"  # This is probably program code.
    opens_item = _opens_item(a)
    indented = b.left - a.left > INDENT * a.size and not opens_item and not _centred(a, b)
    outdented = in_item and not opens_item and a.left - b.left > INDENT * a.size
    short = a.right + b.first_word < edge - RAGGED * a.size
    other_font = a.font and b.font and a.font != b.font
    if (indented or short or other_font) and ended:
        return "\n\n"
    return "\n" if outdented or short else ""


def _between_blocks(a: Line, b: Line, spelled: set[str]) -> str:
    """Return the separator between two blocks; no newline if a sentence continues in the next column or below a gap."""
    alike = parallel(a, b) and _same_size(a, b) and not (a.tabular or b.tabular)
    goes_on = b.text[:1].islower() and not SENTENCE_END.search(a.text)
    if alike and goes_on and (b.baseline > a.baseline or a.right - a.left > PROSE * a.size):
        return _line_separator(a, b, spelled)
    return "-" * a.hyphen + ("\n" if a.tabular and b.tabular else "\n\n")


def _line_separator(a: Line, b: Line, spelled: set[str]) -> str:
    """Return the separator between two lines of one sentence: a hyphen, a space or nothing."""
    if a.hyphen:
        left, right = re.search(r"\w*$", a.text), re.match(r"\w*-?", b.text)
        compound = f"{left[0] if left else ''}-{right[0] if right else ''}"
        # A compound that is followed by another hyphen (touch-and-go), or spelled with a hyphen elsewhere, keeps its
        # hyphen.
        return "" if b.text[:1].islower() and compound not in spelled and compound[-1] != "-" else "-"
    spaceless = SPACELESS.match(a.text[-1:]) and SPACELESS.match(b.text[:1])
    return "" if spaceless or PLAIN_HYPHEN.search(a.text) else " "


def is_marker(word: str) -> bool:
    """Return whether a word is only a bullet or an item's number."""
    return BULLET.fullmatch(word) is not None or NUMBERED.fullmatch(word) is not None


def _opens_item(line: Line) -> bool:
    return BULLET.match(line.text) is not None or NUMBERED.match(line.text) is not None


def parallel(a: Line, b: Line) -> bool:
    """Return whether two lines run in the same direction."""
    return abs(math.remainder(a.angle - b.angle, math.tau)) < PARALLEL


def _same_size(a: Line, b: Line) -> bool:
    return abs(a.size - b.size) < SAME_SIZE * max(a.size, b.size)


def _centred(a: Line, b: Line) -> bool:
    return abs((a.left + a.right) - (b.left + b.right)) < INDENT * a.size
