"""Lines of a plain text, and whether it was wrapped at a width: whether a line's end means anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from localcrag.text.letters import SMALL

WIDEST_WRAPPED = 110
"""Characters; in a text with much longer lines no line was broken by a width."""
WIDEST_FULL = 140
"""Characters; a text with lines up to these was wrapped if most are full, and one breaks off within a sentence."""
MOSTLY = 0.6
FULL = 0.93
"""Share of the width that a line has at least, together with the first word of the one below."""
NARROWEST_WRAPPED = 40
FEW = 0.05
"""Share of the lines that may be longer than where a text is wrapped: links, tables."""

HALF, NEARLY_FULL = 0.5, 0.75
"""Shares of the width."""

_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*\Z")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RECORD = re.compile(
    rf"(?P<named>[^\W_{SMALL}][^:!?]{{0,40}}:[ \t]+\S)"
    r"|(?P<dated>\d{1,4}(?:[-./]\d{1,2}){1,2}\.?(?!\w)|\d{1,2}[:.]\d\d(?!\w))"
)
"""A name and what is said of it, "Vet clinic: open day and night"; or a date or time with what was then."""
_BEGINS_TEXT = re.compile(r"[\w\"'“„«(]")
_COMPARED = re.compile(r"=|[-+−±$€£¥]?[ \t]?[.,]?\d")


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line without the white space around it and without the marks of a quotation; `text` is empty for a blank one.

    `indent` is how many columns it stands in.
    """

    start: int
    end: int
    text: str
    indent: int


@dataclass(frozen=True, slots=True)
class Width:
    """Where the lines of a text are wrapped, in characters; None where they are not."""

    characters: int | None

    def joins(self, above: TextLine, line: TextLine) -> bool:
        """Whether a line goes on with the one above: its first word had no room there, or it begins in mid-sentence."""
        if self.characters is None:
            return False
        if _with_next_word(above, line) > self.characters:
            return True
        length, first_word = above.indent + len(above.text), _first_word(line)
        # Typed by hand, lines end early.
        goes_on = first_word[0].islower() or not _SENTENCE_END.search(above.text)
        return goes_on and length >= (HALF if first_word[0].islower() else NEARLY_FULL) * self.characters


def are_records(above: str, line: str) -> bool:
    """Whether two lines are each an entry of a list without any mark: a phone list, a diary."""
    one, other = _RECORD.match(above), _RECORD.match(line)
    return bool(one and other and one.lastgroup == other.lastgroup)


def lines_of(text: str) -> list[TextLine]:
    """Return the lines of a text in order, blank ones too."""
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
    """Return how many characters at a line's beginning mark it as quoted: no ">" that means "greater than"."""
    quoted = _QUOTED.match(line)
    if not quoted:
        return 0
    compares = _compares(line)
    in_quotation = any(_QUOTED.match(other) and not _compares(other) for other in (above, below))
    return 0 if compares and (line[quoted.end() - 1] == ">" or not in_quotation) else quoted.end()


def _compares(line: str) -> bool:
    """Whether a number stands behind the marks of a quotation."""
    quoted = _QUOTED.match(line)
    return quoted is not None and _COMPARED.match(line, quoted.end()) is not None


def wrapped_at(lines: Sequence[TextLine]) -> Width:
    """Return the width that a text's lines were wrapped at."""
    lengths = sorted(line.indent + len(line.text) for line in lines if line.text and not line.text.startswith("|"))
    if not lengths:
        return Width(None)
    widest = lengths[min(len(lengths) - 1, int(len(lengths) * (1 - FEW)))]
    if lengths[-1] > 2 * WIDEST_WRAPPED or not NARROWEST_WRAPPED <= widest <= WIDEST_FULL:
        return Width(None)
    if widest > WIDEST_WRAPPED and not _are_full(lines, widest):
        return Width(None)
    return Width(widest)


def _are_full(lines: Sequence[TextLine], width: int) -> bool:
    """Whether most lines of running text end where the next one's first word would have had no room."""
    running = [
        (above, line)
        for above, line in pairwise(lines)
        if _BEGINS_TEXT.match(above.text) and _BEGINS_TEXT.match(line.text)
    ]
    full = sum(_with_next_word(above, line) > FULL * width for above, line in running)
    broken = any(not _SENTENCE_END.search(above.text) for above, _ in running)
    return broken and full >= MOSTLY * len(running)


def _first_word(line: TextLine) -> str:
    return line.text.split(None, 1)[0]


def _with_next_word(above: TextLine, line: TextLine) -> int:
    """Return how long a line would be, in characters, with the first word of the one below it."""
    return above.indent + len(above.text) + 1 + len(_first_word(line))
