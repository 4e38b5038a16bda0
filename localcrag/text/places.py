"""Where in its document something stands: page of a PDF, slide of a talk, letter, row of a sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import PurePath

from localcrag.text.sheet_rows import SheetRow
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

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
