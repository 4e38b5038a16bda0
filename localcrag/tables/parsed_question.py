"""A question parsed against one table: its cells, and the column and test of each condition.

The first part finds the column that each condition is about. The second part turns the cells that a question names into
tests. The third part applies tests to rows, and puts them into words. If anything is ambiguous, nothing is computed: a
guessed result would be worse than none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from localcrag.records.enums import Operation
from localcrag.tables.parse import Row
from localcrag.tables.question import Request
from localcrag.tables.question_conditions import Condition, Relation, RelativeDays, amount_text
from localcrag.tables.values import CLOCK, Amount, Moment, is_empty, moments_in
from localcrag.tables.vocabulary import EXACT, Column, ColumnKind, NamedCell, TableVocabulary, Word, stems_of, words_of
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop
from localcrag.text.words import FUNCTION_WORDS

UNIT_SCORE = 4
"""Score of a column whose amounts have the unit that a condition names."""
CHARACTERS_AFTER = 12
"""Characters after a condition within which a word can still name its column: "more than 3 rooms"."""

_BEFORE_NAMES = frozenset(("did", "doe", "for", "of", "by", "than"))
"""Words after which "will" and "may" are people, however they are spelled."""
_PREPOSITION_AND_NAME = re.compile(r"(?:for|of|from|by) \w+")
"""A preposition and a name, which can be a month or a person with the name of a month."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a column.

    `value` is an amount or a moment to compare with, or the text of a cell that a row must have; `others` are
    alternatives to this text. `negated`: the cell must have none of these texts. `start` is where the question names
    the condition. `relative` contains the days if the question names them relative to today. `than` is the column of
    the same row to compare with, in place of a value.
    """

    column: Column
    relation: Relation
    value: Amount | Moment | str
    high: Amount | Moment | None = None
    others: tuple[str, ...] = ()
    negated: bool = False
    start: int = 0
    relative: RelativeDays | None = None
    than: Column | None = None


@dataclass(slots=True)
class ParsedQuestion:
    """A request parsed against a table: the remaining words, the cells that they name, and the tests so far."""

    request: Request
    known: TableVocabulary
    words: list[Word]
    cells: list[NamedCell]
    tests: list[Test] = field(default_factory=list)

    @property
    def tested(self) -> set[int]:
        """The indices of the columns that have a test."""
        return {test.column.at for test in self.tests}

    @property
    def asks_who(self) -> bool:
        """Whether the question begins with "who"."""
        return self.request.text.lower().startswith("who ")

    @property
    def free_words(self) -> list[Word]:
        """The words that are not part of a cell."""
        taken = {word.start for cell in self.cells for word in cell.words}
        return [word for word in self.words if word.start not in taken]

    @property
    def target(self) -> list[Word]:
        """The noun for what is counted or listed: its words up to the first function word or gap."""
        start = self.request.target or 0
        noun: list[Word] = []
        text = self.request.rest
        for word in (word for word in self.words if word.start >= start):
            gap = text[noun[-1].start + len(noun[-1].written) : word.start] if noun else ""
            if {word.stem, word.written.lower()} & FUNCTION_WORDS or len(gap) > 1:
                if noun:
                    break
                continue
            noun.append(word)
        return noun


def parse_question(request: Request, known: TableVocabulary) -> ParsedQuestion | None:
    """Return a request with the cells that it names; None if it is unclear whether a word is a cell, or which."""
    words = words_of(request.rest, request.names.at)
    cells = known.named_cells(words)
    if any(_may_be_cell(request, known, words, at) for at in range(len(words))):
        return None
    if cells is None or request.excused - {word.start for cell in cells for word in cell.words}:
        return None
    return ParsedQuestion(request, known, words, cells)


def _may_be_cell(request: Request, known: TableVocabulary, words: Sequence[Word], at: int) -> bool:
    """Return whether a function word may be meant as a cell although it has no capital.

    Examples are the last words of "total sales us" and "which lights are on".
    """
    like = known.function_word_cells(words[at])
    if not like or at == len(words) - 1:
        return bool(like)
    may_lack_capital = not request.names.telling or words[at - 1].stem in _BEFORE_NAMES
    return may_lack_capital and any(cell.value.isupper() or known.are_people(cell.column) for cell in like)


def resolve_condition(reading: ParsedQuestion, condition: Condition) -> bool:
    """Find the column of a condition and add its test; return False if there is none, or if it is unclear which."""
    known = reading.known
    if _is_denied(reading, condition.start):
        return False  # It is unclear which part "not over 40 euros in March" denies.
    if isinstance(condition.low, Amount):
        return _add_test(reading, condition, _amount_column(reading, condition, condition.low))
    if condition.quarter and not known.dates:
        return _resolve_quarter(reading, condition)
    return _resolve_days(reading, condition)


def _resolve_days(reading: ParsedQuestion, condition: Condition) -> bool:
    """Find the column of a condition on days, or the header or cell named after these days.

    Returns False if there is none, or if it is unclear which is meant.
    """
    known = reading.known
    dates = known.best_named(known.dates, reading.free_words) or known.dates
    if condition.relative and (named := _header_with_days(known, condition)):
        reading.words += [Word(word, condition.start, word) for word in named]
        return True
    if condition.relative and (condition.relative.problem or dates):
        return _add_test(reading, condition, dates[0] if len(dates) == 1 else None)
    text, day = set(stems_of(str(condition.low))), [condition.low]
    in_headers = [one for one in known.columns if text <= known.header_words(one) or moments_in([one.name]) == day]
    in_cells = known.named_cells(words_of(str(condition.low), names=(0,))) or []
    # "April" can be a date, a column "April", a row "April" or a person with this name.
    whole = [cell for cell in in_cells if len(cell.words) == len(text)]
    people = [cell for cell in whole if known.are_people(cell.column)]
    if people and _PREPOSITION_AND_NAME.fullmatch(reading.request.text[condition.start : condition.end]):
        reading.cells += people
        return not (dates or in_headers)
    whole = [cell for cell in whole if cell not in people]
    if condition.relation is Relation.EQUAL and (in_headers or whole):
        if dates or (in_headers and whole):
            return False
        reading.cells += whole
        named = {word for column in in_headers for word in known.header_words(column)}
        reading.words += [Word(word, condition.start, word) for word in named]
        return True
    return _add_test(reading, condition, dates[0] if len(dates) == 1 else None)


def _add_test(reading: ParsedQuestion, condition: Condition, column: Column | None) -> bool:
    """Add the test of a condition on a column; return False if there is no column."""
    if column:
        test = Test(column, condition.relation, condition.low, condition.high, start=condition.start)
        reading.tests.append(replace(test, relative=condition.relative))
    return column is not None


def _header_with_days(known: TableVocabulary, condition: Condition) -> set[str]:
    """Return the words of the one header that names the same days in the same words ("Last year"); else none."""
    text = stems_of(condition.relative.written) if condition.relative else []
    named = [own for column in known.columns if set(text) <= (own := known.header_words(column))]
    return named[0] if len(named) == 1 and condition.relation is Relation.EQUAL else set()


def _resolve_quarter(reading: ParsedQuestion, condition: Condition) -> bool:
    """Add a test for the one cell that names a quarter, such as "Q2 2025"; return False if there is no such cell."""
    year = condition.low.year if isinstance(condition.low, Moment) else None
    form = re.compile(rf"(?i)Q{condition.quarter}(?:[ /]?{year or r'(?:19|20)[0-9]{2}'})?\Z")
    known = reading.known
    cells = {(one.at, cell) for one in known.columns_of_kind(ColumnKind.TEXT) for cell in known.cells(one)}
    found = [(at, cell) for at, cell in cells if form.match(cell)]
    if len(found) != 1:
        return False
    reading.tests.append(Test(known.columns[found[0][0]], Relation.EQUAL, found[0][1], start=condition.start))
    return True


def _amount_column(reading: ParsedQuestion, condition: Condition, amount: Amount) -> Column | None:
    """Return the one column of amounts that fits a condition best; None if no column fits, or several fit equally."""
    known = reading.known
    near = _nearby_words(reading, condition)
    # "More than 2 orders" can only be about a column of orders.
    counted = next((word for word in near if 0 <= word.start - condition.end <= 1), None)
    if counted and counted.stem in FUNCTION_WORDS:
        counted = None
    scored: dict[int, list[Column]] = {}
    columns = known.columns_of_kind(ColumnKind.TIME if amount.unit == CLOCK else ColumnKind.AMOUNT)
    for column in columns:
        # A column with a problem stays a candidate, so that the refusal can name the problem.
        if amount.unit and column.unit and amount.unit != column.unit and not column.problem:
            continue
        named = known.mention(column, near)
        if counted and not known.mention(column, [counted]):
            continue
        same = bool(amount.unit) and amount.unit == column.unit
        if named or same or (len(columns) == 1 and amount.unit in ("", CLOCK)):
            scored.setdefault(named + UNIT_SCORE * same, []).append(column)
    best = scored[max(scored)] if scored else []
    return best[0] if len(best) == 1 else None


def _nearby_words(reading: ParsedQuestion, condition: Condition) -> list[Word]:
    """Return the words that may name a condition's column: those since the previous condition, and right after it."""
    others = [other for other in reading.request.conditions if other is not condition]
    begin = max((other.end for other in others if other.end <= condition.start), default=0)
    end = condition.end + CHARACTERS_AFTER if others else len(reading.request.text)
    end = min([end, *(other.start for other in others if other.start >= condition.end)])
    near = [word for word in reading.free_words if begin <= word.start < end]
    behind = [word for word in near if word.start >= condition.end]
    # If this condition directly follows another, only words after it can belong to it.
    return near if not others or condition.start - begin > 1 else behind


_OR = re.compile(r"(?i)\bor\b")
_JOINS = re.compile(r"(?i)\W*(?:,|\bor\b|\band\b)[\W]*(?:\b(?:or|and|either)\b)?\W*")
"""Pattern for words between two cells of a column that make both cells possible values."""


def add_cell_tests(reading: ParsedQuestion) -> bool:
    """Add the tests for the cells, flags and empty cells that a question names; return False if it is unclear which."""
    two_sides = reading.request.forms.form is Operation.DIFFERENCE
    by_column: dict[tuple[int, bool], list[NamedCell]] = {}
    for cell in reading.cells:
        side = two_sides and _start(cell) >= reading.request.forms.split
        by_column.setdefault((cell.column.at, side), []).append(cell)
    gaps: list[tuple[int, int]] = []
    for cells in by_column.values():
        joined = [_joining_gap(reading, first, second) for first, second in pairwise(cells)]
        denied = {_is_denied(reading, _start(cell)) for cell in cells}
        if None in joined or len(denied) > 1:
            return False
        gaps += [gap for gap in joined if gap]
        test = Test(cells[0].column, Relation.EQUAL, cells[0].value, negated=True in denied, start=_start(cells[0]))
        reading.tests.append(replace(test, others=tuple(cell.value for cell in cells[1:])))
    _add_flags(reading)
    return _add_empty_cell_tests(reading) and _are_alternatives(reading, gaps)


def _start(cell: NamedCell) -> int:
    return cell.words[0].start


def _is_denied(reading: ParsedQuestion, place: int) -> bool:
    return any(start <= place < end for start, end in reading.request.forms.negated)


def _joining_gap(reading: ParsedQuestion, first: NamedCell, second: NamedCell) -> tuple[int, int] | None:
    """Return the place between two cells of a column if the words there join them ("red or blue"); otherwise None."""
    start, end = first.words[-1].start + len(first.words[-1].written), _start(second)
    between = reading.request.rest[start:end]
    words = set(stems_of(between)) - {"or", "and"} - FUNCTION_WORDS - reading.known.header_words(first.column)
    return (start, end) if _JOINS.match(between) and not words else None


def _add_flags(reading: ParsedQuestion) -> None:
    """Add the tests for columns of yes and no that a question names: "paid", "not billable", "with a screen"."""
    known, tested = reading.known, reading.tested
    for at, yes in known.flags.items():
        own = known.header_words(known.columns[at]) - FUNCTION_WORDS
        named = [word for word in reading.free_words if word.stem in own]
        if at in tested or not named or reading.request.forms.by in own:
            continue
        start, denied = named[0].start, _is_denied(reading, named[0].start)
        reading.tests.append(Test(known.columns[at], Relation.EQUAL, yes, negated=denied, start=start))


def _add_empty_cell_tests(reading: ParsedQuestion) -> bool:
    """Add a test for empty cells if a question negates a column; return False if it is unclear which column."""
    known = reading.known
    for start, end in reading.request.forms.negated:
        if any(start <= test.start < end for test in reading.tests):
            continue
        words = [word for word in reading.free_words if start <= word.start < end and word.stem not in FUNCTION_WORDS]
        named = [column for column in known.columns if known.mention(column, words) >= EXACT]
        if len(named) != 1 or (start, end) not in reading.request.forms.absent:
            return False
        if not any(is_empty(row.cells[named[0].at]) for row in known.rows):
            return False  # The column has no empty cell, so "without VAT" probably does not refer to its cells.
        reading.tests.append(Test(named[0], Relation.EMPTY, "", start=start))
    return True


def _are_alternatives(reading: ParsedQuestion, gaps: Sequence[tuple[int, int]]) -> bool:
    """Return whether each "or" joins values of one column, or is in a part that is negated as a whole."""
    places = [*gaps, *reading.request.forms.negated]
    found = [word.start() for word in _OR.finditer(reading.request.rest)]
    return all(any(start <= at < end for start, end in places) for at in found)


MOST_CELLS = 4096
"""Number of cells whose stems are cached, because a column repeats the same cells."""


def meets(test: Test, at: int, cell: str) -> bool | None:
    """Return whether a row meets a condition; None if the row does not tell.

    `at` is the row's index, `cell` its text in the condition's column.
    """
    if test.relation is Relation.EMPTY:
        return is_empty(cell)
    if test.than:
        return _meets_other_column(test.column.values[at], test.than.values[at], test.relation)
    if isinstance(test.value, str):
        # An empty cell may mean the same value as the cell above it.
        text = map(_stems, (test.value, *test.others))
        return None if is_empty(cell) else (_stems(cell) in text) is not test.negated
    return _meets_value(test, test.column.values[at])


@lru_cache(maxsize=MOST_CELLS)
def _stems(cell: str) -> tuple[str, ...]:
    return tuple(stems_of(cell))


def _meets_value(test: Test, value: Amount | Moment | None) -> bool | None:
    if isinstance(test.value, Amount):
        high = test.high.value if isinstance(test.high, Amount) else None
        return _compared(value.value, test.relation, test.value.value, high) if isinstance(value, Amount) else None
    if not isinstance(value, Moment) or isinstance(test.value, str):
        return None
    return test.value.holds(value) if test.relation is Relation.EQUAL else _is_within_days(value, test)


def _meets_other_column(
    value: Amount | Moment | None, other: Amount | Moment | None, relation: Relation
) -> bool | None:
    """Return whether a value has a relation to another value in its row; None if either is unknown, or days overlap."""
    if isinstance(value, Amount) and isinstance(other, Amount):
        if value.unit != other.unit or (value.unit == CLOCK and abs(value.value - other.value) > 12 * 60):
            return None  # Times this far apart may be on different days.
        return _compared(value.value, relation, other.value, None)
    if not isinstance(value, Moment) or not isinstance(other, Moment):
        return None
    first, last = (value.first, value.last), (other.first, other.last)
    if None in (*first, *last):
        return None
    if first == last:
        return relation is Relation.EQUAL if value.day else None
    later, earlier = first[0] > last[1], first[1] < last[0]  # type: ignore[operator]
    return {Relation.ABOVE: later, Relation.BELOW: earlier}.get(relation, False) if later or earlier else None


_COMPARISONS: dict[Relation, Callable[[Decimal, Decimal], bool]] = {
    Relation.ABOVE: operator.gt,
    Relation.BELOW: operator.lt,
    Relation.AT_LEAST: operator.ge,
    Relation.AT_MOST: operator.le,
    Relation.EQUAL: operator.eq,
}


def _compared(value: Decimal, relation: Relation, low: Decimal, high: Decimal | None) -> bool:
    if relation is Relation.WITHIN:
        return high is not None and low <= value <= high
    return _COMPARISONS[relation](value, low)


def _is_within_days(value: Moment, test: Test) -> bool | None:
    """Return whether a moment is inside the bounds of a condition; None if it has no year, or is only partly inside."""
    begin, end = value.first, value.last
    first, last = _bounds(test)
    if begin is None or end is None:
        return None
    inside = (first is None or begin >= first) and (last is None or end <= last)
    outside = (first is not None and end < first) or (last is not None and begin > last)
    return True if inside else False if outside else None


def _bounds(test: Test) -> tuple[date | None, date | None]:
    """Return the first and the last day that a condition allows; None for a side without a bound."""
    low, high = test.value, test.high
    if not isinstance(low, Moment) or low.first is None or low.last is None:
        return None, None
    match test.relation:
        case Relation.BELOW:
            return None, date.fromordinal(low.first.toordinal() - 1)
        case Relation.ABOVE:
            return date.fromordinal(low.last.toordinal() + 1), None
        case Relation.AT_LEAST:
            return low.first, None
        case Relation.AT_MOST:
            return None, low.last
        case _:
            return low.first, high.last if isinstance(high, Moment) else low.last


def with_year(test: Test) -> Test | None:
    """Return a condition on moments with its column's year, if it gives no year and needs one.

    Returns None if the column has several years.
    """
    low, high = test.value, test.high
    if not isinstance(low, Moment) or test.relation is Relation.EQUAL or low.year is not None:
        return test
    years = {moment.year for moment in test.column.moments}
    if len(years) != 1:
        return None
    (year,) = years
    upper = Moment(year, high.month, high.day) if isinstance(high, Moment) and high.year is None else high
    return replace(test, value=Moment(year, low.month, low.day), high=upper)


def with_years(tests: Sequence[Test]) -> list[Test]:
    """Return the conditions with the years of their columns, if the years are clear."""
    return [with_year(test) or test for test in tests]


def may_meet(tests: Sequence[Test], rows: Sequence[Row]) -> list[Row]:
    """Return the rows that meet all conditions, or may meet them because a cell does not tell."""
    dated = with_years(tests)
    met = [[meets(test, at, row.cells[test.column.at]) for test in dated] for at, row in enumerate(rows)]
    return [row for row, known in zip(rows, met, strict=True) if False not in known]


def unknown_reason(column: Column, cell: str) -> str:
    """Return why a cell of a column has no usable value."""
    if not re.search(r"\w", cell):
        return _("%(column)s is empty", column=column.name)
    return _("%(column)s is “%(cell)s”", column=column.name, cell=cell)


_AMOUNTS = {
    Relation.ABOVE: gettext_noop("%(column)s is more than %(value)s"),
    Relation.BELOW: gettext_noop("%(column)s is less than %(value)s"),
    Relation.AT_LEAST: gettext_noop("%(column)s is at least %(value)s"),
    Relation.AT_MOST: gettext_noop("%(column)s is at most %(value)s"),
    Relation.WITHIN: gettext_noop("%(column)s is from %(value)s to %(high)s"),
    Relation.EQUAL: gettext_noop("%(column)s is %(value)s"),
    Relation.EMPTY: gettext_noop("%(column)s is empty"),
}
_MOMENTS = {
    Relation.ABOVE: gettext_noop("%(column)s is after %(value)s"),
    Relation.BELOW: gettext_noop("%(column)s is before %(value)s"),
    Relation.AT_LEAST: gettext_noop("%(column)s is %(value)s or later"),
    Relation.AT_MOST: gettext_noop("%(column)s is %(value)s or earlier"),
    Relation.WITHIN: gettext_noop("%(column)s is from %(value)s to %(high)s"),
    Relation.EQUAL: gettext_noop("%(column)s is in %(value)s"),
}
SEVERAL_YEARS = 2
_DAY, _ANY_YEAR = gettext_noop("%(column)s is %(value)s"), gettext_noop("%(column)s is in %(value)s of any year")


def describe_test(test: Test) -> str:
    """Return a condition in words: "Price is more than 40 €"."""
    high = _value_text(test.high) if test.high else ""
    values = {"column": test.column.name, "value": _value_text(test.value), "high": high}
    if test.relative and test.relative.problem:
        return _(_MOMENTS[Relation.EQUAL], **values | {"value": f"“{test.relative.written}”"})
    if test.than:
        in_time = test.column.kind is not ColumnKind.AMOUNT and test.relation is not Relation.EQUAL
        return _((_MOMENTS if in_time else _AMOUNTS)[test.relation], **values | {"value": test.than.name})
    if test.others:
        values["value"] = _(" or ").join([_value_text(test.value), *test.others])
    if test.negated:
        return _("%(column)s is not %(value)s", **values)
    if isinstance(test.value, Amount) and test.value.unit == CLOCK:
        return _(_DAY if test.relation is Relation.EQUAL else _MOMENTS[test.relation], **values)
    if isinstance(test.value, Moment):
        return _describe_moment(test, test.value, values)
    return _(_AMOUNTS[test.relation], **values)


def _describe_moment(test: Test, value: Moment, text: Mapping[str, str]) -> str:
    if test.relation is not Relation.EQUAL or value.year:
        return _(_DAY if test.relation is Relation.EQUAL and value.day else _MOMENTS[test.relation], **text)
    years = {moment.year for moment in test.column.moments if moment.year}
    if value.day and len(years) < SEVERAL_YEARS:
        return _(_DAY, **text)
    return _(_ANY_YEAR if len(years) > 1 else _MOMENTS[test.relation], **text)


def _value_text(value: Amount | Moment | str) -> str:
    return amount_text(value) if isinstance(value, Amount) else str(value)
