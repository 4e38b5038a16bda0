"""The lines of one PDF page: the text and place of each, from pdfium's list of characters."""

from __future__ import annotations

import ctypes
import math
import re
import statistics
import sys
import unicodedata
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import pypdfium2

from localcrag.documents.readers.pdf import paragraphs
from localcrag.documents.readers.pdf.paragraphs import Line, LineCell
from localcrag.documents.readers.pdf.tables import MIDDLE_HEIGHT, NO_RULES, PageRules

raw: Any = pypdfium2.raw  # made by a generator, without type hints
# pdfium replaces a hyphen at the end of a line by one of these, without a newline after it.
HYPHENS = "\x02\ufffe"
WORD = re.compile(r"[^\s\0]+")
# Share of the visible characters above which the text is a jumble of codes, so that the page is read like a picture.
UNKNOWN_SHARE = 0.5
# Characters that fonts return instead of letters: private-use characters, and code points that are not characters.
NO_LETTER = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
# Share of the visible characters. It is this high because dots in a symbol font outnumber the letters in a table of
# contents; a page number next to unreadable lettering does not count as text.
NO_LETTER_SHARE = 0.9
SMALLEST = 1.0  # points; some files give no size
DOWNWARDS = -0.9  # sine of the angle: straight down or nearly so; at other angles the file's order is correct
FONT_NAME_BYTES = 128  # pdfium cuts off longer names, whose end tells bold from regular; few names are longer
FIXED_PITCH = 1  # ISO 32000, table 121: font flags
CURRENCIES = frozenset("$€£¥")
LINE_END = re.compile(f"[\r\n{HYPHENS}]")


def page_lines(textpage: Any, rules: PageRules = NO_RULES) -> list[Line]:
    """Return the page's lines in the order of the file; nothing if its fonts do not map to letters.

    `textpage` is a pypdfium2.PdfTextPage. Text on two sides of an upright rule becomes two cells of a line. Raises
    PdfiumError. The caller must hold pdfium's lock.
    """
    handle = textpage.raw
    count = textpage.count_chars()
    text = "".join(character(handle, i) for i in range(count))
    unknown = sum(raw.FPDFText_HasUnicodeMapError(handle, i) == 1 for i in range(count))
    if _is_unreadable("".join(text.split()), unknown):
        return []
    lines, start = [], 0
    for match in [*LINE_END.finditer(text), None]:
        end = match.start() if match else count
        words = [(start + word.start(), start + word.end()) for word in WORD.finditer(text[start:end])]
        if words:
            lines.append(_line(handle, text, words, hyphen=match is not None and match[0] in HYPHENS, rules=rules))
        start = end + 1
    return _in_order(lines)


def character(handle: Any, index: int) -> str:
    """Return a character of a text page, or U+FFFD if the font gives a code beyond Unicode."""
    code = raw.FPDFText_GetUnicode(handle, index)
    return chr(code) if code <= sys.maxunicode else "\ufffd"


def _is_unreadable(visible: str, unknown: int) -> bool:
    """Return whether a page's visible characters mean nothing, so that the page must be read like a picture.

    `unknown` is the number of characters that pdfium guessed.
    """
    letters = _decode_utf16(visible)
    return unknown > UNKNOWN_SHARE * len(visible) or len(NO_LETTER.findall(letters)) > NO_LETTER_SHARE * len(letters)


def _in_order(lines: list[Line]) -> list[Line]:
    """Sort lines that run down the page, as on sheets turned to the right, because pdfium mixes up their order."""
    ordered: list[Line] = []
    for downwards, group in groupby(lines, key=lambda line: math.sin(line.angle) < DOWNWARDS):
        run = list(group)
        ordered += sorted(run, key=lambda line: (-line.baseline, line.left)) if downwards else run
    return ordered


def _line(handle: Any, text: str, words: Sequence[tuple[int, int]], *, hyphen: bool, rules: PageRules) -> Line:
    angle = -raw.FPDFText_GetCharAngle(handle, words[0][0])  # pdfium counts clockwise
    strings = [_word(handle, text, start, end) for start, end in words]
    sides = [_sides(handle, start, end - 1, angle) for start, end in words]
    if _right_to_left("".join(strings)):
        sides = [(-right, -left) for left, right in sides]
    size = max(statistics.median(_size(handle, start) for start, _ in words), SMALLEST)
    baseline = _baseline(handle, words[-1][0], angle)
    height = baseline + MIDDLE_HEIGHT * size
    parted = [not angle and rules.parts(left[1], right[0], height) for left, right in pairwise(sides)]
    cells = _cells(strings, sides, size, parted)
    content = "  ".join(cell.text for cell in cells)
    fonts = {_font(handle, start) for start, _ in (words[0], words[-1])}
    return Line(
        text=content,
        left=sides[0][0],
        right=sides[-1][1],
        baseline=baseline,
        size=size,
        first_word=size if paragraphs.SPACELESS.match(content) else sides[0][1] - sides[0][0],
        angle=angle,
        font=next(iter(fonts))[0] if len(fonts) == 1 else "",
        monospaced=all(fixed for _, fixed in fonts),
        hyphen=hyphen,
        tabular=len(cells) > 1,
        cells=cells,
    )


def _cells(
    words: Sequence[str], sides: Sequence[tuple[float, float]], size: float, parted: Sequence[bool]
) -> tuple[LineCell, ...]:
    """Return a line's words as cells, split at gaps as wide as those between columns, and at rules (`parted`)."""
    gaps = (right[0] - left[1] > paragraphs.COLUMN_GAP * size for left, right in pairwise(sides))
    wide = [False, *(gap or rule for gap, rule in zip(gaps, parted, strict=True))]
    for number, word in enumerate(words):
        # The gap behind a bullet or an item's number does not separate columns.
        if number == 1 and paragraphs.is_marker(words[0]) and not parted[0]:
            wide[number] = False
        # In accounts, the currency sign is at the left edge of its column.
        if word in CURRENCIES and any(wide[number + 1 : number + 2]):
            wide[number], wide[number + 1] = number > 0, False
    starts = [0, *(number for number in range(1, len(words)) if wide[number]), len(words)]
    return tuple(
        LineCell(" ".join(words[first:behind]), sides[first][0], sides[behind - 1][1])
        for first, behind in pairwise(starts)
    )


def _word(handle: Any, text: str, start: int, end: int) -> str:
    """Return a word, with a space before any superscript in it."""
    word = _decode_utf16(text[start:end])
    if len(word) != end - start or not paragraphs.MAY_HAVE_MARK.match(word):
        return word
    # Punctuation may follow a superscript, as in "10⁶,".
    last = end - 1
    while last > start and text[last] in ".,;:":
        last -= 1
    # A footnote begins with its mark, so the raised characters may come first.
    base, raised = (start, last) if _is_raised(handle, start, last) else (last, start)
    if not _is_raised(handle, base, raised):
        return word
    places = [place for place in range(start, last + 1) if _is_raised(handle, base, place)]
    first, behind = places[0], places[-1] + 1
    mark = text[first:behind]
    if behind - first != len(places) or not paragraphs.MARK.fullmatch(mark) or (first > start and behind <= last):
        return word
    return paragraphs.join_superscript(text[start:first], mark) + text[behind:end]


def _is_raised(handle: Any, base: int, place: int) -> bool:
    """Return whether a character is smaller and higher than another."""
    size = _size(handle, base)
    if _size(handle, place) > paragraphs.SMALLER * size:
        return False
    angle = -raw.FPDFText_GetCharAngle(handle, base)
    return _baseline(handle, place, angle) - _baseline(handle, base, angle) > paragraphs.HIGHER * size


def _decode_utf16(codes: str) -> str:
    # If wide characters have 16 bits (Windows), pdfium counts the rarer characters as two halves.
    return codes.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _sides(handle: Any, first: int, last: int, angle: float) -> tuple[float, float]:
    """Return the positions where a word begins and ends, in points along the reading direction."""
    across: list[float] = []
    box = raw.FS_RECTF()
    for index in {first, last}:
        raw.FPDFText_GetLooseCharBox(handle, index, box)
        across += [_turned(x, y, angle)[0] for x in (box.left, box.right) for y in (box.bottom, box.top)]
    return min(across), max(across)


def _baseline(handle: Any, index: int, angle: float) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(handle, index, x, y)
    return _turned(x.value, y.value, angle)[1]


def _size(handle: Any, index: int) -> float:
    """Return the displayed type size: many programs set a size of 1 and scale it."""
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(handle, index, matrix)
    return float(raw.FPDFText_GetFontSize(handle, index) * math.hypot(matrix.c, matrix.d))


def _font(handle: Any, index: int) -> tuple[str, bool]:
    """Return the name of a font, and whether all its letters have the same width."""
    flags = ctypes.c_int()
    name = ctypes.create_string_buffer(FONT_NAME_BYTES)
    raw.FPDFText_GetFontInfo(handle, index, name, FONT_NAME_BYTES, flags)
    return name.value.decode("utf-8", "replace"), bool(flags.value & FIXED_PITCH)


def _turned(x: float, y: float, angle: float) -> tuple[float, float]:
    """Return the position of a point after text at `angle` (radians, counter-clockwise) is turned level."""
    if not angle:
        return x, y
    return x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)


def _right_to_left(text: str) -> bool:
    letter = next((character for character in text if character.isalpha()), " ")
    return unicodedata.bidirectional(letter) in ("R", "AL")
