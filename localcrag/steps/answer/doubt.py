"""Doubt: the passages that are likeliest to answer, whole, with their likeliest lines marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from localcrag.records.enums import StripMode
from localcrag.records.passages import Evidence, GradedPassage, Strip
from localcrag.steps.answer import fragments, layout
from localcrag.steps.answer.own_words import path_of
from localcrag.steps.evaluate.evaluate import nearest
from localcrag.steps.refine.manual_selection import NEVER
from localcrag.steps.refine.strips import count_words, split_into_strips
from localcrag.text.blocks import BlockKind, blocks_of
from localcrag.text.places import page_name, row_names
from localcrag.text.span import Span
from localcrag.text.translation import gettext as _
from localcrag.text.words import overlap

WORDS, FAR_WORDS = 150, 50
"""Of a passage, around its likeliest line; the fewer of one that is far from helping."""
LIKELY_SHARE, LIKELIEST = 0.9, 3
"""Share of the likeliest strip's relevance that others have which are marked as well, and how many at most."""


def likeliest(
    passages: Sequence[GradedPassage],
    strips: Sequence[Strip] = (),
    evidence: Sequence[Evidence] = (),
    *,
    question: str = "",
    near: float = 0.0,
) -> str:
    """Return the likeliest passages as Markdown, each under its place and probability; below `near` only a part.

    Passages must be screened, and in retrieval's order: that, too, says which are likely (`best`). One that is evidence
    is cited. Of one that was not cut into strips that part is shown that has most of the question's words.
    """
    return "\n\n".join(_shown(passage, strips, evidence, question=question, near=near) for passage in nearest(passages))


def only_strips(passage: GradedPassage, strips: Sequence[Strip]) -> GradedPassage:
    """Return a passage with white space for all that is of none of these strips."""
    text = "".join(" " if letter.strip() else letter for letter in passage.text)
    for strip in (strip for strip in strips if strip.passage == passage.id and strip.reason not in NEVER):
        text = text[: strip.start] + passage.text[strip.start : strip.end] + text[strip.end :]
    return dataclasses.replace(passage, text=text)


def _likest(text: str, question: str) -> int:
    """Return where the sentence, row or item with most of the question's words begins; the first of several."""
    cut = split_into_strips(text, StripMode.SENTENCE, window_words=FAR_WORDS)
    return max(cut, key=lambda span: overlap(question, span.text)).start if cut else 0


def _shown(
    passage: GradedPassage, strips: Sequence[Strip], evidence: Sequence[Evidence], *, question: str, near: float
) -> str:
    own = [strip for strip in strips if strip.passage == passage.id and strip.reason not in NEVER]
    ranked = sorted(own, key=lambda strip: -strip.relevance)
    likely = [strip for strip in ranked[:LIKELIEST] if strip.relevance >= LIKELY_SHARE * ranked[0].relevance]
    if len(own) <= len(likely):
        likely = []  # Where all of it is, none is likelier.
    at = ranked[0].start if ranked else _likest(passage.text, question)
    start, end = _around(passage, at, WORDS if passage.relevance >= near else FAR_WORDS)
    within = [strip for strip in likely if start <= strip.start and strip.end <= end]
    cited = [piece for piece in evidence if piece.passage == passage.id]
    most = max(cited, key=lambda piece: piece.relevance, default=None)
    path = path_of(passage.section, passage, titled=True)
    shown = fragments.of_passage(passage, within, (start, end))
    body = layout.markdown(shown, f"[{most.n}]" if most else "", path=path)
    return f"{_head(passage, path)}\n\n{body}"


def _head(passage: GradedPassage, path: Sequence[str]) -> str:
    sheets = {row.sheet for row in passage.rows}
    path = [*path[:1], *(name for name in path[1:] if name not in sheets)]
    place = " › ".join(map(layout.plain, path)) or _("web")
    if passage.page is not None:
        place += f", {page_name(passage.document, passage.page)}"
    if passage.rows:
        place += f", {layout.plain(row_names(passage.rows))}"
    scored = f"{passage.relevance:.2f} · " if passage.scored else ""
    return f"**{scored}{place}**"


def _around(passage: GradedPassage, at: int, most: int) -> tuple[int, int]:
    """Return where in a passage stands what is around a place, of about so many words."""
    cut = split_into_strips(passage.text, StripMode.SENTENCE, window_words=most)
    if sum(count_words(span.text) for span in cut) <= most:
        return 0, len(passage.text)
    first, last = _range(cut, next((n for n, span in enumerate(cut) if span.end > at), 0), most)
    return _list_begins(passage.text, cut[first].start, cut[last].end), cut[last].end


def _list_begins(text: str, start: int, end: int) -> int:
    """Return where the list begins that a part of a text begins in; `start` in none, and in one that is too long."""
    begins = start
    for block in blocks_of(text):
        if block.start > start:
            break
        if block.kind is not BlockKind.ITEM:
            begins = start
        elif begins == start:
            begins = block.start
    return begins if count_words(text[begins:end]) <= WORDS else start


def _range(cut: Sequence[Span], middle: int, most: int) -> tuple[int, int]:
    """Return the first and last of the spans around one, as many as there is room for."""
    first = last = middle
    words = count_words(cut[middle].text)
    while True:
        # What follows goes on with it; what is before leads to it.
        for other in (last + 1, first - 1):
            if 0 <= other < len(cut) and words + count_words(cut[other].text) <= most:
                words += count_words(cut[other].text)
                first, last = min(first, other), max(last, other)
                break
        else:
            return first, last
