"""Web pages as plain text: headings, tables and blocks, as a browser would show them.

The module walks lxml's tree once, without recursion and in linear time. It takes the meaning of elements from HTML's
defaults. It does not read style sheets, only `style` attributes that hide an element.
"""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import lxml.html

from localcrag.documents.readers import kinds
from localcrag.documents.readers.text import decode, normalise, place_headings
from localcrag.records.documents import Page
from localcrag.records.errors import UnreadableDocument
from localcrag.text.blocks import CODE_INDENT, escape_cell, markdown_row
from localcrag.text.places import SheetRow
from localcrag.text.titles import is_date
from localcrag.text.words import one_line

HIDDEN_TAGS = frozenset(
    "script style template noscript head title meta link svg canvas iframe object embed applet audio video map "
    "datalist textarea input frame".split()
)
HIDDEN_STYLE = re.compile(r"(?<![\w-])(display\s*:\s*none|visibility\s*:\s*(hidden|collapse))", re.IGNORECASE)


def is_displayed(element: Element) -> bool:
    """Return whether a browser shows an element."""
    if not isinstance(element.tag, str):  # a comment or processing instruction
        return False
    closed = element.tag == "dialog" and "open" not in element.attrib
    hidden = "hidden" in element.attrib or HIDDEN_STYLE.search(element.get("style", ""))
    return not (element.tag in HIDDEN_TAGS or closed or hidden)


# A table that contains one of these is page layout; its rows are not data.
LAYOUT_TAGS = ("table", "h1", "h2", "h3", "h4", "form", "pre", "article", "section", "nav")
LONG_CELL = 600
"""Maximum characters of a cell; a longer cell also shows that its table is page layout, unless the table has a
header and no lists, or comes from Word."""
WORD_TABLE_CLASS = "table-of-a-word-document"
SHEET_ROW_ATTRIBUTE = "row-of-a-sheet"
"""Attribute of an element that is a row of a spreadsheet: its number, a space, and the sheet's name."""
LONG_SHARE = 0.5
"""Share of long cells above which paragraphs are easier to read than rows."""
CELL_SEPARATOR, NO_CELLS = " | ", " | |"
MAX_SPAN = 100  # columns or rows that one cell may span
MOST_HEADER_ROWS = 4


def data_rows(table: Element) -> list[tuple[str, str]] | None:
    """Return a line per row with its cells separated, or None if the table is page layout.

    Each line comes with its row's place in a spreadsheet, empty if it has none.
    """
    if next(table.iterdescendants(*LAYOUT_TAGS), None) is not None:
        return None
    captions = [_one_line(caption) for caption in table.iterchildren("caption") if is_displayed(caption)]
    elements = [row for row in table.iter("tr") if is_displayed(row) and is_displayed(row.getparent())]
    carried: dict[int, tuple[int, str]] = {}
    heads = _header_rows(elements)
    rows = [_cells(row, carried, repeated=number < heads) for number, row in enumerate(elements)]
    if _is_layout(table, rows):
        return None
    header = _merge_header(rows[:heads])
    lines = [(caption, "") for caption in captions]
    in_table = False
    for at, cells in enumerate((*header, *rows[heads:])):
        line = _line(cells)
        # Within the table, a row with one cell over all columns names a group; above the table, it is a caption.
        names_group = in_table and CELL_SEPARATOR not in line
        in_table = in_table or CELL_SEPARATOR in line
        # The rows of the header were merged into fewer lines, which shifts the indices of the rows below.
        row = elements[max(at - len(header) + heads, 0)]
        lines.append((f"{line}{NO_CELLS}" if line and names_group else line, row.get(SHEET_ROW_ATTRIBUTE, "")))
    return [line for line in lines if line[0]]


def _is_layout(table: Element, rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in rows for cell in row if cell]
    long = sum(len(cell) > LONG_CELL for cell in cells)
    headed = table.find(".//th") is not None and table.find(".//li") is None
    is_data = headed or table.get("class") == WORD_TABLE_CLASS
    return long > (LONG_SHARE * len(cells) if is_data and len(rows) > 1 else 0)


def _header_rows(rows: Sequence[Element]) -> int:
    """Return how many rows at the top belong to the table's header."""
    heads = 0
    for row in rows:
        if row.getparent().tag != "thead" and (row.find("th") is None or row.find("td") is not None):
            break
        heads += 1
    return heads if heads < len(rows) and heads <= MOST_HEADER_ROWS else 0


def _merge_header(header: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows of a header as one row, after its captions (rows with one cell over all columns)."""
    width = max(map(len, header), default=0)
    captions = [[row[0]] for row in header if len(row) == width > 1 and len(set(row)) == 1]
    rows = [[*row, *[""] * (width - len(row))] for row in header if len(set(row)) > 1 or width == 1 or len(row) < width]
    # A cell that spans several rows occurs in each of them, so repeats are dropped.
    columns = [" ".join(dict.fromkeys(filter(None, texts))) for texts in zip(*rows, strict=True)]
    return [*captions, columns] if rows else captions


def _line(cells: Sequence[str]) -> str:
    filled = [number for number, cell in enumerate(cells) if cell]
    if not filled:
        return ""
    # Without a bar in front, an empty first cell would be invisible.
    shown = cells[: filled[-1] + 1]
    return markdown_row(shown) if filled[0] else CELL_SEPARATOR.join(map(escape_cell, shown))


def _cells(row: Element, carried: dict[int, tuple[int, str]], *, repeated: bool) -> list[str]:
    """Return a row's cells by column.

    `carried` maps a column to a cell that extends downwards: the number of remaining rows, and its text. If `repeated`,
    as in a header, a cell that spans columns is repeated in each of them.
    """
    cells: list[str] = []
    for cell in row.iterchildren("td", "th"):
        _fill(cells, carried)
        text = _one_line(cell) if is_displayed(cell) else ""
        rows_below = _span(cell, "rowspan") - 1
        for shown in (text, *[text if repeated else ""] * (_span(cell, "colspan") - 1)):
            if rows_below:
                carried[len(cells)] = (rows_below, shown)
            cells.append(shown)
    _fill(cells, carried)
    return cells


def _fill(cells: list[str], carried: dict[int, tuple[int, str]]) -> None:
    while len(cells) in carried:
        rows_below, text = carried.pop(len(cells))
        if rows_below > 1:
            carried[len(cells)] = (rows_below - 1, text)
        cells.append(text)


def _span(cell: Element, attribute: str) -> int:
    value = cell.get(attribute)
    return min(int(value), MAX_SPAN) if value and re.fullmatch("[1-9][0-9]{0,5}", value) else 1


HEADINGS = MappingProxyType({f"h{level}": level for level in range(1, 7)})
TITLE_CLASS = "title-of-a-word-document"
"""Class of a paragraph that is a heading of level 1 without being an h1: in a table's cell, an h1 would make the table
count as page layout (LAYOUT_TAGS)."""
BOLD = frozenset(("b", "strong"))
BOLD_LEVEL = 7  # level of a paragraph that is all bold, below all marked headings
MOST_BOLD_WORDS = 12
MOST_BOLD_IN_A_ROW = 2  # consecutive paragraphs; more are an address or a warning
SENTENCE_END = re.compile(r"[.!…,;。！，；؟।][\"'”’»)\]]*$")
LONGEST_HEADING = 200  # characters; longer text was marked as a heading only to make it large

Marked = tuple[int, int, int]
"""The first line of a heading, the line after its last one, and its level (1 is the highest)."""


def heading_level(element: Element) -> int:
    """Return the heading level of an element, or 0 if it is not a heading."""
    if element.tag != "p":
        return HEADINGS.get(element.tag, 0)
    if element.get("class") == TITLE_CLASS:
        return 1
    return BOLD_LEVEL if _is_bold(element) else 0


def _is_bold(paragraph: Element) -> bool:
    """Return whether a paragraph has text, and all of it is bold."""
    if any(text and not text.isspace() for text in (paragraph.text, *(child.tail for child in paragraph))):
        return False
    children = [child for child in paragraph if isinstance(child.tag, str)]
    bold = [child.tag in BOLD for child in children if child.tag in BOLD or child.text_content().strip()]
    return bool(bold) and all(bold)


def _is_short(text: str) -> bool:
    ends_sentence = SENTENCE_END.search(text) is not None
    return len(text.split()) <= MOST_BOLD_WORDS and not ends_sentence and text[:1].isalnum() and not is_date(text)


def can_be_heading(text: str, level: int, *, in_list: bool) -> bool:
    """Return whether the text of an element marked as a heading can be a heading."""
    if not any(letter.isalnum() for letter in text) or len(text) > LONGEST_HEADING:
        return False
    return level != BOLD_LEVEL or (not in_list and _is_short(text))


def drop_bold_runs(headings: Sequence[Marked], lines: int) -> list[Marked]:
    """Return the headings without runs of bold paragraphs, and without bold paragraphs at the end of the page."""
    kept: list[Marked] = []
    run: list[Marked] = []
    for heading in [*headings, (lines, 0, 0)]:
        first, behind, level = heading
        # Between two paragraphs there is an empty line.
        if run and (level != BOLD_LEVEL or first > run[-1][1] + 1):
            kept += run if len(run) <= MOST_BOLD_IN_A_ROW and run[-1][1] < lines else []
            run = []
        if level == BOLD_LEVEL:
            run.append(heading)
        elif behind:
            kept.append(heading)
    return kept


Element = Any  # lxml has no type hints
html: Any = lxml.html
etree: Any = lxml.etree
# These elements have an empty line before and after; other blocks only start and end a line.
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
DEEPEST_INDENT = 8  # levels of nested lists; markup can nest them without limit


def _parse_page(markup: str, name: str) -> _Text:
    """Return the text of a page. Raises UnreadableDocument if the markup cannot be parsed."""
    # lxml refuses a string whose XML declaration names an encoding; this string is already decoded.
    markup = re.sub(r"^\s*<\?xml[^>]*>", "", markup)
    # Without huge_tree, lxml drops everything nested deeper than 255 levels, and everything after it; with it, the
    # limit is 2,048 levels.
    parser = html.HTMLParser(huge_tree=True)
    try:
        root = html.document_fromstring(markup, parser=parser)
    except etree.ParserError:
        return _Text()  # nothing in it but comments
    except (etree.LxmlError, ValueError) as error:
        raise _unreadable(name, str(error)) from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise _unreadable(name, "its elements are nested too deeply")
    return _walk(root)


def _unreadable(name: str, reason: str) -> UnreadableDocument:
    remedy = "Open it in a browser, save it as text or PDF, and add that."
    return UnreadableDocument(f"{name} cannot be read as a web page: {reason}. {remedy}")


def _walk(root: Element) -> _Text:
    text = _Text()
    text.start(root)
    # A stack of iterators instead of recursion, because pages may be nested deeply.
    path = [(root, iter(root))]
    while path:
        parent, children = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            text.end(parent)
            text.write(parent.tail if path else None)
        elif not is_displayed(child):
            text.write(child.tail)
        elif child.tag == "table" and (rows := data_rows(child)) is not None:
            text.write_rows(rows)
            text.write(child.tail)
        else:
            text.start(child)
            path.append((child, iter(child)))
    text.finish()
    return text


def _one_line(element: Element) -> str:
    if not len(element):  # Nearly all cells have no children, and the walk below takes ten times as long.
        return " ".join((element.text or "").split())
    return " ".join("\n".join(_walk(element).lines).split())


class _Text:
    """A page's text during layout: the finished `lines`, and the pieces of the line that is still open.

    `headings` and `rows` say which of the lines are headings, and rows of a spreadsheet, with their places in it.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.headings: list[Marked] = []
        self.rows: list[tuple[int, str]] = []
        self._sheet_row = ""
        self._heading_from = 0
        self._pieces: list[str] = []
        self._gap = False  # an empty line is due before the next one
        self._verbatim = 0
        self._numbers: list[int | None] = []  # per open list, the next item's number, None for bullets
        self._widths: list[int] = []  # widths of the markers of their latest items
        self._marker = ""

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag in BLOCKS:
            # Two line breaks make an empty line; a nested list gets none.
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
        if heading_level(element):
            self._heading_from = len(self.lines)
        self._sheet_row = element.get(SHEET_ROW_ATTRIBUTE, self._sheet_row)
        self.write(element.text)

    def end(self, element: Element) -> None:
        tag = element.tag
        if tag in BLOCKS and tag != "br":
            # The paragraphs of a list item stay together.
            self._break(spaced=tag in SPACED and len(self._numbers) <= (tag in LISTS))
        if SHEET_ROW_ATTRIBUTE in element.attrib:
            self._sheet_row = ""
        if level := heading_level(element):
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
        for row, self._sheet_row in rows:
            self._pieces.append(row)
            self._break(spaced=False)
        self._sheet_row = ""
        self._gap = True

    def finish(self) -> None:
        self._break(spaced=False)
        self.headings = drop_bold_runs(self.headings, len(self.lines))

    def _note_heading(self, level: int) -> None:
        """Record the lines of the heading that ends here."""
        first, behind = self._heading_from, len(self.lines)
        first += first < behind and not self.lines[first]  # the empty line in front of it
        if can_be_heading(" ".join(self.lines[first:behind]), level, in_list=bool(self._numbers)):
            self.headings.append((first, behind, level))
        self._heading_from = behind

    def _break(self, *, spaced: bool) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.strip():
            # Keep no more than one empty line in a row, even in code: this loses nothing and saves tokens.
            code = re.sub(r"\n\s*\n", "\n\n", text.strip("\n")).split("\n")
            lines = [" " * CODE_INDENT + line for line in code] if self._verbatim else [" ".join(text.split())]
            if self._gap and self.lines:
                self.lines.append("")
            self._gap = False
            for line in lines:
                if self._sheet_row:
                    self.rows.append((len(self.lines), self._sheet_row))
                self.lines.append((self._indent() + line).rstrip())
        self._gap = self._gap or spaced

    def _indent(self) -> str:
        marker, self._marker = self._marker, ""
        # A continued item is indented to the column where its text begins.
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


# The HTML standard looks for the encoding in the first 1,024 bytes; real pages have long preambles before it.
DECLARED_WITHIN = 65_536
MOST_HEADINGS = 20_000
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta\b[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
# Declared encodings, and the encodings that such pages really use (WHATWG Encoding Standard, section 4.2).
SUPERSETS = {"iso8859-9": "cp1254", "shift_jis": "cp932", "euc_kr": "cp949"}
SUPERSETS |= {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-11": "cp874", "tis-620": "cp874"}
SUPERSETS |= dict.fromkeys(("gb2312", "gbk"), "gb18030")
TAG = re.compile(r"<[a-zA-Z!?/]")
SHEET_ROW = re.compile(r"([0-9]{1,7}) (.*)", re.DOTALL)


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return a generator of its one page, which has no number.

    Raises UnreadableDocument, both here and while the page is read.
    """
    kinds.expect_text(path, name, "a web page", head)
    if kinds.is_mhtml(head):
        remedy = "Open it in a browser, save it as “web page, HTML only”, and add that."
        raise UnreadableDocument(f"{name} is a web archive (MHTML), not an HTML file. {remedy}")
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    data = path.read_bytes()
    markup = normalise(decode(data, name, declared=declared_encoding(data)))
    # Some servers and mail programs name plain text .html; its line breaks are worth keeping. Only HTML that other
    # readers produce has sheet rows, so such attributes are ignored in a real web page.
    yield replace(render(markup, name), rows=()) if TAG.search(markup) else Page(None, markup)


def declared_encoding(data: bytes) -> str | None:
    """Return the Python name of the encoding that a page declares; None if the declaration cannot be true."""
    head = re.sub(rb"<!--.*?-->", b"", data[:DECLARED_WITHIN], flags=re.DOTALL)
    found = _XML_ENCODING.search(head) or _META_CHARSET.search(head)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
        # The declaration itself was read as ASCII, so an encoding that writes ASCII differently cannot be true.
        plausible = string.printable.encode(name) == string.printable.encode("ascii")
    except (LookupError, UnicodeError):
        return None
    return SUPERSETS.get(name, name) if plausible else None


def render(markup: str, name: str) -> Page:
    """Return the page as a browser would show it, with its headings; blocks and table rows are on separate lines.

    Scripts, styles and hidden parts are left out. Raises UnreadableDocument if the markup cannot be parsed.
    """
    shown = _parse_page(markup, name)
    # Normalise line by line, to know where each line begins; a newline never composes with its neighbours.
    lines = [normalise(line).replace("\N{SOFT HYPHEN}", "") for line in shown.lines]
    starts, headings = place_headings(lines, shown.headings[:MOST_HEADINGS])
    places = ((line, SHEET_ROW.fullmatch(place)) for line, place in shown.rows)
    rows = ((starts[line], one_line(normalise(place[2])), int(place[1])) for line, place in places if place)
    return Page(None, "\n".join(lines), headings=headings, rows=tuple(SheetRow(*row) for row in rows))
