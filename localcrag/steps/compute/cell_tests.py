"""Conditions that named cells and columns make: one of several values, yes or no, none, empty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import is_empty
from localcrag.steps.compute.matching import EXACT, NamedCell, Word
from localcrag.steps.compute.reading import Reading, Test, free
from localcrag.steps.compute.said_conditions import Relation
from localcrag.steps.compute.vocabulary import stems_of
from localcrag.text.words import FUNCTION_WORDS

_OR = re.compile(r"\bor\b", re.IGNORECASE)
_JOINS = re.compile(r"\W*(?:,|\bor\b|\band\b)[\W]*(?:\b(?:or|and|either)\b)?\W*", re.IGNORECASE)


def add_cell_tests(reading: Reading) -> bool:
    """Add the conditions of what a question names in a table; False where it is not clear what they are."""
    two_sides = reading.request.forms.form is Operation.DIFFERENCE
    by_column: dict[tuple[int, bool], list[NamedCell]] = {}
    for cell in reading.cells:
        side = two_sides and _start(cell) >= reading.request.forms.split
        by_column.setdefault((cell.column.at, side), []).append(cell)
    gaps: list[tuple[int, int]] = []
    for cells in by_column.values():
        joined = [_gap(reading, first, second) for first, second in pairwise(cells)]
        denied = {_is_denied(reading, _start(cell)) for cell in cells}
        if None in joined or len(denied) > 1:
            return False
        gaps += [gap for gap in joined if gap]
        reading.tests.append(
            Test(cells[0].column, Relation.EQUAL, cells[0].value, others=tuple(cell.value for cell in cells[1:]),
                 negated=True in denied, start=_start(cells[0]))
        )  # fmt: skip
    _add_flags(reading)
    return _add_empty(reading) and _are_alternatives(reading, gaps)


def _start(cell: NamedCell) -> int:
    return cell.words[0].start


def _is_denied(reading: Reading, place: int) -> bool:
    return any(start <= place < end for start, end in reading.request.forms.negated)


def _gap(reading: Reading, first: NamedCell, second: NamedCell) -> tuple[int, int] | None:
    """Return what stands between two cells of one column where it joins them, else None."""
    start, end = first.words[-1].start + len(first.words[-1].written), _start(second)
    between = reading.request.rest[start:end]
    words = set(stems_of(between)) - {"or", "and"}
    column = reading.known.header_words(first.column)
    if _JOINS.match(between) and words <= FUNCTION_WORDS | column:
        return start, end
    return None


def _add_flags(reading: Reading) -> None:
    """Add what the name of a column that says yes or no asks for: "paid", "not billable", "with a screen"."""
    known, tested = reading.known, {test.column.at for test in reading.tests}
    for at, yes in known.flags.items():
        own = known.header_words(known.columns[at]) - FUNCTION_WORDS
        named = [word for word in free(reading) if word.stem in own]
        if at in tested or not named or reading.request.forms.by in own:
            continue
        start = named[0].start
        reading.tests.append(
            Test(known.columns[at], Relation.EQUAL, yes, negated=_is_denied(reading, start), start=start)
        )


def _add_empty(reading: Reading) -> bool:
    """Add for each denied place that names no cell the column that is to be empty; False where none is one."""
    known = reading.known
    for start, end in reading.request.forms.negated:
        if any(start <= test.start < end for test in reading.tests):
            continue
        words = [word for word in _between(free(reading), start, end) if word.stem not in FUNCTION_WORDS]
        named = [column for column in known.columns if known.mention(column, words) >= EXACT]
        if len(named) != 1 or (start, end) not in reading.request.forms.absent:
            return False
        if not any(is_empty(row.cells[named[0].at]) for row in known.rows):
            return False  # "Without VAT" is hardly about cells then.
        reading.tests.append(Test(named[0], Relation.EMPTY, "", start=start))
    return True


def _between(words: Sequence[Word], start: int, end: int) -> list[Word]:
    return [word for word in words if start <= word.start < end]


def _are_alternatives(reading: Reading, gaps: Sequence[tuple[int, int]]) -> bool:
    """Whether each "or" stands between values of one column, or in what is denied as a whole."""
    places = [*gaps, *reading.request.forms.negated]
    return all(
        any(start <= found.start() < end for start, end in places) for found in _OR.finditer(reading.request.rest)
    )
