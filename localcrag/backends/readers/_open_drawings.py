"""Charts, comments and shapes of OpenDocument files, put where their reader finds them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import escape

from localcrag.backends.readers import _kinds, _packages
from localcrag.backends.readers._drawings import DRAWING_ERRORS, MOST_ROWS, MOST_SERIES, etree, parsed

Element = Any  # lxml has no type hints
CONTENT = "content.xml"
MOST = 2_000
"""Of shapes, charts and comments of a file, each."""
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
_APART = (*_PARAGRAPHS, f"{_TEXT}tab", f"{_TEXT}s", f"{_TEXT}line-break")
"""What sets words apart."""
_OBJECT = re.compile(r"(?:\./)?([^/]+)/?")
_BROKEN = (*_kinds.ZIP_ERRORS, *DRAWING_ERRORS, KeyError)


def objects_of(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the contents of the objects within a file, as charts are, by their names."""
    found = [part for part in archive.infolist() if re.fullmatch(rf"[^/]+/{CONTENT}", part.filename)]
    return {part.filename.partition("/")[0]: _packages.unpacked(archive, part) for part in found}


def text_with_drawings(path: Path) -> bytes:
    """Return a text with what its shapes, charts and comments say as paragraphs and tables of its own."""
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(path) as archive:
            content = _packages.unpacked(archive, archive.getinfo(CONTENT))
            if b"annotation" not in content and b"drawing" not in content:
                return data
            root = parsed(content)
            put_in_place(root, objects_of(archive))
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as copy:
                for part in archive.infolist():
                    own = part.filename == CONTENT
                    copy.writestr(part, etree.tostring(root) if own else _packages.unpacked(archive, part))
    except _BROKEN:  # Whoever reads its text says so.
        return data
    return packed.getvalue()


def put_in_place(root: Element, objects: Mapping[str, bytes]) -> None:
    """Put behind each paragraph what its shapes and charts say.

    Comments, and what is on the page itself, come at the end of the text or of their slide.
    """
    for number, comment in enumerate([*islice(root.iter(f"{_OFFICE}annotation"), MOST + 1)]):
        _append(root, comment, [_paragraph(root, _said(comment) if number < MOST else _lost("comments"))])
    etree.strip_elements(root, f"{_OFFICE}annotation", with_tail=False)
    last: dict[Element, Element] = {}
    # What shapes on slides say is read as it is.
    of_slides = next(root.iter(f"{_DRAW}page"), None) is not None
    drawn = root.iter(f"{_DRAW}object", *(() if of_slides else _SHAPES))
    for number, one in enumerate([*islice(drawn, MOST + 1)]):
        if number == MOST:
            _append(root, one, [_paragraph(root, _lost("drawings"))])
            return
        behind = _chart(root, one, objects) if one.tag == f"{_DRAW}object" else [*one.iterchildren(*_BLOCKS)]
        place = next(reversed([*one.iterancestors(*_PARAGRAPHS)]), None)
        if place is None or place.getparent() is None or of_slides:
            _append(root, one, behind)
            continue
        at: Element = last.get(place, place)
        for block in behind:
            block.tail = None
            at.addnext(block)
            at = last[place] = block


def _append(root: Element, of: Element, blocks: Iterable[Element]) -> None:
    """Put blocks at the end of the slide or of the text that an element is on."""
    slide = next(of.iterancestors(f"{_DRAW}page"), None)
    body = next(of.iterancestors(f"{_OFFICE}text"), None)
    for block in blocks:
        block.tail = None
        if slide is not None:
            slide.append(_boxed(root, block))
        elif body is not None:
            body.append(block)


def _lost(what: str) -> str:
    return f"The document has more than {MOST:,} {what}; the others are not read."


def content_of(path: Path) -> bytes:
    """Return what a file says, as XML; nothing where that is damaged: whoever reads its cells says so."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _packages.unpacked(archive, archive.getinfo(CONTENT))
    except _BROKEN:
        return b""


def beside_tables(path: Path, content: bytes) -> dict[str, str]:
    """Return what stands beside the cells of a spreadsheet's tables, as HTML, by their names.

    `content` is what the file says (content_of).
    """
    if b"annotation" not in content and b"drawing" not in content:
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            objects = objects_of(archive)
        tables = list(parsed(content).iter(f"{_TABLE}table"))
    except _BROKEN:
        return {}
    found = {}
    for table in tables:
        said = [*islice(_on_table(table, objects), MOST + 1)]
        lost = [f"Of what is drawn and commented here, {MOST:,} pieces are read."] if len(said) > MOST else []
        found[table.get(f"{_TABLE}name") or ""] = "".join(f"<p>{escape(one)}</p>" for one in (*said[:MOST], *lost))
    return found


def _on_table(table: Element, objects: Mapping[str, bytes]) -> Iterator[str]:
    for one in table.iter(f"{_OFFICE}annotation", f"{_DRAW}object", f"{_DRAW}text-box", *_SHAPES):
        if one.tag == f"{_OFFICE}annotation":
            yield _said(one)
        elif one.tag == f"{_DRAW}object":
            lead, rows = _read(one, objects)
            names = ", ".join(filter(None, rows[0])) if rows else ""
            yield ". ".join(filter(None, (lead, names)))
        else:
            yield from filter(None, map(_words, one.iterchildren(*_BLOCKS)))


def _chart(root: Element, one: Element, objects: Mapping[str, bytes]) -> list[Element]:
    """Return a chart as a paragraph and a table; none for an object of another kind."""
    if one.tag != f"{_DRAW}object":
        return []
    lead, rows = _read(one, objects)
    made = [_paragraph(root, lead)] if lead else []
    if not rows:
        return made
    table = root.makeelement(f"{_TABLE}table")
    for cells in rows:
        row = etree.SubElement(table, f"{_TABLE}table-row")
        for cell in cells:
            etree.SubElement(row, f"{_TABLE}table-cell").append(_paragraph(root, cell))
    return [*made, table]


def _read(one: Element, objects: Mapping[str, bytes]) -> tuple[str, list[list[str]]]:
    """Return what a chart is called, and its rows."""
    named = _OBJECT.fullmatch(one.get(_HREF) or "")
    data = objects.get(named[1]) if named else None
    try:
        chart = next(parsed(data).iter(f"{_CHART}chart"), None) if data else None
    except DRAWING_ERRORS:
        return "A chart stands here that could not be read.", []
    if chart is None:
        return "", []
    titles = dict.fromkeys(filter(None, (_words(title) for title in chart.iter(f"{_CHART}title"))))
    rows = [
        [_words(cell) for cell in [*row.iterchildren(f"{_TABLE}table-cell")][: MOST_SERIES + 1]]
        for row in [*chart.iter(f"{_TABLE}table-row")][: MOST_ROWS + 1]
    ]
    return f"Chart: {'. '.join(titles)}" if titles else "", rows


def _said(comment: Element) -> str:
    author = " ".join((comment.findtext(_CREATOR) or "").split())
    said = " ".join(filter(None, map(_words, comment.iter(*_PARAGRAPHS))))
    return f"Comment{f' by {author}' if author else ''}: {said}"


def _words(element: Element) -> str:
    said: list[str] = []
    for event, one in etree.iterwalk(element, events=("start", "end")):
        text = one.text if event == "start" else one.tail if one is not element else ""
        said.append(f" {text or ''}" if one.tag in _APART else text or "")
    return " ".join("".join(said).split())


def _paragraph(root: Element, text: str) -> Element:
    made = root.makeelement(f"{_TEXT}p")
    made.text = text
    return made


def _boxed(root: Element, block: Element) -> Element:
    """Return a frame of a slide with a paragraph or a table in it."""
    frame = root.makeelement(f"{_DRAW}frame")
    holder = frame if block.tag == f"{_TABLE}table" else etree.SubElement(frame, f"{_DRAW}text-box")
    holder.append(block)
    return frame
