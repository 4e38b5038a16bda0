"""A question's words in a table: which are columns, which cells, and which are neither."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from localcrag.steps.compute.amounts import is_empty, unit_of
from localcrag.steps.compute.columns import Column, Kind, columns_of, rows_of
from localcrag.steps.compute.rows import Row
from localcrag.steps.compute.table import Table
from localcrag.steps.compute.vocabulary import PEOPLE, ROW_NOUNS, SAYS_NOTHING, alike, root_of, said_by, stem, stems_of
from localcrag.text.words import FUNCTION_WORDS

LONGEST_VALUE = 6
"""Words of a cell that a question may name."""
EXACT, ALIKE = 3, 1
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
        return EXACT * len(named) + ALIKE * len(like) + (1 if named and named == own else 0)

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
