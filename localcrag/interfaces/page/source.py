"""The view of a source: a page as a picture or as text, with the cited sentences marked."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.interfaces.page.handlers import QUEUED
from localcrag.interfaces.page.renderers import SERIAL, render
from localcrag.records.documents import PagePicture
from localcrag.records.enums import Origin
from localcrag.records.errors import UnknownDocument, UnknownRun
from localcrag.records.passages import GradedPassage, strips_by_piece
from localcrag.records.run import Run
from localcrag.text.places import row_names
from localcrag.text.translation import gettext as _

PAGE_CHARACTERS = 4000
"""Maximum characters of a page of a document's text."""
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?]) |\s")


@dataclass(frozen=True, slots=True)
class TextPage:
    """Page `number` of `count`, counted from 1; `parts` are the pieces of its text, each with whether it is marked."""

    number: int
    count: int
    parts: tuple[tuple[str, bool], ...]


def text_page(
    text: str, *, number: int | None = None, sought: Sequence[str] = (), near: int = 0, size: int = PAGE_CHARACTERS
) -> TextPage:
    """Return a page of a text, marking every sought text on it; without `number`, the page with the first of them.

    A sought text that occurs several times is marked at its first occurrence from the character `near`; if there is
    none, at its first occurrence in the text.
    """
    text = text.replace("\f", "\n")  # Form feeds separate the pages or slides of a document.
    starts = _starts(text, size)
    places = sorted(place for one in sought if (place := _find(text, one, near)))
    at = places[0][0] if places else near
    if number is None:
        # The number of pages that begin at or before a place is the number of the page that contains it.
        number = sum(start <= at for start in starts)
    number = min(max(number, 1), len(starts))
    begin, end = starts[number - 1], [*starts, len(text)][number]
    parts, done = [], begin
    for start, stop in places:
        start, stop = max(start, done), min(stop, end)  # noqa: PLW2901 - the mark is cut to this page
        if start < stop:
            parts += [(text[done:start], False), (text[start:stop], True)]
            done = stop
    parts.append((text[done:end], False))
    return TextPage(number, len(starts), tuple((part, marked) for part, marked in parts if part))


def _starts(text: str, size: int) -> list[int]:
    """Return the offset at which each page begins.

    A page ends after the last paragraph that ends in its last third; if there is none, after a line, a sentence or a
    word in that third.
    """
    starts = [0]
    while len(text) - starts[-1] > size:
        ends = list(_BREAK.finditer(text[starts[-1] + 2 * size // 3 : starts[-1] + size]))
        # Choose the best kind of break, and among several of that kind the last one.
        best = min(ends, key=lambda found: (_rank(found[0]), -found.end()), default=None)
        starts.append(starts[-1] + (2 * size // 3 + best.end() if best else size))
    return starts


def _rank(cut: str) -> int:
    return 0 if cut.count("\n") > 1 else 1 if "\n" in cut else 2


def _find(text: str, sought: str, near: int) -> tuple[int, int] | None:
    """Return the start and end of a sought text, allowing any white space between its words; None if it is missing."""
    words = sought.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found = pattern.search(text, max(near, 0)) or pattern.search(text)
    return found.span() if found else None


DEFAULT_DPI, MIN_DPI, MAX_DPI = 110, 70, 220
"""Resolutions of a page's picture in dots per inch: default (as wide as the panel), lowest and highest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """The contents of the view of a source.

    `also` are a document's other names, `rows` the rows of a table in words, `number` and `count` the page and the
    number of pages. `parts` are the pieces of the text, each with whether it is marked.
    """

    title: str
    also: tuple[str, ...] = ()
    rows: str = ""
    number: int = 0
    count: int = 0
    picture: PagePicture | None = None
    parts: tuple[tuple[str, bool], ...] = ()
    note: str = ""
    url: str = ""
    host: str = ""
    dated: str | None = None


def wire(assembly: Assembly, source: gr.HTML, collection: gr.Dropdown) -> None:
    """Connect `source`, so that it shows any source that is clicked on the page."""

    def show(shown: str, event: gr.EventData) -> str:
        dpi = min(max(int(event.dpi), MIN_DPI), MAX_DPI)
        view = _view(assembly, shown, event, dpi)
        picture = view.picture
        png = base64.b64encode(picture.png).decode() if picture else ""
        scale = {"dpi": dpi, "usual": DEFAULT_DPI, "farther": MIN_DPI, "closer": MAX_DPI}
        return render("panel/source.html", view=view, made=next(SERIAL), png=png, **scale)

    source.select(show, [collection], [source], **QUEUED)


def _view(assembly: Assembly, collection: str, event: Any, dpi: int) -> SourceView:
    page = int(event.page) or None
    if not event.run_id:
        return document_view(assembly, str(event.name), collection, page=page or 1, dpi=dpi, near=0)
    run = assembly.runs.get(str(event.run_id))
    passage = _passage(run, str(event.passage), int(event.n))
    kept = [strip.text for strip in run.strips if strip.passage == passage.id and strip.kept]
    cited = cited_texts(run, passage, int(event.n))
    if passage.origin is Origin.WEB:
        return web_view(passage, cited or kept)
    name = passage.document or ""
    rows = row_names(next((piece.rows for piece in run.evidence if piece.n == int(event.n)), passage.rows))
    try:
        view = document_view(
            assembly, name, run.collection, page=page or passage.page, dpi=dpi,
            sought=cited or kept or [passage.text], near=passage.start or 0,
        )  # fmt: skip
        return replace(view, rows=rows)
    except UnknownDocument:
        note = _("This document is no longer in the collection. This is the text that was read from it.")
        return SourceView(title=name, rows=rows, parts=_marked(passage.text, cited or kept), note=note)


def cited_texts(run: Run, passage: GradedPassage, n: int) -> list[str]:
    """Return the parts of a passage that a piece of evidence cites, in the passage's own wording.

    A piece may consist of strips that are not adjacent, such as a table's header and one of its rows.
    """
    parts: list[list[int]] = []
    for strip in strips_by_piece(run.evidence, run.strips).get(n, []):
        if parts and not passage.text[parts[-1][1] : strip.start].strip():
            parts[-1][1] = strip.end
        else:
            parts.append([strip.start, strip.end])
    return [passage.text[start:end] for start, end in parts] or [piece.text for piece in run.evidence if piece.n == n]


def _passage(run: Run, passage: str, n: int) -> GradedPassage:
    if n:
        passage = next((piece.passage for piece in run.evidence if piece.n == n), passage)
    found = next((one for one in run.passages if one.id == passage), None)
    if found is None:
        raise UnknownRun(f"The run {run.run_id} has no such passage any more. Ask the question again.")
    return found


def document_view(
    assembly: Assembly, name: str, collection: str, *, page: int | None, dpi: int, sought: Sequence[str] = (), near: int
) -> SourceView:
    """Return a picture of a document's page if its original file was kept, else a page of its text.

    Raises UnknownDocument, UnreadableDocument and StoreError.
    """
    document = next((one for one in assembly.collections.documents(collection) if one.name == name), None)
    also = document.also if document else ()
    if document and document.pages:
        picture = assembly.collections.page_picture(name, page or 1, sought, dpi=dpi, collection=collection)
        if picture:
            return SourceView(title=name, also=also, number=page or 1, count=document.pages, picture=picture)
        # The page numbers of a document without pictures of its pages do not match pages of its text. If a text is
        # sought, the page that contains it is shown instead.
        page = None if sought else page
    shown = text_page(assembly.collections.text(name, collection), number=page, sought=sought, near=near)
    return SourceView(title=name, also=also, number=shown.number, count=shown.count, parts=shown.parts)


def web_view(passage: GradedPassage, sought: list[str]) -> SourceView:
    """Return the view of a web result. Its address becomes a link only if it is a web address (http, https)."""
    address = urlsplit(passage.url or "")
    link = passage.url or "" if address.scheme in {"http", "https"} and address.hostname else ""
    title, parts = passage.title or passage.url or "", _marked(passage.text, sought)
    note, host = _("This is what the search server sent; the page itself was not fetched."), address.hostname or ""
    return SourceView(title=title, parts=parts, url=link, host=host, dated=passage.dated, note=note)


def _marked(text: str, sought: list[str]) -> tuple[tuple[str, bool], ...]:
    return text_page(text, number=1, sought=sought, size=max(len(text), 1)).parts
