"""The rules drawn on a PDF page: level and upright lines, and the edges of boxes, as pdfium has them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2

from localcrag.backends.readers._ruled_tables import NO_RULES, Rule, Rules

raw: Any = pypdfium2.raw  # made by a generator, without type hints
STRAIGHT = 0.7
"""Points that a line may lean and still be level or upright."""
SHORTEST = 4.0
"""Points of a rule; what is shorter is part of a letter or a dash."""
MOST_PATHS, MOST_SEGMENTS = 4_000, 20_000
"""Of a page; with more it is a drawing or a map."""
WHITE = 250
"""Of 255: a box filled with that is not seen."""


def rules_of(page: Any) -> Rules:
    """Return the rules on a page, in its own points; none where it is a drawing. The caller holds pdfium's lock."""
    level: list[Rule] = []
    upright: list[Rule] = []
    left = MOST_SEGMENTS
    for number, part in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=1)):
        left -= raw.FPDFPath_CountSegments(part.raw)
        if number >= MOST_PATHS or left < 0:
            return NO_RULES
        if not _is_seen(part.raw):
            continue
        for x0, y0, x1, y1 in _lines(part):
            if abs(y0 - y1) <= STRAIGHT and abs(x0 - x1) >= SHORTEST:
                level.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x0 - x1) <= STRAIGHT and abs(y0 - y1) >= SHORTEST:
                upright.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    return Rules(tuple(level), tuple(upright))


def _is_seen(path: Any) -> bool:
    """Whether a path is drawn: with a line around it, or filled with a colour that is not white."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if not raw.FPDFPath_GetDrawMode(path, fill, stroke):
        return False
    if stroke.value:
        return True
    colour = [ctypes.c_uint() for _ in range(4)]
    known = raw.FPDFPageObj_GetFillColor(path, *colour)
    return bool(fill.value) and not (known and all(one.value >= WHITE for one in colour[:3]))


def _lines(part: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yield the straight lines of a path, from where to where, in the page's points."""
    matrix = part.get_matrix()
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for number in range(raw.FPDFPath_CountSegments(part.raw)):
        segment = raw.FPDFPath_GetPathSegment(part.raw, number)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        here = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = here
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield (*before, *here)
        if raw.FPDFPathSegment_GetClose(segment):
            yield (*here, *start)
        before = here
