"""Reading a question at a table: its cells, and for each of its conditions the column that it is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from localcrag.steps.compute.amounts import CLOCK, Amount
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.matching import Known, NamedCell, Word, words_of
from localcrag.steps.compute.moments import Moment, moments_in
from localcrag.steps.compute.question import Request
from localcrag.steps.compute.relative import Relative
from localcrag.steps.compute.said_conditions import Condition, Relation
from localcrag.steps.compute.vocabulary import stems_of
from localcrag.text.words import FUNCTION_WORDS

OF_UNIT = 4
"""What it counts for that a column's amounts have the unit that a condition names."""
BEHIND = 12
"""Characters behind a condition in which a word may still name its column: "more than 3 rooms"."""

_BEFORE_NAMES = frozenset(("did", "doe", "for", "of", "by", "than"))
"""Words behind which "will" and "may" are people, however they are written."""
_OF_WHOM = re.compile(r"(?:for|of|from|by) \w+")
"""A preposition with a name: of a month, or of a person who is called like it."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a column; `value` is the cell's text where it must be just that, or one of `others`.

    `negated`: it must be none of these. `start` is where the question says it, `relative` how it says days from today.
    `than` is the column of the same row that is compared with, in place of a value.
    """

    column: Column
    relation: Relation
    value: Amount | Moment | str
    high: Amount | Moment | None = None
    others: tuple[str, ...] = ()
    negated: bool = False
    start: int = 0
    relative: Relative | None = None
    than: Column | None = None


@dataclass(slots=True)
class Reading:
    """A request as it is read with a table at hand: the words that are left, and the tests so far."""

    request: Request
    known: Known
    words: list[Word]
    cells: list[NamedCell]
    tests: list[Test] = field(default_factory=list)

    @property
    def target(self) -> list[Word]:
        """The words that say what is counted or listed: up to the first that says nothing by itself, or a cell."""
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


def read(request: Request, known: Known) -> Reading | None:
    """Return a request with the cells that it names; None where it is not clear whether a word is one, or of which."""
    words = words_of(request.rest, request.names.at)
    cells = known.cells_named(words)
    if any(_may_be_cell(request, known, words, at) for at in range(len(words))):
        return None
    if cells is None or request.excused - {word.start for cell in cells for word in cell.words}:
        return None
    return Reading(request, known, words, cells)


def _may_be_cell(request: Request, known: Known, words: Sequence[Word], at: int) -> bool:
    """Whether a word of no meaning may be meant as a cell though it has no capital: "total sales us", "are on"."""
    like = known.like_word(words[at])
    if not like or at == len(words) - 1:
        return bool(like)
    may_lack_capital = not request.names.telling or words[at - 1].stem in _BEFORE_NAMES
    return may_lack_capital and any(cell.value.isupper() or known.are_people(cell.column) for cell in like)


def free(reading: Reading) -> list[Word]:
    """Return the words that name no cell."""
    taken = {word.start for cell in reading.cells for word in cell.words}
    return [word for word in reading.words if word.start not in taken]


def place(reading: Reading, condition: Condition) -> bool:
    """Find the column that a condition is of; False where there is none, or no saying which."""
    known = reading.known
    if any(start <= condition.start < end for start, end in reading.request.forms.negated):
        return False  # What "not over 40 euros in March" denies is not for rules.
    if isinstance(condition.low, Amount):
        column = _of_amount(reading, condition, condition.low)
        if column:
            reading.tests.append(Test(column, condition.relation, condition.low, condition.high, start=condition.start))
        return column is not None
    if condition.quarter and not known.of_kind(Kind.DATE):
        return _of_quarter(reading, condition)
    return _of_days(reading, condition)


def _of_days(reading: Reading, condition: Condition) -> bool:
    """Find the column of dates, or the column or cell that is called by the days, of a condition on these."""
    known = reading.known
    dates = clearest(known, known.of_kind(Kind.DATE), free(reading)) or known.of_kind(Kind.DATE)
    if condition.relative and (named := _headers_saying(known, condition)):
        reading.words += [Word(word, condition.start, word) for word in named]
        return True
    if condition.relative and (condition.relative.problem or dates):
        return _place(reading, condition, dates[0] if len(dates) == 1 else None)
    said = set(stems_of(str(condition.low)))
    in_headers = [
        column
        for column in known.columns
        if said <= known.header_words(column) or moments_in([column.name]) == [condition.low]
    ]
    in_cells = known.cells_named(words_of(str(condition.low), names=(0,))) or []
    whole = [cell for cell in in_cells if len(cell.words) == len(said)]
    people = [cell for cell in whole if known.are_people(cell.column)]
    if people and _OF_WHOM.fullmatch(reading.request.text[condition.start : condition.end]):
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
    return _place(reading, condition, dates[0] if len(dates) == 1 else None)


def _place(reading: Reading, condition: Condition, column: Column | None) -> bool:
    if column:
        test = Test(column, condition.relation, condition.low, condition.high, start=condition.start,
                    relative=condition.relative)  # fmt: skip
        reading.tests.append(test)
    return column is not None


def _headers_saying(known: Known, condition: Condition) -> set[str]:
    """Return the words of the one header that says the same days in the same words: "Last year"."""
    said = stems_of(condition.relative.written) if condition.relative else []
    named = [own for column in known.columns if set(said) <= (own := known.header_words(column))]
    return named[0] if len(named) == 1 and condition.relation is Relation.EQUAL else set()


def _of_quarter(reading: Reading, condition: Condition) -> bool:
    """Find the one cell that is a quarter, in a column of words: "Q2 2025"."""
    year = condition.low.year if isinstance(condition.low, Moment) else None
    form = re.compile(rf"Q{condition.quarter}(?:[ /]?{year or r'(?:19|20)[0-9]{2}'})?\Z", re.IGNORECASE)
    found = {
        (column.at, row.cells[column.at])
        for column in reading.known.of_kind(Kind.TEXT)
        for row in reading.known.rows
        if form.match(row.cells[column.at])
    }
    if len(found) != 1:
        return False
    ((at, cell),) = found
    reading.tests.append(Test(reading.known.columns[at], Relation.EQUAL, cell, start=condition.start))
    return True


def _of_amount(reading: Reading, condition: Condition, amount: Amount) -> Column | None:
    """Return the one column of amounts that a condition fits best."""
    known = reading.known
    near = _near(reading, condition)
    # "More than 2 orders" is of no column but one of orders.
    counted = next((word for word in near if 0 <= word.start - condition.end <= 1), None)
    if counted and counted.stem in FUNCTION_WORDS:
        counted = None
    scored: list[tuple[int, Column]] = []
    columns = known.of_kind(Kind.TIME if amount.unit == CLOCK else Kind.AMOUNT)
    for column in columns:
        if amount.unit and column.unit and amount.unit != column.unit and not column.problem:
            continue
        named = known.mention(column, near)
        if counted and not known.mention(column, [counted]):
            continue
        same = bool(amount.unit) and amount.unit == column.unit
        if named or same or (len(columns) == 1 and amount.unit in ("", CLOCK)):
            scored.append((named + OF_UNIT * same, column))
    return _best(scored)


def _near(reading: Reading, condition: Condition) -> list[Word]:
    """Return the words that may say what a condition is of: up to the one before it, and right behind it."""
    others = [other for other in reading.request.conditions if other is not condition]
    begin = max((other.end for other in others if other.end <= condition.start), default=0)
    end = condition.end + BEHIND if others else len(reading.request.text)
    end = min([end, *(other.start for other in others if other.start >= condition.end)])
    near = [word for word in free(reading) if begin <= word.start < end]
    behind = [word for word in near if word.start >= condition.end]
    # Of several conditions each has its own words: those of the one before end where it does.
    return near if not others or condition.start - begin > 1 else behind


def _best(scored: Sequence[tuple[int, Column]]) -> Column | None:
    """Return the column with the highest score; None where several have it."""
    if not scored:
        return None
    highest = max(score for score, _ in scored)
    best = [column for score, column in scored if score == highest]
    return best[0] if len(best) == 1 else None


def clearest(known: Known, columns: Sequence[Column], words: Sequence[Word]) -> list[Column]:
    """Return the columns that the words name best; none where they name none."""
    scored = [(score, column) for column in columns if (score := known.mention(column, words))]
    highest = max((score for score, _ in scored), default=0)
    return [column for score, column in scored if score == highest]
