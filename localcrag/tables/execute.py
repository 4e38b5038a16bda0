"""Execute a plan for a table with exact decimal arithmetic, or refuse and give the reason.

A plan selects rows by its conditions, then applies one operation: a count, a sum, an average, an extreme, a list, a
difference or a share; optionally once for each group. Rows whose cells cannot be read are left out and counted by
reason. If a result could be wrong (several units, possible totals among the rows, values below zero), Refused is
raised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

from localcrag.records.enums import Operation
from localcrag.records.run import Computation, ResultGroup, SkippedRows, TableRow
from localcrag.tables.parse import Row, has_digit
from localcrag.tables.parsed_question import Test, describe_test, meets, unknown_reason, with_year, with_years
from localcrag.tables.plan_columns import TablePlan
from localcrag.tables.values import MONTHS_PER_QUARTER, Amount, Moment, format_amount, is_empty, parse_amount
from localcrag.tables.vocabulary import Column, ColumnKind, stems_of
from localcrag.text.translation import gettext as _

DIGITS = 60
"""Digits of precision in decimal arithmetic: more than any sum of cells needs."""
MIN_ADDENDS = 3
"""Minimum number of other rows for the last row to be suspected as their total; with two rows, a match may be
chance."""
_UNIT_PRICE = re.compile(
    r"(?i)\bunit (?:price|cost|fee)\b|\b(?:hourly|daily|weekly|monthly|day) (?:rate|wage)\b"
    r"|\bper (?:unit|piece|item|hour|day|night|week|month|kg|km|litre|liter|kwh|m²)\b"
    r"|\beach\W*\Z|\brate\W*\Z|(?:[€$£]|EUR|USD|CHF|GBP|km)/\w"
)
"""Headers of columns with unit prices or rates, which are not added up."""
_PRICE = re.compile(r"(?i)(?:price|rate)\W*(?:[(\[].*)?")
_RUNNING = re.compile(r"(?i)\b(?:cumulative|cumulated|running|ytd|(?:year )?to date|kumuliert)\b")
"""Headers of columns with running totals, which are not added up."""
_BALANCE = re.compile(r"(?i)\bbalance\b")


class Refused(Exception):
    """The question cannot be computed exactly; the message says why."""


@dataclass(slots=True)
class Work:
    """A plan during execution.

    `at` are the indices of the rows that still count; `left_out` counts the excluded rows for each reason.
    """

    plan: TablePlan
    at: list[int]
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return [self.plan.known.rows[at] for at in self.at]

    def leave_out(self, at: int, column: Column) -> None:
        """Count a row as left out because of its cell in a column."""
        self.left_out[unknown_reason(column, self.plan.known.rows[at].cells[column.at])] += 1

    @property
    def column(self) -> Column:
        """The column to compute with. Raises Refused if no column is named or it cannot be computed with."""
        column = self.plan.column
        if column is None:
            raise Refused(_("no column is named"))
        if column.problem and not column.mixed:
            raise Refused(column.problem)
        return column


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of an operation."""

    result: str = ""
    values: tuple[str, ...] = ()
    groups: tuple[ResultGroup, ...] = ()


def select(work: Work, tests: Sequence[Test]) -> None:
    """Keep the rows that meet all conditions. Raises Refused if a column cannot be compared."""
    if problem := next(filter(None, map(_comparison_problem, tests)), ""):
        raise Refused(problem)
    kept = []
    for at, row in enumerate(work.plan.known.rows):
        met = [meets(test, at, row.cells[test.column.at]) for test in tests]
        if all(met):
            kept.append(at)
        # No condition is false, but at least one cell does not tell whether its condition is met.
        elif False not in met:
            test = tests[met.index(None)]
            unknown = test.than if test.than and test.column.values[at] is not None else test.column
            # For “not red”, keeping or dropping rows without a colour would be a guess.
            if test.negated:
                raise Refused(_("%(column)s is empty in rows that the question may mean", column=unknown.name))
            work.leave_out(at, unknown)
    work.at = kept


def _comparison_problem(test: Test) -> str:
    """Return why a condition cannot be applied to its columns; empty if it can."""
    relative, column, rows = test.relative, test.column.name, test.column.values
    problem = test.column.problem or (test.than.problem if test.than else "") or (relative.problem if relative else "")
    if problem:
        return problem
    if relative and rows and all(meets(test, at, "") is None for at in range(len(rows))):
        return _(
            "the dates in %(column)s do not say whether they are “%(words)s”; use the table's wording, such as "
            "“%(example)s”",
            column=column, words=relative.written, example=next(iter(test.column.moments), ""),
        )  # fmt: skip
    if _is_sign_ambiguous(test):
        return _("%(column)s has values below zero, and it is unclear whether the question means them", column=column)
    if with_year(test) is None:
        return _("%(column)s covers several years, and the question does not name one", column=column)
    return ""


def _is_sign_ambiguous(test: Test) -> bool:
    """Return whether a comparison is ambiguous because a column has values below zero.

    “Over 50 euros” may mean payments of more than 50 euros, which have a minus sign.
    """
    if test.than:
        return any(one.value < 0 for one in (*test.column.amounts, *test.than.amounts))
    return isinstance(test.value, Amount) and test.value.value > 0 and any(one.value < 0 for one in test.column.amounts)


def selected_amounts(work: Work) -> list[Amount]:
    """Return the amounts of the rows that count, and leave out the rows without an amount.

    Raises Refused if the amounts have several units, or the last row may be a total.
    """
    column = work.column
    kept, amounts = [], []
    for at in work.at:
        value = column.values[at]
        if isinstance(value, Amount):
            kept.append(at)
            amounts.append(value)
        else:
            work.leave_out(at, column)
    work.at = kept
    if len(kept) > 1:
        refuse_hidden_total(work, kept)
    if len({one.unit for one in amounts}) > 1:
        raise Refused(column.problem)
    return amounts


def exact_sum(amounts: Sequence[Amount]) -> Decimal:
    """Return the exact sum of amounts."""
    with localcontext(prec=DIGITS):
        return sum((one.value for one in amounts), Decimal(0))


def refuse_negative(column: Column, amounts: Sequence[Amount]) -> None:
    """Raise Refused if any of the amounts is below zero."""
    if any(one.value < 0 for one in amounts):
        raise Refused(_("%(column)s has values below zero", column=column.name))


def refuse_unsummable(column: Column, columns: Sequence[Column]) -> None:
    """Raise Refused if a column must not be added up: percentages, unit prices and running totals.

    `columns` are all columns of the table.
    """
    refuse_percentages(column)
    # A price in a table with quantities is a unit price: rows would have to be multiplied first.
    extra = {word for one in columns if one is not column for word in stems_of(one.name)}
    if _UNIT_PRICE.search(column.name) or (_PRICE.fullmatch(column.name) and extra & {"quantity", "qty"}):
        raise Refused(_("%(column)s holds unit prices, so it is not added up", column=column.name))
    # In a table with dates, a balance is the state of an account after each booking.
    dated = any(one.kind is ColumnKind.DATE for one in columns)
    if _RUNNING.search(column.name) or (dated and _BALANCE.search(column.name)):
        raise Refused(_("%(column)s is a running total, so it is not added up", column=column.name))


def refuse_hidden_total(work: Work, at: Sequence[int]) -> None:
    """Raise Refused if the last row is one of the rows `at`, and is the sum of all other rows."""
    rows, amounts = work.plan.known.rows, work.column.amounts
    last = len(rows) - 1
    if last not in at or not isinstance(work.column.values[last], Amount) or len(amounts) <= MIN_ADDENDS:
        return
    if amounts[-1].value and exact_sum(amounts[:-1]) == amounts[-1].value:
        label = next(filter(None, rows[last].cells))
        raise Refused(_("the last row, “%(label)s”, may be the total of the others", label=label))


def refuse_percentages(column: Column) -> None:
    """Raise Refused if the column is in percent."""
    if column.unit == "percent":
        name = column.name
        raise Refused(_("%(column)s is in percent; percentages of different things cannot be added up", column=name))


def compute_groups(work: Work, operation: Callable[[Work], OperationResult]) -> OperationResult:
    """Return an operation's result for each group.

    If the plan picks a group, the groups are sorted, best first, and the result names the best. Raises Refused if the
    values must not be added up, a date has no year, or the results to choose from have several units.
    """
    plan = work.plan
    if plan.operation is Operation.SUM:
        refuse_unsummable(work.column, plan.known.columns)
    elif plan.operation is not Operation.COUNT:
        refuse_percentages(work.column)
    found: list[tuple[ResultGroup, Decimal, str]] = []
    counted: list[int] = []
    for name, rows in _rows_by_name(work).items():
        own = Work(replace(plan, by=None), rows)
        result = _result(own, operation)
        work.left_out.update(own.left_out)
        work.notes.extend(note for note in own.notes if note not in work.notes)
        if result:
            text, value, unit = result
            found.append((ResultGroup(name, text, len(own.at)), value, unit))
            counted += own.at
    work.at = sorted(counted)
    if plan.pick is None or not found:
        return OperationResult(groups=tuple(group for group, _value, _unit in found))
    if len({unit for _group, _value, unit in found}) > 1:
        raise Refused(work.column.problem)
    found.sort(key=lambda one: one[1], reverse=plan.pick is Operation.MAXIMUM)
    named = [group.name for group, value, _unit in found if value == found[0][1]]
    return OperationResult(", ".join(named), groups=tuple(group for group, _value, _unit in found))


def _result(own: Work, operation: Callable[[Work], OperationResult]) -> tuple[str, Decimal, str] | None:
    """Return a group's result as text and as an exact number, and its unit; None if no row has a value."""
    if own.plan.operation is Operation.COUNT:
        return str(len(own.at)), Decimal(len(own.at)), ""
    column = own.column
    amounts = selected_amounts(own)
    if not amounts:
        return None
    left_out = own.left_out.copy()
    text = operation(own).result
    own.left_out = left_out  # These rows were already counted as left out.
    total = exact_sum(amounts)
    # The text may be rounded, so groups are compared by the exact value.
    exact = total / len(amounts) if own.plan.operation is Operation.AVERAGE else total
    return text, exact, amounts[0].unit or column.unit


def _rows_by_name(work: Work) -> dict[str, list[int]]:
    """Return the rows of each group, by the first spelling of its name, in the order of the table or of time."""
    by = work.plan.by
    if by is None:
        return {}
    if work.plan.period:
        return _rows_by_period(work, by, work.plan.period)
    names: dict[str, str] = {}
    rows: dict[str, list[int]] = {}
    for at in work.at:
        cell = work.plan.known.rows[at].cells[by.at]
        if is_empty(cell):
            work.left_out[unknown_reason(by, "")] += 1
            continue
        name = names.setdefault(cell.casefold(), cell)
        rows.setdefault(name, []).append(at)
    return rows


def _rows_by_period(work: Work, by: Column, period: str) -> dict[str, list[int]]:
    """Return the rows of each period, by its name, in the order of time. Raises Refused for a date without a year."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for at in work.at:
        value = by.values[at]
        if isinstance(value, Moment) and value.year is None:
            raise Refused(_("the dates in %(column)s have no year", column=by.name))
        month, day = (value.month or 0, value.day or 0) if isinstance(value, Moment) else (0, 0)
        if not isinstance(value, Moment) or (period != "year" and not month) or (period == "day" and not day):
            work.leave_out(at, by)
            continue
        part = {"year": 0, "quarter": -(-month // MONTHS_PER_QUARTER)}.get(period, month)
        found.setdefault((value.year or 0, part, day if period == "day" else 0), []).append(at)
    is_quarter = period == "quarter"
    return {
        f"Q{part} {year}" if is_quarter else str(Moment(year, part or None, day or None)): rows
        for (year, part, day), rows in sorted(found.items())
    }


PERCENTAGE_STEP = Decimal("0.01")
"""Smallest step of a percentage."""


def difference(work: Work) -> OperationResult:
    """Return how much larger the first side is than the second, and the value of each side.

    Raises Refused if a row of either side has no value.
    """
    plan = work.plan
    if plan.pick:
        return extreme_difference(work)
    if plan.column is None:
        return _count_difference(work)
    columns = plan.side_columns or (work.column, work.column)
    groups, totals, amounts, rows = [], [], [], set[int]()
    for column, tests in zip(columns, plan.sides, strict=True):
        own = _side(work, tests)
        own.plan = replace(plan, column=column)
        found = selected_amounts(own)
        name = column.name if plan.side_columns else _describe_tests(tests) or column.name
        if not found or own.left_out:
            raise Refused(_("there is no value for every row where %(conditions)s", conditions=name))
        refuse_negative(column, found)
        amounts += found
        totals.append(exact_sum(found))
        groups.append(ResultGroup(name, format_amount(totals[-1], found, column.mark, column.shown_unit), len(own.at)))
        rows.update(own.at)
    if len({one.unit for one in amounts}) > 1:
        raise Refused(columns[0].problem or _("the two sides have different units"))
    # With one row on each side, nothing is added up.
    if sum(group.rows for group in groups) > len(groups):
        refuse_unsummable(columns[0], plan.known.columns)
    work.at = sorted(rows)
    with localcontext(prec=DIGITS):
        result = totals[0] - totals[1]
    return OperationResult(format_amount(result, amounts, columns[0].mark, columns[0].shown_unit), groups=tuple(groups))


def extreme_difference(work: Work) -> OperationResult:
    """Keep the rows in which two columns differ most or least, and return the difference.

    Raises Refused if a column cannot be compared, or a percentage would be of zero.
    """
    plan = work.plan
    found: dict[int, tuple[Decimal, Decimal]] = {}
    for column in plan.side_columns:
        if column.problem:
            raise Refused(column.problem)
        refuse_negative(column, column.amounts)
    for at in work.at:
        values = [column.values[at] for column in plan.side_columns]
        amounts = [value.value for value in values if isinstance(value, Amount)]
        if len(amounts) < len(values):
            work.leave_out(at, next(one for one in plan.side_columns if not isinstance(one.values[at], Amount)))
            continue
        base = amounts[plan.side_columns.index(plan.percent_of)] if plan.percent_of else Decimal(1)
        if plan.percent_of and not base:
            name = plan.percent_of.name
            raise Refused(_("%(column)s is zero in one row, so no percentage can be computed", column=name))
        with localcontext(prec=DIGITS):
            found[at] = abs(amounts[0] - amounts[1]), base
    if not found:
        work.at = []
        return OperationResult()
    # Fractions compare percentages exactly; rounded decimals could make two rows equal.
    ranks = {at: Fraction(part) / Fraction(whole) for at, (part, whole) in found.items()}
    best = max(ranks.values()) if plan.pick is Operation.MAXIMUM else min(ranks.values())
    work.at = [at for at, rank in ranks.items() if rank == best]
    part, whole = found[work.at[0]]
    if plan.percent_of:
        return OperationResult(_percentage(work, part, whole))
    first, second = plan.side_columns
    return OperationResult(format_amount(part, [*first.amounts, *second.amounts], first.mark, first.shown_unit))


def _count_difference(work: Work) -> OperationResult:
    """Return how many more rows the first side has than the second."""
    sides = [_side(work, tests) for tests in work.plan.sides]
    for side in sides:
        # Both sides can leave out the same rows, so for each reason only the larger number counts.
        work.left_out.update(side.left_out - work.left_out)
    pairs = zip(work.plan.sides, sides, strict=True)
    groups = [ResultGroup(_describe_tests(tests), str(len(side.at)), len(side.at)) for tests, side in pairs]
    work.at = sorted({at for side in sides for at in side.at})
    return OperationResult(str(len(sides[0].at) - len(sides[1].at)), groups=tuple(groups))


def share(work: Work) -> OperationResult:
    """Return what percentage of the whole a part is.

    Raises Refused if a value is missing or below zero, or the whole is zero.
    """
    plan, column = work.plan, work.plan.column
    totals, groups = [], []
    for tests in plan.sides:
        own = _side(work, tests)
        if own.left_out:
            raise Refused("; ".join(own.left_out))
        amounts = _side_amounts(own)
        totals.append(exact_sum(amounts))
        result = format_amount(totals[-1], amounts, column.mark, column.shown_unit) if column else str(len(own.at))
        groups.append(ResultGroup(_describe_tests(tests) or _("all"), result, len(own.at)))
        # The part comes last, so its rows are the ones that the run shows.
        work.at = own.at
    if totals[0] <= 0:
        raise Refused(_("there is nothing that it could be a share of"))
    return OperationResult(_percentage(work, totals[1], totals[0]), groups=(groups[1], groups[0]))


def _percentage(work: Work, part: Decimal, whole: Decimal) -> str:
    """Return a part as a percentage of the whole, and add a note if it is rounded."""
    with localcontext(prec=DIGITS):
        rounded = (100 * part / whole).quantize(PERCENTAGE_STEP, ROUND_HALF_EVEN)
        if rounded * whole != 100 * part:
            work.notes.append(_("The percentage is rounded."))
    return f"{rounded.normalize():f} %"


def _side_amounts(own: Work) -> Sequence[Amount]:
    """Return the amounts of a side, or 1 for each row if the plan names no column.

    Raises Refused if a row has no amount, or the amounts must not be added up.
    """
    if own.plan.column is None:
        return [Amount(Decimal(1))] * len(own.at)
    refuse_unsummable(own.column, own.plan.known.columns)
    amounts = selected_amounts(own)
    if own.left_out:
        raise Refused("; ".join(own.left_out))
    refuse_negative(own.column, amounts)
    return amounts


def _side(work: Work, tests: Sequence[Test]) -> Work:
    """Return a new Work with the rows of one side only."""
    own = Work(work.plan, list(work.at))
    select(own, with_years(tests))
    return own


def _describe_tests(tests: Sequence[Test]) -> str:
    return _(" and ").join(describe_test(test) for test in with_years(tests))


MOST_ROWS = 200
"""Maximum number of matching rows that a run keeps."""
MORE_DECIMALS = 2
"""Decimals of an average beyond those of the cells."""


def compute(plan: TablePlan, document: str, title: str | None) -> Computation:
    """Return the computation of a plan; if it is refused, with the reason instead of a result.

    `document` and `title` belong to the table's document.
    """
    table = plan.known.table
    tests = with_years(plan.tests)
    relative_days = [test.relative for test in sum(plan.sides, tuple(tests)) if test.relative]
    work, refused, found = Work(plan, list(range(len(plan.known.rows)))), "", OperationResult()
    work.notes += dict.fromkeys(relative.note for relative in relative_days if not relative.problem)
    operation = _OPERATIONS[plan.operation]
    try:
        select(work, tests)
        found = compute_groups(work, operation) if plan.by else operation(work)
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
        filters=tuple(map(describe_test, tests)),
        total_rows=len(plan.known.rows),
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


def _named(plan: TablePlan) -> str | None:
    """Return the names of the columns used in the computation; None if it uses none."""
    names = [column.name for column in plan.side_columns]
    if not names or not plan.pick:
        return " − ".join(names) or (plan.column.name if plan.column else None)
    both, base = _(" and ").join(names), plan.percent_of
    return _("%(columns)s, in percent of %(base)s", columns=both, base=base.name) if base else both


def _left_out(work: Work) -> Iterator[SkippedRows]:
    """Yield the number of rows left out for each reason, including the table's own totals and labels."""
    for why, number in work.left_out.items():
        yield SkippedRows(number, why)
    known = work.plan.known
    if len(known.rows) == len(known.table.rows):
        return
    if totals := sum(row.is_total for row in known.table.rows):
        yield SkippedRows(totals, _("a total of other rows"))
    if labels := sum(row.is_label and not row.is_total for row in known.table.rows):
        yield SkippedRows(labels, _("only the first cell is filled"))


def _count(work: Work) -> OperationResult:
    column = work.plan.column
    if column is None:
        return OperationResult(str(len(work.at)))
    values = _distinct(work, column)
    return OperationResult(str(len(values)), tuple(values))


def _distinct(work: Work, column: Column) -> list[str]:
    """Return the distinct values of a column, each in its first spelling, and leave out rows without a value."""
    values: dict[str, str] = {}
    kept = []
    for at in work.at:
        cell = work.plan.known.rows[at].cells[column.at]
        if is_empty(cell):
            work.left_out[unknown_reason(column, "")] += 1
            continue
        kept.append(at)
        values.setdefault(cell.casefold(), cell)
    work.at = kept
    return list(values.values())


def _sum(work: Work) -> OperationResult:
    column = work.column
    refuse_unsummable(column, work.plan.known.columns)
    amounts = selected_amounts(work)
    if not amounts:
        return OperationResult()
    total = exact_sum(amounts)
    _compare_with_own_total(work, total)
    return OperationResult(format_amount(total, amounts, column.mark, column.shown_unit))


def _compare_with_own_total(work: Work, total: Decimal) -> None:
    """Add a note if the table's own total of all rows differs from the computed sum."""
    table, column = work.plan.known.table, work.column
    totals = [row for row in table.rows if row.is_total]
    if work.plan.tests or len(totals) != 1 or totals[0] is not table.rows[-1]:
        return
    says = totals[0].cells[column.at]
    own = parse_amount(says, column.mark)
    label = next(cell for cell in totals[0].cells if cell)
    # The last row may be an average instead of a sum.
    if own and own.value != total and not label.lower().startswith(("average", "mean", "median")):
        work.notes.append(_("The table itself says %(value)s in its row “%(label)s”.", value=says, label=label))


def _average(work: Work) -> OperationResult:
    column, amounts = work.column, selected_amounts(work)
    if not amounts:
        return OperationResult()
    mean, rounded = rounded_mean(amounts)
    if rounded:
        work.notes.append(_("The average is rounded."))
    return OperationResult(format_amount(mean, amounts, column.mark, column.shown_unit))


def rounded_mean(amounts: Sequence[Amount]) -> tuple[Decimal, bool]:
    """Return the average of amounts, and whether it is rounded."""
    places = max(one.decimals for one in amounts) + MORE_DECIMALS
    with localcontext(prec=DIGITS):
        total = sum((one.value for one in amounts), Decimal(0))
        mean = (total / len(amounts)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
        return mean.normalize(), mean * len(amounts) != total


def _extreme(work: Work) -> OperationResult:
    """Keep the rows with the highest or lowest values, as many as the plan asks for.

    Rows that tie with the last of them are kept as well. Raises Refused if the values cannot be ranked.
    """
    column = work.column
    ranks: list[tuple[int, Decimal | date]] = []
    for at in work.at:
        value = column.values[at]
        rank = value.value if isinstance(value, Amount) else value.first if isinstance(value, Moment) else None
        if rank is None:
            work.leave_out(at, column)
        else:
            ranks.append((at, rank))
    if not ranks:
        if column.moments:
            raise Refused(_("the dates in %(column)s have no year", column=column.name))
        work.at = []
        return OperationResult()
    if column.mixed and len({value.unit for at, _ in ranks if isinstance(value := column.values[at], Amount)}) > 1:
        raise Refused(column.problem)
    # A cell that contains a digit but is not a plain value, such as "12–15", may be the extreme one.
    cells = [work.plan.known.rows[at].cells[column.at] for at in work.at if column.values[at] is None]
    if unread := next(filter(has_digit, cells), ""):
        name = column.name
        raise Refused(_("%(column)s is “%(cell)s”, which may be the lowest or highest value", column=name, cell=unread))
    at_least = work.plan.operation is Operation.MAXIMUM
    ranks.sort(key=lambda one: one[1], reverse=at_least)
    # Rows that tie with the last one asked for are kept.
    limit = ranks[min(work.plan.few, len(ranks)) - 1][1]
    work.at = [at for at, rank in ranks if (rank >= limit if at_least else rank <= limit)]  # type: ignore[operator]
    if isinstance(column.values[work.at[0]], Amount) and at_least:
        refuse_hidden_total(work, work.at)
    if work.plan.few > 1:
        if len(work.at) > work.plan.few:
            work.notes.append(_("The last of them have the same value."))
        return OperationResult()
    cell = work.rows[0].cells[column.at]
    return OperationResult(f"{cell} {column.shown_unit}".strip())


def _values(work: Work) -> OperationResult:
    column = work.plan.column
    return OperationResult(values=tuple(_distinct(work, column))) if column else OperationResult()


_OPERATIONS: dict[Operation, Callable[[Work], OperationResult]] = {
    Operation.COUNT: _count,
    Operation.SUM: _sum,
    Operation.AVERAGE: _average,
    Operation.MAXIMUM: _extreme,
    Operation.MINIMUM: _extreme,
    Operation.FILTER: lambda _work: OperationResult(),
    Operation.VALUES: _values,
    Operation.DIFFERENCE: difference,
    Operation.SHARE: share,
}
