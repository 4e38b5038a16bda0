"""What sheets and slides say beside cells and shapes: text boxes on sheets, charts, comments; as HTML."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import escape

from localcrag.backends.readers import _binary_workbooks, _compound, _kinds, _old_workbooks, _packages
from localcrag.backends.readers._drawings import DRAWING_ERRORS, chart_markup, paragraphs, parsed
from localcrag.backends.readers._relations import named_by, related, visible_sheets
from localcrag.text.decimals import whole_number

Element = Any  # lxml has no type hints
MOST = 2_000
"""Of text boxes, charts and comments of a sheet or slide."""
_OF_SHEETS = re.compile(
    r"xl/(?:workbook\.(?:xml|bin)|(?:\w+/)?_rels/[^/]+\.rels|comments\d*\.(?:xml|bin)"
    r"|(?:drawings|charts|comments|threadedComments|persons)/[^/]+\.xml)"
)
_OF_SLIDES = re.compile(r"ppt/(?:(?:slides/)?_rels/[^/]+\.rels|(?:charts|comments)/[^/]+\.xml|\w*[aA]uthors\.xml)")
_SLIDE = re.compile(r"ppt/slides/_rels/([^/]+)\.rels")
_BROKEN = (*_kinds.ZIP_ERRORS, *DRAWING_ERRORS, _compound.DamagedCompound, LookupError)
_LOST = "<p>What is drawn or commented here could not be read.</p>"


def beside_sheets(path: Path) -> dict[str, str]:
    """Return what stands beside the cells of a workbook's sheets, by their names; those that are hidden left out."""
    try:
        with zipfile.ZipFile(path) as archive:
            known = [part for part in archive.infolist() if _OF_SHEETS.fullmatch(part.filename)]
            parts = {part.filename: _packages.unpacked(archive, part) for part in known}
        sheets = list(visible_sheets(parts))
    except _BROKEN:  # Whoever reads the cells says so.
        return {}
    for name in filter(_binary_workbooks.COMMENTS.fullmatch, parts):
        with suppress(*_BROKEN):  # As it is, it says that it could not be read.
            parts[name] = _binary_workbooks.comments(parts[name])
    return {name: said for name, part in sheets if (said := _beside(part, parts))}


def beside_old_sheets(path: Path) -> dict[str, str]:
    """Return what stands beside the cells of a workbook of Excel before 2007, without charts."""
    found = {}
    try:
        for name, data, begins in _old_workbooks.sheets(path):
            try:
                boxes, notes = _old_workbooks.beside_cells(data, begins)
                said = [*boxes, *(_comment(*one) for one in notes)]
            except _BROKEN:
                found[name] = _LOST
            else:
                found[name] = _limited([f"<p>{escape(one)}</p>" for one in said if one.strip()])
    except _BROKEN:  # Whoever reads the cells says so.
        return {}
    return {name: said for name, said in found.items() if said}


def beside_slide(parts: Mapping[str, bytes]) -> str:
    """Return what stands beside the shapes of a slide, of which these are the parts: charts and comments."""
    known = {name: data for name, data in parts.items() if _OF_SLIDES.fullmatch(name)}
    return "".join(_beside(f"ppt/slides/{one[1]}", known) for name in known if (one := _SLIDE.fullmatch(name)))


def _beside(part: str, parts: Mapping[str, bytes]) -> str:
    """Return what stands beside the text of a sheet or a slide."""
    said: list[str] = []
    roots = []
    try:
        for name in dict.fromkeys(name for _, name in related(part, parts) if name in parts):
            try:
                roots.append(parsed(parts[name]))
                said += _drawn(name, roots[-1], parts)
            except DRAWING_ERRORS:
                said.append(_LOST)
        said += [f"<p>{escape(one)}</p>" for one in _comments(roots, parts)]
    except _BROKEN:
        said.append(_LOST)
    return _limited(said)


def _limited(said: Sequence[str]) -> str:
    lost = f"<p>Of what is drawn and commented here, {MOST:,} pieces are read.</p>" if len(said) > MOST else ""
    return "".join(said[:MOST]) + lost


def _drawn(name: str, root: Element, parts: Mapping[str, bytes]) -> Iterator[str]:
    kind = _kind(root)
    if kind == "chartSpace":
        yield chart_markup(root)
    elif kind == "wsDr":
        targets = dict(related(name, parts))
        for one in root.iter("{*}txBody", "{*}chart"):
            if next(one.iterancestors("{*}Fallback"), None) is not None:
                continue
            if _kind(one) == "txBody":
                yield "".join(f"<p>{escape(said)}</p>" for said in paragraphs(one))
                continue
            chart = parts.get(targets.get(named_by(one), ""))
            try:
                yield chart_markup(parsed(chart), in_cells=True) if chart else _LOST
            except DRAWING_ERRORS:
                yield _LOST


def _comments(roots: Iterable[Element], parts: Mapping[str, bytes]) -> Iterator[str]:
    """Yield comments with their authors; of a sheet's those of the kind since 2018 in place of their copies."""
    by_kind = {_kind(root): root for root in roots}
    threaded, on_slide = by_kind.get("ThreadedComments"), by_kind.get("cmLst")
    people = {} if threaded is None and on_slide is None else _people(parts)
    replaced = set()
    for one in () if threaded is None else threaded.iter("{*}threadedComment"):
        replaced.add(one.get("ref"))
        yield _comment(one.get("ref"), people.get(one.get("personId", ""), ""), _text(one.iter("{*}text")))
    notes = by_kind.get("comments")
    authors = [] if notes is None else ["".join(one.itertext()) for one in notes.iter("{*}author")]
    for one in () if notes is None else notes.iter("{*}comment"):
        if one.get("ref") not in replaced:
            number = whole_number(one.get("authorId", ""))
            author = authors[number] if number is not None and number < len(authors) else ""
            yield _comment(one.get("ref"), author, _text(one.iter("{*}t")))
    for one in () if on_slide is None else on_slide.iter("{*}cm", "{*}reply"):
        author = people.get(one.get("authorId", ""), "")
        own = [said for body in one.iterchildren("{*}txBody") for said in paragraphs(body)]
        yield _comment(None, author, _text(one.iterchildren("{*}text")) + " ".join(own))


def _text(elements: Iterable[Element]) -> str:
    return "".join(one.text or "" for one in elements)


def _comment(on: str | None, author: str, text: str) -> str:
    author = " ".join(author.split())
    said = " ".join(text.split()).removeprefix(f"{author}:").strip()
    return f"Comment{f' on {on}' if on else ''}{f' by {author}' if author else ''}: {said}"


def _people(parts: Mapping[str, bytes]) -> dict[str, str]:
    """Return the names of those who comment, by their numbers."""
    lists = [parsed(data) for name, data in parts.items() if "persons/" in name or name.endswith("uthors.xml")]
    people = (one for root in lists for one in root.iter("{*}person", "{*}cmAuthor", "{*}author"))
    return {one.get("id", ""): one.get("displayName") or one.get("name") or "" for one in people}


def _kind(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
