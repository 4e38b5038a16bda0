"""Fragments: what of a passage is shown, block by block, as its lines stand there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from localcrag.records.passages import Evidence, Passage, Strip
from localcrag.steps.refine.structure import blocks_in
from localcrag.text.blocks import Block, BlockKind, blocks_of

MORE = " … "
"""Between sentences of a paragraph where something is left out."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A block of a passage, or what is shown of it: its text in pieces, each with whether it is one of the likeliest.

    `level` and `steps` are those of a list item.
    """

    kind: BlockKind
    pieces: tuple[tuple[str, bool], ...]
    level: int = 0
    steps: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(text for text, _ in self.pieces)


def of_evidence(piece: Evidence, passage: Passage | None, strips: Sequence[Strip]) -> list[Fragment]:
    """Return a piece of evidence as it is made of these strips of its passage; without any, as its own text says it."""
    if passage is None or not strips:
        return _cut(piece.text, blocks_of(piece.text), [(0, len(piece.text), False)])
    shown = _cut(passage.text, blocks_in(passage), [(strip.start, strip.end, False) for strip in strips])
    lead = passage.lead if passage.lead and piece.text.startswith(f"{passage.lead}\n") else None
    if lead and shown:
        kind = BlockKind.HEADER if shown[0].kind is BlockKind.ROW else BlockKind.PARAGRAPH
        return [Fragment(kind, ((lead, False),)), *shown]
    return shown


def of_passage(passage: Passage, likeliest: Collection[Strip], within: tuple[int, int] | None = None) -> list[Fragment]:
    """Return a passage with its likeliest strips marked: whole, or what of it is `within` two places.

    Rows keep their table's header, wherever that is.
    """
    begin, end = within or (0, len(passage.text))
    spans: list[tuple[int, int, bool]] = []
    done = begin
    for strip in sorted(likeliest, key=lambda strip: strip.start):
        spans += [(done, strip.start, False), (strip.start, strip.end, True)]
        done = strip.end
    spans.append((done, end, False))
    blocks = blocks_in(passage)
    shown = _cut(passage.text, blocks, spans)
    if shown and shown[0].kind is BlockKind.ROW:
        above = [block for block in blocks if block.kind is BlockKind.HEADER and block.start < begin]
        shown = [
            *(_fragment(header, [(passage.text[header.start : header.end], False)]) for header in above[-1:]),
            *shown,
        ]
    return shown


def _cut(text: str, blocks: Sequence[Block], spans: Sequence[tuple[int, int, bool]]) -> list[Fragment]:
    """Return what these spans of a text are, block by block; spans are in order and apart."""
    found: list[Fragment] = []
    for block in blocks:
        pieces: list[tuple[str, bool]] = []
        last = block.start
        for start, end, likely in spans:
            begin, stop = max(start, block.start), min(end, block.end)
            if not text[begin:stop].strip():
                continue
            if pieces:
                gap = text[last:begin]
                pieces.append((MORE if gap.strip() else gap, False))
            pieces.append((text[begin:stop], likely))
            last = stop
        if pieces:
            found.append(_fragment(block, pieces))
    return found


def _fragment(block: Block, pieces: Sequence[tuple[str, bool]]) -> Fragment:
    return Fragment(block.kind, tuple(pieces), block.level, block.steps)
