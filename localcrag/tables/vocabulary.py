"""The vocabulary of a table: its columns and cells, and which of them the words of a question name.

The first part has the word lists: synonyms of headers, superlatives, comparatives. The second part reads columns from
cells and decides whether they contain amounts, dates, times, text or numbers used as names. The last part,
TableVocabulary, finds the columns and cells that a question names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import pairwise

from localcrag.records.enums import Operation
from localcrag.tables.parse import Row, Table
from localcrag.tables.values import (
    Amount,
    DecimalMark,
    Moment,
    decimal_mark,
    is_empty,
    looks_like_amount,
    moments_in,
    normalised_unit,
    parse_amount,
    parse_clock,
)
from localcrag.text.quantities import CURRENCIES, UNITS
from localcrag.text.translation import gettext as _
from localcrag.text.translation import whole_number
from localcrag.text.words import FUNCTION_WORDS, singular

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[€$£%]")
MIN_ROOT_LETTERS = 4
"""Minimum number of letters that remain of a word when its ending is removed."""
_ES = ("sses", "xes", "ches", "shes", "zes")

SIZE = frozenset(("size", "area"))
PRICE = frozenset(("price", "cost", "fee", "charge", "tariff", "costing", "fare", "rent"))
_SYNONYMS = (
    "amount sum value; spend spent spending expense amount cost; earn earned salary pay wage income; revenue sale "
    "turnover sold; quantity qty piece stock unit; weight weigh weighing; length long; duration long last lasting; "
    "height tall high; date dated day when; name who; city town place location; state status; kind type category; "
    "customer client; supplier vendor supply supplied; employee staff person people; product article item; departure "
    "depart leave left; arrival arrive; begin start; end until expire expiry; size large area; maker manufacturer "
    "brand; plan planned"
)
SYNONYMS = (PRICE, *(frozenset(words.split()) for words in _SYNONYMS.split(";")))
"""Groups of word stems that can name the same column."""
ROW_NOUNS = frozenset(("entry", "row", "line", "record", "transaction", "booking"))
"""Nouns for the rows of any table."""
UNINFORMATIVE = FUNCTION_WORDS | frozenset(
    "table list sheet file column entry row line record value data overview following given show shown listed recorded "
    "registered contained contain include included exist logged entered placed made there much many according based "
    "together up be them one whole currently overall document spreadsheet made within worth priced let's us get see "
    "find name number still doe live living lived based located situated use used fill filled give gave given deliver "
    "delivered altogether work worked working get run ran score scored cost costing gram happen take took".split()
)
"""Words that can occur in a question about any table, and so identify no part of it."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """The meaning of a superlative: the highest or the lowest value, and of which columns.

    `columns` are header words of columns that it can refer to; empty if it can refer to any named column. `dates`: it
    refers to a date. `otherwise` are header words of the column to use if the question names none.
    """

    operation: Operation
    columns: frozenset[str] = frozenset()
    dates: bool = False
    otherwise: frozenset[str] = frozenset()


_MOST, _LEAST = Operation.MAXIMUM, Operation.MINIMUM
SUPERLATIVES: dict[str, Superlative] = {
    **dict.fromkeys(("most expensive", "dearest", "priciest", "costliest"), Superlative(_MOST, PRICE)),
    **dict.fromkeys(("cheapest", "least expensive"), Superlative(_LEAST, PRICE)),
    **dict.fromkeys(("highest", "greatest", "maximum", "most"), Superlative(_MOST)),
    **dict.fromkeys(("largest", "biggest"), Superlative(_MOST, otherwise=SIZE)),
    **dict.fromkeys(("lowest", "minimum", "least", "fewest"), Superlative(_LEAST)),
    "smallest": Superlative(_LEAST, otherwise=SIZE),
    "longest": Superlative(_MOST, frozenset(("length", "duration", "time", "distance"))),
    "shortest": Superlative(_LEAST, frozenset(("length", "duration", "time", "distance"))),
    "heaviest": Superlative(_MOST, frozenset(("weight",))),
    "lightest": Superlative(_LEAST, frozenset(("weight",))),
    "tallest": Superlative(_MOST, frozenset(("height",))),
    **dict.fromkeys(("last", "latest", "most recent", "newest"), Superlative(_MOST, dates=True)),
    **dict.fromkeys(("first", "earliest", "oldest"), Superlative(_LEAST, dates=True)),
}
"""Superlatives by their words. "Best" and "fastest" are missing, because a column does not show whether high or low
values are better."""
COMPARATIVES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("cheaper", "dearer", "more expensive", "less expensive"), PRICE),
    **dict.fromkeys(("longer", "shorter"), SUPERLATIVES["longest"].columns),
    **dict.fromkeys(("heavier", "lighter"), SUPERLATIVES["heaviest"].columns),
    "taller": SUPERLATIVES["tallest"].columns,
    **dict.fromkeys(("larger", "bigger", "smaller"), SIZE),
}
"""Header words that a comparative refers to; comparatives that can refer to any column are not listed."""
LESS = frozenset("less fewer lower cheaper shorter lighter smaller below under".split()) | {"less expensive"}
"""Words of a comparison whose second side is the larger one."""
PEOPLE = frozenset(
    "name member person employee pupil student customer contact borrower reader player guest tenant author teacher who "
    "client colleague participant".split()
)
"""Words in headers of columns whose cells are people."""
THEN_AND_NOW = (
    frozenset("now today current currently new".split()),
    frozenset("before previous previously former formerly old earlier".split()),
)
"""Words for the current and for the earlier of two columns that are compared."""
QUANTITIES = frozenset(("quantity", "stock", "number", "count", "total", "place", "seat"))
"""Words of columns that say how many things a row has: one row is then not one of these things."""
PERIODS = frozenset(("day", "month", "quarter", "year"))
"""Periods by which rows with dates can be grouped."""


def stem(word: str) -> str:
    """Return a word in lower case and in the singular."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES) else singular(word)


def word_root(word: str) -> str:
    """Return a stem without its ending: "teach" for "teacher" and "teaches". Short words are returned unchanged."""
    for ending in ("ings", "ing", "ers", "er", "ed", "es", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= MIN_ROOT_LETTERS:
            return word[: -len(ending)]
    return word


def stems_of(text: str) -> list[str]:
    """Return the stems of all words of a text, in order."""
    return [stem(word) for word in _WORD.findall(text)]


def content_stems(text: str) -> set[str]:
    """Return the stems of a text's words, without function words."""
    return {word for word in stems_of(text) if word not in FUNCTION_WORDS}


def with_synonyms(words: Iterable[str]) -> set[str]:
    """Return the words and all their synonyms."""
    own = set(words)
    return own.union(*(group for group in SYNONYMS if group & own))


MAJORITY = 0.6
"""Minimum share of a column's filled cells that must be numbers (or dates) for it to be a column of numbers (or
dates)."""
_IDENTIFIES = re.compile(
    r"(?i)(?:.*\b)?(?:no|nr|id|code|number|zip|postcode|postal code|phone|telephone|tel|mobile|fax|room|version|ref|"
    r"reference|iban|account|sku|isbn|rank|position|pos|line|#)\.?\Z"
)
"""Headers of columns whose numbers are identifiers."""
_THINGS = frozenset(
    "account article batch bill booking bus case claim client contract customer employee event flight invoice item job "
    "licence license lot member order parcel patient payment policy product project receipt row serial shipment "
    "student task ticket train transaction voucher".split()
)
"""Headers that make numbers without a unit identifiers: "Order" has order numbers, "Orders" has counts."""
_WHOLE = re.compile(r"\d+")
MIN_CONSECUTIVE = 3
"""Minimum number of consecutive numbers for a first column to count as row numbers."""
_YEAR_WORDS = frozenset(("year", "since", "founded", "built", "season", "vintage", "from"))
"""Words of headers of columns whose numbers are years."""
_BARE_YEAR = re.compile(r"(?:19|20)\d\d")
_IN_HEADER = re.compile(
    r"[(\[]\s*([^()\[\]]{1,20}?)\s*[)\]]\s*\Z|\bin ([\w€$£%°/]{1,12})\Z|\s([€$£%]|EUR|USD|GBP|CHF|kg|km)\Z|\A([€$£%])\Z"
)
"""Pattern for the unit of a column in its header: in brackets, after "in", at the end, or alone."""


_HEADER_UNITS = frozenset(
    ("percent", "franc", "day", "week", "month", "year", "hour", "m²", "m³", "km²", "kwh", "mwh", "kw")
)


class ColumnKind(Enum):
    """The kind of values in a column. NAME is a number that identifies something, such as an invoice number."""

    AMOUNT = "amount"
    DATE = "date"
    TEXT = "text"
    NAME = "name"
    TIME = "time of day"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with an amount or a moment for each row, or None if the cell has neither.

    `at` is its index. `unit` is the normalised unit of its amounts; `shown_unit` is the unit as the header spells it,
    if only the header names it. `problem` explains why nothing can be computed with the column; it is empty if
    something can. `mixed`: it has several units, and rows that share a unit can still be computed with. `mark` is the
    decimal mark of its numbers.
    """

    at: int
    name: str
    kind: ColumnKind
    values: tuple[Amount | Moment | None, ...] = ()
    unit: str = ""
    shown_unit: str = ""
    problem: str = ""
    mixed: bool = False
    mark: DecimalMark = DecimalMark.POINT

    @property
    def amounts(self) -> list[Amount]:
        """The column's amounts, skipping rows without an amount."""
        return [value for value in self.values if isinstance(value, Amount)]

    @property
    def moments(self) -> list[Moment]:
        """The column's moments, skipping rows without a moment."""
        return [value for value in self.values if isinstance(value, Moment)]


def rows_of(table: Table) -> list[Row]:
    """Return the rows of a table that are neither totals nor labels of groups."""
    return [row for row in table.rows if not (row.is_total or row.is_label)]


def columns_of(table: Table, rows: Sequence[Row]) -> list[Column]:
    """Return the columns of a table, with the values of `rows`, which `rows_of` returns."""
    # Identifiers such as "1.234" do not show the decimal mark.
    telling = [at for at, name in enumerate(table.header) if not _IDENTIFIES.match(name)]
    mark = decimal_mark({row.cells[at] for row in table.rows for at in telling})
    return [_column(at, name, [row.cells[at] for row in rows], mark) for at, name in enumerate(table.header)]


def has_header(table: Table) -> bool:
    """Return whether the first row of a table names its columns, rather than being a row of values."""
    named = [name for name in table.header if not looks_like_amount(name) or _BARE_YEAR.fullmatch(name)]
    return 2 * len(named) > len(table.header) and len(set(table.header)) == len(table.header)


def _column(at: int, name: str, cells: Sequence[str], mark: DecimalMark) -> Column:
    """Return the column of these cells, of the kind that most of them have."""
    # A long column repeats most cells, so each distinct cell is read only once.
    numbers = Counter(cells)
    text = Counter({cell: number for cell, number in numbers.items() if not is_empty(cell)})
    words = Column(at, name, ColumnKind.TEXT, (None,) * len(cells))
    if not text:
        return words
    times = {cell: parse_clock(cell) for cell in numbers}
    if _are_majority(text, [cell for cell, time in times.items() if time]):
        return Column(at, name, ColumnKind.TIME, tuple(times[cell] for cell in cells))
    # A column of bare years is only a date if its header says so.
    years = all(_BARE_YEAR.fullmatch(cell) for cell in text)
    days = moments_in(list(numbers))
    if days is None:
        problem = _("the dates in %(column)s can be read with the day or the month first", column=name)
        return Column(at, name, ColumnKind.DATE, (None,) * len(cells), problem=problem)
    moments = dict(zip(numbers, days, strict=True))
    dated = _are_majority(text, [cell for cell, moment in moments.items() if moment])
    if dated and (not years or _YEAR_WORDS & set(stems_of(name))):
        return Column(at, name, ColumnKind.DATE, tuple(moments[cell] for cell in cells))
    if not _are_majority(text, [cell for cell in text if looks_like_amount(cell)]):
        return words
    names_of_things = _IDENTIFIES.match(name) and "of" not in name.lower().split()
    if years or names_of_things or _are_names(at, name, [cell for cell in cells if not is_empty(cell)]):
        column = replace(words, kind=ColumnKind.NAME)
    else:
        column = _amount_column(at, name, cells, mark)
    return words if _are_labels(column) else column


def _are_majority(text: Counter[str], some: Iterable[str]) -> bool:
    """Return whether `some` make up most of the filled cells; `text` counts how often each cell occurs."""
    return sum(text[cell] for cell in some) >= MAJORITY * text.total()


def _are_labels(column: Column) -> bool:
    """Return whether the numbers are parts of labels such as "1A", "1B" and "2A", whose letters are not units."""
    units = {one.unit: one.written for one in column.amounts}
    known = {*UNITS.values(), *CURRENCIES.values(), "percent", "franc"}
    return len(units) > 1 and not units.keys() & known and all(len(text) == 1 for text in units.values())


def _are_names(at: int, name: str, text: Sequence[str]) -> bool:
    """Return whether whole numbers are identifiers.

    They are if their header names a thing, if a cell has leading zeros, or if they number the rows in a first column.
    """
    if not all(map(_WHOLE.fullmatch, text)):
        return False
    # A number too long for `whole_number` is an identifier; Python parses at most 4,300 digits.
    numbers = [found for cell in text if (found := whole_number(cell)) is not None]
    if len(numbers) < len(text):
        return True
    counts = all(second == first + 1 for first, second in pairwise(numbers))
    numbered = at == 0 and len(numbers) >= MIN_CONSECUTIVE and counts
    return numbered or name.strip().lower() in _THINGS or any(cell[0] == "0" and len(cell) > 1 for cell in text)


def _amount_column(at: int, name: str, cells: Sequence[str], mark: DecimalMark) -> Column:
    """Return a column of amounts; its `problem` is set if the decimal mark is unknown or the units differ."""
    known = {cell: parse_amount(cell, mark) for cell in dict.fromkeys(cells)}
    amounts = [known[cell] for cell in cells]
    units = Counter(one.unit for one in amounts if one)
    shown = _unit_in(name)
    problem = ""
    if mark is DecimalMark.UNKNOWN and any(looks_like_amount(cell) and one is None for cell, one in known.items()):
        problem = _("the numbers of the table can be read with a decimal point or a decimal comma")
    elif len(units) > 1:
        names = {one.unit: one.written for one in amounts if one}
        listed = ", ".join(names[unit] or _("without a unit") for unit, _number in units.most_common())
        problem = _("%(column)s has several units: %(units)s", column=name, units=listed)
    unit = next(iter(units), "") if len(units) == 1 else ""
    return Column(
        at, name, ColumnKind.AMOUNT, tuple(amounts), unit or normalised_unit(shown), "" if unit else shown, problem,
        mixed=len(units) > 1 and mark is not DecimalMark.UNKNOWN, mark=mark,
    )  # fmt: skip


def _unit_in(header: str) -> str:
    """Return the unit that a header names, as in "Price (€)" or "Weight in kg"; empty if it names none."""
    found = _IN_HEADER.search(header)
    text = next((part for part in found.groups() if part), "") if found else ""
    known = text.lower() in CURRENCIES or text in UNITS or text == "%" or normalised_unit(text) in set(UNITS.values())
    return text if known or normalised_unit(text) in _HEADER_UNITS else ""


LONGEST_VALUE = 6
"""Maximum number of words of a cell that a question can name."""
EXACT, SIMILAR = 3, 1
"""Scores for a question word that is in a header, and for a word with the same meaning."""

_YES, _NO = frozenset(("yes", "y", "true", "ja", "x", "✓", "✔")), frozenset(("no", "n", "false", "nein", "✗", "✘"))
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[€$£%]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question: its stem, its place in the text, and whether it is written as a name."""

    stem: str
    start: int
    written: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A value of a column that a question names, with the words that name it, and the number of rows that have it."""

    column: Column
    value: str
    words: tuple[Word, ...]
    rows: int


def words_of(text: str, names: Collection[int] = ()) -> list[Word]:
    """Return the words of a text, in order. `names` are the places where words written as names begin."""
    found = _TOKEN.finditer(text)
    return [Word(stem(one[0]), one.start(), one[0], one.start() in names) for one in found]


def meaningful(words: Sequence[Word]) -> list[Word]:
    """Return the words that carry meaning, and nouns for rows such as "entries"."""
    return [word for word in words if word.stem not in UNINFORMATIVE or word.stem in ROW_NOUNS]


class TableVocabulary:
    """A table as a question can name it: its columns, its cells, and what the table is called."""

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        """Prepare a table; `names` are the names of its document, its title and its sections."""
        self.table = table
        self.names = [name for name in (table.caption, *table.section.split(" › "), *names) if name]

    @cached_property
    def rows(self) -> list[Row]:
        """The table's rows, without totals and group labels."""
        return rows_of(self.table)

    @cached_property
    def columns(self) -> list[Column]:
        """The table's columns, with the values of `rows`."""
        return columns_of(self.table, self.rows)

    @cached_property
    def units(self) -> set[str]:
        """The units of the amounts in all columns."""
        return {column.unit for column in self.columns if column.unit}

    @cached_property
    def _called(self) -> set[str]:
        return {word for name in self.names for word in content_stems(name)}

    def columns_of_kind(self, *kinds: ColumnKind) -> list[Column]:
        """Return the columns of these kinds."""
        return [column for column in self.columns if column.kind in kinds]

    @property
    def amounts(self) -> list[Column]:
        """The columns of amounts."""
        return self.columns_of_kind(ColumnKind.AMOUNT)

    @property
    def dates(self) -> list[Column]:
        """The columns of dates."""
        return self.columns_of_kind(ColumnKind.DATE)

    @property
    def labels(self) -> list[Column]:
        """The columns of text and of identifiers."""
        return self.columns_of_kind(ColumnKind.TEXT, ColumnKind.NAME)

    def cells(self, column: Column) -> list[str]:
        """Return the cells of a column."""
        return [row.cells[column.at] for row in self.rows]

    def is_unique(self, column: Column) -> bool:
        """Return whether no two rows have the same cell in a column."""
        return len(set(self.cells(column))) == len(self.rows)

    def best_named(self, columns: Sequence[Column], words: Sequence[Word]) -> list[Column]:
        """Return the columns that the words name best; empty if they name none."""
        scored = [(score, column) for column in columns if (score := self.mention(column, words))]
        highest = max((score for score, _ in scored), default=0)
        return [column for score, column in scored if score == highest]

    def header_words(self, column: Column) -> set[str]:
        """Return the stems of a column's header, without a unit in brackets."""
        return set(stems_of(re.sub(r"[(\[].*?[)\]]", " ", column.name)))

    def mention(self, column: Column, words: Sequence[Word]) -> int:
        """Return a score for how clearly the words name a column; 0 if they do not."""
        own = self.header_words(column)
        others = with_synonyms(own - FUNCTION_WORDS)
        stems = {word.stem for word in words}
        named = (own & stems) - FUNCTION_WORDS
        like = {word for word in stems - own if word in others or word_root(word) in self._roots(column)}
        return EXACT * len(named) + SIMILAR * len(like) + (1 if named and named == own else 0)

    def _roots(self, column: Column) -> set[str]:
        """Return the roots of a header's words: "teach" for "teacher"."""
        return {word_root(word) for word in self.header_words(column) - FUNCTION_WORDS}

    def are_people(self, column: Column) -> bool:
        """Return whether the cells of a column are people, judged by its header."""
        return bool(PEOPLE & self.header_words(column))

    def function_word_cells(self, word: Word) -> list[NamedCell]:
        """Return the cells that are spelled like a function word that is not written as a name: "us", "will"."""
        found = [] if word.is_name or word.stem not in FUNCTION_WORDS else self._values.get((word.stem,), [])
        return [NamedCell(column, cell, (word,), rows) for column, cell, rows in found if not word.written.isupper()]

    def is_row(self, word: str) -> bool:
        """Return whether a word is a noun for the rows of this table, judged by the table's names."""
        last = {stems_of(name)[-1] for name in self.names if stems_of(name)}
        return word in ROW_NOUNS or word in last

    @property
    def label_column(self) -> Column:
        """The column that names the rows: the first one of text or identifiers, or else the first column."""
        return next(iter(self.labels), self.columns[0])

    @property
    def has_quantities(self) -> bool:
        """Whether a column says how many things a row has: a count may then be of rows, or of these things."""
        return any(with_synonyms(self.header_words(column)) & QUANTITIES for column in self.amounts)

    def is_in_header(self, noun: Word) -> bool:
        """Return whether a noun is a word of a header, such as "orders" for the column "Order", or means any rows."""
        return noun.stem in ROW_NOUNS or noun.stem in self.all_header_words

    def named_cells(self, words: Sequence[Word]) -> list[NamedCell] | None:
        """Return the cells that the words name, in the words' order; None if a word is ambiguous.

        A word is ambiguous if several columns contain the same value, or if it can be a cell or a header.
        """
        found: list[NamedCell] = []
        taken: set[int] = set()
        stems = [word.stem for word in words]
        # Longer values come first: "New York City" must not be read as "New York".
        for length in range(LONGEST_VALUE, 0, -1):
            for at in range(len(words) - length + 1):
                own = set(range(at, at + length))
                columns = self._values.get(tuple(stems[at : at + length])) or []
                if length == 1 and words[at].written.isdigit():
                    columns = self._numbered(words, at)
                elif columns and length == 1 and words[at].is_name and stems[at] in self.all_header_words:
                    return None  # "Mark" may be the person in a row, or the column "Mark".
                elif not columns or not self._is_meant(words, at, length):
                    continue
                if not columns or own & taken:
                    continue
                # The other words of the question may show which column is meant.
                if len(columns) > 1:
                    around = {word.stem for place, word in enumerate(words) if place not in own}
                    columns = [one for one in columns if (self.header_words(one[0]) - FUNCTION_WORDS) & around]
                if len(columns) != 1:
                    return None
                taken |= own
                ((column, value, rows),) = columns
                found.append(NamedCell(column, value, tuple(words[at : at + length]), rows))
        return sorted(found, key=lambda cell: cell.words[0].start)

    def _numbered(self, words: Sequence[Word], at: int) -> list[tuple[Column, str, int]]:
        """Return the columns of numbers that are named next to this number: "platform 2", "a 2 in maths"."""
        text, stems = words[at].written, [word.stem for word in words]
        near = {*stems[max(0, at - 1) : at], *(stems[at + 2 : at + 3] if stems[at + 1 : at + 2] == ["in"] else ())}
        numbers = self.columns_of_kind(ColumnKind.AMOUNT, ColumnKind.NAME)
        columns = [column for column in numbers if self.header_words(column) & near]
        found = [(column, text, self.cells(column).count(text)) for column in columns]
        return [one for one in found if one[2]]

    @cached_property
    def flags(self) -> dict[int, str]:
        """The yes-or-no columns, by index, with the spelling of yes."""
        found = {}
        for column in self.columns_of_kind(ColumnKind.TEXT):
            spellings = {row.cells[column.at].lower(): row.cells[column.at] for row in self.rows}
            yes = [word for low, word in spellings.items() if low in _YES]
            others = {low for low, word in spellings.items() if not is_empty(word)} - _YES - _NO
            if len(yes) == 1 and not others and spellings.keys() & _NO:
                found[column.at] = yes[0]
        return found

    @cached_property
    def all_header_words(self) -> frozenset[str]:
        """The stems of all headers."""
        return frozenset(word for column in self.columns for word in self.header_words(column))

    def unexplained(self, words: Sequence[Word], columns: Sequence[Column] | None = None) -> list[Word]:
        """Return the meaningful words that name nothing in the table.

        If `columns` are given, only words of these columns' headers count as named.
        """
        columns = self.columns if columns is None else columns
        headers = frozenset(word for column in columns for word in self.header_words(column))
        known = with_synonyms(headers - FUNCTION_WORDS) | headers | self._called | UNINFORMATIVE | ROW_NOUNS
        roots = {root for column in columns for root in self._roots(column)}
        called = headers.union(*map(stems_of, self.names))

        def names_nothing(word: Word) -> bool:
            if word.is_name and word.stem in FUNCTION_WORDS - called:
                return True  # "Will" is a person who is not in the table.
            is_unit = normalised_unit(word.written) in self.units
            return word.stem not in known and not is_unit and word_root(word.stem) not in roots

        return list(filter(names_nothing, words))

    @cached_property
    def _values(self) -> dict[tuple[str, ...], list[tuple[Column, str, int]]]:
        """Each value of a text column by its stems, with its column, first spelling and number of rows."""
        values: dict[tuple[str, ...], list[tuple[Column, str, int]]] = {}
        for column in self.columns_of_kind(ColumnKind.TEXT):
            column_by_words: dict[tuple[str, ...], tuple[str, int]] = {}
            cells = [cell for cell in self.cells(column) if not is_empty(cell)]
            for cell, number in Counter(cells).items():
                stems = tuple(stems_of(cell))
                first, others = column_by_words.get(stems, (cell, 0))
                column_by_words[stems] = first, others + number
            for stems, (cell, number) in column_by_words.items():
                # Function words are values only if they are written as a name or abbreviation: "Will", "US".
                letter = len(cell) == 1 and cell.isupper()
                if letter or (
                    0 < len(stems) <= LONGEST_VALUE
                    and (not set(stems) <= FUNCTION_WORDS or (len(stems) == 1 < len(cell) and cell[0].isupper()))
                ):
                    values.setdefault(stems, []).append((column, cell, number))
        return values

    def _is_meant(self, words: Sequence[Word], at: int, length: int) -> bool:
        """Return whether words name a cell, rather than a column or nothing.

        A single letter names a cell only if it is a capital that follows its column's name: "class B".
        """
        if length > 1:
            return True
        word = words[at]
        if word.stem in self.all_header_words:
            return False
        if len(word.written) > 1:
            return word.stem not in FUNCTION_WORDS or word.is_name or word.written.isupper()
        ((column, _, _), *_others) = self._values[(word.stem,)]
        return word.written.isupper() and at > 0 and words[at - 1].stem in self.header_words(column)
