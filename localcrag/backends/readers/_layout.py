"""The layout of a web page as plain text: blocks and table rows on lines of their own.

One walk over lxml's tree, without recursion and in linear time. It knows the elements' meaning by HTML's own defaults;
style sheets are not read, only `style` attributes that hide something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import lxml.etree
import lxml.html

from localcrag.backends.readers._markup_headings import Marked, level_of, reads_as_heading, without_bold_runs
from localcrag.backends.readers._markup_seen import seen
from localcrag.backends.readers._markup_tables import OF_SHEET, data_rows
from localcrag.records.errors import UnreadableDocument
from localcrag.text.line_marks import CODE_INDENT

Element = Any  # lxml has no type hints
html: Any = lxml.html
etree: Any = lxml.etree
# An empty line before and after; the other blocks only start and end a line.
SPACED = frozenset(
    "p figure h1 h2 h3 h4 h5 h6 ul ol dl article section blockquote pre table hr form fieldset details address".split()
)
BLOCKS = SPACED | frozenset(
    "html body br figcaption li dt dd aside div footer header hgroup main nav xmp listing plaintext caption thead "
    "tbody tfoot tr td th legend summary dialog menu dir center option select button search noframes frameset".split()
)
VERBATIM = frozenset(("pre", "xmp", "listing", "plaintext"))
LISTS = frozenset(("ul", "ol", "menu", "dir"))

BULLET = "* "
DEEPEST_INDENT = 8  # lists within lists; markup can be nested without end


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines of a page, which of them are headings, and what those that are rows of a spreadsheet say of that."""

    lines: list[str]
    headings: list[Marked]
    rows: list[tuple[int, str]]


def show(markup: str, name: str) -> Shown:
    """Return the text of a page. Raises UnreadableDocument where nothing can be made of the markup."""
    # lxml refuses a string that names an encoding in an XML declaration; ours is decoded already.
    markup = re.sub(r"^\s*<\?xml[^>]*>", "", markup)
    # Without huge_tree everything below 255 levels is dropped, and all that follows it; with it, below 2,048.
    parser = html.HTMLParser(huge_tree=True)
    try:
        root = html.document_fromstring(markup, parser=parser)
    except etree.ParserError:
        return Shown([], [], [])  # nothing in it but comments
    except (etree.LxmlError, ValueError) as error:
        raise _unreadable(name, str(error)) from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise _unreadable(name, "its elements are nested too deeply")
    return _show(root)


def _unreadable(name: str, reason: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name} cannot be read as a web page: {reason}. Open it in a browser, save it as text or PDF, and add that."
    )


def _show(root: Element) -> Shown:
    text = _Text()
    text.start(root)
    path = [(root, iter(root))]
    while path:
        parent, children = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            text.end(parent)
            text.write(parent.tail if path else None)
        elif not seen(child):
            text.write(child.tail)
        elif child.tag == "table" and (rows := data_rows(child, _flat)) is not None:
            text.write_rows(rows)
            text.write(child.tail)
        else:
            text.start(child)
            path.append((child, iter(child)))
    return text.finish()


def _flat(element: Element) -> str:
    if not len(element):  # As nearly all cells are; the walk below takes ten times as long.
        return " ".join((element.text or "").split())
    return " ".join("\n".join(_show(element).lines).split())


class _Text:
    """Text as it is being laid out: finished lines, and the pieces of the one that is still open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._headings: list[Marked] = []
        self._rows: list[tuple[int, str]] = []
        self._of_sheet = ""
        self._heading_from = 0
        self._pieces: list[str] = []
        self._gap = False  # an empty line is due before the next one
        self._verbatim = 0
        self._numbers: list[int | None] = []  # per open list, the next item's number, None for bullets
        self._widths: list[int] = []  # of the markers of their latest items
        self._marker = ""

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag in BLOCKS:
            # Two line breaks make an empty line; a list within a list gets none.
            spaced = tag in SPACED and (not self._numbers or tag in VERBATIM)
            self._break(spaced=spaced or (tag == "br" and not self._pieces))
        if tag in VERBATIM:
            self._verbatim += 1
        elif tag in LISTS:
            self._numbers.append(int(_number(element.get("start")) or 1) if tag == "ol" else None)
            self._widths.append(len(BULLET))
        elif tag == "li":
            self._marker = self._next_marker(element.get("value"))
            self._widths[-1:] = [len(self._marker)] if self._widths else []
        if level_of(element):
            self._heading_from = len(self._lines)
        self._of_sheet = element.get(OF_SHEET, self._of_sheet)
        self.write(element.text)

    def end(self, element: Element) -> None:
        tag = element.tag
        if tag in BLOCKS and tag != "br":
            # The paragraphs of a list's item stay together.
            self._break(spaced=tag in SPACED and len(self._numbers) <= (tag in LISTS))
        if OF_SHEET in element.attrib:
            self._of_sheet = ""
        if level := level_of(element):
            self._note_heading(level)
        if tag in VERBATIM:
            self._verbatim -= 1
        elif tag in LISTS:
            self._numbers.pop()
            self._widths.pop()
        elif tag == "li":
            self._marker = ""

    def write(self, text: str | None) -> None:
        if text and (self._verbatim or self._pieces or not text.isspace()):
            self._pieces.append(text)

    def write_rows(self, rows: list[tuple[str, str]]) -> None:
        self._break(spaced=True)
        for row, self._of_sheet in rows:
            self._pieces.append(row)
            self._break(spaced=False)
        self._of_sheet = ""
        self._gap = True

    def finish(self) -> Shown:
        self._break(spaced=False)
        return Shown(self._lines, without_bold_runs(self._headings, len(self._lines)), self._rows)

    def _note_heading(self, level: int) -> None:
        """Keep which lines a heading has that ends here."""
        first, behind = self._heading_from, len(self._lines)
        first += first < behind and not self._lines[first]  # the empty line in front of it
        if reads_as_heading(" ".join(self._lines[first:behind]), level, in_list=bool(self._numbers)):
            self._headings.append((first, behind, level))
        self._heading_from = behind

    def _break(self, *, spaced: bool) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.strip():
            # No more than one empty line in a row, even in code: it costs nothing and saves tokens.
            code = re.sub(r"\n\s*\n", "\n\n", text.strip("\n")).split("\n")
            lines = [" " * CODE_INDENT + line for line in code] if self._verbatim else [" ".join(text.split())]
            if self._gap and self._lines:
                self._lines.append("")
            self._gap = False
            for line in lines:
                if self._of_sheet:
                    self._rows.append((len(self._lines), self._of_sheet))
                self._lines.append((self._indent() + line).rstrip())
        self._gap = self._gap or spaced

    def _indent(self) -> str:
        marker, self._marker = self._marker, ""
        # What goes on with an item begins where its text does.
        widths = self._widths[:DEEPEST_INDENT]
        return " " * sum(widths[:-1]) + marker if marker else " " * sum(widths)

    def _next_marker(self, value: str | None) -> str:
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return BULLET
        number = int(_number(value) or number)
        self._numbers[-1] = number + 1
        return f"{number}. "


def _number(value: str | None) -> str | None:
    return value if value and re.fullmatch("[0-9]{1,6}", value) else None
