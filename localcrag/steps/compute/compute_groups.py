"""A result for each group of rows, and which group has the highest or lowest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from localcrag.records.computation import Group
from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import is_empty
from localcrag.steps.compute.conditions import why_unknown
from localcrag.steps.compute.moments import MONTHS_OF_A_QUARTER, Moment
from localcrag.steps.compute.work import Found, Refused, Work, amounts_of, refuse_percentages, refuse_to_add, total_of
from localcrag.text.translation import gettext as _


def in_groups(work: Work, operation: Callable[[Work], Found]) -> Found:
    """Return what an operation comes to for each group, largest groups' names first where one is asked for.

    Raises Refused where rows have no group's name that can be told, or results are in several units.
    """
    plan = work.plan
    if plan.operation is Operation.SUM:
        refuse_to_add(work.column, plan.known.columns)
    elif plan.operation is not Operation.COUNT:
        refuse_percentages(work.column)
    groups: list[Group] = []
    values: list[Decimal] = []
    units: set[str] = set()
    counted: list[int] = []
    for name, rows in _rows_by_name(work).items():
        own = Work(replace(plan, by=None), rows)
        result = _result(own, operation)
        work.left_out.update(own.left_out)
        work.notes.extend(note for note in own.notes if note not in work.notes)
        if result is None:
            continue
        groups.append(Group(name, result[0], len(own.at)))
        values.append(result[1])
        units.add(result[2])
        counted += own.at
    work.at = sorted(counted)
    if plan.pick is None or not groups:
        return Found(groups=tuple(groups))
    if len(units) > 1:
        raise Refused(work.column.problem)
    best = max(values) if plan.pick is Operation.MAXIMUM else min(values)
    named = [group.name for group, value in zip(groups, values, strict=True) if value == best]
    order = sorted(range(len(groups)), key=lambda at: values[at], reverse=plan.pick is Operation.MAXIMUM)
    return Found(", ".join(named), groups=tuple(groups[at] for at in order))


def _result(own: Work, operation: Callable[[Work], Found]) -> tuple[str, Decimal, str] | None:
    """Return the result of a group as it is written, exactly, and its unit; None where no row has a value."""
    if own.plan.operation is Operation.COUNT:
        return str(len(own.at)), Decimal(len(own.at)), ""
    column = own.column
    amounts = amounts_of(own)
    if not amounts:
        return None
    left_out = own.left_out.copy()
    said = operation(own).result
    own.left_out = left_out  # The operation has left out what already was.
    total = total_of(amounts)
    exact = total / len(amounts) if own.plan.operation is Operation.AVERAGE else total
    return said, exact, amounts[0].unit or column.unit


def _rows_by_name(work: Work) -> dict[str, list[int]]:
    """Return the rows of each group, by its name as it is written first, in the order of the table or of time."""
    by = work.plan.by
    if by is None:
        return {}
    if work.plan.period:
        return _rows_by_period(work)
    names: dict[str, str] = {}
    rows: dict[str, list[int]] = {}
    for at in work.at:
        cell = work.plan.known.rows[at].cells[by.at]
        if is_empty(cell):
            work.left_out[why_unknown(by, "")] += 1
            continue
        name = names.setdefault(cell.casefold(), cell)
        rows.setdefault(name, []).append(at)
    return rows


def _rows_by_period(work: Work) -> dict[str, list[int]]:
    by, period = work.plan.by, work.plan.period
    found: dict[tuple[int, int, int], list[int]] = {}
    for at in work.at:
        value = by.values[at] if by else None
        said = isinstance(value, Moment) and value.year is not None and _says(value, period)
        if by is None or not isinstance(value, Moment) or not said:
            if by and isinstance(value, Moment) and value.year is None:
                raise Refused(_("the dates in %(column)s have no year", column=by.name))
            cell = work.plan.known.rows[at].cells[by.at] if by else ""
            work.left_out[why_unknown(by, cell) if by else ""] += 1
            continue
        month = value.month or 0
        part = {"year": 0, "quarter": -(-month // MONTHS_OF_A_QUARTER)}.get(period, month)
        day = (value.day or 0) if period == "day" else 0
        found.setdefault((value.year or 0, part, day), []).append(at)
    return {_name(*key, period): found[key] for key in sorted(found)}


def _says(value: Moment, period: str) -> bool:
    """Whether a moment says in which period it lies."""
    return period == "year" or (value.month is not None and (period != "day" or value.day is not None))


def _name(year: int, part: int, day: int, period: str) -> str:
    if period == "quarter":
        return f"Q{part} {year}"
    return str(Moment(year, part or None, day or None))
