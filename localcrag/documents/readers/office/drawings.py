"""Charts, diagrams (SmartArt) and OpenDocument drawings as text: a title and a small table, or a list.

In OpenDocument files, the content of shapes, charts and comments is inserted into the text.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import lxml.etree
from markupsafe import escape

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.html import WORD_TABLE_CLASS

etree: Any = lxml.etree  # has no type hints
Element = Any
MOST_ROWS, MOST_SERIES = 200, 30
"""Maximum rows and series to read from a chart; a larger chart shows a shape rather than single values."""
MOST_POINTS, DEEPEST = 2_000, 6
"""Maximum number of texts in a diagram, and maximum depth of nesting."""
DRAWING_ERRORS = (etree.LxmlError, ValueError, OverflowError)
_DAY_ONE = datetime(1899, 12, 30)  # noqa: DTZ001 - a day without a time zone, as spreadsheets count
_FROM_1904 = timedelta(days=1462)
"""Offset of dates in workbooks that count days from 1904."""
_LONGEST_CODE = 255
"""Maximum characters of a number format that are read; Excel has no longer formats."""
_TEXTS = ("{*}strDim", "{*}strCache", "{*}strLit", "{*}multiLvlStrCache")
_DATE_CODE = re.compile(r"[yd]")
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')


def parse_xml(data: bytes) -> Element:
    """Return a part's root element without comments; entities stay unresolved. Raises an error of DRAWING_ERRORS."""
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def paragraphs(element: Element) -> list[str]:
    """Return the paragraphs of DrawingML within an element that contain text."""
    texts = ("".join(run.text or " " for run in one.iter("{*}t", "{*}br")) for one in element.iter("{*}p"))
    return [text for one in texts if (text := " ".join(one.split()))]


def chart_markup(root: Element, *, in_cells: bool = False) -> str:
    """Return a chart's title, the titles of its axes, and its values as a table.

    If the values are `in_cells` of the same file, the names of its series replace the table, so that the values do not
    count twice. Raises an error of DRAWING_ERRORS.
    """
    cells = [one.text or "" for one in root.iter("{*}f")]
    values = not (in_cells and cells and not any("[" in one for one in cells))  # “[1]” is another file
    chart = root.find("{*}chart")
    if chart is None:
        return ""
    title = _title(chart)
    axes = [text for axis in chart.iter("{*}catAx", "{*}valAx", "{*}dateAx", "{*}axis") if (text := _title(axis))]
    series = list(_series(root))
    names = [name for name, _, _ in series if name]
    parts = [*([title] if title else []), *dict.fromkeys(axes)]
    if not values and names and names != [title]:
        parts.append(", ".join(dict.fromkeys(names[:MOST_SERIES])))
    lead = f"<p>Chart: {escape('. '.join(parts))}</p>" if parts else ""
    return lead + ("".join(_table(series)) if values else "")


def diagram_markup(root: Element) -> str:
    """Return the texts of a diagram as nested lists."""
    texts = {one.get("modelId"): " ".join(paragraphs(one)) for one in root.iter("{*}pt")}
    within: dict[str, list[tuple[int, str]]] = {}
    for one in root.iter("{*}cxn"):
        if one.get("type", "parOf") == "parOf":
            within.setdefault(one.get("srcId"), []).append((_int(one.get("srcOrd")), one.get("destId")))
    top = [one.get("modelId") for one in root.iter("{*}pt") if one.get("type") == "doc"]
    made: list[tuple[int, str]] = []
    seen: set[str] = set()
    under = [(one, 0) for one in top]
    while under:
        key, depth = under.pop()
        if key in seen:
            continue
        seen.add(key)
        if texts.get(key):
            made.append((max(depth, 1), texts[key]))
        # The last item of `under` is processed next, so the first child must be pushed last.
        below = sorted(within.get(key, ()), key=lambda pair: pair[0], reverse=True)
        under += [(one, min(depth + 1, DEEPEST)) for _, one in below]
    # Texts that no connection leads to come at the end.
    made += [(1, text) for key, text in texts.items() if text and key not in seen]
    lost = f"<p>The diagram has {len(made):,} texts; the others are not read.</p>" if len(made) > MOST_POINTS else ""
    return "".join(_lists(made[:MOST_POINTS])) + lost


def _lists(items: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield nested lists of texts, which come with their depth."""
    depth = 0
    for level, text in items:
        yield "<ul>" * (level - depth) + "</ul>" * (depth - level)
        yield f"<li>{escape(text)}</li>"
        depth = level
    yield "</ul>" * depth


def _title(element: Element) -> str:
    title = element.find("{*}title")
    if title is None:
        return ""
    return " ".join(paragraphs(title)) or " ".join(one.text or "" for one in title.iter("{*}v")).strip()


Points = dict[int, str]
_Series = tuple[str, Points, Points]
"""A name, and categories and values, both by point number."""


def _series(root: Element) -> Iterator[_Series]:
    from_1904 = any(one.get("val", "1") in {"1", "true"} for one in root.iterchildren("{*}date1904"))
    day_one = _DAY_ONE + _FROM_1904 if from_1904 else _DAY_ONE
    for one in root.iter("{*}ser"):
        yield _name(one), _points(one, day_one, "cat", "xVal"), _points(one, day_one, "val", "yVal")
    data = {one.get("id"): one for one in root.iter("{*}data")}  # charts since 2016
    for one in root.iter("{*}series"):
        number = one.find("{*}dataId")
        holder = None if number is None else data.get(number.get("val"))
        if holder is not None:
            yield _name(one), _points(holder, day_one, "strDim"), _points(holder, day_one, "numDim")


def _name(series: Element) -> str:
    name = series.find("{*}tx")
    return "" if name is None else " ".join(text.text or "" for text in name.iter("{*}v"))


def _points(element: Element, day_one: datetime, *names: str) -> Points:
    holder = next((found for name in names if (found := element.find(f"{{*}}{name}")) is not None), None)
    points: Points = {}
    if holder is None:
        return points
    are_texts = next(holder.iter(*_TEXTS), None) is not None
    code = next((one.text or "" for one in holder.iter("{*}formatCode")), "")[:_LONGEST_CODE]
    plain = _LITERAL.sub("", code).lower()
    for point in islice(holder.iter("{*}pt"), MOST_POINTS):
        inner = point.find("{*}v")
        text = " ".join(((point if inner is None else inner).text or "").split())
        value = text if are_texts else _format_value(text, plain, day_one)
        at = _int(point.get("idx"))
        # If categories have several levels, the outer one is put in front.
        points[at] = f"{value} {points[at]}".strip() if at in points else value
    return points


def _table(series: Sequence[_Series]) -> Iterator[str]:
    shown = [one for one in series if one[2]][:MOST_SERIES]
    if not shown:
        return
    rows = sorted({at for _, _, values in shown for at in values})
    yield f'<table class="{WORD_TABLE_CLASS}"><tr><th></th>'
    yield "".join(f"<th>{escape(name)}</th>" for name, _, _ in shown)
    yield "</tr>"
    for at in rows[:MOST_ROWS]:
        named = next((categories[at] for _, categories, _ in shown if at in categories), str(at + 1))
        cells = "".join(f"<td>{escape(values.get(at, ''))}</td>" for _, _, values in shown)
        yield f"<tr><td>{escape(named)}</td>{cells}</tr>"
    yield "</table>"
    if len(rows) > MOST_ROWS or len(series) > MOST_SERIES:
        yield f"<p>The chart shows more values; {MOST_ROWS} of each of {MOST_SERIES} series at most are read.</p>"


def _format_value(value: str, code: str, day_one: datetime) -> str:
    """Return a value as a chart shows it, by its format code: a share in per cent, a day as a date.

    `code` has no literal text and is in lower case; `day_one` is the day before day 1.
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if "%" in code:
        return f"{number * 100:.10g}%"
    if code != "general" and _DATE_CODE.search(code) and 0 < number < 2_957_004:  # up to the year 9999, also from 1904
        return f"{day_one + timedelta(days=int(number)):%Y-%m-%d}"
    return f"{number:.12g}" if abs(number) < 1e15 else value


def _int(written: str | None) -> int:
    return int(written) if written and re.fullmatch("[0-9]{1,9}", written) else 0


CONTENT = "content.xml"
MOST = 2_000
"""Maximum shapes, charts and comments of a file, each, and of a sheet or slide together."""
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_OFFICE, _TEXT, _TABLE, _DRAW, _CHART = (
    f"{{{_ODF}:{name}:1.0}}" for name in ("office", "text", "table", "drawing", "chart")
)
_HREF = "{http://www.w3.org/1999/xlink}href"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_SHAPES = tuple(
    f"{_DRAW}{name}" for name in "custom-shape rect ellipse circle line polyline polygon path connector caption".split()
)
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_BLOCKS = (*_PARAGRAPHS, f"{_TEXT}list")
_WORD_BREAKS = (*_PARAGRAPHS, f"{_TEXT}tab", f"{_TEXT}s", f"{_TEXT}line-break")
"""Elements that separate words."""
_OBJECT_CONTENT = re.compile(rf"[^/]+/{CONTENT}")
_OBJECT = re.compile(r"(?:\./)?([^/]+)/?")
_READ_ERRORS = (*kinds.ZIP_ERRORS, *DRAWING_ERRORS, KeyError)


def embedded_objects(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the contents of the objects within a file, such as charts, by name."""
    return {name.partition("/")[0]: data for name, data in packages.read_parts(archive, _OBJECT_CONTENT).items()}


def text_with_drawings(path: Path) -> bytes:
    """Return an OpenDocument text with its shapes, charts and comments inserted as paragraphs and tables."""
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(path) as archive:
            content = packages.read_part(archive, archive.getinfo(CONTENT))
            if b"annotation" not in content and b"drawing" not in content:
                return data
            root = parse_xml(content)
            insert_drawings(root, embedded_objects(archive))
            parts, changed = archive.infolist(), {CONTENT: etree.tostring(root)}
            read = (changed.get(part.filename) or packages.read_part(archive, part) for part in parts)
            return packages.packed(zip(parts, read, strict=True)).getvalue()
    except _READ_ERRORS:  # The reader of the text reports the error.
        return data


def insert_drawings(root: Element, objects: Mapping[str, bytes]) -> None:
    """Insert the content of shapes and charts after their paragraphs.

    Comments, and drawings anchored to the page, come at the end of the text or of their slide.
    """
    for number, comment in enumerate([*islice(root.iter(f"{_OFFICE}annotation"), MOST + 1)]):
        _append(root, comment, [_paragraph(root, _comment_text(comment) if number < MOST else _limit_note("comments"))])
    etree.strip_elements(root, f"{_OFFICE}annotation", with_tail=False)
    last: dict[Element, Element] = {}
    # anydoc reads the text of shapes on slides without help.
    has_slides = next(root.iter(f"{_DRAW}page"), None) is not None
    drawn = root.iter(f"{_DRAW}object", *(() if has_slides else _SHAPES))
    for number, one in enumerate([*islice(drawn, MOST + 1)]):
        if number == MOST:
            _append(root, one, [_paragraph(root, _limit_note("drawings"))])
            return
        behind = _chart(root, one, objects) if one.tag == f"{_DRAW}object" else [*one.iterchildren(*_BLOCKS)]
        place = next(reversed([*one.iterancestors(*_PARAGRAPHS)]), None)
        if place is None or place.getparent() is None or has_slides:
            _append(root, one, behind)
            continue
        at: Element = last.get(place, place)
        for block in behind:
            block.tail = None
            at.addnext(block)
            at = last[place] = block


def _append(root: Element, element: Element, blocks: Iterable[Element]) -> None:
    """Append blocks to the slide or to the text that an element is on."""
    slide = next(element.iterancestors(f"{_DRAW}page"), None)
    body = next(element.iterancestors(f"{_OFFICE}text"), None)
    for block in blocks:
        block.tail = None
        if slide is not None:
            slide.append(_frame(root, block))
        elif body is not None:
            body.append(block)


def _limit_note(what: str) -> str:
    return f"The document has more than {MOST:,} {what}; the others are not read."


def read_content(path: Path) -> bytes:
    """Return a file's content as XML; empty if it is damaged, which the reader that parses the cells reports."""
    try:
        with zipfile.ZipFile(path) as archive:
            return packages.read_part(archive, archive.getinfo(CONTENT))
    except _READ_ERRORS:
        return b""


def table_annotations(path: Path, content: bytes) -> dict[str, str]:
    """Return the drawings and comments on a spreadsheet's tables, as HTML, by table name.

    `content` is the file's content (read_content).
    """
    if b"annotation" not in content and b"drawing" not in content:
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            objects = embedded_objects(archive)
        tables = list(parse_xml(content).iter(f"{_TABLE}table"))
    except _READ_ERRORS:
        return {}
    texts = {table.get(f"{_TABLE}name") or "": islice(_table_texts(table, objects), MOST + 1) for table in tables}
    return {name: limited_html([f"<p>{escape(one)}</p>" for one in some]) for name, some in texts.items()}


def limited_html(pieces: Sequence[str]) -> str:
    """Return the first pieces of HTML, and below them a note if there are more than MOST."""
    lost = f"<p>Of what is drawn and commented here, {MOST:,} pieces are read.</p>" if len(pieces) > MOST else ""
    return "".join(pieces[:MOST]) + lost


def _table_texts(table: Element, objects: Mapping[str, bytes]) -> Iterator[str]:
    for one in table.iter(f"{_OFFICE}annotation", f"{_DRAW}object", f"{_DRAW}text-box", *_SHAPES):
        if one.tag == f"{_OFFICE}annotation":
            yield _comment_text(one)
        elif one.tag == f"{_DRAW}object":
            lead, rows = _read_chart(one, objects)
            yield ". ".join(filter(None, (lead, ", ".join(filter(None, rows[0])) if rows else "")))
        else:
            yield from filter(None, map(_words, one.iterchildren(*_BLOCKS)))


def _chart(root: Element, one: Element, objects: Mapping[str, bytes]) -> list[Element]:
    """Return a chart as a paragraph and a table; nothing for an object of another kind."""
    lead, rows = _read_chart(one, objects)
    made = [_paragraph(root, lead)] if lead else []
    if not rows:
        return made
    table = root.makeelement(f"{_TABLE}table")
    for cells in rows:
        row = etree.SubElement(table, f"{_TABLE}table-row")
        for cell in cells:
            etree.SubElement(row, f"{_TABLE}table-cell").append(_paragraph(root, cell))
    return [*made, table]


def _read_chart(one: Element, objects: Mapping[str, bytes]) -> tuple[str, list[list[str]]]:
    """Return a chart's titles as a line, and its rows."""
    named = _OBJECT.fullmatch(one.get(_HREF) or "")
    data = objects.get(named[1]) if named else None
    try:
        chart = next(parse_xml(data).iter(f"{_CHART}chart"), None) if data else None
    except DRAWING_ERRORS:
        return "A chart stands here that could not be read.", []
    if chart is None:
        return "", []
    titles = dict.fromkeys(filter(None, map(_words, chart.iter(f"{_CHART}title"))))
    cells = (row.iterchildren(f"{_TABLE}table-cell") for row in islice(chart.iter(f"{_TABLE}table-row"), MOST_ROWS + 1))
    rows = [[_words(cell) for cell in islice(row, MOST_SERIES + 1)] for row in cells]
    return f"Chart: {'. '.join(titles)}" if titles else "", rows


def _comment_text(comment: Element) -> str:
    author = " ".join((comment.findtext(_CREATOR) or "").split())
    text = " ".join(filter(None, map(_words, comment.iter(*_PARAGRAPHS))))
    return f"Comment{f' by {author}' if author else ''}: {text}"


def _words(element: Element) -> str:
    pieces: list[str] = []
    for event, one in etree.iterwalk(element, events=("start", "end")):
        text = one.text if event == "start" else one.tail if one is not element else ""
        pieces.append(f" {text or ''}" if one.tag in _WORD_BREAKS else text or "")
    return " ".join("".join(pieces).split())


def _paragraph(root: Element, text: str) -> Element:
    made = root.makeelement(f"{_TEXT}p")
    made.text = text
    return made


def _frame(root: Element, block: Element) -> Element:
    """Return a frame of a slide that contains a paragraph or a table."""
    frame = root.makeelement(f"{_DRAW}frame")
    holder = frame if block.tag == f"{_TABLE}table" else etree.SubElement(frame, f"{_DRAW}text-box")
    holder.append(block)
    return frame
