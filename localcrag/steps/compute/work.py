"""The rows that count for a computation, and what is left out: a plan while it is carried out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

from localcrag.records.computation import Group
from localcrag.steps.compute.amounts import Amount
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.conditions import meets, why_unknown, with_year
from localcrag.steps.compute.plan_columns import Plan
from localcrag.steps.compute.reading import Test
from localcrag.steps.compute.rows import Row
from localcrag.steps.compute.vocabulary import stems_of
from localcrag.text.translation import gettext as _

DIGITS = 60
"""That decimal arithmetic keeps: more than any sum of cells has."""
LEAST_ADDED = 3
"""Rows that a last one with their sum may be the total of: two numbers make a third one by chance."""
_OF_EACH = re.compile(
    r"\bunit (?:price|cost|fee)\b|\b(?:hourly|daily|weekly|monthly|day) (?:rate|wage)\b"
    r"|\bper (?:unit|piece|item|hour|day|night|week|month|kg|km|litre|liter|kwh|m²)\b"
    r"|\beach\W*\Z|\brate\W*\Z|(?:[€$£]|EUR|USD|CHF|GBP|km)/\w",
    re.IGNORECASE,
)
_PRICE = re.compile(r"(?:price|rate)\W*(?:[(\[].*)?", re.IGNORECASE)
_RUNNING = re.compile(r"\b(?:cumulative|cumulated|running|ytd|(?:year )?to date|kumuliert)\b", re.IGNORECASE)
_BALANCE = re.compile(r"\bbalance\b", re.IGNORECASE)


class Refused(Exception):
    """What was asked for cannot be computed exactly; the message says why."""


@dataclass(slots=True)
class Work:
    """A plan while it is carried out: the rows that count, by their place, and how many were left out for what."""

    plan: Plan
    at: list[int]
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return [self.plan.known.rows[at] for at in self.at]

    @property
    def column(self) -> Column:
        """The column that is computed with."""
        column = self.plan.column
        if column is None:
            raise Refused(_("no column is named"))
        if column.problem and not column.mixed:
            raise Refused(column.problem)
        return column


@dataclass(frozen=True, slots=True)
class Found:
    """What an operation comes to."""

    result: str = ""
    values: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()


def select(work: Work, tests: Sequence[Test]) -> None:
    """Keep the rows that meet all conditions. Raises Refused where a column cannot be compared."""
    for test in tests:
        if problem := _problem_of(test):
            raise Refused(problem)
        if _may_mean_the_sign(test):
            raise Refused(
                _("%(column)s has values below zero, and whether these are meant is not clear", column=test.column.name)
            )
        if with_year(test) is None:
            raise Refused(_("%(column)s has several years, and the question names none", column=test.column.name))
    kept = []
    for at, row in enumerate(work.plan.known.rows):
        met = [meets(test, at, row.cells[test.column.at]) for test in tests]
        if all(met):
            kept.append(at)
        elif False not in met:
            test = tests[met.index(None)]
            unknown = test.than if test.than and test.column.values[at] is not None else test.column
            if test.negated:
                raise Refused(_("%(column)s is empty in rows that may be meant, too", column=unknown.name))
            work.left_out[why_unknown(unknown, row.cells[unknown.at])] += 1
    work.at = kept


def _problem_of(test: Test) -> str:
    """Return why a condition cannot be put to its columns; empty where it can."""
    relative = test.relative
    problem = test.column.problem or (test.than.problem if test.than else "") or (relative.problem if relative else "")
    if problem or relative is None:
        return problem
    rows = test.column.values
    if rows and all(meets(test, at, "") is None for at in range(len(rows))):
        return _(
            "the dates in %(column)s do not say whether they are “%(words)s”; ask with what stands there, as in "
            "“%(example)s”",
            column=test.column.name, words=relative.written, example=next(iter(test.column.moments), ""),
        )  # fmt: skip
    return ""


def _may_mean_the_sign(test: Test) -> bool:
    """Whether a bound is put to a column that has both signs: "over 50 euros" may mean what was paid, with a minus."""
    if test.than:
        return any(one.value < 0 for one in (*test.column.amounts, *test.than.amounts))
    return isinstance(test.value, Amount) and test.value.value > 0 and any(one.value < 0 for one in test.column.amounts)


def amounts_of(work: Work) -> list[Amount]:
    """Return the amounts of the rows that count, and leave out those without one."""
    column = work.column
    kept, amounts = [], []
    for at in work.at:
        value = column.values[at]
        if isinstance(value, Amount):
            kept.append(at)
            amounts.append(value)
        else:
            work.left_out[why_unknown(column, work.plan.known.rows[at].cells[column.at])] += 1
    work.at = kept
    if len(kept) > 1:
        refuse_a_total(work, kept)
    if len({one.unit for one in amounts}) > 1:
        raise Refused(column.problem)
    return amounts


def total_of(amounts: Sequence[Amount]) -> Decimal:
    """Return the exact sum of amounts."""
    with localcontext(prec=DIGITS):
        return sum((one.value for one in amounts), Decimal(0))


def refuse_below_zero(column: Column, amounts: Sequence[Amount]) -> None:
    """Raise Refused for amounts of which some are below zero."""
    if any(one.value < 0 for one in amounts):
        raise Refused(_("%(column)s has values below zero", column=column.name))


def refuse_to_add(column: Column, columns: Sequence[Column]) -> None:
    """Raise Refused for a column of the table's whose sum is none of anything: in percent, of one piece, or running."""
    refuse_percentages(column)
    beside = {word for one in columns if one is not column for word in stems_of(one.name)}
    if _OF_EACH.search(column.name) or (_PRICE.fullmatch(column.name) and beside & {"quantity", "qty"}):
        raise Refused(_("%(column)s is for one of each: its sum is no total", column=column.name))
    dated = any(one.kind is Kind.DATE for one in columns)
    if _RUNNING.search(column.name) or (dated and _BALANCE.search(column.name)):
        raise Refused(_("%(column)s has what was before in it: its sum is no total", column=column.name))


def refuse_a_total(work: Work, at: Sequence[int]) -> None:
    """Raise Refused where the last row is among those at these places, and is the sum of all the others."""
    rows, amounts = work.plan.known.rows, work.column.amounts
    last = len(rows) - 1
    if last not in at or not isinstance(work.column.values[last], Amount) or len(amounts) <= LEAST_ADDED:
        return
    if amounts[-1].value and total_of(amounts[:-1]) == amounts[-1].value:
        label = next(filter(None, rows[last].cells))
        raise Refused(_("the last row, “%(label)s”, may be the total of the others", label=label))


def refuse_percentages(column: Column) -> None:
    """Raise Refused for a column that is in percent."""
    if column.unit == "percent":
        raise Refused(
            _("%(column)s is in percent, and percentages of different things are not added up", column=column.name)
        )
