"""The outline of a PDF (its bookmarks): which headings begin on which page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pypdfium2

from localcrag.backends.readers._headings import Entry

MOST_ENTRIES, MOST_OF_PAGE = 10_000, 100
LONGEST = 300  # characters of an entry; what is longer is no line of a page


def outline_of(document: Any) -> Mapping[int, Sequence[Entry]]:
    """Return the outline's entries by the index of the page that they lead to; none of an outline that is damaged.

    `document` is a pypdfium2.PdfDocument; the caller holds pdfium's lock.
    """
    found: dict[int, list[Entry]] = {}
    try:
        for bookmark in islice(document.get_toc(), MOST_ENTRIES):
            place, title = bookmark.get_dest(), _title(bookmark)
            index = place.get_index() if place else None
            of_page = found.setdefault(index, []) if index is not None else []
            if title.strip() and len(title) <= LONGEST and len(of_page) < MOST_OF_PAGE:
                of_page.append(Entry(title, bookmark.level + 1))
    except (pypdfium2.PdfiumError, ValueError):
        return {}
    return found


def _title(bookmark: Any) -> str:
    """Return what an entry is called, nothing where that is no text: half a character, say."""
    try:
        title: str = bookmark.get_title()
    except UnicodeError:
        return ""
    return title
