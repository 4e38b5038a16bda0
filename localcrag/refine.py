"""Passages -> strips -> evidence: decompose into sentences, score, filter, put together again (CRAG, section 4.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localcrag.datatypes import Evidence, GradedPassage, Source, Strip
from localcrag.protocols import Scorer
from localcrag.sentences import split_sentences

BEST, BEST_SHARE = 2, 0.95
"""How many strips speak for all evidence, and the share of the best one's relevance that a second one must have."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """Every strip that was looked at, and the evidence that the kept ones make, with where it comes from."""

    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]


def refine(
    question: str, passages: Sequence[GradedPassage], *, scorer: Scorer, threshold: float, most: int
) -> Refinement:
    """Return strips and evidence of passages; decide.usable says which ones are worth it.

    A strip is kept when its relevance reaches `threshold` and is among the `most` best ones of all passages; the best
    strip of a passage is always kept. All strips are scored in one batch, each in its passage.
    """
    sentences = [split_sentences(passage.text) for passage in passages]
    spans = [(passage, span) for passage, own in zip(passages, sentences, strict=True) for span in own]
    texts = [passage.text for passage in passages]
    logits = np.concatenate([np.zeros(0, dtype=np.float32), *scorer.strip_logits(question, texts, sentences)])
    of_passages = np.array([passage.relevance for passage, _ in spans], dtype=np.float32)
    relevances = [float(relevance) for relevance in scorer.calibration.strips(logits, of_passages)]
    best: dict[str, float] = {}
    for (passage, _), relevance in zip(spans, relevances, strict=True):
        best[passage.id] = max(relevance, best.get(passage.id, 0.0))
    cut = max([threshold, *sorted(relevances, reverse=True)[most - 1 : most]])
    strips = tuple(
        Strip(
            passage=passage.id,
            start=span.start,
            end=span.end,
            text=span.text,
            logit=float(logit),
            relevance=relevance,
            kept=relevance >= min(cut, best[passage.id]),
        )
        for (passage, span), logit, relevance in zip(spans, logits, relevances, strict=True)
    )
    evidence, sources = recompose(passages, strips)
    return Refinement(strips, evidence, sources)


def whole(passages: Sequence[GradedPassage], most: int) -> Refinement:
    """Return the `most` relevant passages as evidence, whole, for want of scores or time; ties in the order given."""
    best = sorted(passages, key=lambda passage: -passage.relevance)[:most]
    strips = tuple(
        Strip(
            passage=passage.id,
            start=0,
            end=len(passage.text),
            text=passage.text,
            logit=passage.logit,
            relevance=passage.relevance,
            kept=passage in best,
        )
        for passage in passages
    )
    return Refinement(strips, *recompose(passages, strips))


def recompose(
    passages: Sequence[GradedPassage], strips: Sequence[Strip]
) -> tuple[tuple[Evidence, ...], tuple[Source, ...]]:
    """Return the kept strips as numbered evidence, neighbours joined, and the sources they come from.

    In reading order: documents by their best passage, and within a document from front to back.
    """
    evidence: list[Evidence] = []
    sources: dict[tuple[str | None, ...], Source] = {}
    for passage in reading_order(passages):
        for run in _neighbours([strip for strip in strips if strip.passage == passage.id]):
            key = (passage.document, str(passage.page), passage.url)
            source = sources.setdefault(
                key,
                Source(
                    id=f"source-{len(sources) + 1}",
                    origin=passage.origin,
                    document=passage.document,
                    page=passage.page,
                    url=passage.url,
                    title=passage.title,
                ),
            )
            evidence.append(
                Evidence(
                    n=len(evidence) + 1,
                    text=passage.text[run[0].start : run[-1].end],
                    passage=passage.id,
                    source=source.id,
                    relevance=max(strip.relevance for strip in run),
                )
            )
    return tuple(evidence), tuple(sources.values())


def best_strips(strips: Sequence[Strip], evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the most relevant kept strip, and a second one that is nearly as relevant, each by itself.

    As evidence under the numbers that they already have, the most relevant first.
    """
    ranked = sorted((strip for strip in strips if strip.kept), key=lambda strip: -strip.relevance)[:BEST]
    best = []
    for strip in (strip for strip in ranked if strip.relevance >= BEST_SHARE * ranked[0].relevance):
        piece = next((piece for piece in evidence if piece.passage == strip.passage and strip.text in piece.text), None)
        if piece is not None:
            best.append(dataclasses.replace(piece, text=strip.text, relevance=strip.relevance))
    return tuple(best)


def reading_order(passages: Sequence[GradedPassage]) -> list[GradedPassage]:
    """Return the passages by their document's best relevance, and within a document by place."""
    best: dict[str, float] = {}
    for passage in passages:
        where = _where(passage)
        best[where] = max(passage.relevance, best.get(where, 0.0))
    return sorted(passages, key=lambda passage: (-best[_where(passage)], _where(passage), passage.start or 0))


def _where(passage: GradedPassage) -> str:
    return passage.document or passage.url or passage.id


def _neighbours(strips: Sequence[Strip]) -> list[list[Strip]]:
    """Return runs of kept strips with no dropped one between them."""
    runs: list[list[Strip]] = [[]]
    for strip in strips:
        if strip.kept:
            runs[-1].append(strip)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
