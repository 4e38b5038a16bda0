"""What a text of Word says beside its paragraphs: text boxes, charts, diagrams (SmartArt), comments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from markupsafe import escape

from localcrag.backends.readers._drawings import DRAWING_ERRORS, chart_markup, diagram_markup, parsed
from localcrag.backends.readers._relations import named_by

Element = Any  # lxml has no type hints
COMMENTS = "word/comments.xml"
MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml")
"""The parts that stand above and below the text of every page."""
MOST_DRAWINGS, MOST_COMMENTS = 2_000, 5_000
LONGEST_ANCHOR = 80
"""Characters of what a comment is on that are said in front of it."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SAID = tuple(f"{_W}{name}" for name in ("t", "br", "cr", "tab"))
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_LETTER = re.compile(r"[^\W\d_]")
# Characters of private use, which no text is written with.
_MARK = re.compile("(?:<p>)?\ue0f2(\\d{1,6})\ue0f3(?:</p>)?")


@dataclass(slots=True)
class Drawn:
    """What drawings and comments of a text say, as HTML: by the numbers of their marks, and below the text."""

    marked: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    def in_place(self, markup: str) -> str:
        """Return the text as HTML, what was marked in its place and the rest below it."""

        def of(mark: re.Match[str]) -> str:
            number = int(mark[1])
            if number >= len(self.marked):
                return ""
            said, self.marked[number] = self.marked[number], ""  # Who types a mark again gets nothing for it.
            return said

        return _MARK.sub(of, markup) + "".join(self.below)


def put_behind_paragraphs(root: Element, targets: Mapping[str, str], parts: Mapping[str, bytes], drawn: Drawn) -> None:
    """Put behind each paragraph what its drawings say: text boxes as they stand, others as marks for `drawn`.

    `targets` are the parts that the text refers to, by the names that it has for them.
    """
    last: dict[Element, Element] = {}
    for number, drawing in enumerate(list(root.iter(f"{_W}drawing"))):
        if number >= MOST_DRAWINGS:
            drawn.below.append(
                f"<p>The document has more than {MOST_DRAWINGS:,} drawings; the others are not read.</p>"
            )
            return
        paragraph, is_again, said_again = _place(drawing)
        if paragraph is None or paragraph.getparent() is None or is_again:
            continue
        boxes = [] if said_again else drawing.iter(f"{_W}txbxContent")
        behind = [block for box in boxes if _is_of(box, drawing) for block in box]
        if markup := _of_graphics(drawing, targets, parts):
            behind.append(_marked(root, drawn, markup))
        at: Element = last.get(paragraph, paragraph)
        for block in behind:
            at.addnext(block)
            at = last[paragraph] = block


def boxes_of_margins_below(parts: Mapping[str, bytes], drawn: Drawn) -> None:
    """Have what text boxes in headers and footers say said below the text, as an address in a letterhead; each once.

    First pages, and every other one, often have a header of their own with the same boxes. Numbers alone are of pages.
    """
    said: dict[tuple[str, ...], None] = {}
    for name, data in parts.items():
        if not MARGINS.fullmatch(name) or b"txbxContent" not in data:
            continue
        try:
            for box in islice(parsed(data).iter(f"{_W}txbxContent"), MOST_DRAWINGS):
                if next(box.iterancestors(f"{_W}txbxContent"), None) is None:
                    lines = (" ".join(_text(one).split()) for one in box.iter(f"{_W}p"))
                    said[tuple(line for line in lines if _LETTER.search(line))] = None
        except DRAWING_ERRORS:
            drawn.below.append("<p>A text box in a header or footer could not be read.</p>")
    drawn.below += [f"<p>{escape(line)}</p>" for box in said for line in box]


def comments_below(root: Element, parts: Mapping[str, bytes], drawn: Drawn) -> None:
    """Have the comments on a text said below it, each with its author and the words that it is on."""
    if COMMENTS not in parts:
        return
    try:
        comments = list(parsed(parts[COMMENTS]).iter(f"{_W}comment"))
    except DRAWING_ERRORS:
        drawn.below.append("<p>The comments on this document could not be read.</p>")
        return
    anchors = _anchors(root)
    for one in comments[:MOST_COMMENTS]:
        said = " ".join(" ".join(map(_text, one.iter(f"{_W}p"))).split())
        if said:
            author = " ".join((one.get(f"{_W}author") or "").split())
            on = " ".join(anchors.get(one.get(f"{_W}id"), "").split())
            on = f"{on[:LONGEST_ANCHOR].strip()}…" if len(on) > LONGEST_ANCHOR else on
            lead = f"Comment{f' by {author}' if author else ''}{f' on “{on}”' if on else ''}"
            drawn.below.append(f"<p>{escape(f'{lead}: {said}')}</p>")
    if len(comments) > MOST_COMMENTS:
        drawn.below.append(f"<p>Of {len(comments):,} comments, {MOST_COMMENTS:,} are read.</p>")


def _place(drawing: Element) -> tuple[Element | None, bool, bool]:
    """Return the outermost paragraph around a drawing; whether it is there for old programs alone, or again for them.

    Old programs, and mammoth, read the fallback: what a text box says is said there as well, if not as a picture.
    """
    paragraph, is_fallback, said_again = None, False, False
    for around in drawing.iterancestors():
        if around.tag == f"{_W}p":
            paragraph = around
        elif around.tag == f"{_MC}Fallback":
            is_fallback = True
        elif around.tag == f"{_MC}AlternateContent":
            fallback = around.find(f"{_MC}Fallback")
            said_again = said_again or (
                fallback is not None and next(fallback.iter(f"{_W}txbxContent"), None) is not None
            )
    return paragraph, is_fallback, said_again


def _is_of(element: Element, drawing: Element) -> bool:
    """Whether an element is of a drawing itself, and not of one within its text."""
    return next(element.iterancestors(f"{_W}drawing")) is drawing


def _of_graphics(drawing: Element, targets: Mapping[str, str], parts: Mapping[str, bytes]) -> str:
    made = []
    for graphic in drawing.iter("{*}graphicData"):
        for one in graphic.iterchildren("{*}chart", "{*}relIds") if _is_of(graphic, drawing) else ():
            is_chart = one.tag.endswith("}chart")
            part = parts.get(targets.get(named_by(one, "}id" if is_chart else "}dm"), ""))
            try:
                made.append((chart_markup if is_chart else diagram_markup)(parsed(part)) if part else "")
            except DRAWING_ERRORS:
                part = None
            if part is None:
                made.append(f"<p>A {'chart' if is_chart else 'diagram'} stands here that could not be read.</p>")
    return "".join(made)


def _marked(root: Element, drawn: Drawn, markup: str) -> Element:
    paragraph = root.makeelement(f"{_W}p")
    run = root.makeelement(f"{_W}r")
    text = root.makeelement(f"{_W}t")
    text.text = f"\ue0f2{len(drawn.marked)}\ue0f3"
    run.append(text)
    paragraph.append(run)
    drawn.marked.append(markup)
    return paragraph


def _anchors(root: Element) -> dict[str, str]:
    """Return the words that comments are on, by the comments' numbers."""
    told: dict[str, str] = {}
    begun: set[str] = set()
    for one in root.iter(*_SAID, f"{_W}p", f"{_W}commentRangeStart", f"{_W}commentRangeEnd"):
        if one.tag == f"{_W}commentRangeStart":
            if len(told) < MOST_COMMENTS:
                told[one.get(f"{_W}id", "")] = ""
                begun.add(one.get(f"{_W}id", ""))
        elif one.tag == f"{_W}commentRangeEnd":
            begun.discard(one.get(f"{_W}id", ""))
        elif said := _letters(one):
            for key in list(begun):
                told[key] += said
                if len(told[key]) > LONGEST_ANCHOR:
                    begun.discard(key)
    return told


def _text(paragraph: Element) -> str:
    return "".join(map(_letters, paragraph.iter(*_SAID)))


def _letters(one: Element) -> str:
    return one.text or "" if one.tag == f"{_W}t" else " "
