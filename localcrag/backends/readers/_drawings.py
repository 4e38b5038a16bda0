"""Charts and diagrams (SmartArt) of office files, as HTML: a title, a small table; a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import lxml.etree
from markupsafe import escape

from localcrag.backends.readers._markup_tables import WORD_TABLE_CLASS

etree: Any = lxml.etree  # has no type hints
Element = Any
MOST_ROWS, MOST_SERIES = 200, 30
"""Of a chart that are told; with more of them it shows a shape, and no values that anybody reads off it."""
MOST_POINTS, DEEPEST = 2_000, 6
"""Of a diagram: its texts, and how deep they lie within one another."""
DRAWING_ERRORS = (etree.LxmlError, ValueError, OverflowError)
_DAY_ONE = datetime(1899, 12, 30)  # noqa: DTZ001 - a day without a time zone, as spreadsheets count
_FROM_1904 = timedelta(days=1462)
"""By which days are later in workbooks that count from 1904."""
_LONGEST_CODE = 255
"""Characters of a number's format that are read; Excel has no longer ones."""
_TEXTS = ("{*}strDim", "{*}strCache", "{*}strLit", "{*}multiLvlStrCache")
_OF_DATE = re.compile(r"[yd]")
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')


def parsed(data: bytes) -> Element:
    """Return a part's root element without comments; entities stay unread. Raises what is among DRAWING_ERRORS."""
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def paragraphs(element: Element) -> list[str]:
    """Return the paragraphs of DrawingML within an element that say something."""
    said = ("".join(run.text or " " for run in one.iter("{*}t", "{*}br")) for one in element.iter("{*}p"))
    return [text for one in said if (text := " ".join(one.split()))]


def chart_markup(root: Element, *, in_cells: bool = False) -> str:
    """Return a chart's title, what its axes are called, and its values as a table.

    Of values that stand `in_cells` of the same file it has what their series are called: as a second table, they would
    be counted twice. Raises what is among DRAWING_ERRORS.
    """
    cells = [one.text or "" for one in root.iter("{*}f")]
    values = not (in_cells and cells and not any("[" in one for one in cells))  # “[1]” is another file.
    chart = root.find("{*}chart")
    if chart is None:
        return ""
    title = _title(chart)
    axes = [text for axis in chart.iter("{*}catAx", "{*}valAx", "{*}dateAx", "{*}axis") if (text := _title(axis))]
    series = list(_series(root))
    names = [name for name, _, _ in series if name]
    said = [*([title] if title else []), *dict.fromkeys(axes)]
    if not values and names and names != [title]:
        said.append(", ".join(dict.fromkeys(names[:MOST_SERIES])))
    lead = f"<p>Chart: {escape('. '.join(said))}</p>" if said else ""
    return lead + ("".join(_table(series)) if values else "")


def diagram_markup(root: Element) -> str:
    """Return the texts of a diagram as lists within lists."""
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
        below = sorted(within.get(key, ()), key=lambda pair: pair[0], reverse=True)
        under += [(one, min(depth + 1, DEEPEST)) for _, one in below]
    made += [(1, text) for key, text in texts.items() if text and key not in seen]
    lost = f"<p>The diagram has {len(made):,} texts; the others are not read.</p>" if len(made) > MOST_POINTS else ""
    return "".join(_lists(made[:MOST_POINTS])) + lost


def _lists(items: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield lists within lists of texts, each with how deep it lies."""
    depth = 0
    for level, text in items:
        yield "<ul>" * (level - depth) + "</ul>" * (depth - level)
        yield f"<li>{escape(text)}</li>"
        depth = level
    yield "</ul>" * depth


def _title(of: Element) -> str:
    title = of.find("{*}title")
    if title is None:
        return ""
    return " ".join(paragraphs(title)) or " ".join(one.text or "" for one in title.iter("{*}v")).strip()


Points = dict[int, str]
_Series = tuple[str, Points, Points]
"""A name, categories and values, both by their numbers."""


def _series(root: Element) -> Iterator[_Series]:
    from_1904 = any(one.get("val", "1") in {"1", "true"} for one in root.iterchildren("{*}date1904"))
    day_one = _DAY_ONE + _FROM_1904 if from_1904 else _DAY_ONE
    for one in root.iter("{*}ser"):
        yield _name(one), _points(one, day_one, "cat", "xVal"), _points(one, day_one, "val", "yVal")
    data = {one.get("id"): one for one in root.iter("{*}data")}  # Charts since 2016.
    for one in root.iter("{*}series"):
        number = one.find("{*}dataId")
        of = None if number is None else data.get(number.get("val"))
        if of is not None:
            yield _name(one), _points(of, day_one, "strDim"), _points(of, day_one, "numDim")


def _name(series: Element) -> str:
    name = series.find("{*}tx")
    return "" if name is None else " ".join(text.text or "" for text in name.iter("{*}v"))


def _points(of: Element, day_one: datetime, *names: str) -> Points:
    holder = next((found for name in names if (found := of.find(f"{{*}}{name}")) is not None), None)
    points: Points = {}
    if holder is None:
        return points
    are_texts = next(holder.iter(*_TEXTS), None) is not None
    code = next((one.text or "" for one in holder.iter("{*}formatCode")), "")[:_LONGEST_CODE]
    plain = _LITERAL.sub("", code).lower()
    for point in islice(holder.iter("{*}pt"), MOST_POINTS):
        inner = point.find("{*}v")
        text = " ".join(((point if inner is None else inner).text or "").split())
        said = text if are_texts else _written(text, plain, day_one)
        at = _int(point.get("idx"))
        # Of categories on several levels the outer one stands in front.
        points[at] = f"{said} {points[at]}".strip() if at in points else said
    return points


def _table(series: Sequence[_Series]) -> Iterator[str]:
    told = [one for one in series if one[2]][:MOST_SERIES]
    if not told:
        return
    rows = sorted({at for _, _, values in told for at in values})
    yield f'<table class="{WORD_TABLE_CLASS}"><tr><th></th>'
    yield "".join(f"<th>{escape(name)}</th>" for name, _, _ in told)
    yield "</tr>"
    for at in rows[:MOST_ROWS]:
        named = next((categories[at] for _, categories, _ in told if at in categories), str(at + 1))
        cells = "".join(f"<td>{escape(values.get(at, ''))}</td>" for _, _, values in told)
        yield f"<tr><td>{escape(named)}</td>{cells}</tr>"
    yield "</table>"
    if len(rows) > MOST_ROWS or len(series) > MOST_SERIES:
        yield f"<p>The chart shows more values; {MOST_ROWS} of each of {MOST_SERIES} series at most are read.</p>"


def _written(value: str, code: str, day_one: datetime) -> str:
    """Return a value as a chart shows it, by the code of its format: a share in per cent, a day as a date.

    `code` is without literal text, in lower case; `day_one` is the one before the first that is counted.
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if "%" in code:
        return f"{number * 100:.10g}%"
    if code != "general" and _OF_DATE.search(code) and 0 < number < 2_957_004:  # the year 9999, from 1904 as well
        return f"{day_one + timedelta(days=int(number)):%Y-%m-%d}"
    return f"{number:.12g}" if abs(number) < 1e15 else value


def _int(written: str | None) -> int:
    return int(written) if written and re.fullmatch("[0-9]{1,9}", written) else 0
