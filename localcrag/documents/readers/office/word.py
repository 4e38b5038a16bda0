"""Word documents (DOCX): their text, read by mammoth, and the content that mammoth leaves out.

Text boxes, charts, diagrams (SmartArt) and comments are added after their paragraph or below the text, and list items
get their numbers.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import lxml.etree
import mammoth as untyped_mammoth
from markupsafe import escape

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.html import TITLE_CLASS, WORD_TABLE_CLASS, render
from localcrag.documents.readers.office.drawings import DRAWING_ERRORS, chart_markup, diagram_markup, parse_xml
from localcrag.documents.readers.office.sheets import relationship_id, relationships
from localcrag.records.documents import Page

etree: Any = lxml.etree  # has no type hints
Element = Any
COMMENTS = "word/comments.xml"
MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml")
"""The parts with the page headers and footers."""
MOST_DRAWINGS, MOST_COMMENTS = 2_000, 5_000
LONGEST_ANCHOR = 80
"""Maximum characters of the commented words to quote in front of a comment."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT_TAGS = tuple(f"{_W}{name}" for name in ("t", "br", "cr", "tab"))
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_LETTER = re.compile(r"[^\W\d_]")
# Private-use characters, which no text contains.
_DRAWING_MARK = re.compile("(?:<p>)?\ue0f2(\\d{1,6})\ue0f3(?:</p>)?")


@dataclass(slots=True)
class DrawingText:
    """The text of drawings and comments as HTML: by the numbers of their marks, and below the text."""

    marked: dict[int, str] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)

    def insert_into(self, markup: str) -> str:
        """Return the text as HTML, with the drawings in place of their marks and the rest below."""
        # Each drawing is inserted once, whatever marks a crafted file has.
        return _DRAWING_MARK.sub(lambda mark: self.marked.pop(int(mark[1]), ""), markup) + "".join(self.below)


def add_drawings(root: Element, targets: Mapping[str, str], parts: Mapping[str, bytes], drawn: DrawingText) -> None:
    """Insert the content of drawings after their paragraphs: text boxes as text, others as marks for `drawn`.

    `targets` are the parts that the text refers to, by relationship id.
    """
    last: dict[Element, Element] = {}
    for number, drawing in enumerate(list(root.iter(f"{_W}drawing"))):
        if number >= MOST_DRAWINGS:
            note = f"The document has more than {MOST_DRAWINGS:,} drawings; the others are not read."
            drawn.below.append(f"<p>{note}</p>")
            return
        paragraph, is_again, has_text_fallback = _drawing_context(drawing)
        if paragraph is None or paragraph.getparent() is None or is_again:
            continue
        boxes = [] if has_text_fallback else drawing.iter(f"{_W}txbxContent")
        behind = [block for box in boxes if _belongs_to(box, drawing) for block in box]
        if markup := _graphics_html(drawing, targets, parts):
            behind.append(_placeholder(root, drawn, markup))
        at: Element = last.get(paragraph, paragraph)
        for block in behind:
            at.addnext(block)
            at = last[paragraph] = block


def add_margin_boxes(parts: Mapping[str, bytes], drawn: DrawingText) -> None:
    """Add the text boxes in headers and footers, such as an address in a letterhead, below the text, each once.

    First pages, and left or right pages, often have a separate header with the same boxes. Lines without letters are
    left out, because they are page numbers.
    """
    boxes: dict[tuple[str, ...], None] = {}
    for name, data in parts.items():
        if not MARGINS.fullmatch(name) or b"txbxContent" not in data:
            continue
        try:
            for box in islice(parse_xml(data).iter(f"{_W}txbxContent"), MOST_DRAWINGS):
                if next(box.iterancestors(f"{_W}txbxContent"), None) is None:
                    lines = (" ".join(_text(one).split()) for one in box.iter(f"{_W}p"))
                    boxes[tuple(line for line in lines if _LETTER.search(line))] = None
        except DRAWING_ERRORS:
            drawn.below.append("<p>A text box in a header or footer could not be read.</p>")
    drawn.below += [f"<p>{escape(line)}</p>" for box in boxes for line in box]


def add_comments(root: Element, parts: Mapping[str, bytes], drawn: DrawingText) -> None:
    """Add the comments on a text below it, each with its author and the words that it refers to."""
    if COMMENTS not in parts:
        return
    try:
        comments = list(parse_xml(parts[COMMENTS]).iter(f"{_W}comment"))
    except DRAWING_ERRORS:
        drawn.below.append("<p>The comments on this document could not be read.</p>")
        return
    anchors = _anchors(root)
    for one in comments[:MOST_COMMENTS]:
        text = " ".join(" ".join(map(_text, one.iter(f"{_W}p"))).split())
        if text:
            author = " ".join((one.get(f"{_W}author") or "").split())
            on = " ".join(anchors.get(one.get(f"{_W}id"), "").split())
            on = f"{on[:LONGEST_ANCHOR].strip()}…" if len(on) > LONGEST_ANCHOR else on
            lead = f"Comment{f' by {author}' if author else ''}{f' on “{on}”' if on else ''}"
            drawn.below.append(f"<p>{escape(f'{lead}: {text}')}</p>")
    if len(comments) > MOST_COMMENTS:
        drawn.below.append(f"<p>Of {len(comments):,} comments, {MOST_COMMENTS:,} are read.</p>")


def _drawing_context(drawing: Element) -> tuple[Element | None, bool, bool]:
    """Return the outermost paragraph around a drawing, and two facts about its fallback for old programs.

    The first is whether the drawing itself is part of a fallback. The second is whether the drawing's fallback contains
    its text boxes instead of a picture: like old programs, mammoth reads the fallback, so this text must not be added
    again.
    """
    paragraph, is_fallback, has_text_fallback = None, False, False
    for around in drawing.iterancestors():
        if around.tag == f"{_W}p":
            paragraph = around
        elif around.tag == f"{_MC}Fallback":
            is_fallback = True
        elif around.tag == f"{_MC}AlternateContent":
            has_text_fallback = has_text_fallback or around.find(f"{_MC}Fallback//{_W}txbxContent") is not None
    return paragraph, is_fallback, has_text_fallback


def _belongs_to(element: Element, drawing: Element) -> bool:
    """Return whether an element belongs to a drawing itself, not to another drawing within its text."""
    return next(element.iterancestors(f"{_W}drawing")) is drawing


def _graphics_html(drawing: Element, targets: Mapping[str, str], parts: Mapping[str, bytes]) -> str:
    made = []
    for graphic in drawing.iter("{*}graphicData"):
        for one in graphic.iterchildren("{*}chart", "{*}relIds") if _belongs_to(graphic, drawing) else ():
            is_chart = one.tag.endswith("}chart")
            part = parts.get(targets.get(relationship_id(one, "}id" if is_chart else "}dm"), ""))
            try:
                made.append((chart_markup if is_chart else diagram_markup)(parse_xml(part)) if part else "")
            except DRAWING_ERRORS:
                part = None
            if part is None:
                made.append(f"<p>A {'chart' if is_chart else 'diagram'} stands here that could not be read.</p>")
    return "".join(made)


def _placeholder(root: Element, drawn: DrawingText, markup: str) -> Element:
    paragraph = root.makeelement(f"{_W}p")
    number = len(drawn.marked)
    etree.SubElement(etree.SubElement(paragraph, f"{_W}r"), f"{_W}t").text = f"\ue0f2{number}\ue0f3"
    drawn.marked[number] = markup
    return paragraph


def _anchors(root: Element) -> dict[str, str]:
    """Return the words that comments refer to, by comment id."""
    anchors: dict[str, str] = {}
    begun: set[str] = set()
    for one in root.iter(*_TEXT_TAGS, f"{_W}p", f"{_W}commentRangeStart", f"{_W}commentRangeEnd"):
        if one.tag == f"{_W}commentRangeStart":
            if len(anchors) < MOST_COMMENTS:
                anchors[one.get(f"{_W}id", "")] = ""
                begun.add(one.get(f"{_W}id", ""))
        elif one.tag == f"{_W}commentRangeEnd":
            begun.discard(one.get(f"{_W}id", ""))
        elif text := _element_text(one):
            for key in list(begun):
                anchors[key] += text
                if len(anchors[key]) > LONGEST_ANCHOR:
                    begun.discard(key)
    return anchors


def _text(paragraph: Element) -> str:
    return "".join(map(_element_text, paragraph.iter(*_TEXT_TAGS)))


def _element_text(one: Element) -> str:
    return one.text or "" if one.tag == f"{_W}t" else " "


NUMBERING, STYLES = "word/numbering.xml", "word/styles.xml"
BODY = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
DOCUMENT = re.compile(r"word/document\d*\.xml")
WITH_TEXT = re.compile(
    rf"{BODY.pattern}|{MARGINS.pattern}|{NUMBERING}|{STYLES}|word/(?:comments\.xml|_rels/document\d*\.xml\.rels|(?:charts|diagrams)/[^/]+\.xml)"
)
"""The parts that contain text, and those needed to read them."""
# Elements whose text mammoth would leave out: simple fields, text with its own direction, and text with its
# pronunciation above it.
_IGNORED_TAGS = re.compile(rb"<(/?)w:(?:fldSimple|bdo|dir|ruby|rubyBase)\b")
_TAB, _BREAK = re.compile(rb"<w:ptab\b[^>]*>"), re.compile(rb"<w:cr\b[^>]*>")
# Private-use characters, which no text contains.
_LIST_MARK = re.compile("(<li>)?\ue0f0(\\d+)\ue0f1")
_DEEPEST_STYLE = 20
"""Maximum length of a chain of styles based on one another."""


def readable_part(part: str, parts: Mapping[str, bytes], drawn: DrawingText) -> bytes:
    """Return a part of a document in a form that mammoth can read; `parts` are the parts that match WITH_TEXT.

    The content of comments and drawings, except some text boxes, is added to `drawn`.
    """
    data = _BREAK.sub(b"<w:br/>", _TAB.sub(b"<w:tab/>", _IGNORED_TAGS.sub(rb"<\1w:smartTag", parts[part])))
    drawings, comments = b"drawing" in data, b"commentReference" in data
    if not DOCUMENT.fullmatch(part) or not (NUMBERING in parts or drawings or comments):
        return data
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True)
    root = etree.fromstring(data, parser)
    if comments:
        add_comments(root, parts, drawn)
    if drawings:
        add_drawings(root, dict(relationships(part, parts)), parts, drawn)
    if NUMBERING in parts:
        styles = etree.fromstring(parts[STYLES], parser) if STYLES in parts else None
        _number(root, _ListCounter(etree.fromstring(parts[NUMBERING], parser), styles))
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _number(root: Element, counted: _ListCounter) -> None:
    """Put the numbers of list items in front of their text, as marks."""
    for paragraph in root.iter(f"{_W}p"):
        number = counted.number(paragraph)
        if number is not None and any(text.text for text in paragraph.iter(f"{_W}t")):
            run = etree.Element(f"{_W}r")
            etree.SubElement(run, f"{_W}t").text = f"\ue0f0{number}\ue0f1"
            paragraph.insert(int(paragraph.find(f"{_W}pPr") is not None), run)


class _ListCounter:
    """Counts the items of a document's lists as Word does: the count continues despite any text between the items."""

    def __init__(self, numbering: Element, styles: Element | None) -> None:
        self._lists = {_value(one, "abstractNumId"): _levels(one) for one in numbering.iter(f"{_W}abstractNum")}
        self._abstract_ids: dict[str, str] = {}
        self._restarts: dict[tuple[str, int], int] = {}
        for one in numbering.iter(f"{_W}num"):
            self._abstract_ids[_value(one, "numId")] = _value(one.find(f"{_W}abstractNumId"), "val")
            for override in one.iter(f"{_W}lvlOverride"):
                start = override.find(f"{_W}startOverride")
                if start is not None:
                    self._restarts[_value(one, "numId"), _int(override, "ilvl")] = _int(start, "val")
        found = () if styles is None else styles.iter(f"{_W}style")
        self._styles = {_value(style, "styleId"): style for style in found}
        self._counts: dict[str, dict[int, int]] = {}

    def number(self, paragraph: Element) -> int | None:
        """Return the number of a paragraph, or None; must be called in the document's order."""
        number, level = self._place(paragraph)
        abstract_id = self._abstract_ids.get(number, "")
        levels = self._lists.get(abstract_id)
        if levels is None:
            return None
        counts = self._counts.setdefault(abstract_id, {})
        # An item restarts the counts of all deeper levels.
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        start, has_bullets = levels.get(level, (1, False))
        # A restart applies to the first item of its list only.
        counts[level] = self._restarts.pop((number, level), counts.get(level, start - 1) + 1)
        return None if has_bullets else counts[level]

    def _place(self, paragraph: Element) -> tuple[str, int]:
        """Return the list that a paragraph belongs to, directly or by its style, and its level."""
        properties = paragraph.find(f"{_W}pPr")
        if properties is None:
            return "", 0
        number, level = "", None
        for holder in (properties, *self._style_properties(properties.find(f"{_W}pStyle"))):
            list_properties = holder.find(f"{_W}numPr")
            if list_properties is None:
                continue
            if level is None and (found := list_properties.find(f"{_W}ilvl")) is not None:
                level = _int(found, "val")
            if (named := list_properties.find(f"{_W}numId")) is not None:
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


def _levels(abstract_list: Element) -> dict[int, tuple[int, bool]]:
    """Return for each level of a list the number with which it begins, and whether it has bullets instead."""
    levels = {}
    for level in abstract_list.iter(f"{_W}lvl"):
        has_bullets = _value(level.find(f"{_W}numFmt"), "val") == "bullet"
        levels[_int(level, "ilvl")] = (_int(level.find(f"{_W}start"), "val", 1), has_bullets)
    return levels


def _value(element: Element | None, name: str) -> str:
    return "" if element is None else str(element.get(f"{_W}{name}", ""))


def _int(element: Element | None, name: str, default: int = 0) -> int:
    value = _value(element, name)
    return int(value) if re.fullmatch("[0-9]{1,6}", value) else default


mammoth: Any = untyped_mammoth  # has no type hints
WORD = "a Word document (DOCX)"
_BACK_LINK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">[^<]*</a>')
"""The arrow that leads from a note back to its place."""
# An addition to mammoth's own map, which knows "Heading 1" to "Heading 6".
STYLE_MAP = f"p[style-name='Title'] => p.{TITLE_CLASS}:fresh\ntable => table.{WORD_TABLE_CLASS}:fresh"


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return a generator of its one page, which has no number.

    Raises EncryptedDocument and UnreadableDocument, both here and while the page is read.
    """
    packages.check(path, name, WORD, head)
    if kinds.describe(path, head) != "a Word document":
        raise kinds.mismatch(path, name, WORD, head)
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    try:
        copy, drawn = _prepare_for_mammoth(path)
        markup = mammoth.convert_to_html(copy, convert_image=lambda _: [], style_map=STYLE_MAP).value
    except MemoryError:
        raise
    except Exception as error:  # mammoth passes on any error that a damaged part causes
        raise packages.damaged(name, WORD, error) from error
    markup = drawn.insert_into(_BACK_LINK.sub("", markup))
    yield render(_LIST_MARK.sub(lambda mark: f'<li value="{mark[2]}">' if mark[1] else "", markup), name)


def _prepare_for_mammoth(path: Path) -> tuple[BytesIO, DrawingText]:
    """Return the document with markup that mammoth can read, and the content that mammoth cannot read."""
    drawn = DrawingText()
    with zipfile.ZipFile(path) as archive:
        parts = packages.read_parts(archive, WITH_TEXT)
        add_margin_boxes(parts, drawn)

        def readable(part: zipfile.ZipInfo) -> bytes:
            is_body = BODY.fullmatch(part.filename)
            return readable_part(part.filename, parts, drawn) if is_body else packages.read_part(archive, part)

        return packages.packed((part, readable(part)) for part in archive.infolist()), drawn
