"""Build the plan of a question for a table, if there is one that uses every word of the question.

A plan that ignores a word would answer another question. So a question is refused if one of its words names nothing in
the table, or names a column that the plan does not use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from localcrag.records.enums import Operation
from localcrag.tables.parse import Table
from localcrag.tables.parsed_question import (
    ParsedQuestion,
    add_cell_tests,
    parse_question,
    resolve_condition,
)
from localcrag.tables.plan_columns import (
    TablePlan,
    asks_for_rows,
    computed_column,
    extreme_group_plan,
    group_plan,
    last_noun_word,
    may_mean_groups,
    may_mean_spending,
    names_period,
    noun_meaning,
)
from localcrag.tables.plan_comparisons import (
    difference_plan,
    extreme_difference_plan,
    resolve_plan_words,
    resolve_time_words,
    row_comparison_test,
    share_plan,
)
from localcrag.tables.question import Request
from localcrag.tables.question_conditions import Relation
from localcrag.tables.vocabulary import (
    PERIODS,
    ROW_NOUNS,
    UNINFORMATIVE,
    Column,
    ColumnKind,
    Superlative,
    TableVocabulary,
    Word,
    has_header,
    meaningful,
    stems_of,
    with_synonyms,
)
from localcrag.text.words import FUNCTION_WORDS

AGGREGATES = frozenset((Operation.SUM, Operation.AVERAGE, Operation.MAXIMUM, Operation.MINIMUM))
"""Operations that make no sense on a single row."""


def unused(reading: ParsedQuestion, plan: TablePlan) -> list[Word]:
    """Return the words that name only a column which the plan does not use.

    In plans for rows, only a word of the header itself names its column: "trains leave" does not ask for the departure.
    """
    known = reading.known
    used = {column.at for column in _columns_of(plan)}
    used |= {column.at for column in known.columns if _is_label(plan, column)}
    used |= {column.at for column in known.best_named(known.labels, reading.target)}
    kept = [column for column in known.columns if column.at in {*used, known.label_column.at}]
    left = known.unexplained(reading.free_words, kept)
    if plan.operation in (Operation.FILTER, Operation.COUNT, Operation.VALUES):
        left = [word for word in left if word.stem in known.all_header_words]
    if plan.period or reading.request.superlative:
        left = [word for word in left if word.stem not in PERIODS]
    return left


def aggregates_one_row(plan: TablePlan) -> bool:
    """Return whether the plan aggregates rows although a condition names a single row.

    "The rent, all together" is more than the row "Rent": the rest is in other rows.
    """
    if plan.operation not in AGGREGATES or plan.by or plan.period:
        return False
    equal = [test for test in plan.tests if test.relation is Relation.EQUAL and isinstance(test.value, str)]
    return any(not test.negated and not test.others and _is_label(plan, test.column) for test in equal)


def _is_label(plan: TablePlan, column: Column) -> bool:
    """Return whether a column has a different name for each row, so that a word for the column means the rows."""
    names = column.kind in (ColumnKind.TEXT, ColumnKind.NAME) or (column.kind is ColumnKind.DATE and column.at == 0)
    return names and plan.known.is_unique(column)


def _columns_of(plan: TablePlan) -> Iterator[Column]:
    """Yield the columns that the plan uses."""
    tests = sum(plan.sides, plan.tests)
    columns = [plan.column, plan.by, plan.percent_of, *plan.side_columns]
    columns += [column for test in tests for column in (test.column, test.than)]
    yield from filter(None, columns)


LIMITS = frozenset(("minimum", "maximum", "min", "max", "limit", "least", "most", "up", "from"))
"""Words of columns with limits: "the maximum age" hardly asks for the highest of several limits."""
STEM_PREFIX = 3
"""Number of letters that a word shares with its stem: a cell without these letters does not contain the word."""
_NUMBER = re.compile(r"\d{1,3}")


def build_plan(request: Request, table: Table, names: Sequence[str]) -> TablePlan | None:
    """Return the plan of a request for a table; None if the request is not about the table.

    `names` are those of the table's document.
    """
    known = TableVocabulary(table, names)
    if not has_header(table):
        return None
    reading = parse_question(request, known)
    if reading is None or _is_operation_a_label(request, known) or _may_be_sum_column(request, known):
        return None
    # Replace words with those of the headers before the check for words that name nothing.
    if request.forms.versus or request.forms.form is Operation.DIFFERENCE:
        resolve_time_words(reading)
    resolve_plan_words(reading)
    if _has_unexplained_word(reading) or not all(
        resolve_condition(reading, condition) for condition in request.conditions
    ):
        return None
    if not add_cell_tests(reading) or any(_NUMBER.fullmatch(word.written) for word in reading.free_words):
        return None  # A small number that is no cell has another meaning, even if it is in the table's name.
    make = group_plan if request.forms.by else _OPERATIONS[request.operation]
    if request.forms.versus:
        make = extreme_difference_plan if request.forms.versus.end else _comparison_plan
    plan = make(reading)
    return plan if plan and not aggregates_one_row(plan) and not unused(reading, plan) else None


def _comparison_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the rows in which two columns have the relation that the question asks for."""
    compared = row_comparison_test(reading)
    if compared is None:
        return None
    reading.tests.append(compared)
    return _OPERATIONS[reading.request.operation](reading)


def _has_unexplained_word(reading: ParsedQuestion) -> bool:
    """Return whether a word names nothing in the table.

    In "which month has the highest total", the month is part of the dates, even if no header names it.
    """
    left = reading.known.unexplained(reading.free_words)
    if reading.request.superlative and reading.known.dates:
        left = [word for word in left if word.stem not in PERIODS]
    return bool(left)


def _is_operation_a_label(request: Request, known: TableVocabulary) -> bool:
    """Return whether the word for the operation is the name of a column or a row.

    "Maximum stay" may be a row whose value is to be looked up, not computed.
    """
    asks = set(stems_of(request.asks)) - {"number", "total"}
    # A quick search for the first letters avoids the stems of every cell in a long table.
    begin = tuple(word[:STEM_PREFIX] for word in asks)
    cells = [cell for cell in {row.cells[0] for row in known.rows} if any(one in cell.lower() for one in begin)]
    labels = {word for cell in cells for word in stems_of(cell)}
    return bool(asks & (labels | known.all_header_words))


def _may_be_sum_column(request: Request, known: TableVocabulary) -> bool:
    """Return whether "in sum" or "the total" in a comparison or a share may name a column."""
    words = known.all_header_words & set(stems_of(request.text))
    return request.forms.form is not None and bool({"sum", "total"} & words)


def _aggregate_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for a sum or an average; None if the column is unclear."""
    known, request = reading.known, reading.request
    words = reading.free_words
    if request.target is not None:
        # "How many … in total" asks for a sum if a column counts these things, and otherwise for the number of rows.
        noun = [word for word in reading.target if word.stem not in UNINFORMATIVE]
        if not noun or not known.best_named(known.amounts, noun[-1:]):
            return _count_plan(reading)
        words = noun
    elif request.asks == "total":
        in_header = [column for column in known.amounts if "total" in known.header_words(column)]
        if len(in_header) == 1 and not known.best_named(known.amounts, words):
            return TablePlan(known, request.operation, in_header[0], tuple(reading.tests))
    column = computed_column(reading, words)
    return TablePlan(known, request.operation, column, tuple(reading.tests)) if column else None


def _extreme_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the rows, or for the group, with the highest or lowest values; None if that is unclear."""
    known, wanted = reading.known, reading.request.superlative
    if wanted is None:
        return None
    if reading.request.group_operation or names_period(reading):
        return extreme_group_plan(reading)
    column = _superlative_column(reading, wanted)
    if column is None:
        return extreme_group_plan(reading) if reading.request.asks in ("most", "fewest", "least") else None
    if LIMITS & known.header_words(column):
        return None
    if may_mean_groups(reading, column) or not _is_most_about_column(reading, column):
        return extreme_group_plan(reading)
    plan = TablePlan(known, reading.request.operation, column, tuple(reading.tests), few=reading.request.few)
    return None if may_mean_spending(reading, column) else plan


def _superlative_column(reading: ParsedQuestion, wanted: Superlative) -> Column | None:
    """Return the column that a word like "cheapest" refers to; None if that is unclear."""
    known, words = reading.known, reading.free_words
    if wanted.dates:
        dates = known.columns_of_kind(ColumnKind.DATE, ColumnKind.TIME)
        found = known.best_named(dates, words) or dates
        return found[0] if len(found) == 1 else None
    if wanted.columns:
        fitting = [column for column in known.amounts if with_synonyms(wanted.columns) & known.header_words(column)]
        found = known.best_named(fitting, words) or fitting
        return found[0] if len(found) == 1 else None
    column = computed_column(reading, words)
    fitting = [one for one in known.amounts if wanted.otherwise & known.header_words(one)]
    if column is None and len(fitting) == 1 and not known.best_named(known.amounts, words):
        return fitting[0]
    return column


def _is_most_about_column(reading: ParsedQuestion, column: Column) -> bool:
    """Return whether "the most" refers to the column: "the most points" does, "the most flats" of a floor does not."""
    request = reading.request
    if request.asks not in ("most", "fewest", "least"):
        return True
    place = re.search(rf"\b{request.asks}\b", request.text, re.IGNORECASE)
    telling = [word for word in reading.free_words if word.stem not in (UNINFORMATIVE - ROW_NOUNS) | FUNCTION_WORDS]
    behind = [word for word in telling if place and word.start >= place.end()]
    return not behind or reading.known.mention(column, behind[:1]) > 0


def _count_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for a number of rows or of distinct values; None if it is unclear what to count."""
    known = reading.known
    noun = reading.target
    if not noun:
        return None
    last_cells = (cell for cell in reading.cells if any(word.start == noun[-1].start for word in cell.words))
    if cell := next(last_cells, None):
        # "How many laptops" counts the rows if several are laptops; a single row has a number to be looked up.
        is_one = cell.rows > 1 and not known.has_quantities and not reading.request.forms.different
        return TablePlan(known, Operation.COUNT, None, tuple(reading.tests)) if is_one else None
    last = last_noun_word(reading, noun)
    if reading.request.forms.different:
        named = known.best_named(known.labels, [last])
        return TablePlan(known, Operation.COUNT, named[0], tuple(reading.tests)) if len(named) == 1 else None
    found = noun_meaning(reading, last)
    if found is None or (found[0] and any(test.column.at == found[0].at for test in reading.tests)):
        return None  # The question already fixes this column to one value, so there is nothing to count.
    if found[0] is None and known.has_quantities and not known.is_in_header(last):
        return None  # "How many shirts" may ask for the quantity that was ordered, not for the number of orders.
    return TablePlan(known, Operation.COUNT, found[0], tuple(reading.tests))


def _list_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for a list of rows, or of a column's values; None if that is unclear."""
    known, request = reading.known, reading.request
    if reading.asks_who:
        return _rows_plan(reading) if known.are_people(known.label_column) else None
    noun = meaningful(reading.target)
    if not noun or (request.forms.different and not request.everything) or not asks_for_rows(reading, noun):
        return None
    if (request.conditions or request.forms.versus) and reading.tests:
        return _rows_plan(reading)
    named = known.best_named(known.labels, [last_noun_word(reading, noun)])
    if not request.everything:
        first = not named or named[0] is known.label_column
        return _rows_plan(reading) if first and _may_be_several(reading) else None
    if len(named) == 1 and named[0].kind is ColumnKind.TEXT and not reading.tests:
        return TablePlan(known, Operation.VALUES, named[0])
    return _rows_plan(reading)


def _rows_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the rows that meet the tests; None if there are no tests."""
    return TablePlan(reading.known, Operation.FILTER, None, tuple(reading.tests)) if reading.tests else None


def _may_be_several(reading: ParsedQuestion) -> bool:
    """Return whether several rows can meet the tests; a row named by a unique cell is looked up, not computed."""
    single = {cell.column.at for cell in reading.cells if cell.rows == 1}
    return all(test.negated or test.others or test.column.at not in single for test in reading.tests)


_OPERATIONS: dict[Operation, Callable[[ParsedQuestion], TablePlan | None]] = {
    Operation.COUNT: _count_plan,
    Operation.SUM: _aggregate_plan,
    Operation.AVERAGE: _aggregate_plan,
    Operation.MAXIMUM: _extreme_plan,
    Operation.MINIMUM: _extreme_plan,
    Operation.FILTER: _list_plan,
    Operation.DIFFERENCE: difference_plan,
    Operation.SHARE: share_plan,
}
