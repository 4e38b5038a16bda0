"""Plans for a table: the column to compute with, the rows to use, and results for groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localcrag.records.enums import Operation
from localcrag.tables.parsed_question import ParsedQuestion, Test
from localcrag.tables.vocabulary import (
    EXACT,
    PERIODS,
    ROW_NOUNS,
    UNINFORMATIVE,
    Column,
    ColumnKind,
    TableVocabulary,
    Word,
    meaningful,
    stem,
    words_of,
)
from localcrag.text.words import FUNCTION_WORDS

_SPENT = re.compile(r"(?i)\b(?:spen[dt]|spending|expenses?|paid|costs?|expensive)\b")
"""Questions about spending."""
BEFORE_NOUN = frozenset(("a", "all", "of", "the", "our", "is", "are", "was", "were"))
"""Words that may be between "which" and the noun of a list; any other word means that the question asks for
something else."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A computation on a table.

    `column` is the column to compute with; None if the rows themselves are counted or listed. `few` is the requested
    number of rows with the highest or lowest values. `by` is the column whose values form groups with a result each, or
    whose dates do so by `period`; `pick` then asks for the group with the highest or lowest result. `sides` are the
    conditions of the two sides of a difference, or of the whole and the part of a share. `side_columns` are two columns
    to compare. With `pick`, they are compared in each row; if `percent_of` names a column, as a percentage of it.
    """

    known: TableVocabulary
    operation: Operation
    column: Column | None
    tests: tuple[Test, ...] = ()
    few: int = 1
    by: Column | None = None
    period: str = ""
    pick: Operation | None = None
    sides: tuple[tuple[Test, ...], ...] = ()
    side_columns: tuple[Column, ...] = ()
    percent_of: Column | None = None


def computed_column(reading: ParsedQuestion, words: Sequence[Word]) -> Column | None:
    """Return the column of amounts that the words name, or the only one; None if that is unclear.

    A column with a condition is used only if no other column is named.
    """
    known = reading.known
    amounts = known.amounts
    tested = reading.tested
    named = known.best_named(amounts, words)
    others = known.best_named([column for column in amounts if column.at not in tested], words)
    if found := others or named:
        return found[0] if len(found) == 1 else None
    dates = [column for column in known.dates if column.at not in tested]
    # "The total of all orders" is about the orders' amounts, and not about numbers of which each row has its own.
    numbers = [column for column in known.columns_of_kind(ColumnKind.NAME) if column.at not in tested]
    if any(known.mention(one, words) for one in (*dates, *(one for one in numbers if not known.is_unique(one)))):
        return None
    return amounts[0] if len(amounts) == 1 else None


def noun_meaning(reading: ParsedQuestion, noun: Word) -> tuple[Column | None] | None:
    """Return (column,) if a noun names values of a column, (None,) if it names rows, None if it names neither."""
    known = reading.known
    named = known.best_named(known.labels, [noun])
    measured = known.best_named(known.columns_of_kind(ColumnKind.AMOUNT, ColumnKind.DATE, ColumnKind.TIME), [noun])
    # The dates of a first column can name the rows, such as a row for each month.
    if measured and all(one.at == 0 and one.kind is ColumnKind.DATE and known.is_unique(one) for one in measured):
        return (None,)
    if measured and not any(_names_only_rows(known, noun, column) for column in measured):
        return None
    if len(named) == 1:
        return (None if known.is_unique(named[0]) else named[0],)
    return (None,) if not named and known.is_row(noun.stem) else None


def _names_only_rows(known: TableVocabulary, noun: Word, column: Column) -> bool:
    """Return whether a noun is a name for the rows, and not just for the column.

    "Warranties" names the rows of a table of warranties with a column "Warranty until".
    """
    return noun.stem in ROW_NOUNS or (known.is_row(noun.stem) and known.header_words(column) != {noun.stem})


def last_noun_word(reading: ParsedQuestion, noun: Sequence[Word]) -> Word:
    """Return the last word of a noun.

    The noun in "products cost" ends before the verb, which names a column of amounts.
    """
    known = reading.known
    words = list(noun)
    cell_starts = {word.start for cell in reading.cells for word in cell.words}
    while len(words) > 1 and (
        words[-1].start in cell_starts
        or known.best_named(known.columns_of_kind(ColumnKind.AMOUNT, ColumnKind.DATE, ColumnKind.TIME), words[-1:])
        or words[-1].stem in UNINFORMATIVE - ROW_NOUNS
    ):
        words.pop()
    return words[-1]


def asks_for_rows(reading: ParsedQuestion, noun: Sequence[Word]) -> bool:
    """Return whether a question lists rows or values of a column by a noun that directly follows "which"."""
    before = words_of(reading.request.rest[reading.request.target or 0 : noun[0].start])
    known = noun_meaning(reading, last_noun_word(reading, noun)) is not None
    return known and all(word.stem in BEFORE_NOUN for word in before)


def may_mean_spending(reading: ParsedQuestion, column: Column) -> bool:
    """Return whether "the most spent" may be the lowest number, because the column has values below zero."""
    return _SPENT.search(reading.request.text) is not None and any(one.value < 0 for one in column.amounts)


_WHOLE = re.compile(r"\d{1,6}")


def group_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan with a result for each group, such as "how many members per town"; None if it is unclear which."""
    known, request = reading.known, reading.request
    by = _grouping(known, [Word(stem(request.forms.by), 0, request.forms.by)], reading)
    # "The average per day" may be the mean of a day's rows, or the mean of the days' totals.
    operations = (Operation.COUNT, Operation.SUM) + (() if by and by[1] else (Operation.AVERAGE,))
    if by is None or request.operation not in operations:
        return None
    words = [word for word in reading.free_words if not known.mention(by[0], [word])]
    counted = {word.start for word in reading.target} if request.target is not None else set()
    if any(_names_other_column(reading, word) for word in words if word.start not in counted):
        return None  # "Per shelf and supplier" groups by two columns.
    if request.target is None:
        column = _amounts(reading, by[0], words)
        return _plan(reading, request.operation, column, by) if column else None
    noun = meaningful(reading.target)
    if not noun:
        return None
    last = last_noun_word(reading, noun)
    summed = [one for one in known.best_named(known.amounts, [last]) if one.at != by[0].at]
    if summed:
        return _plan(reading, Operation.SUM, summed[0], by) if len(summed) == 1 else None
    return _plan(reading, Operation.COUNT, None, by) if _are_rows(reading, last) else None


def extreme_group_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the group with the highest or lowest sum, average or number of rows; None if it is unclear."""
    known, request = reading.known, reading.request
    words = reading.free_words
    by = _grouping(known, words, reading)
    totals = [column for column in known.amounts if "total" in known.header_words(column)]
    if request.group_operation is Operation.SUM and totals:
        found = known.best_named(totals, words) or totals
        plan = TablePlan(known, request.operation, found[0], tuple(reading.tests), few=request.few)
        return plan if len(found) == 1 and not by and not names_period(reading) else None
    sums = request.group_operation is Operation.SUM and not names_period(reading)
    if sums and (single := _single_row_plan(reading)):
        return single
    if by is None or request.few > 1:
        return None
    words = [word for word in words if not known.mention(by[0], [word]) and word.stem != by[1]]
    operation = request.group_operation or _most_operation(reading, words)
    counts = operation is Operation.COUNT
    column = None if counts else _amounts(reading, by[0], words)
    if column and may_mean_spending(reading, column):
        return None
    if operation is None or not (counts or column):
        return None
    return replace(_plan(reading, operation, column, by), pick=request.operation)


def _single_row_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the row with the highest value, if each group has a single row, such as one row per month."""
    known = reading.known
    others = [column for column in known.columns if column.kind is not ColumnKind.AMOUNT]
    named = [column for column in others if known.mention(column, reading.free_words) >= EXACT]
    if len(named) != 1:
        return None
    cells = {value or cell for value, cell in zip(named[0].values, known.cells(named[0]), strict=True)}
    if len(cells) < len(known.rows) or reading.tests or _has_single_days(known, named[0]):
        return None
    words = [word for word in reading.free_words if not known.mention(named[0], [word])]
    column = _amounts(reading, named[0], words)
    if column is None or may_mean_spending(reading, column):
        return None
    return TablePlan(known, reading.request.operation, column, few=reading.request.few)


def names_period(reading: ParsedQuestion) -> bool:
    """Return whether the question names a month, quarter or year that is in no header, so dates must contain it."""
    known = reading.known
    periods = [word for word in reading.free_words if word.stem in PERIODS and word.stem != "day"]
    return any(not any(word.stem in known.header_words(one) for one in known.columns) for word in periods)


def _most_operation(reading: ParsedQuestion, words: Sequence[Word]) -> Operation | None:
    """Return whether "the most" for a group means a sum or a number of rows; None if that is unclear."""
    known = reading.known
    if reading.request.asks not in ("most", "fewest", "least"):
        return None  # "The largest customer" may have the largest order, or the largest sum of orders.
    nouns = meaningful(words)
    if len(nouns) == 1 and known.best_named(known.amounts, nouns):
        return Operation.SUM
    return Operation.COUNT if len(nouns) == 1 and _are_rows(reading, nouns[0]) else None


def may_mean_groups(reading: ParsedQuestion, column: Column) -> bool:
    """Return whether the question may ask for the highest of several sums.

    "The largest customer" can have several rows; "the highest amount" is in one row.
    """
    known, words = reading.known, reading.free_words
    if known.mention(column, words) >= EXACT and reading.request.asks in ("highest", "lowest"):
        return False
    tested = reading.tested | {cell.column.at for cell in reading.cells}
    days = [ColumnKind.DATE] if reading.request.asks in ("most", "fewest", "least") else []
    others = known.columns_of_kind(ColumnKind.TEXT, ColumnKind.NAME, *days)
    free = [one for one in others if one.at not in {column.at, *tested} or one.kind is ColumnKind.DATE]
    return any(known.mention(one, words) and not known.is_unique(one) for one in free)


def _names_other_column(reading: ParsedQuestion, word: Word) -> bool:
    """Return whether a word names another text column without a condition."""
    known, tested = reading.known, reading.tested
    others = [column for column in known.labels if column.at not in tested]
    return any(known.mention(column, [word]) >= EXACT for column in others) and not known.is_row(word.stem)


def _plan(reading: ParsedQuestion, operation: Operation, column: Column | None, by: tuple[Column, str]) -> TablePlan:
    """Return a plan for groups, with the tests so far."""
    return TablePlan(reading.known, operation, column, tuple(reading.tests), by=by[0], period=by[1])


def _grouping(known: TableVocabulary, words: Sequence[Word], reading: ParsedQuestion) -> tuple[Column, str] | None:
    """Return the column to group by that the words name, and the period of its dates; None if that is unclear."""
    tested = reading.tested
    content_words = [word for word in words if word.stem not in FUNCTION_WORDS]
    named = [one for one in known.columns if one.at not in tested and known.mention(one, content_words) >= EXACT]
    columns = [column for column in named if _repeats(known, column)]
    if len(columns) == 1:
        return columns[0], _column_period(columns[0])
    periods = [word.stem for word in content_words if word.stem in PERIODS]
    dates = known.dates
    if columns or len(periods) != 1 or len(dates) != 1 or dates[0].problem:
        return None
    return dates[0], periods[0]


def _has_single_days(known: TableVocabulary, column: Column) -> bool:
    """Return whether a column named after a month, quarter or year contains single days."""
    return bool((PERIODS - {"day"}) & known.header_words(column)) and any(one.day for one in column.moments)


def _column_period(column: Column) -> str:
    """Return the period of all dates in a column; empty if the dates are grouped as written.

    With a period, a day that is written in two ways is one group.
    """
    moments = column.moments
    if not moments or any(one.year is None for one in moments):
        return ""
    if all(one.day for one in moments):
        return "day"
    return "month" if all(one.month and not one.day for one in moments) else ""


def _repeats(known: TableVocabulary, column: Column) -> bool:
    """Return whether rows can be grouped by a column, because its text or whole numbers (such as floors) repeat."""
    if known.is_unique(column):
        return False
    if column.kind in (ColumnKind.TEXT, ColumnKind.NAME):
        return True
    if column.kind is ColumnKind.DATE:
        return not _has_single_days(known, column)
    return column.kind is ColumnKind.AMOUNT and all(map(_WHOLE.fullmatch, known.cells(column)))


def _amounts(reading: ParsedQuestion, by: Column, words: Sequence[Word]) -> Column | None:
    """Return the column of amounts to add up or to average for each group; None if that is unclear."""
    known = reading.known
    others = [column for column in known.amounts if column.at != by.at]
    named = known.best_named(others, words)
    if not named and reading.request.asks == "total":
        named = [column for column in others if "total" in known.header_words(column)]
    if len(named) == 1:
        return named[0]
    if named or len(others) != 1:
        return None
    return others[0] if computed_column(reading, words) in (None, others[0]) else None


def _are_rows(reading: ParsedQuestion, noun: Word) -> bool:
    """Return whether a noun names the rows, and not something that a column counts."""
    known = reading.known
    return noun_meaning(reading, noun) == (None,) and (not known.has_quantities or known.is_in_header(noun))
