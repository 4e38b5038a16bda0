"""Whether a plan uses every word of its question; one that leaves a word out answers another question."""

from __future__ import annotations

from collections.abc import Iterator

from localcrag.records.enums import Operation
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.matching import Word
from localcrag.steps.compute.plan_columns import Plan, label_of
from localcrag.steps.compute.reading import Reading, Test, clearest, free
from localcrag.steps.compute.said_conditions import Relation
from localcrag.steps.compute.vocabulary import PERIODS

OF_SEVERAL = frozenset((Operation.SUM, Operation.AVERAGE, Operation.MAXIMUM, Operation.MINIMUM))
"""Operations that say nothing of one row alone."""


def unused(reading: Reading, plan: Plan) -> list[Word]:
    """Return the words that name a column which the plan does not use, and nothing else.

    Of rows, only a word of the header itself counts as its name: "trains leave" is no wish for the departure.
    """
    known = reading.known
    used = {column.at for column in _columns_of(plan)}
    used |= {column.at for column in known.columns if _is_label(plan, column)}
    used |= {column.at for column in clearest(known, known.of_kind(Kind.TEXT, Kind.NAME), reading.target)}
    kept = [column for column in known.columns if column.at in {*used, label_of(known).at}]
    left = known.unexplained(free(reading), kept)
    if plan.operation in (Operation.FILTER, Operation.COUNT, Operation.VALUES):
        left = [word for word in left if word.stem in known.all_header_words]
    if plan.period or reading.request.superlative:
        left = [word for word in left if word.stem not in PERIODS]
    return left


def is_of_one_row(plan: Plan) -> bool:
    """Whether the plan adds up, or compares, rows of which its conditions leave the one that they name.

    "The rent, all together" is not the row "Rent" alone: what "all together" adds to it is somewhere else.
    """
    if plan.operation not in OF_SEVERAL or plan.by or plan.period:
        return False
    return any(
        test.relation is Relation.EQUAL and isinstance(test.value, str) and not test.negated and not test.others
        and _is_label(plan, test.column)
        for test in plan.tests
    )  # fmt: skip


def _is_label(plan: Plan, column: Column) -> bool:
    """Whether a column has another name for each row: a word for it is one for the rows."""
    cells = [row.cells[column.at] for row in plan.known.rows]
    names = column.kind in (Kind.TEXT, Kind.NAME) or (column.kind is Kind.DATE and column.at == 0)
    return names and len(set(cells)) == len(cells)


def _columns_of(plan: Plan) -> Iterator[Column]:
    tests: list[Test] = [*plan.tests, *(test for side in plan.sides for test in side)]
    yield from (column for column in (plan.column, plan.by, plan.percent_of, *plan.side_columns) if column)
    for test in tests:
        yield test.column
        if test.than:
            yield test.than
