"""Central sentences: those of a section that are nearest to what all of it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from localcrag.records.documents import Chunk
from localcrag.records.enums import StripMode, StripReason
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.protocols import ChunkStore, Embedder, Vectors
from localcrag.steps.refine.strips import count_words, split_into_strips
from localcrag.text.titles import SEPARATOR

WORDS = (6, 60)
"""Of a sentence that can stand for others: shorter ones are headings and names, longer ones tables and lists."""
DOCUMENT_WEIGHT = 0.5
"""What being near to the whole document counts beside being near to its section."""
BEGINS_BONUS = 0.05
"""For the first sentence of a section, which tends to say what it is about."""
SAYS_THE_SAME = 0.8
"""Cosine from which on a second sentence adds nothing to the first."""

_RULED = re.compile(r"^[\s|:+-]*$|^\s*\|")


@dataclass(frozen=True, slots=True)
class Section:
    """Passages of a document under one heading: the chunks `nearest` to their mean, in order, and the means.

    `mean` is that of the section's passages, `of_document` that of all: unit vectors, shape (dimension,). `begins` is
    the id of its first chunk.
    """

    nearest: tuple[int, ...]
    begins: int
    mean: Vectors
    of_document: Vectors


def sections(ids: Sequence[int], store: ChunkStore, most: int, read: int) -> list[tuple[Section, int]]:
    """Return up to `most` sections of a document, in order, each with how many sentences it has of those `most`.

    `ids` are its chunks; of a section `read` of them are looked at. The longest sections are taken.
    """
    vectors = store.vectors(ids)
    chunks = {chunk_id: chunk for chunk_id, (_, chunk) in store.chunks(ids).items() if chunk_id in vectors}
    if not chunks:
        return []
    groups = _groups(chunks, most)
    longest = sorted(range(len(groups)), key=lambda at: -_letters(groups[at], chunks))[:most]
    whole = sum(_letters(groups[at], chunks) for at in longest) or 1
    of_document = _mean([vectors[chunk_id] for chunk_id in chunks])
    found = []
    for at in sorted(longest):
        mean = _mean([vectors[chunk_id] for chunk_id in groups[at]])
        near = sorted(groups[at], key=lambda chunk_id: -float(vectors[chunk_id] @ mean))[:read]
        share = max(1, round(most * _letters(groups[at], chunks) / whole))
        found.append((Section(tuple(sorted(near)), groups[at][0], mean, of_document), share))
    return found


def central_sentences(
    passages: Sequence[GradedPassage], section: Section, most: int, embedder: Embedder
) -> list[Strip]:
    """Return the sentences of a section's passages, up to `most` of them kept: near to all, and not to each other."""
    cut = [
        (passage, span)
        for passage in passages
        for span in split_into_strips(passage.text, StripMode.SENTENCE, window_words=WORDS[1])
    ]
    can = [n for n, (_, span) in enumerate(cut) if _says_something(span.text)]
    chosen: list[int] = []
    if can:
        vectors = embedder.embed([cut[n][1].text for n in can])
        worth = vectors @ section.mean + DOCUMENT_WEIGHT * (vectors @ section.of_document)
        begins = f"chunk-{section.begins}"
        if cut[can[0]][0].id == begins:
            worth[0] += BEGINS_BONUS
        for place in np.argsort(-worth):
            if len(chosen) == most:
                break
            if all(float(vectors[place] @ vectors[other]) < SAYS_THE_SAME for other in chosen):
                chosen.append(int(place))
    kept = {can[place] for place in chosen}
    return [
        Strip(
            passage.id, span.start, span.end, span.text, passage.logit, passage.relevance, n in kept,
            StripReason.CENTRAL if n in kept else StripReason.NOT_CENTRAL,
        )
        for n, (passage, span) in enumerate(cut)
    ]  # fmt: skip


def _groups(chunks: dict[int, Chunk], most: int) -> list[list[int]]:
    """Return the chunks by headings, as few levels of them as tell sections apart; without headings in equal parts."""
    paths = {chunk_id: (chunk.section or "").split(SEPARATOR) for chunk_id, chunk in chunks.items()}
    ordered = sorted(chunks)
    for level in range(1, max(map(len, paths.values())) + 1):
        groups = [list(group) for _, group in groupby(ordered, key=lambda one: tuple(paths[one][:level]))]
        if len(groups) > 1:
            return groups
    size = max(1, -(-len(ordered) // most))
    return [ordered[at : at + size] for at in range(0, len(ordered), size)]


def _letters(group: Sequence[int], chunks: dict[int, Chunk]) -> int:
    return sum(len(chunks[chunk_id].text) for chunk_id in group)


def _mean(vectors: Sequence[Vectors]) -> Vectors:
    """Return the mean of vectors as a unit vector; where they cancel out, the first."""
    mean = np.mean(np.stack(vectors), axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length else vectors[0], dtype=np.float32)


def _says_something(text: str) -> bool:
    least, most = WORDS
    return least <= count_words(text) <= most and not _RULED.match(text) and not text.startswith("#")
