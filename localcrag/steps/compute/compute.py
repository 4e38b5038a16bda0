"""Computing: a plan becomes a result, exactly, by decimal arithmetic; or a refusal that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

from localcrag.records.computation import Computation, LeftOut, TableRow
from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import Amount, amount_of, is_empty, written
from localcrag.steps.compute.columns import Column
from localcrag.steps.compute.compute_groups import in_groups
from localcrag.steps.compute.compute_sides import difference, share
from localcrag.steps.compute.conditions import in_words, why_unknown, with_years
from localcrag.steps.compute.moments import Moment
from localcrag.steps.compute.plan_columns import Plan
from localcrag.steps.compute.rows import has_digit
from localcrag.steps.compute.work import (
    DIGITS,
    Found,
    Refused,
    Work,
    amounts_of,
    refuse_a_total,
    refuse_to_add,
    select,
    total_of,
)
from localcrag.text.translation import gettext as _

MOST_ROWS = 200
"""Of those that count, which a run keeps."""
MORE_DECIMALS = 2
"""That an average is given with, beyond those of the cells."""


def compute(plan: Plan, document: str, title: str | None) -> Computation:
    """Return what a plan comes to; `document` and `title` are those of the table's document."""
    table = plan.known.table
    tests = with_years(plan.tests)
    said = [test.relative for test in (*tests, *(test for side in plan.sides for test in side)) if test.relative]
    work, refused, found = Work(plan, list(range(len(plan.known.rows)))), "", Found()
    work.notes += dict.fromkeys(relative.note for relative in said if not relative.problem)
    try:
        select(work, tests)
        found = in_groups(work, _OPERATIONS[plan.operation]) if plan.by else _OPERATIONS[plan.operation](work)
    except Refused as error:
        refused = str(error)
    rows = work.rows
    return Computation(
        document=document,
        title=title,
        table=table.name,
        section=table.section,
        pages=tuple(dict.fromkeys(row.page for row in table.rows if row.page is not None)),
        header=table.header,
        operation=plan.operation,
        column=_named(plan),
        filters=tuple(map(in_words, tests)),
        of_rows=len(plan.known.rows),
        row_count=len(rows),
        rows=tuple(TableRow(row.cells, row.page, row.start, row.end) for row in rows[:MOST_ROWS]),
        result=found.result,
        values=found.values,
        left_out=tuple(_left_out(work)),
        notes=tuple(work.notes),
        refused=refused,
        few=plan.few,
        by=plan.by.name if plan.by else None,
        period=plan.period,
        pick=plan.pick,
        groups=found.groups,
    )


def _named(plan: Plan) -> str | None:
    """Return the names of the columns that are computed with."""
    names = [column.name for column in plan.side_columns]
    if not names or not plan.pick:
        return " − ".join(names) or (plan.column.name if plan.column else None)
    both = _(" and ").join(names)
    return (
        _("%(columns)s, in percent of %(base)s", columns=both, base=plan.percent_of.name) if plan.percent_of else both
    )


def _left_out(work: Work) -> Iterator[LeftOut]:
    """Yield how many rows were left out, for each reason."""
    for why, number in work.left_out.items():
        yield LeftOut(number, why)
    known = work.plan.known
    if len(known.rows) == len(known.table.rows):
        return
    if totals := sum(row.is_total for row in known.table.rows):
        yield LeftOut(totals, _("a total of other rows"))
    if labels := sum(row.is_label and not row.is_total for row in known.table.rows):
        yield LeftOut(labels, _("nothing but its first cell"))


def _count(work: Work) -> Found:
    column = work.plan.column
    if column is None:
        return Found(str(len(work.at)))
    values = _distinct(work, column)
    return Found(str(len(values)), tuple(values))


def _distinct(work: Work, column: Column) -> list[str]:
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


def _sum(work: Work) -> Found:
    column = work.column
    refuse_to_add(column, work.plan.known.columns)
    amounts = amounts_of(work)
    if not amounts:
        return Found()
    total = total_of(amounts)
    _compare_with_own_total(work, total)
    return Found(written(total, amounts, column.mark, column.shown_unit))


def _compare_with_own_total(work: Work, total: Decimal) -> None:
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


def _average(work: Work) -> Found:
    column, amounts = work.column, amounts_of(work)
    if not amounts:
        return Found()
    mean, rounded = mean_of(amounts)
    if rounded:
        work.notes.append(_("The average is rounded."))
    return Found(written(mean, amounts, column.mark, column.shown_unit))


def mean_of(amounts: Sequence[Amount]) -> tuple[Decimal, bool]:
    """Return the average of amounts, and whether it is rounded."""
    places = max(one.decimals for one in amounts) + MORE_DECIMALS
    with localcontext(prec=DIGITS):
        total = sum((one.value for one in amounts), Decimal(0))
        mean = (total / len(amounts)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
        return mean.normalize(), mean * len(amounts) != total


def _extreme(work: Work) -> Found:
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
        return Found()
    if column.mixed and len({value.unit for at, _ in ranks if isinstance(value := column.values[at], Amount)}) > 1:
        raise Refused(column.problem)
    cells = [work.plan.known.rows[at].cells[column.at] for at in work.at if column.values[at] is None]
    if unread := next(filter(has_digit, cells), ""):
        raise Refused(
            _("%(column)s is “%(cell)s”, which may be the lowest or highest value", column=column.name, cell=unread)
        )
    ranks.sort(key=lambda one: one[1], reverse=work.plan.operation is Operation.MAXIMUM)
    limit = ranks[min(work.plan.few, len(ranks)) - 1][1]
    at_least = work.plan.operation is Operation.MAXIMUM
    work.at = [at for at, rank in ranks if (rank >= limit if at_least else rank <= limit)]  # type: ignore[operator]
    if isinstance(column.values[work.at[0]], Amount) and at_least:
        refuse_a_total(work, work.at)
    if work.plan.few > 1:
        if len(work.at) > work.plan.few:
            work.notes.append(_("The last of them have the same value."))
        return Found()
    cell = work.rows[0].cells[column.at]
    return Found(f"{cell} {column.shown_unit}".strip())


def _filter(_work: Work) -> Found:
    return Found()


def _values(work: Work) -> Found:
    column = work.plan.column
    return Found(values=tuple(_distinct(work, column))) if column else Found()


_OPERATIONS: dict[Operation, Callable[[Work], Found]] = {
    Operation.COUNT: _count,
    Operation.SUM: _sum,
    Operation.AVERAGE: _average,
    Operation.MAXIMUM: _extreme,
    Operation.MINIMUM: _extreme,
    Operation.FILTER: _filter,
    Operation.VALUES: _values,
    Operation.DIFFERENCE: difference,
    Operation.SHARE: share,
}
