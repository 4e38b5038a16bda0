"""The vocabulary of a table: its columns and cells, and which of them a question's words mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise

from localcrag.records.enums import Operation
from localcrag.tables.parse import Row, Table
from localcrag.tables.values import (
    Amount,
    Mark,
    Moment,
    amount_of,
    clock_of,
    is_empty,
    looks_like_amount,
    mark_of,
    moments_in,
    unit_of,
)
from localcrag.text.quantities import CURRENCIES, UNITS
from localcrag.text.translation import gettext as _
from localcrag.text.translation import whole_number
from localcrag.text.words import FUNCTION_WORDS, singular

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[€$£%]")
LEAST_OF_ROOT = 4
"""Letters that a word keeps without its ending."""
_ES = ("sses", "xes", "ches", "shes", "zes")

SIZE = frozenset(("size", "area"))
PRICE = frozenset(("price", "cost", "fee", "charge", "tariff", "costing", "fare", "rent"))
ALIKE: tuple[frozenset[str], ...] = (
    PRICE,
    frozenset(("amount", "sum", "value")),
    frozenset(("spend", "spent", "spending", "expense", "amount", "cost")),
    frozenset(("earn", "earned", "salary", "pay", "wage", "income")),
    frozenset(("revenue", "sale", "turnover", "sold")),
    frozenset(("quantity", "qty", "piece", "stock", "unit")),
    frozenset(("weight", "weigh", "weighing")),
    frozenset(("length", "long")),
    frozenset(("duration", "long", "last", "lasting")),
    frozenset(("height", "tall", "high")),
    frozenset(("date", "dated", "day", "when")),
    frozenset(("name", "who")),
    frozenset(("city", "town", "place", "location")),
    frozenset(("state", "status")),
    frozenset(("kind", "type", "category")),
    frozenset(("customer", "client")),
    frozenset(("supplier", "vendor", "supply", "supplied")),
    frozenset(("employee", "staff", "person", "people")),
    frozenset(("product", "article", "item")),
    frozenset(("departure", "depart", "leave", "left")),
    frozenset(("arrival", "arrive")),
    frozenset(("begin", "start")),
    frozenset(("end", "until", "expire", "expiry")),
    frozenset(("size", "large", "area")),
    frozenset(("maker", "manufacturer", "brand")),
    frozenset(("plan", "planned")),
)
"""Words, as `stem` has them, that name the same column."""
ROW_NOUNS = frozenset(("entry", "row", "line", "record", "transaction", "booking"))
"""What the rows of any table are."""
SAYS_NOTHING = FUNCTION_WORDS | frozenset(
    "table list sheet file column entry row line record value data overview following given show shown listed recorded "
    "registered contained contain include included exist logged entered placed made there much many according based "
    "together up be them one whole currently overall document spreadsheet made within worth priced let's us get see "
    "find name number still doe live living lived based located situated use used fill filled give gave given deliver "
    "delivered altogether work worked working get run ran score scored cost costing gram happen take took".split()
)
"""Words that a question may have whatever the table is."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """What a word asks for: the highest or the lowest value, and of which columns; of any that is named where none.

    `otherwise` are columns that it is of where the question names none.
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
    **dict.fromkeys(("first",), Superlative(_LEAST, dates=True)),
    **dict.fromkeys(("last",), Superlative(_MOST, dates=True)),
    "shortest": Superlative(_LEAST, frozenset(("length", "duration", "time", "distance"))),
    "heaviest": Superlative(_MOST, frozenset(("weight",))),
    "lightest": Superlative(_LEAST, frozenset(("weight",))),
    "tallest": Superlative(_MOST, frozenset(("height",))),
    **dict.fromkeys(("latest", "most recent", "newest"), Superlative(_MOST, dates=True)),
    **dict.fromkeys(("earliest", "oldest"), Superlative(_LEAST, dates=True)),
}
"""By their words. Which is the "best" or "fastest" nobody can tell by a column's values alone."""
COMPARATIVES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("cheaper", "dearer", "more expensive", "less expensive"), PRICE),
    **dict.fromkeys(("longer", "shorter"), SUPERLATIVES["longest"].columns),
    **dict.fromkeys(("heavier", "lighter"), SUPERLATIVES["heaviest"].columns),
    "taller": SUPERLATIVES["tallest"].columns,
    **dict.fromkeys(("larger", "bigger", "smaller"), SIZE),
}
"""The columns that a word of a comparison is about, where it tells."""
LESS = frozenset("less fewer lower cheaper shorter lighter smaller below under".split()) | {"less expensive"}
"""Words by which the second of two is the one with more."""
PEOPLE = frozenset(
    "name member person employee pupil student customer contact borrower reader player guest tenant author teacher who "
    "client colleague participant".split()
)
"""Headers of columns whose cells are people."""
THEN_AND_NOW = (
    frozenset("now today current currently new".split()),
    frozenset("before previous previously former formerly old earlier".split()),
)
"""Words that mean the same of two columns that are compared: what holds now, and what did before."""
PERIODS = frozenset(("day", "month", "quarter", "year"))
"""What rows with dates are put together by."""


def stem(word: str) -> str:
    """Return a word in lower case without the ending of its plural."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES) else singular(word)


def root_of(word: str) -> str:
    """Return what a stem and words made of it begin with: "teach" of "teacher" and "teaches"; short ones stay."""
    for ending in ("ings", "ing", "ers", "er", "ed", "es", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_OF_ROOT:
            return word[: -len(ending)]
    return word


def stems_of(text: str) -> list[str]:
    """Return the stems of all words of a text, in order."""
    return [stem(word) for word in _WORD.findall(text)]


def said_by(text: str) -> set[str]:
    """Return the stems of the words of a text that say something."""
    return {word for word in stems_of(text) if word not in FUNCTION_WORDS}


def alike(words: Iterable[str]) -> set[str]:
    """Return words with all that mean the same."""
    own = set(words)
    return own.union(*(group for group in ALIKE if group & own))


MOSTLY = 0.6
"""Share of the cells that say something which must be numbers, or dates, for the column to be of those."""
_IDENTIFIES = re.compile(
    r"(?:.*\b)?(?:no|nr|id|code|number|zip|postcode|postal code|phone|telephone|tel|mobile|fax|room|version|ref|"
    r"reference|iban|account|sku|isbn|rank|position|pos|line|#)\.?\Z",
    re.IGNORECASE,
)
"""Headers of columns whose numbers are names."""
_THINGS = frozenset(
    "account article batch bill booking bus case claim client contract customer employee event flight invoice item job "
    "licence license lot member order parcel patient payment policy product project receipt row serial shipment "
    "student task ticket train transaction voucher".split()
)
"""Headers of columns whose numbers are names where they have no unit: "Order", not "Orders"."""
_WHOLE = re.compile(r"\d+")
LEAST_IN_A_ROW = 3
"""Numbers that count up by one before they number the rows."""
_OF_YEARS = frozenset(("year", "since", "founded", "built", "season", "vintage", "from"))
_BARE_YEAR = re.compile(r"(?:19|20)\d\d")
_IN_HEADER = re.compile(
    r"[(\[]\s*([^()\[\]]{1,20}?)\s*[)\]]\s*\Z|\bin ([\w€$£%°/]{1,12})\Z|\s([€$£%]|EUR|USD|GBP|CHF|kg|km)\Z|\A([€$£%])\Z"
)


_UNITS_OF_HEADERS = frozenset(
    ("percent", "franc", "day", "week", "month", "year", "hour", "m²", "m³", "km²", "kwh", "mwh", "kw")
)


class Kind(Enum):
    """What the values of a column are. A NAME is a number that nobody adds up, as of an invoice."""

    AMOUNT = "amount"
    DATE = "date"
    TEXT = "text"
    NAME = "name"
    TIME = "time of day"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: for each row its amount or moment, None where its cell is none.

    `unit` is that of its amounts, in one way of writing, `shown_unit` as its header has it, where only that does.
    `problem` says why nothing can be computed with it; empty where it can. `mixed`: it has several units, and rows of
    one of them can be computed with.
    """

    at: int
    name: str
    kind: Kind
    values: tuple[Amount | Moment | None, ...] = ()
    unit: str = ""
    shown_unit: str = ""
    problem: str = ""
    mixed: bool = False
    mark: Mark = Mark.POINT

    @property
    def amounts(self) -> list[Amount]:
        """Its amounts, without what is none."""
        return [value for value in self.values if isinstance(value, Amount)]

    @property
    def moments(self) -> list[Moment]:
        """Its moments, without what is none."""
        return [value for value in self.values if isinstance(value, Moment)]


def rows_of(table: Table) -> list[Row]:
    """Return the rows that are neither totals nor labels of groups."""
    return [row for row in table.rows if not (row.is_total or row.is_label)]


def columns_of(table: Table, rows: Sequence[Row]) -> list[Column]:
    """Return the columns of a table; their values are those of `rows`, which are `rows_of` it."""
    telling = [at for at, name in enumerate(table.header) if not _IDENTIFIES.match(name)]
    mark = mark_of({row.cells[at] for row in table.rows for at in telling})
    return [_column(at, name, [row.cells[at] for row in rows], mark) for at, name in enumerate(table.header)]


def has_header(table: Table) -> bool:
    """Whether the first row names columns, and is no row of values like the others."""
    named = [name for name in table.header if not looks_like_amount(name) or _BARE_YEAR.fullmatch(name)]
    return 2 * len(named) > len(table.header) and len(set(table.header)) == len(table.header)


def _column(at: int, name: str, cells: Sequence[str], mark: Mark) -> Column:
    # Of a long column most cells are the same as others: each is read once.
    numbers = Counter(cells)
    said = Counter({cell: number for cell, number in numbers.items() if not is_empty(cell)})
    if not said:
        return Column(at, name, Kind.TEXT, (None,) * len(cells))
    times = {cell: clock_of(cell) for cell in numbers}
    if _are_mostly(said, [cell for cell, time in times.items() if time]):
        return Column(at, name, Kind.TIME, tuple(times[cell] for cell in cells))
    years = all(_BARE_YEAR.fullmatch(cell) for cell in said)
    days = moments_in(list(numbers))
    if days is None:
        problem = _("the dates in %(column)s can be read with the day or the month first", column=name)
        return Column(at, name, Kind.DATE, (None,) * len(cells), problem=problem)
    moments = dict(zip(numbers, days, strict=True))
    dated = _are_mostly(said, [cell for cell, moment in moments.items() if moment])
    if dated and (not years or _OF_YEARS & set(stems_of(name))):
        return Column(at, name, Kind.DATE, tuple(moments[cell] for cell in cells))
    if not _are_mostly(said, [cell for cell in said if looks_like_amount(cell)]):
        return Column(at, name, Kind.TEXT, (None,) * len(cells))
    return _of_names_or_amounts(at, name, cells, mark, are_years=years)


def _are_mostly(said: Counter[str], some: Iterable[str]) -> bool:
    """Whether these are most of the cells that say something; `said` has how many there are of each."""
    return sum(said[cell] for cell in some) >= MOSTLY * said.total()


def _of_names_or_amounts(at: int, name: str, cells: Sequence[str], mark: Mark, *, are_years: bool) -> Column:
    said = [cell for cell in cells if not is_empty(cell)]
    if are_years or (_IDENTIFIES.match(name) and "of" not in name.lower().split()) or _are_names(at, name, said):
        return Column(at, name, Kind.NAME, (None,) * len(cells))
    column = _of_amounts(at, name, cells, mark)
    return Column(at, name, Kind.TEXT, (None,) * len(cells)) if _are_labels(column) else column


def _are_labels(column: Column) -> bool:
    """Whether what stands behind the numbers are several letters and no units, as of "1A", "1B" and "2A"."""
    units = {one.unit: one.written for one in column.amounts}
    known = {*UNITS.values(), *CURRENCIES.values(), "percent", "franc"}
    return len(units) > 1 and not units.keys() & known and all(len(said) == 1 for said in units.values())


def _are_names(at: int, name: str, said: Sequence[str]) -> bool:
    """Whether whole numbers are names: of things, with leading zeros, or counting the rows in the first column."""
    if not all(map(_WHOLE.fullmatch, said)):
        return False
    # A number with more digits than any amount is a name; Python reads none of more than 4,300.
    numbers = [found for cell in said if (found := whole_number(cell)) is not None]
    if len(numbers) < len(said):
        return True
    counts = all(second == first + 1 for first, second in pairwise(numbers))
    numbered = at == 0 and len(numbers) >= LEAST_IN_A_ROW and counts
    return numbered or name.strip().lower() in _THINGS or any(cell[0] == "0" and len(cell) > 1 for cell in said)


def _of_amounts(at: int, name: str, cells: Sequence[str], mark: Mark) -> Column:
    known = {cell: amount_of(cell, mark) for cell in dict.fromkeys(cells)}
    amounts = [known[cell] for cell in cells]
    units = Counter(one.unit for one in amounts if one)
    shown = _unit_in(name)
    problem = ""
    if mark is Mark.UNKNOWN and any(looks_like_amount(cell) and one is None for cell, one in known.items()):
        problem = _("the numbers of the table can be read with a decimal point or a decimal comma")
    elif len(units) > 1:
        names = {one.unit: one.written for one in amounts if one}
        listed = ", ".join(names[unit] or _("without a unit") for unit, _number in units.most_common())
        problem = _("%(column)s has several units: %(units)s", column=name, units=listed)
    unit = next(iter(units), "") if len(units) == 1 else ""
    return Column(
        at, name, Kind.AMOUNT, tuple(amounts), unit or unit_of(shown), "" if unit else shown, problem,
        mixed=len(units) > 1 and mark is not Mark.UNKNOWN, mark=mark,
    )  # fmt: skip


def _unit_in(header: str) -> str:
    """Return the unit that a header says its amounts have: "Price (€)", "Weight in kg"; empty where it says none."""
    found = _IN_HEADER.search(header)
    said = next((part for part in found.groups() if part), "") if found else ""
    known = said.lower() in CURRENCIES or said in UNITS or said == "%" or unit_of(said) in set(UNITS.values())
    return said if known or unit_of(said) in _UNITS_OF_HEADERS else ""


LONGEST_VALUE = 6
"""Words of a cell that a question may name."""
EXACT, SIMILAR = 3, 1
"""What a word of a header counts for, and one that means the same."""

_YES, _NO = frozenset(("yes", "y", "true", "ja", "x", "✓", "✔")), frozenset(("no", "n", "false", "nein", "✗", "✘"))
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[€$£%]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question: its stem, its place in it, and whether it is written as a name."""

    stem: str
    start: int
    written: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A value of a column that a question names, with the words of it."""

    column: Column
    value: str
    words: tuple[Word, ...]
    rows: int


def words_of(text: str, names: Collection[int] = ()) -> list[Word]:
    """Return the words of a text, in order; at `names` begin those that are written as such."""
    found = _TOKEN.finditer(text)
    return [Word(stem(one[0]), one.start(), one[0], one.start() in names) for one in found]


def meaningful(words: Sequence[Word]) -> list[Word]:
    """Return the words that say something, or what any table's rows are: "entries"."""
    return [word for word in words if word.stem not in SAYS_NOTHING or word.stem in ROW_NOUNS]


class Known:
    """What of a table a question can name: columns, cells, and what the table is called."""

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        """`names`: of the document, its title, its sections."""
        self.table = table
        self.names = [name for name in (table.caption, *table.section.split(" › "), *names) if name]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows that are neither totals nor labels of groups."""
        return rows_of(self.table)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, with the values of these rows."""
        return columns_of(self.table, self.rows)

    @cached_property
    def units(self) -> set[str]:
        """The units of its amounts."""
        return {column.unit for column in self.columns if column.unit}

    @cached_property
    def _called(self) -> set[str]:
        return {word for name in self.names for word in said_by(name)}

    def of_kind(self, *kinds: Kind) -> list[Column]:
        """Return the columns of these kinds."""
        return [column for column in self.columns if column.kind in kinds]

    def header_words(self, column: Column) -> set[str]:
        """Return the words of a column's header."""
        return set(stems_of(re.sub(r"[(\[].*?[)\]]", " ", column.name)))

    def mention(self, column: Column, words: Sequence[Word]) -> int:
        """Return how clearly these words name a column; 0 where they do not."""
        own = self.header_words(column)
        others = alike(own - FUNCTION_WORDS)
        said = {word.stem for word in words}
        named = (own & said) - FUNCTION_WORDS
        like = {word for word in said - own if word in others or root_of(word) in self._roots(column)}
        return EXACT * len(named) + SIMILAR * len(like) + (1 if named and named == own else 0)

    def _roots(self, column: Column) -> set[str]:
        """Return what the words of a column's header begin with: "teach" of "teacher"."""
        return {root_of(word) for word in self.header_words(column) - FUNCTION_WORDS}

    def are_people(self, column: Column) -> bool:
        """Return whether the cells of a column are people, by its header."""
        return bool(PEOPLE & self.header_words(column))

    def like_word(self, word: Word) -> list[NamedCell]:
        """Return the cells that are called like a word of no meaning that is not written as a name: "us", "will"."""
        found = [] if word.is_name or word.stem not in FUNCTION_WORDS else self._values.get((word.stem,), [])
        return [NamedCell(column, cell, (word,), rows) for column, cell, rows in found if not word.written.isupper()]

    def is_row(self, word: str) -> bool:
        """Whether a word says what the rows of the table are, by how it is called."""
        last = {stems_of(name)[-1] for name in self.names if stems_of(name)}
        return word in ROW_NOUNS or word in last

    def cells_named(self, words: Sequence[Word]) -> list[NamedCell] | None:
        """Return the cells that these words name, in their order; None where one may be of several columns, or one."""
        found: list[NamedCell] = []
        taken: set[int] = set()
        stems = [word.stem for word in words]
        for length in range(LONGEST_VALUE, 0, -1):
            for at in range(len(words) - length + 1):
                own = set(range(at, at + length))
                columns = self._values.get(tuple(stems[at : at + length])) or []
                if length == 1 and words[at].written.isdigit():
                    columns = self._numbered(words, at)
                elif columns and length == 1 and words[at].is_name and stems[at] in self.all_header_words:
                    return None  # "Mark" of whom there is a row, or the column of that name.
                elif not columns or not self._is_meant(words, at, length):
                    continue
                if not columns or own & taken:
                    continue
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
        """Return the column of numbers of which one is meant, beside its name: "platform 2", "a 2 in maths"."""
        said = words[at].written
        beside = [words[at - 1].stem] if at else []
        if [word.stem for word in words[at + 1 : at + 2]] == ["in"]:
            beside += [word.stem for word in words[at + 2 : at + 3]]
        found = []
        for column in self.of_kind(Kind.AMOUNT, Kind.NAME):
            rows = sum(row.cells[column.at] == said for row in self.rows)
            if rows and self.header_words(column) & set(beside):
                found.append((column, said, rows))
        return found

    @cached_property
    def flags(self) -> dict[int, str]:
        """The columns that say yes or no, with what yes is written as."""
        found = {}
        for column in self.of_kind(Kind.TEXT):
            said = {row.cells[column.at].lower(): row.cells[column.at] for row in self.rows}
            yes = [word for low, word in said.items() if low in _YES]
            others = {low for low, word in said.items() if not is_empty(word)} - _YES - _NO
            if len(yes) == 1 and not others and said.keys() & _NO:
                found[column.at] = yes[0]
        return found

    @cached_property
    def all_header_words(self) -> frozenset[str]:
        """The stems of the words of all headers."""
        return frozenset(word for column in self.columns for word in self.header_words(column))

    def unexplained(self, words: Sequence[Word], columns: Sequence[Column] | None = None) -> list[Word]:
        """Return the words that are nothing of the table, or of these `columns` of it, and say something."""
        columns = self.columns if columns is None else columns
        headers = frozenset(word for column in columns for word in self.header_words(column))
        known = alike(headers - FUNCTION_WORDS) | headers | self._called | SAYS_NOTHING | ROW_NOUNS
        roots = {root for column in columns for root in self._roots(column)}
        called = headers.union(*map(stems_of, self.names))
        return [
            word
            for word in words
            if (word.is_name and word.stem in FUNCTION_WORDS - called)  # Whoever "Will" is, no row is his.
            or (word.stem not in known and unit_of(word.written) not in self.units and root_of(word.stem) not in roots)
        ]

    @cached_property
    def _values(self) -> dict[tuple[str, ...], list[tuple[Column, str, int]]]:
        """Each value of a column of words, by its stems."""
        values: dict[tuple[str, ...], list[tuple[Column, str, int]]] = {}
        for column in self.of_kind(Kind.TEXT):
            of_column: dict[tuple[str, ...], tuple[str, int]] = {}
            for cell, number in Counter(row.cells[column.at] for row in self.rows).items():
                if not is_empty(cell):
                    stems = tuple(stems_of(cell))
                    first, others = of_column.get(stems, (cell, 0))
                    of_column[stems] = first, others + number
            for stems, (cell, number) in of_column.items():
                letter = len(cell) == 1 and cell.isupper()
                if letter or (
                    0 < len(stems) <= LONGEST_VALUE
                    and (not set(stems) <= FUNCTION_WORDS or (len(stems) == 1 < len(cell) and cell[0].isupper()))
                ):
                    values.setdefault(stems, []).append((column, cell, number))
        return values

    def _is_meant(self, words: Sequence[Word], at: int, length: int) -> bool:
        """Whether a word is a cell's value, and not a column's name; one letter is, behind its column's."""
        if length > 1:
            return True
        word = words[at]
        if word.stem in self.all_header_words:
            return False
        if len(word.written) > 1:
            return word.stem not in FUNCTION_WORDS or word.is_name or word.written.isupper()
        ((column, _, _), *_others) = self._values[(word.stem,)]
        return word.written.isupper() and at > 0 and words[at - 1].stem in self.header_words(column)
