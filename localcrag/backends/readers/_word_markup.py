"""Markup of Word that mammoth does not know, said in markup that it knows; the numbers of list items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import lxml.etree

from localcrag.backends.readers._relations import related
from localcrag.backends.readers._word_drawings import MARGINS, Drawn, comments_below, put_behind_paragraphs

etree: Any = lxml.etree  # has no type hints
Element = Any
NUMBERING, STYLES = "word/numbering.xml", "word/styles.xml"
BODY = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
DOCUMENT = re.compile(r"word/document\d*\.xml")
WITH_TEXT = re.compile(
    rf"{BODY.pattern}|{MARGINS.pattern}|{NUMBERING}|{STYLES}|word/(?:comments\.xml|_rels/document\d*\.xml\.rels|(?:charts|diagrams)/[^/]+\.xml)"
)
"""The parts that say something, and what is needed to read them."""
# Simple fields, text in a direction of its own, and what has its pronunciation above it.
_LEFT_OUT = re.compile(rb"<(/?)w:(?:fldSimple|bdo|dir|ruby|rubyBase)\b")
_TAB, _BREAK = re.compile(rb"<w:ptab\b[^>]*>"), re.compile(rb"<w:cr\b[^>]*>")
# Characters of private use, which no text is written with.
_MARK = re.compile("(<li>)?\ue0f0(\\d+)\ue0f1")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DEEPEST_STYLE = 20
"""Styles that are based on one another."""


def known(part: str, parts: Mapping[str, bytes], drawn: Drawn) -> bytes:
    """Return a part of a document as mammoth can read it; `parts` are those of WITH_TEXT.

    What its drawings say beside text is put into `drawn`, and comments.
    """
    data = _BREAK.sub(b"<w:br/>", _TAB.sub(b"<w:tab/>", _LEFT_OUT.sub(rb"<\1w:smartTag", parts[part])))
    drawings, comments = b"drawing" in data, b"commentReference" in data
    if not DOCUMENT.fullmatch(part) or not (NUMBERING in parts or drawings or comments):
        return data
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True)
    root = etree.fromstring(data, parser)
    if comments:
        comments_below(root, parts, drawn)
    if drawings:
        put_behind_paragraphs(root, dict(related(part, parts)), parts, drawn)
    if NUMBERING in parts:
        styles = etree.fromstring(parts[STYLES], parser) if STYLES in parts else None
        _number(root, _Counted(etree.fromstring(parts[NUMBERING], parser), styles))
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _number(root: Element, counted: _Counted) -> None:
    """Put the numbers of list items in front of them, as marks."""
    for paragraph in root.iter(f"{_W}p"):
        number = counted.number(paragraph)
        if number is not None and any(text.text for text in paragraph.iter(f"{_W}t")):
            run = etree.Element(f"{_W}r")
            etree.SubElement(run, f"{_W}t").text = f"\ue0f0{number}\ue0f1"
            paragraph.insert(int(paragraph.find(f"{_W}pPr") is not None), run)


def numbered(markup: str) -> str:
    """Return what mammoth made of a document, the items of its lists with their numbers."""
    return _MARK.sub(lambda mark: f'<li value="{mark[2]}">' if mark[1] else "", markup)


@dataclass(slots=True)
class _Levels:
    """A list's levels: where each begins to count, and those without numbers."""

    starts: dict[int, int] = field(default_factory=dict)
    bullets: set[int] = field(default_factory=set)


class _Counted:
    """Counts the items of a document's lists as Word does: on and on, whatever stands between them."""

    def __init__(self, numbering: Element, styles: Element | None) -> None:
        self._lists = {_value(one, "abstractNumId"): _levels(one) for one in numbering.iter(f"{_W}abstractNum")}
        self._list_of: dict[str, str] = {}
        self._restarts: dict[tuple[str, int], int] = {}
        for one in numbering.iter(f"{_W}num"):
            self._list_of[_value(one, "numId")] = _value(one.find(f"{_W}abstractNumId"), "val")
            for override in one.iter(f"{_W}lvlOverride"):
                start = override.find(f"{_W}startOverride")
                if start is not None:
                    self._restarts[_value(one, "numId"), _int(override, "ilvl")] = _int(start, "val")
        found = () if styles is None else styles.iter(f"{_W}style")
        self._styles = {_value(style, "styleId"): style for style in found}
        self._counts: dict[str, dict[int, int]] = {}

    def number(self, paragraph: Element) -> int | None:
        """Return the number of a paragraph, None for one without; asked in the document's order."""
        number, level = self._place(paragraph)
        of = self._list_of.get(number, "")
        levels = self._lists.get(of)
        if levels is None:
            return None
        counts = self._counts.setdefault(of, {})
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        start = levels.starts.get(level, 1)
        counts[level] = self._restarts.pop((number, level), counts.get(level, start - 1) + 1)
        return None if level in levels.bullets else counts[level]

    def _place(self, paragraph: Element) -> tuple[str, int]:
        """Return the list that a paragraph is of, by itself or by its style, and its level."""
        properties = paragraph.find(f"{_W}pPr")
        if properties is None:
            return "", 0
        number, level = "", None
        for holder in (properties, *self._style_properties(properties.find(f"{_W}pStyle"))):
            of_list = holder.find(f"{_W}numPr")
            if of_list is None:
                continue
            if level is None and (found := of_list.find(f"{_W}ilvl")) is not None:
                level = _int(found, "val")
            if (named := of_list.find(f"{_W}numId")) is not None:
                number = _value(named, "val")
                break
        return number, level or 0

    def _style_properties(self, named: Element | None) -> Iterator[Element]:
        for _ in range(_DEEPEST_STYLE):
            style = None if named is None else self._styles.get(_value(named, "val"))
            if style is None:
                return
            properties = style.find(f"{_W}pPr")
            if properties is not None:
                yield properties
            named = style.find(f"{_W}basedOn")


def _levels(of_list: Element) -> _Levels:
    levels = _Levels()
    for level in of_list.iter(f"{_W}lvl"):
        at = _int(level, "ilvl")
        levels.starts[at] = _int(level.find(f"{_W}start"), "val", 1)
        if _value(level.find(f"{_W}numFmt"), "val") == "bullet":
            levels.bullets.add(at)
    return levels


def _value(element: Element | None, name: str) -> str:
    return "" if element is None else str(element.get(f"{_W}{name}", ""))


def _int(element: Element | None, name: str, default: int = 0) -> int:
    value = _value(element, name)
    return int(value) if re.fullmatch("[0-9]{1,6}", value) else default
