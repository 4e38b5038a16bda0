"""Names of files, and of places in documents: pages, slides, e-mails and sheet rows."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import PurePath, PurePosixPath

from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import replace_surrogates

REPLACED = "\ufffd"
"""Character that replaces invisible characters in a name."""
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})
_DIRECTION_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's direction controls: with them, “evil\u202etxt.exe” is displayed as if it ended in .txt."""


def is_hidden(path: PurePath) -> bool:
    """Return whether a path or one of its folders is hidden: its name begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def visible_name(name: str) -> str:
    """Return a name with “�” for characters that are invisible, break lines, or change the direction of writing."""
    if name.isascii() and name.isprintable():
        return name  # A quick exit for most names: a folder may contain a hundred thousand.
    return "".join(REPLACED if _does_not_show(one) else one for one in replace_surrogates(name))


def _does_not_show(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or character in _DIRECTION_CONTROLS


class UniqueNames:
    """Assigns unique names to files: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, path: PurePosixPath) -> str:
        """Return the path as name, or with the first free number after its stem: "a (2).pdf"."""
        name = own = str(path)
        # All numbers up to the last one given are taken; start there, since an archive may have thousands of files with
        # one name.
        number = self._numbers.get(name, 1)
        while own in self._numbers:
            number += 1
            own = str(path.with_stem(f"{path.stem} ({number})"))
        self._numbers[name] = number
        self._numbers.setdefault(own, 1)
        return own


_START = attrgetter("start")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A line of a text that is a row of a sheet, or a part of a row; it begins at offset `start`.

    `number` is the row number that a spreadsheet program shows: it counts from 1 and includes empty and hidden rows.
    `sheet` is empty for files without sheets (CSV).
    """

    start: int
    sheet: str
    number: int


def rows_within(rows: Sequence[SheetRow], text: str, start: int, end: int) -> tuple[SheetRow, ...]:
    """Return the rows that overlap `text[start:end]`, in order, with offsets relative to `start`.

    `rows` are the rows of `text`, in order.
    """
    first = max(bisect_right(rows, start, key=_START) - 1, 0)
    if first < len(rows) and rows[first].start < start and text.find("\n", rows[first].start, start + 1) >= 0:
        first += 1  # The row ends before `start`.
    behind = bisect_left(rows, end, key=_START)
    return tuple(SheetRow(max(row.start - start, 0), row.sheet, row.number) for row in rows[first:behind])


def rows_between(rows: Sequence[SheetRow], start: int, end: int) -> Sequence[SheetRow]:
    """Return the rows that begin at an offset from `start` up to, but not including, `end`; `rows` are in order."""
    return rows[bisect_left(rows, start, key=_START) : bisect_left(rows, end, key=_START)]


def shift_rows(rows: Iterable[SheetRow], by: int) -> tuple[SheetRow, ...]:
    """Return the rows with `by` added to their offsets, for a text that starts `by` characters later."""
    return tuple(SheetRow(row.start + by, row.sheet, row.number) for row in rows)


MAILBOXES = frozenset((".mbox", ".mbx"))
"""File extensions of documents whose pages are e-mails."""
SLIDES = frozenset((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".ppt", ".pps", ".pot", ".odp", ".otp"))
"""File extensions of documents whose pages are slides."""
MOST_ROW_RANGES = 6
"""Maximum number of rows or runs of rows to list for a sheet; with more, only the first and last row are named."""
MOST_ALIASES = 3
"""Maximum number of other names of a document to list; the rest is counted."""


def page_name(document: str | None, page: int) -> str:
    """Return the name of a document's page: "page 3", "slide 3"."""
    ending = PurePath(document or "").suffix.lower()
    if ending in SLIDES:
        return _("slide %(page)s", page=page)
    return _("message %(page)s", page=page) if ending in MAILBOXES else _("page %(page)s", page=page)


def page_count_in_words(document: str, pages: int) -> str:
    """Return the number of a document's pages in words: "3 pages", "3 slides"."""
    ending = PurePath(document).suffix.lower()
    if ending in SLIDES:
        return ngettext("%(num)s slide", "%(num)s slides", pages)
    if ending in MAILBOXES:
        return ngettext("%(num)s message", "%(num)s messages", pages)
    return ngettext("%(num)s page", "%(num)s pages", pages)


def place_name(document: str, page: int | None, rows: Iterable[SheetRow] = (), also: Sequence[str] = ()) -> str:
    """Return a place in words: "a.pdf, page 3", "a.xlsx, sheet Prices, row 14"; the document alone if it has neither.

    `also` are the document's other names: "a.pdf, page 3 (also as b.pdf)".
    """
    parts = (document, page_name(document, page) if page is not None else "", row_names(rows))
    other = aliases_in_words(also)
    return ", ".join(part for part in parts if part) + (f" ({other})" if other else "")


def aliases_in_words(names: Sequence[str]) -> str:
    """Return a document's other names in words: "also as b.pdf, c/a.pdf"; empty if there are none."""
    text, more = ", ".join(names[:MOST_ALIASES]), len(names) - MOST_ALIASES
    if more > 0:
        return _("also as %(names)s and %(number)s more", names=text, number=more)
    return _("also as %(names)s", names=text) if names else ""


def row_names(rows: Iterable[SheetRow]) -> str:
    """Return sheet rows in words: "sheet Prices, rows 3, 12–14"; empty if there are none."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row.sheet, set()).add(row.number)
    return "; ".join(_sheet_rows_in_words(sheet, sorted(numbers)) for sheet, numbers in found.items())


def _sheet_rows_in_words(sheet: str, numbers: Sequence[int]) -> str:
    runs = number_ranges(numbers)
    if len(runs) > MOST_ROW_RANGES:
        text = _("rows from %(first)s to %(last)s", first=numbers[0], last=numbers[-1])
    else:
        text = ngettext("row %(rows)s", "rows %(rows)s", len(numbers), rows=", ".join(runs))
    return ", ".join([_("sheet %(name)s", name=sheet), text]) if sheet else text


def number_ranges(numbers: Iterable[int]) -> list[str]:
    """Return ascending numbers as texts, with consecutive ones joined: "3", "7–9"."""
    # Within a run of consecutive numbers, the difference between number and position is constant.
    runs = [[one for at, one in run] for by, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
