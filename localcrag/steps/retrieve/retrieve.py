"""Hybrid retrieval: nearest vectors and BM25, fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import ChunkStore, Embedder, VectorIndex
from localcrag.text.titles import in_context
from localcrag.text.words import overlap

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""


def retrieve(
    query: str,
    question: str,
    *,
    k: int,
    candidates: int,
    embedder: Embedder,
    index: VectorIndex | None,
    store: ChunkStore,
) -> tuple[Passage, ...]:
    """Return up to `k` passages, best first; `candidates` are taken from each of the two rankings.

    They are looked for by `query`, and their cosine and overlap are those with `question`, which they are judged by.
    Without an index, full text alone is searched.
    """
    asked, *others = embedder.embed([question] if query == question else [question, query])
    vector = others[0] if others else asked
    dense = [chunk_id for chunk_id, _ in index.nearest(vector, candidates)] if index is not None else []
    sparse = store.full_text(query, candidates)
    best = fuse([dense, sparse])[:k]
    chunks = store.chunks(best)
    vectors = store.vectors(best)
    titles, dates = store.titles(best), store.dates(best)
    passages = []
    for chunk_id in best:
        # A document deleted meanwhile is no error: its chunks are simply gone.
        if chunk_id in chunks and chunk_id in vectors:
            document, chunk = chunks[chunk_id]
            title = titles.get(chunk_id)
            read = in_context(title, chunk.text, section=chunk.section, lead=chunk.lead)
            passages.append(
                Passage(
                    id=f"chunk-{chunk_id}",
                    origin=Origin.LOCAL,
                    text=chunk.text,
                    document=document,
                    page=chunk.page,
                    start=chunk.start,
                    end=chunk.end,
                    title=title,
                    section=chunk.section,
                    lead=chunk.lead,
                    dated=dates.get(chunk_id),
                    cosine=float(np.dot(asked, vectors[chunk_id])),
                    overlap=overlap(question, read),
                )
            )
    return tuple(passages)


def fuse(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Return the ids of all rankings by the sum of 1 / (RANK_CONSTANT + rank), best first; ties by first mention."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(ranking, start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1.0 / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda identifier: -scores[identifier])
