"""Two columns of a row that are compared: which months were over budget, and by how much."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from localcrag.steps.compute.amounts import Amount
from localcrag.steps.compute.columns import Column, Kind
from localcrag.steps.compute.conditions import meets
from localcrag.steps.compute.matching import Known, NamedCell, Word
from localcrag.steps.compute.plan_columns import asks_who, label_of
from localcrag.steps.compute.reading import Reading, Test, clearest, free
from localcrag.steps.compute.said_conditions import Condition
from localcrag.steps.compute.vocabulary import COMPARATIVES, PRICE, ROW_NOUNS, THEN_AND_NOW, alike
from localcrag.text.quantities import CURRENCIES
from localcrag.text.words import FUNCTION_WORDS

IN_TIME = frozenset(("after", "before", "later", "earlier"))
"""Words that compare days and times, and no amounts."""
PLANS = frozenset("budget plan planned target limit minimum min maximum max estimate estimated expected".split())
DONE = frozenset("actual spending spent expense cost used stock consumption".split())
"""What columns are called that hold what was planned, and what came of it: "over budget" names the one alone."""
_OF_MONEY = frozenset("budget plan planned estimate estimated expected".split())
_MONEY = frozenset("spending spent expense cost".split())
_SCALE = re.compile(r"\b(?:hundreds|thousands?|millions?|billions?|bn|mn?|[kKM]|000s?)\b")
_DATES = frozenset(("date", "day", "time"))
_WITHIN = re.compile(r"\b(?:in|for|at|on|from|with|by) (?:the )?$", re.IGNORECASE)
_COSTS = frozenset(("cost", "costing", "expensive", "price"))


def compared_in_rows(reading: Reading) -> Test | None:
    """Return the condition that two columns make of a question with `versus`; None where it is not clear which."""
    said, columns = reading.request.forms.versus, compared_columns(reading)
    if said is None or said.relation is None or columns is None:
        return None
    return Test(columns[0], said.relation, "", than=columns[1], start=said.split)


def compared_columns(reading: Reading) -> tuple[Column, Column] | None:
    """Return the two columns that a question with `versus` compares row by row; None where it is not clear which."""
    said = reading.request.forms.versus
    if said is None or any(_is_by(reading, one) for one in reading.request.conditions):
        return None
    if any(_is_of_another(reading, cell, said.split) for cell in reading.cells):
        return None
    columns = pair_of(reading, said.split, of_time=said.word in IN_TIME)
    if columns is None or not are_of(said.word, reading, columns):
        return None
    return columns if _is_of_rows(reading, columns) else None


def named_in_time(reading: Reading) -> None:
    """Have "now" and "before" name the column that is called by another word for it, or by this year."""
    known = reading.known
    said = [condition.relative for condition in reading.request.conditions if condition.relative]
    years = {str(one.asked.year) for one in said if one.low.month is None}
    words: list[Word] = []
    for word in reading.words:
        group = next((group for group in THEN_AND_NOW if word.stem in group), frozenset())
        meant = (group | years if "now" in group else group) if group else group
        named = [column for column in known.columns if known.header_words(column) & meant]
        of_itself = any(word.stem in known.header_words(column) for column in named)
        own = known.header_words(named[0]) if len(named) == 1 and not of_itself else [word.stem]
        words += [Word(one, word.start, word.written) for one in sorted(own)]
    said_in_time = reading.request.forms.versus is not None and reading.request.forms.versus.word in IN_TIME
    # "Before the due date" is before what is "Due".
    reading.words = [word for word in words if not (said_in_time and word.stem in _DATES - known.all_header_words)]


def named_as_planned(reading: Reading) -> None:
    """Have "budget" name the column that is called by another word for what was planned: "Planned"."""
    known = reading.known
    planned = [column for column in known.columns if _OF_MONEY & known.header_words(column)]
    if reading.request.forms.versus is None or len(planned) != 1:
        return
    own = sorted(known.header_words(planned[0]) & _OF_MONEY)[0]
    others = _OF_MONEY - known.all_header_words
    reading.words = [replace(word, stem=own) if word.stem in others else word for word in reading.words]


def pair_of(reading: Reading, split: int, *, of_time: bool = False) -> tuple[Column, Column] | None:
    """Return the two columns that the words before and behind a place name, which have one kind and unit."""
    known, words = reading.known, free(reading)
    kinds = (Kind.DATE, Kind.TIME) if of_time else (Kind.AMOUNT,)
    columns = [column for column in known.of_kind(*kinds) if column.unit != "percent"]
    left = _named(known, columns, [word for word in words if word.start < split])
    right = _named(known, columns, [word for word in words if word.start >= split])
    if len(right) == 2 and not left:
        right = [column for column in right if PLANS & known.header_words(column)]
    if len(right) != 1:
        return None
    left = [column for column in left if column.at != right[0].at] if len(left) > 1 else left
    if not left and PLANS & known.header_words(right[0]):
        own = known.header_words(right[0])
        money = own & _OF_MONEY or right[0].unit in CURRENCIES.values()
        done = DONE if money else DONE - _MONEY
        left = [
            one
            for one in columns
            if done & (its := known.header_words(one)) and not PLANS & its and own - PLANS - FUNCTION_WORDS <= its
        ]
    if len(left) != 1 or left[0].at == right[0].at:
        return None
    alike_in = (left[0].kind, left[0].unit, _scale(left[0])) == (right[0].kind, right[0].unit, _scale(right[0]))
    return (left[0], right[0]) if alike_in else None


def _scale(column: Column) -> str:
    """Return what a column's header says that its amounts are in: "thousands"."""
    found = _SCALE.search(column.name)
    return found[0].lower() if found else ""


def _is_by(reading: Reading, one: Condition) -> bool:
    """Whether an amount says by how much: "more than 20 over budget"."""
    text, said = reading.request.text, reading.request.forms.versus
    if said is None or not isinstance(one.low, Amount):
        return False
    if one.end <= said.start:
        return re.fullmatch(r"\s*(?:\w+\s+)?", text[one.end : said.start]) is not None
    return re.search(r"\bby\s*\Z", text[: one.start]) is not None


def _is_of_another(reading: Reading, cell: NamedCell, split: int) -> bool:
    """Whether a row is named whose cell is compared with, as in "above the cost of Garden", and not the row's own."""
    start = cell.words[0].start
    return start >= split and not _WITHIN.search(reading.request.text[:start])


def _named(known: Known, columns: Sequence[Column], words: Sequence[Word]) -> list[Column]:
    """Return the columns that words name best; one that is named by all of its own words goes before others."""
    said = {word.stem for word in words}
    found = clearest(known, columns, words)
    whole = [column for column in found if known.header_words(column) - FUNCTION_WORDS <= said]
    return whole or found


def are_of(word: str, reading: Reading, columns: Sequence[Column]) -> bool:
    """Whether columns hold what a comparison is about: prices, where a word says that something costs more."""
    about = COMPARATIVES.get(word, frozenset())
    headers = {stem for column in columns for stem in reading.known.header_words(column)}
    if not about and _COSTS & {said.stem for said in reading.words} - headers:
        about = PRICE
    if not about:
        return True
    money = about is PRICE and columns[0].unit in CURRENCIES.values()
    return money or all(alike(about) & reading.known.header_words(column) for column in columns)


def _is_of_rows(reading: Reading, compared: Sequence[Column]) -> bool:
    """Whether what is asked for has one row each: a department with several may be meant in sum."""
    known, tests = reading.known, reading.tests
    rows = [row for at, row in enumerate(known.rows) if all(meets(one, at, row.cells[one.column.at]) for one in tests)]
    others = [column for column in known.columns if column not in compared]
    nouns = [word for word in reading.target if word.stem not in ROW_NOUNS]
    named = [column for column in others if any(known.mention(column, [noun]) for noun in nouns)]
    named += [label_of(known)] if asks_who(reading) else []
    cells = [[row.cells[column.at] for row in rows] for column in named]
    return all(len(set(own)) == len(own) for own in cells)
