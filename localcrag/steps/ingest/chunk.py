"""Chunks: pieces of a document that are found by themselves, each with the place it stands at.

A chunk never crosses a page, and holds more than one section only where sections are too short to be found. It knows
the path of headings that it stands under and, where a list or a table had to be cut, what leads into it: a sentence
means what its heading, its table's header or its list says (docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from localcrag.records.documents import Chunk, Page, mean_confidence
from localcrag.steps.ingest.outline import CountTokens, Unit, units_of
from localcrag.text.sheet_rows import rows_within
from localcrag.text.titles import SEPARATOR

PAGE_BREAK = "\f"
"""Between two pages in a document's text, as in the output of pdftotext."""

_LEAST = 1 / 3
"""Of the target length: what a chunk has at least where the section that follows is on the same page."""
_DEEPEST = 3
"""Headings of a path, the innermost; with more of them the passage itself would be lost among them."""


def join_pages(pages: Iterable[Page]) -> str:
    """Return a document's text: what a chunk's offsets count in."""
    return PAGE_BREAK.join(page.text for page in pages)


def split_into_chunks(
    pages: Sequence[Page], count_tokens: CountTokens, *, title: str = "", target: int, limit: int
) -> list[Chunk]:
    """Return the chunks of a document, in order.

    `target` and `limit` are in the embedder's tokens: a chunk has about `target`, and none has more than `limit`
    (a single sentence that does is cut at white space). Every character of the pages that is not white space is in
    exactly one chunk, but for pages without any token: no question would find those.
    """
    found = units_of(pages, count_tokens, title=title, target=min(target, limit), limit=limit)
    return chunks_from(pages, [unit for some in found for unit in some], target=target, limit=limit)


def chunks_from(pages: Sequence[Page], units: Sequence[Unit], *, target: int, limit: int) -> list[Chunk]:
    """Return the chunks that the units of a document make (see units_of), as `split_into_chunks` does."""
    target = min(target, limit)
    chunks: list[Chunk] = []
    offset, of_page = 0, {number: list(some) for number, some in groupby(units, key=lambda unit: unit.page)}
    for number, page in enumerate(pages):
        on_page = of_page.get(number, [])
        if _tokens(on_page):
            chunks += [
                _chunk(page, group, offset)
                for part in _parts(_sections(on_page), target * _LEAST, limit)
                for group in _share_out(part, target, limit)
            ]
        offset += len(page.text) + len(PAGE_BREAK)
    return chunks


def _chunk(page: Page, units: Sequence[Unit], offset: int) -> Chunk:
    start, end = units[0].start, units[-1].end
    path = _common([unit.section for unit in units if not unit.heading] or [units[-1].section])
    text = page.text[start:end]
    lead = units[0].lead
    return Chunk(
        page.number,
        offset + start,
        offset + end,
        text,
        section=SEPARATOR.join(path[-_DEEPEST:]) or None,
        lead=lead if lead and lead not in text else None,
        confidence=_confidence(page, start, end),
        rows=rows_within(page.rows, page.text, start, end),
    )


def _confidence(page: Page, start: int, end: int) -> float | None:
    """Return the confidence of text recognition in a part of a page, None where it read nothing of it."""
    parts = [(min(part.end, end) - max(part.start, start), part.confidence) for part in page.recognised]
    return mean_confidence([(length, confidence) for length, confidence in parts if length > 0])


def _sections(units: Sequence[Unit]) -> list[list[Unit]]:
    """Part units before each heading; headings in a row stay with what follows them."""
    sections: list[list[Unit]] = []
    for unit in units:
        if not sections or (unit.heading and not sections[-1][-1].heading):
            sections.append([])
        sections[-1].append(unit)
    return sections


def _parts(sections: Sequence[list[Unit]], least: float, limit: int) -> list[list[Unit]]:
    """Join sections that are too short with those that follow, where both fit into a chunk."""
    parts: list[list[Unit]] = []
    size = 0
    for section in sections:
        more = _tokens(section)
        if parts and min(size, more) < least and size + more <= limit:
            parts[-1] += section
            size += more
        else:
            parts.append([*section])
            size = more
    return parts


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all paths begin with."""
    first, last = min(paths), max(paths)
    shared = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:shared]


def _tokens(units: Iterable[Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _share_out(units: list[Unit], target: int, limit: int) -> Iterable[list[Unit]]:
    """Share units out evenly over chunks of about `target` tokens, groups whole where they fit."""
    total = _tokens(units)
    goal = total / max(1, round(total / target))
    chunk: list[Unit] = []
    # Counted on: units without a token are never too many for a chunk.
    size, only_headings = 0, True
    for group in _groups(units, limit):
        more = _tokens(group)
        # Closing before the group that lies mostly beyond the goal keeps the chunks' mean at the goal.
        beyond = size + more / 2 > goal and not only_headings
        if chunk and (beyond or size + more > limit):
            yield chunk
            chunk, size, only_headings = [], 0, True
        chunk += group
        size += more
        only_headings = only_headings and all(unit.heading for unit in group)
    if chunk:
        yield chunk


def _groups(units: Sequence[Unit], limit: int) -> list[list[Unit]]:
    """Return what stays together; a group that is longer than a chunk comes in its units."""
    groups: list[list[Unit]] = []
    for _, some in groupby(units, key=lambda unit: unit.group):
        group = list(some)
        groups += [group] if _tokens(group) <= limit else [[unit] for unit in group]
    return groups
