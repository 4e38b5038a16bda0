"""A plan: a request put to one table, with the column that is computed with and the rows that count.

There is one only where every word of the question is found in the table, and each in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localcrag.records.enums import Operation
from localcrag.steps.compute.columns import Column, Kind, has_header
from localcrag.steps.compute.matching import EXACT, Known, Word, words_of
from localcrag.steps.compute.question import Relation, Request
from localcrag.steps.compute.reading import Reading, Test, clearest, free, place, read
from localcrag.steps.compute.table import Table
from localcrag.steps.compute.vocabulary import ROW_NOUNS, SAYS_NOTHING, alike, stems_of

QUANTITIES = frozenset(("quantity", "stock", "number", "count", "total", "place", "seat"))
"""Words of columns that say how many of something there are: a row is not one of it then."""
BEFORE_NOUN = frozenset(("a", "all", "of", "the", "our", "is", "are", "was", "were"))
"""Words between "which" and what is listed: with others something else is asked of it."""
LIMITS = frozenset(("minimum", "maximum", "min", "max", "limit", "least", "most", "up", "from"))
"""Words of columns that hold rules: the highest of several limits is hardly what "the maximum age" asks for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is computed on a table. `column` is what it is computed with; None: the rows themselves are counted."""

    known: Known
    operation: Operation
    column: Column | None
    tests: tuple[Test, ...] = ()


def plan_of(request: Request, table: Table, names: Sequence[str]) -> Plan | None:
    """Return what a request comes to on a table; `names` are those of its document. None where it is not about it."""
    known = Known(table, names)
    if not has_header(table):
        return None
    reading = read(request, known)
    if reading is None or _is_said_by_header(request, known):
        return None
    if known.unexplained(free(reading)) or not all(place(reading, condition) for condition in request.conditions):
        return None
    reading.tests += [Test(cell.column, Relation.EQUAL, cell.value) for cell in reading.cells]
    return _OPERATIONS[request.operation](reading)


def _is_said_by_header(request: Request, known: Known) -> bool:
    """Whether the word that would say the operation names a column or a row: "maximum stay" is looked up there."""
    asks = set(stems_of(request.asks)) - {"number", "total"}
    labels = {word for row in known.rows for cell in row.cells[:1] for word in stems_of(cell)}
    headers = {word for column in known.columns for word in known.header_words(column)}
    return bool(asks & (labels | headers))


def _computed_column(reading: Reading, words: Sequence[Word]) -> Column | None:
    """Return the one column of amounts that these words name, or that there is; one of a condition only for want."""
    known = reading.known
    amounts = known.of_kind(Kind.AMOUNT)
    tested = {test.column.at for test in reading.tests}
    named = clearest(known, amounts, words)
    others = clearest(known, [column for column in amounts if column.at not in tested], words)
    if found := others or named:
        return found[0] if len(found) == 1 else None
    labels = [column for column in known.of_kind(Kind.DATE, Kind.NAME) if column.at not in tested]
    if any(known.mention(column, words) and not _names_rows(known, column) for column in labels):
        return None
    return amounts[0] if len(amounts) == 1 else None


def _names_rows(known: Known, column: Column) -> bool:
    """Whether a column has another name for each row: "the total of all orders" is of what they have, not of that."""
    cells = [row.cells[column.at] for row in known.rows]
    return column.kind is Kind.NAME and len(set(cells)) == len(cells)


def _aggregated(reading: Reading) -> Plan | None:
    known, request = reading.known, reading.request
    words = free(reading)
    if request.target is not None:
        # "How many … in total": a sum of what is counted in a column, else a number of rows.
        noun = [word for word in reading.target if word.stem not in SAYS_NOTHING]
        if not noun or not clearest(known, known.of_kind(Kind.AMOUNT), noun[-1:]):
            return _counted(reading)
        words = noun
    elif request.asks == "total":
        in_header = [column for column in known.of_kind(Kind.AMOUNT) if "total" in known.header_words(column)]
        if len(in_header) == 1 and not clearest(known, known.of_kind(Kind.AMOUNT), words):
            return Plan(known, request.operation, in_header[0], tuple(reading.tests))
    column = _computed_column(reading, words)
    return Plan(known, request.operation, column, tuple(reading.tests)) if column else None


def _extreme(reading: Reading) -> Plan | None:
    known, wanted = reading.known, reading.request.superlative
    words = free(reading)
    if wanted is None:
        return None
    if wanted.dates:
        dates = known.of_kind(Kind.DATE)
        found = clearest(known, dates, words) or dates
        column = found[0] if len(found) == 1 else None
    elif wanted.columns:
        fitting = [
            column for column in known.of_kind(Kind.AMOUNT) if alike(wanted.columns) & known.header_words(column)
        ]
        found = clearest(known, fitting, words) or fitting
        column = found[0] if len(found) == 1 else None
    else:
        column = _computed_column(reading, words)
    if column is None or LIMITS & known.header_words(column) or _is_of_groups(reading, column):
        return None
    return Plan(known, reading.request.operation, column, tuple(reading.tests))


def _is_of_groups(reading: Reading, column: Column) -> bool:
    """Whether the highest may be of sums: "the largest customer", who has several rows; not "the highest amount"."""
    known, words = reading.known, free(reading)
    if known.mention(column, words) >= EXACT and reading.request.asks in ("highest", "lowest"):
        return False
    tested = {test.column.at for test in reading.tests} | {cell.column.at for cell in reading.cells}
    for other in known.of_kind(Kind.TEXT, Kind.NAME):
        values = [row.cells[other.at] for row in known.rows]
        if other.at not in tested and known.mention(other, words) and len(set(values)) < len(values):
            return True
    return False


def _counted(reading: Reading) -> Plan | None:
    known = reading.known
    noun = reading.target
    if not noun:
        return None
    of_cells = {word.start for cell in reading.cells for word in cell.words}
    if noun[-1].start in of_cells:
        # "How many laptops": a kind of row, if several rows are of it; one row has a number to be looked up.
        cell = next(cell for cell in reading.cells if noun[-1] in cell.words)
        adds_up = any(alike(known.header_words(column)) & QUANTITIES for column in known.of_kind(Kind.AMOUNT))
        return Plan(known, Operation.COUNT, None, tuple(reading.tests)) if cell.rows > 1 and not adds_up else None
    found = _rows_meant(reading, _noun_end(reading, noun))
    if found is None or (found[0] and any(test.column.at == found[0].at for test in reading.tests)):
        return None  # Of a column that has to be one value there is nothing to count.
    return Plan(known, Operation.COUNT, found[0], tuple(reading.tests))


def _rows_meant(reading: Reading, noun: Word) -> tuple[Column | None] | None:
    """Return in a tuple the column of which a noun names the values, None for rows; None where it names neither."""
    known = reading.known
    named = clearest(known, known.of_kind(Kind.TEXT, Kind.NAME), [noun])
    if clearest(known, known.of_kind(Kind.AMOUNT, Kind.DATE), [noun]) and noun.stem not in ROW_NOUNS:
        return None
    if len(named) == 1:
        values = [row.cells[named[0].at] for row in known.rows]
        return (named[0] if len(set(values)) < len(values) else None,)
    return (None,) if not named and known.is_row(noun.stem) else None


def _filtered(reading: Reading) -> Plan | None:
    known, request = reading.known, reading.request
    noun = [word for word in reading.target if word.stem not in SAYS_NOTHING or word.stem in ROW_NOUNS]
    if not noun:
        who = request.text.lower().startswith("who ") and request.conditions
        return Plan(known, Operation.FILTER, None, tuple(reading.tests)) if who and reading.tests else None
    last = _noun_end(reading, noun)
    found = _rows_meant(reading, last)
    before = words_of(request.rest[request.target or 0 : noun[0].start])
    if found is None or any(word.stem not in BEFORE_NOUN for word in before):
        return None
    if request.conditions and reading.tests:
        return Plan(known, Operation.FILTER, None, tuple(reading.tests))
    of_words = clearest(known, known.of_kind(Kind.TEXT, Kind.NAME), [last])
    if not request.everything:
        # By a cell's words alone rows are asked for where several have them: one is looked up, and not computed.
        several = reading.tests and all(cell.rows > 1 for cell in reading.cells)
        first = not of_words or of_words[0].at == _label(known)
        return Plan(known, Operation.FILTER, None, tuple(reading.tests)) if several and first else None
    if len(of_words) == 1 and of_words[0].kind is Kind.TEXT and not reading.tests:
        return Plan(known, Operation.VALUES, of_words[0])
    return Plan(known, Operation.FILTER, None, tuple(reading.tests)) if reading.tests else None


def _noun_end(reading: Reading, noun: Sequence[Word]) -> Word:
    """Return the last word of a noun: "products cost" ends before the verb, which names a column of amounts."""
    known = reading.known
    words = list(noun)
    while len(words) > 1 and (
        clearest(known, known.of_kind(Kind.AMOUNT, Kind.DATE), words[-1:]) or words[-1].stem in SAYS_NOTHING - ROW_NOUNS
    ):
        words.pop()
    return words[-1]


def _label(known: Known) -> int:
    """Return the first column of words: what a row is called."""
    return next((column.at for column in known.of_kind(Kind.TEXT, Kind.NAME)), 0)


_OPERATIONS: dict[Operation, Callable[[Reading], Plan | None]] = {
    Operation.COUNT: _counted,
    Operation.SUM: _aggregated,
    Operation.AVERAGE: _aggregated,
    Operation.MAXIMUM: _extreme,
    Operation.MINIMUM: _extreme,
    Operation.FILTER: _filtered,
}
