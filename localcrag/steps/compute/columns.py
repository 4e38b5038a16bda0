"""Columns of a table: kind and unit of their values, and what speaks against computing with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from localcrag.steps.compute.amounts import (
    Amount,
    Mark,
    amount_of,
    clock_of,
    is_empty,
    looks_like_amount,
    mark_of,
    unit_of,
)
from localcrag.steps.compute.moments import Moment, moments_in
from localcrag.steps.compute.rows import Row
from localcrag.steps.compute.table import Table
from localcrag.steps.compute.vocabulary import stems_of
from localcrag.text.decimals import whole_number
from localcrag.text.quantities import CURRENCIES, UNITS
from localcrag.text.translation import gettext as _

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
