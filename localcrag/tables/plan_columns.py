"""Plans: the columns and rows of a computation, and totals for groups of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.enums import Operation
from localcrag.tables.parsed_question import Reading, Test, clearest, free
from localcrag.tables.vocabulary import (
    EXACT,
    PERIODS,
    ROW_NOUNS,
    SAYS_NOTHING,
    Column,
    Kind,
    Known,
    Word,
    alike,
    meaningful,
    stem,
    words_of,
)
from localcrag.text.words import FUNCTION_WORDS

_SPENT = re.compile(r"\b(?:spen[dt]|spending|expenses?|paid|costs?|expensive)\b", re.IGNORECASE)
BEFORE_NOUN = frozenset(("a", "all", "of", "the", "our", "is", "are", "was", "were"))
"""Words between "which" and what is listed: with others something else is asked of it."""
QUANTITIES = frozenset(("quantity", "stock", "number", "count", "total", "place", "seat"))
"""Words of columns that say how many of something there are: a row is not one of it then."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is computed on a table. `column` is what it is computed with; None: the rows themselves are counted.

    `few` rows are asked for where the highest or lowest values are. `by` makes it a result for each of its values, or
    for each `period` of its dates; of them `pick` asks for the highest or lowest. `sides` are the conditions of what is
    compared, of a share those of what it is of and of what makes it; `side_columns` are columns that are compared. With
    `pick` they are in each row, as a percentage of the column `percent_of` if there is one.
    """

    known: Known
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


def computed_column(reading: Reading, words: Sequence[Word]) -> Column | None:
    """Return the one column of amounts that these words name, or that there is; one of a condition only for want."""
    known = reading.known
    amounts = known.of_kind(Kind.AMOUNT)
    tested = {test.column.at for test in reading.tests}
    named = clearest(known, amounts, words)
    others = clearest(known, [column for column in amounts if column.at not in tested], words)
    if found := others or named:
        return found[0] if len(found) == 1 else None
    labels = [column for column in known.of_kind(Kind.DATE, Kind.NAME) if column.at not in tested]
    if any(known.mention(column, words) and not names_rows(known, column) for column in labels):
        return None
    return amounts[0] if len(amounts) == 1 else None


def names_rows(known: Known, column: Column) -> bool:
    """Whether a column has another name for each row: "the total of all orders" is of what they have, not of that."""
    cells = [row.cells[column.at] for row in known.rows]
    return column.kind is Kind.NAME and len(set(cells)) == len(cells)


def rows_meant(reading: Reading, noun: Word) -> tuple[Column | None] | None:
    """Return in a tuple the column of which a noun names the values, None for rows; None where it names neither."""
    known = reading.known
    named = clearest(known, known.of_kind(Kind.TEXT, Kind.NAME), [noun])
    measured = clearest(known, known.of_kind(Kind.AMOUNT, Kind.DATE, Kind.TIME), [noun])
    if measured and all(_labels_rows(known, column) for column in measured):
        return (None,)
    if measured and not any(_is_row_and_not(known, noun, column) for column in measured):
        return None
    if len(named) == 1:
        values = [row.cells[named[0].at] for row in known.rows]
        return (named[0] if len(set(values)) < len(values) else None,)
    return (None,) if not named and known.is_row(noun.stem) else None


def _labels_rows(known: Known, column: Column) -> bool:
    """Whether rows are called by a first column of dates: a row for each month."""
    cells = [row.cells[column.at] for row in known.rows]
    return column.at == 0 and column.kind is Kind.DATE and len(set(cells)) == len(cells)


def _is_row_and_not(known: Known, noun: Word, column: Column) -> bool:
    """Whether a noun says what the rows are, and is not the name of the column: "warranties", of "Warranty until"."""
    return noun.stem in ROW_NOUNS or (known.is_row(noun.stem) and known.header_words(column) != {noun.stem})


def noun_end(reading: Reading, noun: Sequence[Word]) -> Word:
    """Return the last word of a noun: "products cost" ends before the verb, which names a column of amounts."""
    known = reading.known
    words = list(noun)
    of_cells = {word.start for cell in reading.cells for word in cell.words}
    while len(words) > 1 and (
        words[-1].start in of_cells
        or clearest(known, known.of_kind(Kind.AMOUNT, Kind.DATE, Kind.TIME), words[-1:])
        or words[-1].stem in SAYS_NOTHING - ROW_NOUNS
    ):
        words.pop()
    return words[-1]


def asks_for_rows(reading: Reading, noun: Sequence[Word]) -> bool:
    """Whether a question lists rows, or values of a column, by a noun: its words begin right behind "which"."""
    before = words_of(reading.request.rest[reading.request.target or 0 : noun[0].start])
    known = rows_meant(reading, noun_end(reading, noun)) is not None
    return known and all(word.stem in BEFORE_NOUN for word in before)


def asks_who(reading: Reading) -> bool:
    """Whether a question begins with "who"."""
    return reading.request.text.lower().startswith("who ")


def label_of(known: Known) -> Column:
    """Return the first column of words: what a row is called; the first one of a table without words."""
    return next(iter(known.of_kind(Kind.TEXT, Kind.NAME)), known.columns[0])


def may_be_spent(reading: Reading, column: Column) -> bool:
    """Whether the most that was spent may be the lowest number: of a column that has values below zero."""
    return _SPENT.search(reading.request.text) is not None and any(one.value < 0 for one in column.amounts)


def says_how_many(known: Known) -> bool:
    """Whether a column says how many of something a row has: what is counted may be rows, or these."""
    return any(alike(known.header_words(column)) & QUANTITIES for column in known.of_kind(Kind.AMOUNT))


def is_in_header(known: Known, noun: Word) -> bool:
    """Whether a noun is the name of a column, as "orders" where each row has an "Order"; or of any table's rows."""
    return noun.stem in ROW_NOUNS or noun.stem in known.all_header_words


_WHOLE = re.compile(r"\d{1,6}")


def grouped(reading: Reading) -> Plan | None:
    """Return a plan for a number for each group: "how many members per town"; None where one is not clear."""
    known, request = reading.known, reading.request
    by = _grouping(known, [Word(stem(request.forms.by), 0, request.forms.by)], reading)
    # The average of a day is the mean of its rows, or that of the days' totals.
    operations = (Operation.COUNT, Operation.SUM) + (() if by and by[1] else (Operation.AVERAGE,))
    if by is None or request.operation not in operations:
        return None
    words = [word for word in free(reading) if not known.mention(by[0], [word])]
    counted = {word.start for word in reading.target} if request.target is not None else set()
    if any(_names_further(reading, word) for word in words if word.start not in counted):
        return None  # "Per shelf and supplier" is of both.
    if request.target is None:
        column = _amounts(reading, by[0], words)
        return _plan(reading, request.operation, column, by) if column else None
    noun = meaningful(reading.target)
    if not noun:
        return None
    last = noun_end(reading, noun)
    summed = [one for one in clearest(known, known.of_kind(Kind.AMOUNT), [last]) if one.at != by[0].at]
    if summed:
        return _plan(reading, Operation.SUM, summed[0], by) if len(summed) == 1 else None
    return _plan(reading, Operation.COUNT, None, by) if _are_rows(reading, last) else None


def highest_group(reading: Reading) -> Plan | None:
    """Return a plan for the group with the highest or lowest sum, average or number of rows; None where not clear."""
    known, request = reading.known, reading.request
    words = free(reading)
    by = _grouping(known, words, reading)
    totals = [column for column in known.of_kind(Kind.AMOUNT) if "total" in known.header_words(column)]
    if request.of_groups is Operation.SUM and totals:
        return None if by or names_period(reading) else _of_totals(reading, totals)
    sums = request.of_groups is Operation.SUM and not names_period(reading)
    if sums and (single := _of_single_rows(reading)):
        return single
    if by is None or request.few > 1:
        return None
    words = [word for word in words if not known.mention(by[0], [word]) and word.stem != by[1]]
    operation = request.of_groups or _of_most(reading, words)
    counts = operation is Operation.COUNT
    column = None if counts else _amounts(reading, by[0], words)
    if column and may_be_spent(reading, column):
        return None
    return _plan(reading, operation, column, by, request.operation) if operation and (counts or column) else None


def _of_single_rows(reading: Reading) -> Plan | None:
    """Return a plan for the row with the highest value where what is named has one row each: a row for each month."""
    known = reading.known
    named = [
        column
        for column in known.columns
        if column.kind is not Kind.AMOUNT and known.mention(column, free(reading)) >= EXACT
    ]
    cells = (
        {value or row.cells[named[0].at] for row, value in zip(known.rows, named[0].values, strict=True)}
        if len(named) == 1
        else set()
    )
    if len(cells) < len(known.rows) or reading.tests or _has_days_of(known, named[0]):
        return None
    words = [word for word in free(reading) if not known.mention(named[0], [word])]
    column = _amounts(reading, named[0], words)
    if column is None or may_be_spent(reading, column):
        return None
    return Plan(known, reading.request.operation, column, few=reading.request.few)


def names_period(reading: Reading) -> bool:
    """Whether a month, quarter or year is said that is no column's name: it is one of dates."""
    known = reading.known
    periods = [word for word in free(reading) if word.stem in PERIODS and word.stem != "day"]
    return any(not any(word.stem in known.header_words(one) for one in known.columns) for word in periods)


def _of_most(reading: Reading, words: Sequence[Word]) -> Operation | None:
    """Return what "the most" of a group is: a sum of what a column says, or a number of rows; None where not clear."""
    known = reading.known
    if reading.request.asks not in ("most", "fewest", "least"):
        return None  # "The largest customer" may be of one order, or of all.
    nouns = meaningful(words)
    if len(nouns) == 1 and clearest(known, known.of_kind(Kind.AMOUNT), nouns):
        return Operation.SUM
    return Operation.COUNT if len(nouns) == 1 and _are_rows(reading, nouns[0]) else None


def is_of_groups(reading: Reading, column: Column) -> bool:
    """Whether the highest may be of sums: "the largest customer", who has several rows; not "the highest amount"."""
    known, words = reading.known, free(reading)
    if known.mention(column, words) >= EXACT and reading.request.asks in ("highest", "lowest"):
        return False
    tested = {test.column.at for test in reading.tests} | {cell.column.at for cell in reading.cells}
    days = [Kind.DATE] if reading.request.asks in ("most", "fewest", "least") else []
    for other in known.of_kind(Kind.TEXT, Kind.NAME, *days):
        values = [row.cells[other.at] for row in known.rows]
        if (
            (other.at not in {column.at, *tested} or other.kind is Kind.DATE)
            and known.mention(other, words)
            and len(set(values)) < len(values)
        ):
            return True
    return False


def _names_further(reading: Reading, word: Word) -> bool:
    """Whether a word is another column of words, that no condition is of."""
    known, tested = reading.known, {test.column.at for test in reading.tests}
    others = [column for column in known.of_kind(Kind.TEXT, Kind.NAME) if column.at not in tested]
    return any(known.mention(column, [word]) >= EXACT for column in others) and not known.is_row(word.stem)


def _plan(
    reading: Reading, operation: Operation, column: Column | None, by: tuple[Column, str],
    pick: Operation | None = None,
) -> Plan:  # fmt: skip
    return Plan(
        reading.known, operation, column, tuple(reading.tests), by=by[0], period=by[1], pick=pick
    )  # fmt: skip


def _grouping(known: Known, words: Sequence[Word], reading: Reading) -> tuple[Column, str] | None:
    """Return the one column that these words name of which several rows have a value; or dates, with their period."""
    tested = {test.column.at for test in reading.tests}
    said = [word for word in words if word.stem not in FUNCTION_WORDS]
    columns = [
        column
        for column in known.columns
        if column.at not in tested and known.mention(column, said) >= EXACT and _repeats(known, column)
    ]
    if len(columns) == 1:
        return columns[0], _period_of(columns[0])
    periods = [word.stem for word in said if word.stem in PERIODS]
    dates = known.of_kind(Kind.DATE)
    if columns or len(periods) != 1 or len(dates) != 1 or dates[0].problem:
        return None
    return dates[0], periods[0]


def _has_days_of(known: Known, column: Column) -> bool:
    """Whether a column that is called by a month, quarter or year has whole days of it."""
    return bool((PERIODS - {"day"}) & known.header_words(column)) and any(one.day for one in column.moments)


def _period_of(column: Column) -> str:
    """Return what all dates of a column are, so that a day written in two ways is one; empty where it is as written."""
    moments = column.moments
    if not moments or any(one.year is None for one in moments):
        return ""
    if all(one.day for one in moments):
        return "day"
    if not any(one.day for one in moments) and all(one.month for one in moments):
        return "month"
    return ""


def _repeats(known: Known, column: Column) -> bool:
    """Whether rows can be put together by a column: by words, or by whole numbers, as of floors, that come again."""
    cells = [row.cells[column.at] for row in known.rows]
    if len(set(cells)) == len(cells):
        return False
    if column.kind in (Kind.TEXT, Kind.NAME):
        return True
    if column.kind is Kind.DATE:
        return not _has_days_of(known, column)
    return column.kind is Kind.AMOUNT and all(_WHOLE.fullmatch(cell) for cell in cells)


def _amounts(reading: Reading, by: Column, words: Sequence[Word]) -> Column | None:
    """Return the column of amounts that is added up, or of which the average is taken."""
    known = reading.known
    others = [column for column in known.of_kind(Kind.AMOUNT) if column.at != by.at]
    named = clearest(known, others, words)
    if not named and reading.request.asks == "total":
        named = [column for column in others if "total" in known.header_words(column)]
    if len(named) == 1:
        return named[0]
    if named or len(others) != 1:
        return None
    return others[0] if computed_column(reading, words) in (None, others[0]) else None


def _of_totals(reading: Reading, totals: Sequence[Column]) -> Plan | None:
    """Return a plan for the highest value of a column that is called "Total"; None where it is not clear which."""
    known, request = reading.known, reading.request
    found = clearest(known, totals, free(reading)) or totals
    if len(found) != 1:
        return None
    return Plan(known, request.operation, found[0], tuple(reading.tests), few=request.few)


def _are_rows(reading: Reading, noun: Word) -> bool:
    """Whether a noun says what the rows are, and not what a column says how many there are of."""
    found = rows_meant(reading, noun)
    known = reading.known
    return found == (None,) and (not says_how_many(known) or is_in_header(known, noun))
