"""Lists that were cut between two chunks, made whole in a passage that answers.

Half a procedure is no answer.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TypeVar

from localcrag.records.documents import Chunk
from localcrag.records.enums import Origin
from localcrag.records.passages import GradedPassage, Passage
from localcrag.records.protocols import ChunkStore
from localcrag.text.blocks import BlockKind, blocks_of
from localcrag.text.line_marks import LEADS_IN
from localcrag.text.sheet_rows import moved

LONGEST = 1600
"""Characters of a passage that is made whole: about 400 tokens, of 512 that a relevance model reads in all."""

OfPassage = TypeVar("OfPassage", bound=Passage)

_TEXT = (BlockKind.PARAGRAPH, BlockKind.LINE)
_FIRST = re.compile(r"(?:step[ \t]+)?\(?(0*1|a|i)[.):]", re.IGNORECASE)
_H = re.compile(r"\(?h[.):]", re.IGNORECASE)


def made_whole(passage: OfPassage, store: ChunkStore) -> OfPassage:
    """Return a passage with the rest of the list that is cut off at its end or its beginning.

    The passage itself where there is none, or as much of it as has room: LONGEST.
    """
    if passage.origin is not Origin.LOCAL:
        return passage
    own = int(passage.id.removeprefix("chunk-"))
    _, chunk = store.chunks([own]).get(own, ("", None))
    if chunk is None or (chunk.start, chunk.end) != (passage.start, passage.end):
        return passage  # gone meanwhile, or whole already
    first = last = (own, chunk)
    rows = chunk.rows
    while (other := store.neighbour(last[0], behind=True)) and _fits(first[1], other[1]) and goes_on(last[1], other[1]):
        last = other
        rows += moved(other[1].rows, other[1].start - chunk.start)
    while (
        (other := store.neighbour(first[0], behind=False)) and _fits(other[1], last[1]) and goes_on(other[1], first[1])
    ):
        first = other
        rows = moved(other[1].rows, other[1].start - chunk.start) + rows
    text = store.excerpt(own, first[1].start, last[1].end) if first[0] != last[0] else ""
    if not text:
        return passage
    start, end, lead = first[1].start, last[1].end, first[1].lead
    rows = moved(rows, chunk.start - start)
    return dataclasses.replace(passage, text=text, start=start, end=end, lead=lead, rows=rows)


def goes_on(chunk: Chunk, behind: Chunk) -> bool:
    """Whether the list that a chunk ends with, or leads into, goes on in the one behind it."""
    if (chunk.page, chunk.section) != (behind.page, behind.section):
        return False
    own, others = blocks_of(chunk.text), blocks_of(behind.text)
    if not own or not others or others[0].kind is not BlockKind.ITEM:
        return False  # Quotation marks of mails by themselves (">") are no block.
    last, first = own[-1], others[0]
    if last.kind is BlockKind.ITEM:
        begins = _FIRST.match(behind.text, first.start)
        # Behind (h), (i) is a letter and no Roman one.
        anew = begins and not (begins[1].lower() == "i" and _H.match(chunk.text, last.start))
        return last.steps is first.steps and not anew
    return last.kind in _TEXT and bool(LEADS_IN.search(chunk.text))


def without_doubles(passages: Sequence[GradedPassage]) -> tuple[GradedPassage, ...]:
    """Return the passages in order but for those that lie within another one, the most relevant of equal ones."""
    left: list[GradedPassage] = []
    for one in sorted(passages, key=lambda passage: (-len(passage.text), -passage.relevance)):
        if not any(_covers(other, one) for other in left):
            left.append(one)
    return tuple(one for one in passages if one in left)


def _fits(first: Chunk, last: Chunk) -> bool:
    return last.end - first.start <= LONGEST


def _covers(whole: Passage, one: Passage) -> bool:
    if whole.document != one.document or whole.start is None or whole.end is None:
        return False
    inside = one.start is not None and one.end is not None and whole.start <= one.start and one.end <= whole.end
    return inside and one.text in whole.text
