"""Differences of cells, totals and columns, the greatest of them, and the share of some rows, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

from localcrag.records.computation import Group
from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import Amount, written
from localcrag.steps.compute.conditions import in_words, why_unknown, with_years
from localcrag.steps.compute.reading import Test
from localcrag.steps.compute.work import (
    DIGITS,
    Found,
    Refused,
    Work,
    amounts_of,
    refuse_below_zero,
    refuse_to_add,
    select,
    total_of,
)
from localcrag.text.translation import gettext as _

DECIMALS_OF_A_SHARE = Decimal("0.01")
"""Of a percentage."""


def difference(work: Work) -> Found:
    """Return how much more the first side is than the second, with both. Raises Refused where a side has no value."""
    plan = work.plan
    if plan.pick:
        return furthest(work)
    if plan.column is None:
        return _of_numbers(work)
    columns = plan.side_columns or (work.column, work.column)
    groups, totals, amounts, rows = [], [], [], set[int]()
    for column, tests in zip(columns, plan.sides, strict=True):
        own = _side(work, tests)
        own.plan = replace(plan, column=column)
        found = amounts_of(own)
        name = column.name if plan.side_columns else _in_words(tests) or column.name
        if not found or own.left_out:
            raise Refused(_("there is no value for every row where %(conditions)s", conditions=name))
        refuse_below_zero(column, found)
        amounts += found
        totals.append(total_of(found))
        groups.append(Group(name, written(totals[-1], found, column.mark, column.shown_unit), len(own.at)))
        rows.update(own.at)
    if len({one.unit for one in amounts}) > 1:
        raise Refused(columns[0].problem or _("the two sides have different units"))
    if sum(group.rows for group in groups) > len(groups):
        refuse_to_add(columns[0], plan.known.columns)
    work.at = sorted(rows)
    with localcontext(prec=DIGITS):
        result = totals[0] - totals[1]
    return Found(written(result, amounts, columns[0].mark, columns[0].shown_unit), groups=tuple(groups))


def furthest(work: Work) -> Found:
    """Keep the rows in which two columns differ most, or least. Raises Refused where that cannot be told."""
    plan = work.plan
    found: dict[int, tuple[Decimal, Decimal]] = {}
    for column in plan.side_columns:
        if column.problem:
            raise Refused(column.problem)
        refuse_below_zero(column, column.amounts)
    for at in work.at:
        values = [column.values[at] for column in plan.side_columns]
        amounts = [value.value for value in values if isinstance(value, Amount)]
        if len(amounts) < len(values):
            column = next(one for one in plan.side_columns if not isinstance(one.values[at], Amount))
            work.left_out[why_unknown(column, plan.known.rows[at].cells[column.at])] += 1
            continue
        base = amounts[plan.side_columns.index(plan.percent_of)] if plan.percent_of else Decimal(1)
        if plan.percent_of and not base:
            raise Refused(_("%(column)s is zero in a row, which makes no percentage", column=plan.percent_of.name))
        with localcontext(prec=DIGITS):
            found[at] = abs(amounts[0] - amounts[1]), base
    if not found:
        work.at = []
        return Found()
    ranks = {at: Fraction(part) / Fraction(whole) for at, (part, whole) in found.items()}
    best = max(ranks.values()) if plan.pick is Operation.MAXIMUM else min(ranks.values())
    work.at = [at for at, rank in ranks.items() if rank == best]
    part, whole = found[work.at[0]]
    if plan.percent_of:
        return Found(_percentage(work, part, whole))
    first = plan.side_columns[0]
    return Found(written(part, [*first.amounts, *plan.side_columns[1].amounts], first.mark, first.shown_unit))


def _of_numbers(work: Work) -> Found:
    """Return how many more rows the first side has."""
    sides = [_side(work, tests) for tests in work.plan.sides]
    for side in sides:
        work.left_out.update(side.left_out - work.left_out)
    groups = [
        Group(_in_words(tests), str(len(side.at)), len(side.at))
        for tests, side in zip(work.plan.sides, sides, strict=True)
    ]
    work.at = sorted({at for side in sides for at in side.at})
    return Found(str(len(sides[0].at) - len(sides[1].at)), groups=tuple(groups))


def share(work: Work) -> Found:
    """Return which percentage the part is of the whole. Raises Refused where values are missing or below zero."""
    plan = work.plan
    totals, groups = [], []
    for name, tests in zip((_("all"), _in_words(plan.sides[1])), plan.sides, strict=True):
        own = _side(work, tests)
        if own.left_out:
            raise Refused("; ".join(own.left_out))
        amounts = _measured(own)
        totals.append(total_of(amounts))
        column = plan.column
        result = written(totals[-1], amounts, column.mark, column.shown_unit) if column else str(len(own.at))
        groups.append(Group(_in_words(plan.sides[0]) or name if tests is plan.sides[0] else name, result, len(own.at)))
        work.at = own.at
    if totals[0] <= 0:
        raise Refused(_("there is nothing that it could be a share of"))
    return Found(_percentage(work, totals[1], totals[0]), groups=(groups[1], groups[0]))


def _percentage(work: Work, part: Decimal, whole: Decimal) -> str:
    """Return which percentage a part is, and note where it is rounded."""
    with localcontext(prec=DIGITS):
        rounded = (100 * part / whole).quantize(DECIMALS_OF_A_SHARE, ROUND_HALF_EVEN)
        if rounded * whole != 100 * part:
            work.notes.append(_("The percentage is rounded."))
    return f"{rounded.normalize():f} %"


def _measured(own: Work) -> Sequence[Amount]:
    """Return what the rows of a side are added up from: their amounts, or one for each."""
    if own.plan.column is None:
        return [Amount(Decimal(1))] * len(own.at)
    refuse_to_add(own.column, own.plan.known.columns)
    amounts = amounts_of(own)
    if own.left_out:
        raise Refused("; ".join(own.left_out))
    refuse_below_zero(own.column, amounts)
    return amounts


def _side(work: Work, tests: Sequence[Test]) -> Work:
    """Return the work with the rows of one side."""
    own = Work(work.plan, list(work.at))
    select(own, with_years(tests))
    return own


def _in_words(tests: Sequence[Test]) -> str:
    return _(" and ").join(in_words(test) for test in with_years(tests))
