"""Plans with two sides: the difference of two cells, totals or columns, and the share of some rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.enums import Operation
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.conditions import meets
from localcrag.steps.compute.matching import Known, Word, meaningful
from localcrag.steps.compute.plan_columns import Plan, is_in_header, rows_meant, says_how_many
from localcrag.steps.compute.plan_versus import are_of, pair_of
from localcrag.steps.compute.reading import Reading, Test, clearest, free
from localcrag.steps.compute.vocabulary import COMPARATIVES, LESS, SAYS_NOTHING, alike

_ADDS_UP = re.compile(
    r"\b(?:total|altogether|combined|in all|in sum|spen[dt]|sold|used|worked|paid|ordered|bought|how many|sum)\b",
    re.IGNORECASE,
)
"""Words that say that the rows of a side are added up where there are several."""


_HOW_MANY = re.compile(r"\W*how many\b", re.IGNORECASE)
_Sides = tuple[tuple[Test, ...], tuple[Test, ...]]


def of_difference(reading: Reading) -> Plan | None:
    """Return a plan for how much more one side is than the other; None where it is not clear what is compared."""
    known, request = reading.known, reading.request
    split = request.forms.split
    sides = _sides(reading.tests, split)
    tested = {test.column.at for test in reading.tests}
    amounts = [column for column in known.of_kind(Kind.AMOUNT) if column.at not in tested]
    if sides is None:
        return _of_columns(reading, split)
    if any(test.negated for side in sides for test in side):
        return None
    words = free(reading)
    column = _compared_column(known, amounts, words, request.forms.more)
    if _HOW_MANY.match(request.text) and not (column and known.mention(column, words)):
        counted = meaningful(words)[:1]
        rows = counted and rows_meant(reading, counted[0]) == (None,) and not says_how_many(known)
        return Plan(known, Operation.DIFFERENCE, None, sides=_in_order(reading, sides)) if rows else None
    if column is None:
        return None
    most = max(_rows_of(known, side) for side in sides)
    if most > 1 and not _ADDS_UP.search(request.text):
        return None  # "How much more do lamps cost than chairs" is no sum.
    return Plan(known, Operation.DIFFERENCE, column, sides=_in_order(reading, sides))


def of_share(reading: Reading) -> Plan | None:
    """Return a plan for which share some rows have in others, or in all; None where it is not clear which."""
    known, split = reading.known, reading.request.forms.split
    whole = tuple(test for test in reading.tests if test.start < split)
    part = tuple(test for test in reading.tests if test.start >= split)
    if not part or (len(part) > 1 and any(test.column.kind is Kind.DATE for test in part)):
        return None
    tested = {test.column.at for test in reading.tests}
    words = [word for word in free(reading) if word.start < split and word.stem not in SAYS_NOTHING]
    named = [column for column in clearest(known, known.of_kind(Kind.AMOUNT), words) if column.at not in tested]
    if len(named) == 1:
        return Plan(known, Operation.SHARE, named[0], sides=(whole, (*whole, *part)))
    if named or not words or rows_meant(reading, words[-1]) != (None,):
        return None
    if says_how_many(known) and not is_in_header(known, words[-1]):
        return None
    return Plan(known, Operation.SHARE, None, sides=(whole, (*whole, *part)))


def _in_order(reading: Reading, sides: _Sides) -> _Sides:
    """Return the side that is said to have more first: the second of "cheaper than"."""
    return (sides[1], sides[0]) if reading.request.forms.more in LESS else sides


def _sides(tests: Sequence[Test], split: int) -> _Sides | None:
    """Return the conditions of both sides, with those that only one of them says; None where they do not differ."""
    left = [test for test in tests if test.start < split]
    right = [test for test in tests if test.start >= split]
    common = {test.column.at for test in left} & {test.column.at for test in right}
    if len(common) != 1:
        return None
    shared = [test for test in tests if test.column.at not in common]
    sides = [(*(test for test in side if test.column.at in common), *shared) for side in (left, right)]
    return sides[0], sides[1]


def _compared_column(known: Known, amounts: Sequence[Column], words: Sequence[Word], more: str) -> Column | None:
    """Return the column of which values are compared: the one that is named, or that a word like "cheaper" means."""
    named = clearest(known, amounts, words)
    if not named and more in COMPARATIVES:
        meant = alike(COMPARATIVES[more])
        named = [column for column in amounts if meant & known.header_words(column)]
    elif not named:
        named = list(amounts)
    return named[0] if len(named) == 1 else None


def _of_columns(reading: Reading, split: int) -> Plan | None:
    """Return a plan for the difference of two columns of a row, or of their totals, where the sides name these."""
    known, request = reading.known, reading.request
    if len({test.start < split for test in reading.tests}) > 1 or any(test.negated for test in reading.tests):
        return None
    if request.asks != "total" and (not reading.tests or _rows_of(known, reading.tests) != 1):
        return None
    columns = pair_of(reading, split)
    if columns is None or not are_of(request.forms.more, reading, columns):
        return None
    first, second = reversed(columns) if request.forms.more in LESS else columns
    tests = tuple(reading.tests)
    return Plan(known, Operation.DIFFERENCE, first, side_columns=(first, second), sides=(tests, tests))


def _rows_of(known: Known, tests: Sequence[Test]) -> int:
    return sum(all(meets(test, at, row.cells[test.column.at]) for test in tests) for at, row in enumerate(known.rows))
