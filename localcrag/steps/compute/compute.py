"""Computing: a plan becomes a result, exactly, by decimal arithmetic; or a refusal that says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

from localcrag.records.computation import Computation, LeftOut, TableRow
from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import Amount, amount_of, is_empty, written
from localcrag.steps.compute.columns import Column
from localcrag.steps.compute.conditions import in_words, meets, why_unknown, with_year
from localcrag.steps.compute.moments import Moment
from localcrag.steps.compute.plan import Plan
from localcrag.steps.compute.reading import Test
from localcrag.steps.compute.table import Row
from localcrag.text.translation import gettext as _

MOST_ROWS = 200
"""Of those that count, which a run keeps."""
DIGITS = 60
"""That decimal arithmetic keeps: more than any sum of cells has."""
MORE_DECIMALS = 2
"""That an average is given with, beyond those of the cells."""


class Refused(Exception):
    """What was asked for cannot be computed exactly; the message says why."""


@dataclass(slots=True)
class _Work:
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
        if column.problem:
            raise Refused(column.problem)
        return column


@dataclass(frozen=True, slots=True)
class _Found:
    """What an operation comes to."""

    result: str = ""
    values: tuple[str, ...] = ()


def compute(plan: Plan, document: str, title: str | None) -> Computation:
    """Return what a plan comes to; `document` and `title` are those of the table's document."""
    table = plan.known.table
    tests = [with_year(test) or test for test in plan.tests]
    work, refused, found = _Work(plan, list(range(len(plan.known.rows)))), "", _Found()
    try:
        _select(work, tests)
        found = _OPERATIONS[plan.operation](work)
    except Refused as error:
        refused = str(error)
    left_out = [LeftOut(number, why) for why, number in work.left_out.items()]
    if totals := sum(row.is_total for row in table.rows):
        left_out.append(LeftOut(totals, _("a total of other rows")))
    if labels := sum(row.is_label and not row.is_total for row in table.rows):
        left_out.append(LeftOut(labels, _("nothing but its first cell")))
    rows = work.rows
    return Computation(
        document=document,
        title=title,
        table=table.name,
        section=table.section,
        pages=tuple(dict.fromkeys(row.page for row in table.rows if row.page is not None)),
        header=table.header,
        operation=plan.operation,
        column=plan.column.name if plan.column else None,
        filters=tuple(map(in_words, tests)),
        of_rows=len(plan.known.rows),
        row_count=len(rows),
        rows=tuple(TableRow(row.cells, row.page, row.start, row.end) for row in rows[:MOST_ROWS]),
        result=found.result,
        values=found.values,
        left_out=tuple(left_out),
        notes=tuple(work.notes),
        refused=refused,
    )


def _select(work: _Work, tests: Sequence[Test]) -> None:
    """Keep the rows that meet all conditions. Raises Refused where a column cannot be compared."""
    for test in tests:
        if test.column.problem:
            raise Refused(test.column.problem)
        if with_year(test) is None:
            raise Refused(_("%(column)s has several years, and the question names none", column=test.column.name))
    kept = []
    for at, row in enumerate(work.plan.known.rows):
        met = [meets(test, at, row.cells[test.column.at]) for test in tests]
        if all(met):
            kept.append(at)
        elif False not in met:
            unknown = tests[met.index(None)].column
            work.left_out[why_unknown(unknown, row.cells[unknown.at])] += 1
    work.at = kept


def _amounts(work: _Work) -> list[Amount]:
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
    return amounts


def _count(work: _Work) -> _Found:
    column = work.plan.column
    if column is None:
        return _Found(str(len(work.at)))
    values = _distinct(work, column)
    return _Found(str(len(values)), tuple(values))


def _distinct(work: _Work, column: Column) -> list[str]:
    """Return the different values of a column, as they are written first."""
    values: dict[str, str] = {}
    kept = []
    for at in work.at:
        cell = work.plan.known.rows[at].cells[column.at]
        if is_empty(cell):
            work.left_out[why_unknown(column, "")] += 1
            continue
        kept.append(at)
        values.setdefault(cell.casefold(), cell)
    work.at = kept
    return list(values.values())


def _sum(work: _Work) -> _Found:
    column = work.column
    if column.unit == "percent":
        raise Refused(
            _("%(column)s is in percent, and percentages of different things are not added up", column=column.name)
        )
    amounts = _amounts(work)
    if not amounts:
        return _Found()
    with localcontext(prec=DIGITS):
        total = sum((one.value for one in amounts), Decimal(0))
    _compare_with_own_total(work, total)
    return _Found(written(total, amounts, column.mark, column.shown_unit))


def _compare_with_own_total(work: _Work, total: Decimal) -> None:
    """Note where the table's own total of all rows is another one."""
    table, column = work.plan.known.table, work.column
    totals = [row for row in table.rows if row.is_total]
    if work.plan.tests or len(totals) != 1 or totals[0] is not table.rows[-1]:
        return
    says = totals[0].cells[column.at]
    own = amount_of(says, column.mark)
    label = next(cell for cell in totals[0].cells if cell)
    if own and own.value != total and not label.lower().startswith(("average", "mean", "median")):
        work.notes.append(_("The table itself says %(value)s in its row “%(label)s”.", value=says, label=label))


def _average(work: _Work) -> _Found:
    column, amounts = work.column, _amounts(work)
    if not amounts:
        return _Found()
    places = max(one.decimals for one in amounts) + MORE_DECIMALS
    with localcontext(prec=DIGITS):
        total = sum((one.value for one in amounts), Decimal(0))
        exact = total / len(amounts)
        mean = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
        if mean * len(amounts) != total:
            work.notes.append(_("The average is rounded."))
        mean = mean.normalize()
    return _Found(written(mean, amounts, column.mark, column.shown_unit))


def _extreme(work: _Work) -> _Found:
    """Keep the rows with the highest or lowest value."""
    column = work.column
    ranks: list[tuple[int, Decimal | date]] = []
    for at in work.at:
        value = column.values[at]
        rank = value.value if isinstance(value, Amount) else value.first if isinstance(value, Moment) else None
        if rank is None:
            work.left_out[why_unknown(column, work.plan.known.rows[at].cells[column.at])] += 1
        else:
            ranks.append((at, rank))
    if not ranks and column.moments:
        raise Refused(_("the dates in %(column)s have no year", column=column.name))
    if not ranks:
        work.at = []
        return _Found()
    pick: Callable[..., Decimal | date] = max if work.plan.operation is Operation.MAXIMUM else min
    best = pick(rank for _, rank in ranks)
    work.at = [at for at, rank in ranks if rank == best]
    cell = work.rows[0].cells[column.at]
    return _Found(f"{cell} {column.shown_unit}".strip())


def _filter(_work: _Work) -> _Found:
    return _Found()


def _values(work: _Work) -> _Found:
    column = work.plan.column
    return _Found(values=tuple(_distinct(work, column))) if column else _Found()


_OPERATIONS: dict[Operation, Callable[[_Work], _Found]] = {
    Operation.COUNT: _count,
    Operation.SUM: _sum,
    Operation.AVERAGE: _average,
    Operation.MAXIMUM: _extreme,
    Operation.MINIMUM: _extreme,
    Operation.FILTER: _filter,
    Operation.VALUES: _values,
}
