"""Whether a row meets a condition; None where its cell does not say. And the conditions in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import lru_cache

from localcrag.steps.compute.amounts import CLOCK, Amount, is_empty
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.moments import Moment
from localcrag.steps.compute.reading import Test
from localcrag.steps.compute.rows import Row
from localcrag.steps.compute.said_conditions import Relation, bare
from localcrag.steps.compute.vocabulary import stems_of
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later

MOST_CELLS = 4096
"""Of which the stems are remembered, as a column has the same ones again and again."""


def meets(test: Test, at: int, cell: str) -> bool | None:
    """Return whether the row at a place meets a condition; `cell` is its text in the condition's column."""
    if test.relation is Relation.EMPTY:
        return is_empty(cell)
    if test.than:
        return _against(test.column.values[at], test.than.values[at], test.relation)
    if isinstance(test.value, str):
        # What is empty may be meant to be as the cell above it.
        said = map(_stems, (test.value, *test.others))
        return None if is_empty(cell) else (_stems(cell) in said) is not test.negated
    return _of_value(test, test.column.values[at])


@lru_cache(maxsize=MOST_CELLS)
def _stems(cell: str) -> tuple[str, ...]:
    return tuple(stems_of(cell))


def _of_value(test: Test, value: Amount | Moment | None) -> bool | None:
    if isinstance(test.value, Amount):
        high = test.high.value if isinstance(test.high, Amount) else None
        return _compared(value.value, test.relation, test.value.value, high) if isinstance(value, Amount) else None
    if not isinstance(value, Moment) or isinstance(test.value, str):
        return None
    return test.value.holds(value) if test.relation is Relation.EQUAL else _in_time(value, test)


def _against(value: Amount | Moment | None, other: Amount | Moment | None, relation: Relation) -> bool | None:
    """Return how a value stands to another one of its row; None where one says nothing, or days cannot be told."""
    if isinstance(value, Amount) and isinstance(other, Amount):
        if value.unit != other.unit or (value.unit == CLOCK and abs(value.value - other.value) > 12 * 60):
            return None  # A time may be of the day after.
        return _compared(value.value, relation, other.value, None)
    if not isinstance(value, Moment) or not isinstance(other, Moment):
        return None
    first, last = (value.first, value.last), (other.first, other.last)
    if None in (*first, *last):
        return None
    if first == last:
        return relation is Relation.EQUAL if value.day else None
    later, earlier = first[0] > last[1], first[1] < last[0]  # type: ignore[operator]
    return {Relation.ABOVE: later, Relation.BELOW: earlier}.get(relation, False) if later or earlier else None


def _compared(value: Decimal, relation: Relation, low: Decimal, high: Decimal | None) -> bool:
    match relation:
        case Relation.ABOVE:
            return value > low
        case Relation.BELOW:
            return value < low
        case Relation.AT_LEAST:
            return value >= low
        case Relation.AT_MOST:
            return value <= low
        case Relation.WITHIN:
            return high is not None and low <= value <= high
        case _:
            return value == low


def _in_time(value: Moment, test: Test) -> bool | None:
    """Return whether a moment lies before or after others; None where it has no year, or overlaps with them."""
    begin, end = value.first, value.last
    first, last = _bounds(test)
    if begin is None or end is None:
        return None
    inside = (first is None or begin >= first) and (last is None or end <= last)
    outside = (first is not None and end < first) or (last is not None and begin > last)
    return True if inside else False if outside else None


def _bounds(test: Test) -> tuple[date | None, date | None]:
    """Return the first and the last day that a condition allows."""
    low, high = test.value, test.high
    if not isinstance(low, Moment) or low.first is None or low.last is None:
        return None, None
    match test.relation:
        case Relation.BELOW:
            return None, date.fromordinal(low.first.toordinal() - 1)
        case Relation.ABOVE:
            return date.fromordinal(low.last.toordinal() + 1), None
        case Relation.AT_LEAST:
            return low.first, None
        case Relation.AT_MOST:
            return None, low.last
        case _:
            return low.first, high.last if isinstance(high, Moment) else low.last


def with_year(test: Test) -> Test | None:
    """Return a condition on moments with the one year that its column has, where it says none and needs one.

    None where there are several years.
    """
    low, high = test.value, test.high
    if not isinstance(low, Moment) or test.relation is Relation.EQUAL or low.year is not None:
        return test
    years = {moment.year for moment in test.column.moments}
    if len(years) != 1:
        return None
    (year,) = years
    upper = Moment(year, high.month, high.day) if isinstance(high, Moment) and high.year is None else high
    return replace(test, value=Moment(year, low.month, low.day), high=upper)


def with_years(tests: Sequence[Test]) -> list[Test]:
    """Return conditions with the years of their columns, as far as these are clear."""
    return [with_year(test) or test for test in tests]


def may_meet(tests: Sequence[Test], rows: Sequence[Row]) -> list[Row]:
    """Return the rows that meet all of the conditions, or may: where a cell does not say."""
    dated = with_years(tests)
    return [
        row
        for at, row in enumerate(rows)
        if False not in [meets(test, at, row.cells[test.column.at]) for test in dated]
    ]


def why_unknown(column: Column, cell: str) -> str:
    """Return why a cell of a column does not tell."""
    if not re.search(r"\w", cell):
        return _("%(column)s is empty", column=column.name)
    return _("%(column)s is “%(cell)s”", column=column.name, cell=cell)


_AMOUNTS = {
    Relation.ABOVE: later("%(column)s is more than %(value)s"),
    Relation.BELOW: later("%(column)s is less than %(value)s"),
    Relation.AT_LEAST: later("%(column)s is at least %(value)s"),
    Relation.AT_MOST: later("%(column)s is at most %(value)s"),
    Relation.WITHIN: later("%(column)s is from %(value)s to %(high)s"),
    Relation.EQUAL: later("%(column)s is %(value)s"),
    Relation.EMPTY: later("%(column)s is empty"),
}
_MOMENTS = {
    Relation.ABOVE: later("%(column)s is after %(value)s"),
    Relation.BELOW: later("%(column)s is before %(value)s"),
    Relation.AT_LEAST: later("%(column)s is %(value)s or later"),
    Relation.AT_MOST: later("%(column)s is %(value)s or earlier"),
    Relation.WITHIN: later("%(column)s is from %(value)s to %(high)s"),
    Relation.EQUAL: later("%(column)s is in %(value)s"),
}
MANY = 2
_DAY, _ANY_YEAR = later("%(column)s is %(value)s"), later("%(column)s is in %(value)s, of whatever year")


def in_words(test: Test) -> str:
    """Return a condition in words: "Price is more than 40 €"."""
    said = {"column": test.column.name, "value": _said(test.value), "high": _said(test.high) if test.high else ""}
    if test.relative and test.relative.problem:
        return _(_MOMENTS[Relation.EQUAL], **said | {"value": f"“{test.relative.written}”"})
    if test.than:
        in_time = test.column.kind is not Kind.AMOUNT and test.relation is not Relation.EQUAL
        return _((_MOMENTS if in_time else _AMOUNTS)[test.relation], **said | {"value": test.than.name})
    if test.others:
        said["value"] = _(" or ").join([_said(test.value), *test.others])
    if test.negated:
        return _("%(column)s is not %(value)s", **said)
    if isinstance(test.value, Amount) and test.value.unit == CLOCK:
        return _(_DAY if test.relation is Relation.EQUAL else _MOMENTS[test.relation], **said)
    return _of_moment(test, test.value, said) if isinstance(test.value, Moment) else _(_AMOUNTS[test.relation], **said)


def _of_moment(test: Test, value: Moment, said: Mapping[str, str]) -> str:
    if test.relation is not Relation.EQUAL or value.year:
        return _(_DAY if test.relation is Relation.EQUAL and value.day else _MOMENTS[test.relation], **said)
    years = {moment.year for moment in test.column.moments if moment.year}
    if value.day and len(years) < MANY:
        return _(_DAY, **said)
    return _(_ANY_YEAR if len(years) > 1 else _MOMENTS[test.relation], **said)


def _said(value: Amount | Moment | str) -> str:
    return bare(value) if isinstance(value, Amount) else str(value)
