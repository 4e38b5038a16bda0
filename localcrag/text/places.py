"""Places in a document (page, slide, message, sheet row), and names of files."""

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
from localcrag.text.words import valid

REPLACED = "\ufffd"
"""Stands in a name for what does not show."""
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's controls of direction: with them, “evil\u202etxt.exe” reads as if it ended in .txt."""


def is_hidden(path: PurePath) -> bool:
    """Return whether a path, or a folder on the way to it, is hidden: its name begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def shown(name: str) -> str:
    """Return a name with “�” for what does not show, breaks lines, or turns the letters behind it round."""
    if name.isascii() and name.isprintable():
        return name  # As most are: a folder may hold a hundred thousand.
    return "".join(REPLACED if _does_not_show(one) else one for one in valid(name))


def _does_not_show(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or character in _TURNING


class Names:
    """Names of files, each given once: where one is taken already, it gets a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, path: PurePosixPath) -> str:
        """Return the path, or the first of it with a number behind its stem that is free."""
        name = own = str(path)
        # All numbers up to the last one that it got are taken: a file may hold thousands of one name.
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
    """A line of a text that is a row of a sheet, or a part of one; it begins at `start`.

    `number` is what the spreadsheet program shows beside the row: from 1, empty and hidden rows counted. `sheet` is
    empty where a file has none (CSV).
    """

    start: int
    sheet: str
    number: int


def rows_within(rows: Sequence[SheetRow], text: str, start: int, end: int) -> tuple[SheetRow, ...]:
    """Return the rows that have a part in `text[start:end]`, in order, their places in that part.

    `rows` are those of `text`, in order.
    """
    first = max(bisect_right(rows, start, key=_START) - 1, 0)
    if first < len(rows) and rows[first].start < start and text.find("\n", rows[first].start, start + 1) >= 0:
        first += 1  # That row has ended before.
    behind = bisect_left(rows, end, key=_START)
    return tuple(SheetRow(max(row.start - start, 0), row.sheet, row.number) for row in rows[first:behind])


def rows_between(rows: Sequence[SheetRow], start: int, end: int) -> Sequence[SheetRow]:
    """Return the rows that begin at places from `start` up to `end`, of rows in order."""
    return rows[bisect_left(rows, start, key=_START) : bisect_left(rows, end, key=_START)]


def moved(rows: Iterable[SheetRow], by: int) -> tuple[SheetRow, ...]:
    """Return rows of a text that has `by` characters more in front."""
    return tuple(SheetRow(row.start + by, row.sheet, row.number) for row in rows)


MAILBOXES = frozenset((".mbox", ".mbx"))
"""Endings of documents whose pages are e-mails."""
SLIDES = frozenset((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".ppt", ".pps", ".pot", ".odp", ".otp"))
"""Endings of documents whose pages are slides."""
MOST_SAID = 6
"""Rows, or runs of them, that are said of a sheet one by one; of more, the first and the last one."""
MOST_NAMED = 3
"""Other names of a document that are said one by one; of more, the first ones and how many more there are."""


def page_name(document: str | None, page: int) -> str:
    """Return what a page of a document is called: "page 3", "slide 3"."""
    ending = PurePath(document or "").suffix.lower()
    if ending in SLIDES:
        return _("slide %(page)s", page=page)
    return _("message %(page)s", page=page) if ending in MAILBOXES else _("page %(page)s", page=page)


def pages_in(document: str, pages: int) -> str:
    """Return how many pages a document has: "3 pages", "3 slides"."""
    ending = PurePath(document).suffix.lower()
    if ending in SLIDES:
        return ngettext("%(num)s slide", "%(num)s slides", pages)
    if ending in MAILBOXES:
        return ngettext("%(num)s message", "%(num)s messages", pages)
    return ngettext("%(num)s page", "%(num)s pages", pages)


def place(document: str, page: int | None, rows: Iterable[SheetRow] = (), also: Sequence[str] = ()) -> str:
    """Return a document, with the page or rows where there are any: "a.pdf, page 3", "a.xlsx, sheet Prices, row 14".

    `also` are its other names: "a.pdf, page 3 (also as b.pdf)".
    """
    parts = (document, page_name(document, page) if page is not None else "", row_names(rows))
    other = also_named(also)
    return ", ".join(part for part in parts if part) + (f" ({other})" if other else "")


def also_named(names: Sequence[str]) -> str:
    """Return other names of a document: "also as b.pdf, c/a.pdf"; nothing where there are none."""
    said, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
    if more > 0:
        return _("also as %(names)s and %(number)s more", names=said, number=more)
    return _("also as %(names)s", names=said) if names else ""


def row_names(rows: Iterable[SheetRow]) -> str:
    """Return which rows these are: "sheet Prices, rows 3, 12–14"; nothing where there are none."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row.sheet, set()).add(row.number)
    return "; ".join(_of_sheet(sheet, sorted(numbers)) for sheet, numbers in found.items())


def _of_sheet(sheet: str, numbers: Sequence[int]) -> str:
    runs = in_runs(numbers)
    if len(runs) > MOST_SAID:
        said = _("rows from %(first)s to %(last)s", first=numbers[0], last=numbers[-1])
    else:
        said = ngettext("row %(rows)s", "rows %(rows)s", len(numbers), rows=", ".join(runs))
    return ", ".join([_("sheet %(name)s", name=sheet), said]) if sheet else said


def in_runs(numbers: Iterable[int]) -> list[str]:
    """Return rising numbers as they are written, those in a row as one: "3", "7–9"."""
    # In a row, number and place grow alike.
    runs = [[one for at, one in run] for by, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
