"""HTML reader: the encoding of a web page, and what a browser would show of it (`_layout.py`)."""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Generator
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path

from localcrag.backends.readers import _kinds
from localcrag.backends.readers._layout import show
from localcrag.backends.readers.text import decode, normalise
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import Heading
from localcrag.text.sheet_rows import SheetRow
from localcrag.text.words import one_line

# The standard looks at the first 1,024 bytes; real pages have long preambles before it.
DECLARED_WITHIN = 65_536
MOST_HEADINGS = 20_000
DECLARED = (
    re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE),
    re.compile(rb"<meta\b[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE),
)
# What pages that name the left one are really in (WHATWG Encoding Standard, section 4.2).
SUPERSETS = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    "iso8859-9": "cp1254",
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    "shift_jis": "cp932",
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "euc_kr": "cp949",
}
TAG = re.compile(r"<[a-zA-Z!?/]")
OF_SHEET = re.compile(r"([0-9]{1,7}) (.*)", re.DOTALL)


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return its one page, without a number, still to be read.

    Raises UnreadableDocument, here and while the page is read.
    """
    _kinds.expect_text(path, name, "a web page", head)
    if _kinds.is_mhtml(head):
        raise UnreadableDocument(
            f"{name} is a web archive (MHTML), not an HTML file. "
            "Open it in a browser, save it as “web page, HTML only”, and add that."
        )
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    data = path.read_bytes()
    markup = normalise(decode(data, name, declared=declared_encoding(data)))
    # Some servers and mail programs name plain text .html; its lines are worth keeping.
    # Rows of sheets are in what other readers have rendered; a page that says so itself is none.
    yield replace(render(markup, name), rows=()) if TAG.search(markup) else Page(None, markup)


def declared_encoding(data: bytes) -> str | None:
    """Return the Python name of the encoding that a page claims for itself, or None where it can't be that."""
    head = re.sub(rb"<!--.*?-->", b"", data[:DECLARED_WITHIN], flags=re.DOTALL)
    found = next((match for pattern in DECLARED if (match := pattern.search(head))), None)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
        # The claim itself was read as ASCII, so an encoding that writes ASCII otherwise cannot be true.
        plausible = string.printable.encode(name) == string.printable.encode("ascii")
    except (LookupError, UnicodeError):
        return None
    return SUPERSETS.get(name, name) if plausible else None


def render(markup: str, name: str) -> Page:
    """Return the page that a browser would show, blocks and table rows on lines of their own, with its headings.

    Scripts, styles and hidden parts are left out. Raises UnreadableDocument when the markup cannot be read at all.
    """
    shown = show(markup, name)
    # Line by line, so that it is known where each begins; a newline is nothing that composes with its neighbours.
    lines = [normalise(line).replace("\N{SOFT HYPHEN}", "") for line in shown.lines]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    headings = []
    for first, behind, level in islice(shown.headings, MOST_HEADINGS):
        indent = len(lines[first]) - len(lines[first].lstrip())
        headings.append(Heading(starts[first] + indent, starts[behind] - 1, level))
    rows = ((line, OF_SHEET.fullmatch(said)) for line, said in shown.rows)
    return Page(
        None,
        "\n".join(lines),
        headings=tuple(found for found in headings if found.start < found.end),
        rows=tuple(SheetRow(starts[line], one_line(normalise(said[2])), int(said[1])) for line, said in rows if said),
    )
