"""A plan, and what the words of a question say of its columns and rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.enums import Operation
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.matching import Known, Word, words_of
from localcrag.steps.compute.reading import Reading, Test, clearest
from localcrag.steps.compute.vocabulary import ROW_NOUNS, SAYS_NOTHING, alike

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
