"""The lines of a page that text recognition has read, in the order in which they are read.

A recogniser gives pieces of lines at places: a cell of a table each, and the columns of a page mixed. Columns are told
by a gap down the page between long lines; what stands beside each other in a table is short. Uses no OCR library.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from localcrag.backends.readers._paragraphs import SAME_BASELINE, SPACELESS, Cell, Line
from localcrag.records.documents import ScannedLine, ScannedPage

SIZE = 0.78
"""Of a piece's height, the type size: recognisers leave some room around letters."""
ABOUT_USUAL = 0.28
"""Share by which a piece's height may differ from the usual one, with and without letters that go up or down."""
# Multiples of the usual height.
GUTTER = 0.5
PROSE_WIDTH = 7.0
"""What is this wide is a line of a text, and not a table's cell."""
LEAST_LINES = 3
"""Of a column."""
A4_WIDTH = 595.0
"""Points: what a page is taken to be wide that does not say it."""
HYPHEN = re.compile(r"\w[-\u2010]$")


def scanned_lines(page: ScannedPage, width: float = A4_WIDTH) -> list[Line]:
    """Return the lines of a page that is `width` points wide when it is upright, in reading order."""
    if not page.lines:
        return []
    usual = _usual_height(page.lines)
    return [
        _line(piece, width / page.width, usual, page.height - statistics.mean(map(_middle, row)))
        for row in rows_in_order(page.lines)
        for piece in row
    ]


def rows_in_order(pieces: Sequence[ScannedLine]) -> list[list[ScannedLine]]:
    """Return the pieces of a page in rows, column after column where there are columns."""
    return _in_order(pieces, _usual_height(pieces)) if pieces else []


def _line(piece: ScannedLine, scale: float, usual: float, baseline: float) -> Line:
    high = usual if abs(_height(piece) - usual) < ABOUT_USUAL * usual else _height(piece)
    left, right, size = piece.left * scale, piece.right * scale, high * SIZE * scale
    hyphen = HYPHEN.search(piece.text) is not None
    text = piece.text[:-1] if hyphen else piece.text
    share = len(text.split(maxsplit=1)[0]) / len(piece.text)
    return Line(
        text=text,
        left=left,
        right=right,
        baseline=baseline * scale,
        size=size,
        first_word=size if SPACELESS.match(text) else (right - left) * share,
        hyphen=hyphen,
        cells=(Cell(text, left, right),),
        confidence=piece.confidence,
    )


def _in_order(pieces: Sequence[ScannedLine], usual: float) -> list[list[ScannedLine]]:
    gutter = _gutter(pieces, usual)
    if gutter is None:
        return _rows(pieces)
    rows: list[list[ScannedLine]] = []
    beside: list[ScannedLine] = []
    # What crosses the gap (a title, a table over the whole width) parts what stands above it from what is below.
    for piece in sorted(pieces, key=_middle):
        if piece.left < gutter < piece.right:
            rows += [*_columns(beside, gutter, usual), [piece]]
            beside = []
        else:
            beside.append(piece)
    return [*rows, *_columns(beside, gutter, usual)]


def _columns(pieces: Sequence[ScannedLine], gutter: float, usual: float) -> list[list[ScannedLine]]:
    left = [piece for piece in pieces if piece.right <= gutter]
    right = [piece for piece in pieces if piece.left >= gutter]
    if _is_prose(left, usual) and _is_prose(right, usual):
        return [*_in_order(left, usual), *_in_order(right, usual)]
    return _rows(pieces)


def _gutter(pieces: Sequence[ScannedLine], usual: float) -> float | None:
    """Return where a gap runs down between two columns of text; None where there is none."""
    most, found = 0, None
    for at in sorted({piece.left for piece in pieces}):
        gap = at - GUTTER * usual
        left = [piece for piece in pieces if piece.right <= gap]
        right = [piece for piece in pieces if piece.left >= at]
        score = min(len(left), len(right)) - (len(pieces) - len(left) - len(right))
        if score > most and _is_prose(left, usual) and _is_prose(right, usual):
            most, found = score, (gap + at) / 2
    return found


def _is_prose(pieces: Sequence[ScannedLine], usual: float) -> bool:
    wide = sum(piece.right - piece.left > PROSE_WIDTH * usual for piece in pieces)
    return len(pieces) >= LEAST_LINES and wide > len(pieces) / 2


def _rows(pieces: Sequence[ScannedLine]) -> list[list[ScannedLine]]:
    """Put together what stands on one baseline, from left to right."""
    rows: list[list[ScannedLine]] = []
    for piece in sorted(pieces, key=_middle):
        if rows and _middle(piece) - statistics.mean(map(_middle, rows[-1])) < SAME_BASELINE * SIZE * _height(piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]


def _usual_height(pieces: Sequence[ScannedLine]) -> float:
    return statistics.median(map(_height, pieces))


def _height(piece: ScannedLine) -> float:
    return piece.bottom - piece.top


def _middle(piece: ScannedLine) -> float:
    return (piece.top + piece.bottom) / 2
