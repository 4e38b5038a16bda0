"""Plans that compare: two columns of each row, two cells or totals, or a share of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from localcrag.records.enums import Operation
from localcrag.tables.parse import Row
from localcrag.tables.parsed_question import ParsedQuestion, Test, meets
from localcrag.tables.plan_columns import (
    TablePlan,
    asks_for_rows,
    noun_meaning,
)
from localcrag.tables.question_conditions import Condition, Relation
from localcrag.tables.values import Amount
from localcrag.tables.vocabulary import (
    COMPARATIVES,
    LESS,
    PRICE,
    ROW_NOUNS,
    THEN_AND_NOW,
    UNINFORMATIVE,
    Column,
    ColumnKind,
    NamedCell,
    TableVocabulary,
    Word,
    meaningful,
    with_synonyms,
)
from localcrag.text.quantities import CURRENCIES
from localcrag.text.words import FUNCTION_WORDS

TIME_COMPARATIVES = frozenset(("after", "before", "later", "earlier"))
"""Words that compare days and times, but not amounts."""
PLANNED = frozenset("budget plan planned target limit minimum min maximum max estimate estimated expected".split())
"""Words of columns with planned values."""
ACTUAL = frozenset("actual spending spent expense cost used stock consumption".split())
"""Words of columns with actual values: "over budget" names only the planned column, and compares it with a column of
actual values."""
_PLANNED_MONEY = frozenset("budget plan planned estimate estimated expected".split())
"""Words of columns with planned amounts of money."""
_MONEY = frozenset("spending spent expense cost".split())
"""Words of columns with amounts that were spent."""
_SCALE = re.compile(r"\b(?:hundreds|thousands?|millions?|billions?|bn|mn?|[kKM]|000s?)\b")
"""Words and abbreviations for thousands, millions and billions."""
_DATES = frozenset(("date", "day", "time"))
_WITHIN = re.compile(r"(?i)\b(?:in|for|at|on|from|with|by) (?:the )?$")
_COSTS = frozenset(("cost", "costing", "expensive", "price"))


def row_comparison_test(reading: ParsedQuestion) -> Test | None:
    """Return the condition that compares two columns of each row; None if it is unclear which."""
    text, columns = reading.request.forms.versus, compared_columns(reading)
    if text is None or text.relation is None or columns is None:
        return None
    return Test(columns[0], text.relation, "", than=columns[1], start=text.split)


def compared_columns(reading: ParsedQuestion) -> tuple[Column, Column] | None:
    """Return the two columns that the question compares in each row; None if it is unclear which."""
    text = reading.request.forms.versus
    if text is None or any(_is_margin(reading, one) for one in reading.request.conditions):
        return None
    if any(_is_of_other_row(reading, cell, text.split) for cell in reading.cells):
        return None
    columns = column_pair(reading, text.split, in_time=text.word in TIME_COMPARATIVES)
    if columns is None or not fit_comparative(text.word, reading, columns):
        return None
    return columns if _has_single_rows(reading, columns) else None


def resolve_time_words(reading: ParsedQuestion) -> None:
    """Let "now" and "before" name the column whose header uses another word for it, or this year."""
    known = reading.known
    relative_days = [condition.relative for condition in reading.request.conditions if condition.relative]
    years = {str(one.asked.year) for one in relative_days if one.low.month is None}
    words: list[Word] = []
    for word in reading.words:
        group = next((group for group in THEN_AND_NOW if word.stem in group), frozenset())
        meant = (group | years if "now" in group else group) if group else group
        named = [column for column in known.columns if known.header_words(column) & meant]
        is_header = any(word.stem in known.header_words(column) for column in named)
        own = known.header_words(named[0]) if len(named) == 1 and not is_header else [word.stem]
        words += [Word(one, word.start, word.written) for one in sorted(own)]
    asked_in_time = reading.request.forms.versus is not None and reading.request.forms.versus.word in TIME_COMPARATIVES
    # "Before the due date" means the column "Due", although its header has no "date".
    reading.words = [word for word in words if not (asked_in_time and word.stem in _DATES - known.all_header_words)]


def resolve_plan_words(reading: ParsedQuestion) -> None:
    """Let "budget" name the column whose header uses another word for a plan, such as "Planned"."""
    known = reading.known
    planned = [column for column in known.columns if _PLANNED_MONEY & known.header_words(column)]
    if reading.request.forms.versus is None or len(planned) != 1:
        return
    own = sorted(known.header_words(planned[0]) & _PLANNED_MONEY)[0]
    others = _PLANNED_MONEY - known.all_header_words
    reading.words = [replace(word, stem=own) if word.stem in others else word for word in reading.words]


def column_pair(reading: ParsedQuestion, split: int, *, in_time: bool = False) -> tuple[Column, Column] | None:
    """Return the two columns of one kind and unit named before and after a place; None if it is unclear which."""
    known, words = reading.known, reading.free_words
    kinds = (ColumnKind.DATE, ColumnKind.TIME) if in_time else (ColumnKind.AMOUNT,)
    columns = [column for column in known.columns_of_kind(*kinds) if column.unit != "percent"]
    left = _named(known, columns, [word for word in words if word.start < split])
    right = _named(known, columns, [word for word in words if word.start >= split])
    if len(right) == 2 and not left:
        right = [column for column in right if PLANNED & known.header_words(column)]
    if len(right) != 1:
        return None
    left = [column for column in left if column.at != right[0].at] if len(left) > 1 else left
    if not left and PLANNED & known.header_words(right[0]):
        own = known.header_words(right[0])
        # Planned values that are not money are not compared with spending.
        money = own & _PLANNED_MONEY or right[0].unit in CURRENCIES.values()
        done, shared = ACTUAL if money else ACTUAL - _MONEY, own - PLANNED - FUNCTION_WORDS
        others = [(one, known.header_words(one)) for one in columns]
        left = [one for one, words in others if done & words and not PLANNED & words and shared <= words]
    if len(left) != 1 or left[0].at == right[0].at:
        return None
    kinds_and_units = [(column.kind, column.unit, _scale(column)) for column in (left[0], right[0])]
    return (left[0], right[0]) if kinds_and_units[0] == kinds_and_units[1] else None


def _scale(column: Column) -> str:
    """Return the scale of amounts that a column's header names, such as "thousands"; empty if it names none."""
    found = _SCALE.search(column.name)
    return found[0].lower() if found else ""


def _is_margin(reading: ParsedQuestion, one: Condition) -> bool:
    """Return whether a condition gives the amount by which two columns differ: "more than 20 over budget"."""
    text, message = reading.request.text, reading.request.forms.versus
    if message is None or not isinstance(one.low, Amount):
        return False
    if one.end <= message.start:
        return re.fullmatch(r"\s*(?:\w+\s+)?", text[one.end : message.start]) is not None
    return re.search(r"\bby\s*\Z", text[: one.start]) is not None


def _is_of_other_row(reading: ParsedQuestion, cell: NamedCell, split: int) -> bool:
    """Return whether the comparison is with the cell of another row.

    "Above the cost of Garden" compares with the row "Garden", not with each row's own cost.
    """
    start = cell.words[0].start
    return start >= split and not _WITHIN.search(reading.request.text[:start])


def _named(known: TableVocabulary, columns: Sequence[Column], words: Sequence[Word]) -> list[Column]:
    """Return the columns that the words name best; columns whose whole header is named take precedence."""
    stems = {word.stem for word in words}
    found = known.best_named(columns, words)
    whole = [column for column in found if known.header_words(column) - FUNCTION_WORDS <= stems]
    return whole or found


def fit_comparative(word: str, reading: ParsedQuestion, columns: Sequence[Column]) -> bool:
    """Return whether the columns contain what a comparative refers to: prices, if something costs more."""
    about = COMPARATIVES.get(word, frozenset())
    headers = {stem for column in columns for stem in reading.known.header_words(column)}
    if not about and _COSTS & {text.stem for text in reading.words} - headers:
        about = PRICE
    if not about:
        return True
    money = about is PRICE and columns[0].unit in CURRENCIES.values()
    return money or all(with_synonyms(about) & reading.known.header_words(column) for column in columns)


def _has_single_rows(reading: ParsedQuestion, compared: Sequence[Column]) -> bool:
    """Return whether each thing asked for has a single row; if it has several rows, their sum may be meant."""
    known, tests = reading.known, reading.tests
    rows = _rows_that_meet(known, tests)
    others = [column for column in known.columns if column not in compared]
    nouns = [word for word in reading.target if word.stem not in ROW_NOUNS]
    named = [column for column in others if any(known.mention(column, [noun]) for noun in nouns)]
    named += [known.label_column] if reading.asks_who else []
    cells = [[row.cells[column.at] for row in rows] for column in named]
    return all(len(set(own)) == len(own) for own in cells)


_ADDS_UP = re.compile(
    r"(?i)\b(?:total|altogether|combined|in all|in sum|spen[dt]|sold|used|worked|paid|ordered|bought|how many|sum)\b"
)
"""Words that show that several rows of a side are added up."""


_HOW_MANY = re.compile(r"(?i)\W*how many\b")
_Sides = tuple[tuple[Test, ...], tuple[Test, ...]]


def difference_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for how much more one side is than the other; None if it is unclear what is compared."""
    known, request = reading.known, reading.request
    split = request.forms.split
    sides = _sides(reading.tests, split)
    tested = reading.tested
    amounts = [column for column in known.amounts if column.at not in tested]
    if sides is None:
        return _column_difference_plan(reading, split)
    if any(test.negated for side in sides for test in side):
        return None
    words = reading.free_words
    column = _compared_column(known, amounts, words, request.forms.more)
    if _HOW_MANY.match(request.text) and not (column and known.mention(column, words)):
        counted = meaningful(words)[:1]
        rows = counted and noun_meaning(reading, counted[0]) == (None,) and not known.has_quantities
        return TablePlan(known, Operation.DIFFERENCE, None, sides=_larger_side_first(reading, sides)) if rows else None
    if column is None:
        return None
    most = max(len(_rows_that_meet(known, side)) for side in sides)
    if most > 1 and not _ADDS_UP.search(request.text):
        return None  # "How much more do lamps cost than chairs" does not ask for a sum.
    return TablePlan(known, Operation.DIFFERENCE, column, sides=_larger_side_first(reading, sides))


def share_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the share of some rows in other rows, or in all rows; None if it is unclear which."""
    known, split = reading.known, reading.request.forms.split
    whole = tuple(test for test in reading.tests if test.start < split)
    part = tuple(test for test in reading.tests if test.start >= split)
    if not part or (len(part) > 1 and any(test.column.kind is ColumnKind.DATE for test in part)):
        return None
    tested = reading.tested
    words = [word for word in reading.free_words if word.start < split and word.stem not in UNINFORMATIVE]
    named = [column for column in known.best_named(known.amounts, words) if column.at not in tested]
    if len(named) == 1:
        return TablePlan(known, Operation.SHARE, named[0], sides=(whole, (*whole, *part)))
    if named or not words or noun_meaning(reading, words[-1]) != (None,):
        return None
    if known.has_quantities and not known.is_in_header(words[-1]):
        return None
    return TablePlan(known, Operation.SHARE, None, sides=(whole, (*whole, *part)))


def _larger_side_first(reading: ParsedQuestion, sides: _Sides) -> _Sides:
    """Return the sides with the larger one first, judged by the words: in "cheaper than", that is the second side."""
    return (sides[1], sides[0]) if reading.request.forms.more in LESS else sides


def _sides(tests: Sequence[Test], split: int) -> _Sides | None:
    """Return the conditions of each side, including shared ones; None unless the sides differ in exactly one column."""
    left = [test for test in tests if test.start < split]
    right = [test for test in tests if test.start >= split]
    common = {test.column.at for test in left} & {test.column.at for test in right}
    if len(common) != 1:
        return None
    shared = [test for test in tests if test.column.at not in common]
    sides = [(*(test for test in side if test.column.at in common), *shared) for side in (left, right)]
    return sides[0], sides[1]


def _compared_column(
    known: TableVocabulary, amounts: Sequence[Column], words: Sequence[Word], more: str
) -> Column | None:
    """Return the column to compare: the named one, or the one that a word like "cheaper" refers to; None if unclear."""
    named = known.best_named(amounts, words)
    if not named and more in COMPARATIVES:
        meant = with_synonyms(COMPARATIVES[more])
        named = [column for column in amounts if meant & known.header_words(column)]
    elif not named:
        named = list(amounts)
    return named[0] if len(named) == 1 else None


def _column_difference_plan(reading: ParsedQuestion, split: int) -> TablePlan | None:
    """Return a plan for the difference of two columns, in one row or in their totals; None if it is unclear which."""
    known, request = reading.known, reading.request
    if len({test.start < split for test in reading.tests}) > 1 or any(test.negated for test in reading.tests):
        return None
    if request.asks != "total" and (not reading.tests or len(_rows_that_meet(known, reading.tests)) != 1):
        return None
    columns = column_pair(reading, split)
    if columns is None or not fit_comparative(request.forms.more, reading, columns):
        return None
    first, second = reversed(columns) if request.forms.more in LESS else columns
    tests = tuple(reading.tests)
    return TablePlan(known, Operation.DIFFERENCE, first, side_columns=(first, second), sides=(tests, tests))


def _rows_that_meet(known: TableVocabulary, tests: Sequence[Test]) -> list[Row]:
    """Return the rows that meet the tests."""
    return [row for at, row in enumerate(known.rows) if all(meets(one, at, row.cells[one.column.at]) for one in tests)]


def extreme_difference_plan(reading: ParsedQuestion) -> TablePlan | None:
    """Return a plan for the rows in which two columns differ most or least; None if it is unclear which columns."""
    known, text = reading.known, reading.request.forms.versus
    columns = compared_columns(reading)
    if text is None or columns is None or text.word in TIME_COMPARATIVES or not _asks_for_rows(reading, text.start):
        return None
    tests = tuple(reading.tests)
    if text.relation:
        tests += (Test(columns[0], text.relation, "", than=columns[1], start=text.split),)
    if text.relation is Relation.EQUAL:
        return None
    base = [column for column in columns if PLANNED & known.header_words(column)]
    base = [columns[1]] if text.relation else base
    if text.in_percent and len(base) != 1:
        return None  # It is unclear which of the two columns the percentage is of.
    return TablePlan(
        known, Operation.DIFFERENCE, columns[0], tests, pick=text.end,
        side_columns=columns[::-1] if text.relation is Relation.BELOW else columns,
        percent_of=base[0] if text.in_percent else None,
    )  # fmt: skip


def _asks_for_rows(reading: ParsedQuestion, end: int) -> bool:
    """Return whether the noun before a place names rows; True if there is no noun."""
    if reading.asks_who:
        return reading.known.are_people(reading.known.label_column)
    noun = meaningful([word for word in reading.target if word.start < end])
    return not noun or asks_for_rows(reading, noun)
