"""Refinement: passages become strips, strips become evidence (CRAG, section 4.4).

strips.py cuts a passage. First, its relevance decides whether a strip is kept. Then limits on number and tokens apply,
repetitions are dropped, and completeness.py adds strips that the kept ones need as context. Every strip records why it
was kept or dropped.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localcrag.crag.grading import nearest_if_doubtful, strip_logits
from localcrag.crag.refine.completeness import CountTokens, Wording, are_duplicates, complete
from localcrag.crag.refine.strips import (
    group_into_runs,
    heading_path,
    join_run,
    passage_strip,
    sheet_rows,
    split_into_strips,
)
from localcrag.records.enums import StripMode, StripReason
from localcrag.records.passages import NEVER_KEPT, Choice, Evidence, GradedPassage, Source, Strip
from localcrag.records.protocols import Scorer, Vectors

KEPT_REASONS = frozenset({StripReason.KEPT, StripReason.BEST, StripReason.RETENTION, StripReason.KEY_POINT})
MAX_BEST_STRIPS, BEST_SHARE, QUOTED_SHARE = 2, 0.95, 0.3
"""Number of strips that represent all evidence, and two shares of the best strip's relevance that a second strip
needs: to count as nearly as relevant, and to be quoted next to it (for how often they contain the answer, see
docs/lab/evaluation.md)."""
WEAKEST_SHARE = 0.05
"""Share of the most relevant strip's relevance below which a strip is irrelevant, however low the threshold is: a
clearly relevant passage also mentions other things. With the place head of relevance-v2, 0.94 of the needed lines
are above it, and 0.62 of the words (70 questions on everyday/dev, before completeness.py adds strips)."""
MIN_MEAN_LENGTH = 1e-6
"""Minimum length of a mean of unit vectors; a shorter mean is a rounding error and has no direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineRules:
    """Limits on what is kept of passages.

    `threshold` is a relevance, and `lowest` the one to which minimum retention may lower it. `most` (strips) and
    `tokens`, as `count_tokens` counts them, limit all passages together. `retention` is the share of its strips that a
    passage keeps if it can. `window_words` is for the window mode.
    """

    threshold: float
    lowest: float
    most: int
    tokens: int
    retention: float
    count_tokens: CountTokens
    mode: StripMode = StripMode.SENTENCE
    window_words: int = 40


@dataclass(frozen=True, slots=True)
class Refinement:
    """All strips that were scored, and the evidence that the kept ones make, with its sources."""

    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]


def refine(
    question: str, passages: Sequence[GradedPassage], *, scorer: Scorer, rules: RefineRules, known: Sequence[Strip] = ()
) -> Refinement:
    """Return strips and evidence of passages (see evaluate.usable); strips in `known` are not scored again."""
    known_passages = {strip.passage for strip in known}
    new = [passage for passage in passages if passage.id not in known_passages]
    strips = (*known, *decompose(question, new, scorer=scorer, rules=rules))
    limited = apply_limits(strips, by_relevance(strips, rules), rules)
    return complete_evidence(question, passages, limited, rules)


def complete_evidence(
    question: str, passages: Sequence[GradedPassage], limited: Sequence[Strip], rules: RefineRules
) -> Refinement:
    """Return the strips within the limits, plus those that the kept ones need, and their evidence.

    If no passage is graded correct, the nearest are kept whole, because it is just as doubtful which of their lines
    answers.
    """
    whole, count = nearest_if_doubtful(passages), rules.count_tokens
    completed = complete(question, passages, limited, tokens=rules.tokens, count_tokens=count, whole=whole)
    return Refinement(completed, *recompose(passages, completed))


def decompose(
    question: str, passages: Sequence[GradedPassage], *, scorer: Scorer, rules: RefineRules
) -> tuple[Strip, ...]:
    """Return the strips of passages with their relevance, none kept yet; all are scored in one batch."""
    cut = [split_into_strips(passage.text, rules.mode, window_words=rules.window_words) for passage in passages]
    spans = [(passage, span) for passage, own in zip(passages, cut, strict=True) for span in own]
    logits = np.concatenate([np.zeros(0, dtype=np.float32), *strip_logits(question, passages, cut, scorer=scorer)])
    passage_relevance = np.array([passage.relevance for passage, _ in spans], dtype=np.float32)
    relevances = scorer.calibration.strips(logits, passage_relevance)
    return tuple(
        Strip(passage.id, span.start, span.end, span.text, float(logit), float(relevance), kept=False)
        for (passage, span), logit, relevance in zip(spans, logits, relevances, strict=True)
    )


def by_relevance(strips: Sequence[Strip], rules: RefineRules) -> list[StripReason]:
    """Return each strip's fate by its relevance alone: KEPT, RETENTION, BEST or BELOW.

    The best strip of a passage is always kept. If fewer than the share `retention` of a passage's strips reach the
    threshold, the threshold is lowered for that passage until they do, or to `lowest`. It never falls below
    WEAKEST_SHARE of the most relevant strip's relevance. If the threshold is 0, all strips are kept.
    """
    weakest = WEAKEST_SHARE * max((strip.relevance for strip in strips), default=0.0) if rules.threshold else 0.0
    rules = dataclasses.replace(rules, threshold=max(rules.threshold, weakest), lowest=max(rules.lowest, weakest))
    scores_by_passage: dict[str, list[float]] = {}
    for strip in strips:
        scores_by_passage.setdefault(strip.passage, []).append(strip.relevance)
    lowered = {passage: _lowered(relevances, rules) for passage, relevances in scores_by_passage.items()}
    fates = []
    with_best: set[str] = set()
    for strip in strips:
        best = strip.passage not in with_best and strip.relevance == max(scores_by_passage[strip.passage])
        if best:
            with_best.add(strip.passage)
        if strip.relevance >= rules.threshold:
            fates.append(StripReason.KEPT)
        elif best:
            fates.append(StripReason.BEST)
        else:
            retained = strip.relevance >= lowered[strip.passage]
            fates.append(StripReason.RETENTION if retained else StripReason.BELOW)
    return fates


def _lowered(relevances: Sequence[float], rules: RefineRules) -> float:
    """Return the threshold for a passage whose strips have these relevances."""
    # A rounding error in the product (0.1 * 30 is slightly more than 3) must not require one strip more.
    needed = math.ceil(rules.retention * len(relevances) - 1e-9)
    if needed == 0:
        return rules.threshold
    return min(rules.threshold, max(rules.lowest, sorted(relevances, reverse=True)[needed - 1]))


def apply_limits(strips: Sequence[Strip], fates: Sequence[StripReason], rules: RefineRules) -> tuple[Strip, ...]:
    """Return the strips with their fates, after repetitions and strips beyond the limits are dropped.

    `fates` has the reason for keeping or dropping each strip. The most relevant strips come first. The first strip of
    each passage stays even beyond the limits, unless another passage has said the same.
    """
    final = list(fates)
    relevant = [place for place, fate in enumerate(fates) if fate in KEPT_REASONS]
    candidates = sorted(relevant, key=lambda place: -strips[place].relevance)
    wordings = {place: Wording.of(strips[place].text) for place in candidates}
    lengths = dict(zip(candidates, rules.count_tokens([strips[place].text for place in candidates]), strict=True))
    kept: list[int] = []
    heard: set[str] = set()
    room = rules.tokens
    for place in candidates:
        strip = strips[place]
        first = strip.passage not in heard
        heard.add(strip.passage)
        others = [wordings[other] for other in kept if strips[other].passage != strip.passage]
        if any(are_duplicates(other, wordings[place]) for other in others):
            final[place] = StripReason.DUPLICATE
            continue
        over = None
        if len(kept) >= rules.most or lengths[place] > room:
            over = StripReason.OVER_CAP if len(kept) >= rules.most else StripReason.OVER_TOKENS
        if over and not first:
            final[place] = over
            continue
        # It stays only because it is the first strip of its passage; a key point keeps its own reason.
        if over and final[place] is not StripReason.KEY_POINT:
            final[place] = StripReason.BEST
        kept.append(place)
        room -= lengths[place]
    decided = zip(strips, final, strict=True)
    return tuple(dataclasses.replace(strip, kept=fate in KEPT_REASONS, reason=fate) for strip, fate in decided)


def mean_embedding(vectors: Vectors, relevances: Sequence[float]) -> Vectors:
    """Return the relevance-weighted mean of kept strips' vectors, sum r·h / sum r, scaled to unit length.

    It represents a piece of evidence when sets are compared. `vectors` has a row per strip, shape (strips, dimension);
    the result has shape (dimension,). If the mean has no direction (no relevance, or vectors that cancel out), the most
    relevant strip's vector is returned. Raises ValueError without strips.
    """
    if len(vectors) == 0:
        raise ValueError("no strips: a mean needs at least one")
    weights = np.asarray(relevances, dtype=np.float32)
    total = float(weights.sum())
    mean = weights @ vectors / total if total > 0 else np.zeros_like(vectors[0])
    length = float(np.linalg.norm(mean))
    if length < MIN_MEAN_LENGTH:
        mean, length = vectors[int(weights.argmax())], 1.0
    return np.asarray(mean / length, dtype=np.float32)


def whole_passages(passages: Sequence[GradedPassage], most: int) -> Refinement:
    """Return the `most` most relevant passages whole, if there are no scores or no time; ties keep the order given."""
    best = sorted(passages, key=lambda passage: -passage.relevance)[:most]
    fates = (StripReason.OVER_CAP, StripReason.WHOLE)
    strips = tuple(passage_strip(one, (0, len(one.text)), fates, kept=one in best) for one in passages)
    return Refinement(strips, *recompose(passages, strips))


def recompose(
    passages: Sequence[GradedPassage], strips: Sequence[Strip]
) -> tuple[tuple[Evidence, ...], tuple[Source, ...]]:
    """Return the kept strips joined into numbered evidence, and the sources of the evidence.

    The evidence is in reading order: documents by their best passage, and within a document from front to back.
    """
    evidence: list[Evidence] = []
    sources: dict[tuple[str | None, int | None, str | None], Source] = {}
    for passage in reading_order(passages):
        for run in group_into_runs(passage, [strip for strip in strips if strip.passage == passage.id]):
            place = (passage.document, passage.page, passage.url)
            new = Source(f"source-{len(sources) + 1}", passage.origin, *place, passage.title, passage.dated)
            source = sources.setdefault(place, new)
            relevance = max(strip.relevance for strip in run)
            piece = Evidence(len(evidence) + 1, join_run(passage, run), passage.id, source.id, relevance)
            section, rows = heading_path(passage, run), sheet_rows(passage, run)
            evidence.append(dataclasses.replace(piece, section=section, confidence=passage.confidence, rows=rows))
    return tuple(evidence), tuple(sources.values())


def best_strips(
    strips: Sequence[Strip], evidence: Sequence[Evidence], *, share: float = BEST_SHARE
) -> tuple[Evidence, ...]:
    """Return the most relevant kept strip, and a second one if it is relevant enough (`share`), each as evidence."""
    best = single_strips(strips, evidence)[:MAX_BEST_STRIPS]
    return tuple(piece for piece in best if piece.relevance >= share * best[0].relevance)


def single_strips(strips: Sequence[Strip], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return every kept strip as evidence under the number of its piece, the most relevant first."""
    ranked = sorted((strip for strip in strips if strip.kept), key=lambda strip: -strip.relevance)
    return [single for strip in ranked if (single := single_strip(strip, evidence))]


def single_strip(strip: Strip, evidence: Sequence[Evidence]) -> Evidence | None:
    """Return a strip as evidence under the number of its piece; None if no piece contains it."""
    piece = next((piece for piece in evidence if piece.passage == strip.passage and strip.text in piece.text), None)
    return piece and dataclasses.replace(piece, text=strip.text, relevance=strip.relevance)


def reading_order(passages: Sequence[GradedPassage]) -> list[GradedPassage]:
    """Return the passages by their document's best relevance, and within a document by position.

    Equally relevant documents keep the order given.
    """
    best: dict[str, float] = {}
    for passage in passages:
        where = _document_key(passage)
        best[where] = max(passage.relevance, best.get(where, 0.0))
    order = sorted(best, key=lambda where: -best[where])
    return sorted(passages, key=lambda passage: (order.index(_document_key(passage)), passage.start or 0))


def _document_key(passage: GradedPassage) -> str:
    return passage.document or passage.url or passage.id


def apply_choice(strips: Sequence[Strip], passages: Sequence[GradedPassage], choice: Choice) -> Refinement:
    """Return the strips with the choice applied, and the resulting evidence of the passages."""
    chosen = tuple(_with_choice(strip, choice.of(strip)) for strip in strips)
    named = {strip.passage for strip in chosen}
    return Refinement(chosen, *recompose([passage for passage in passages if passage.id in named], chosen))


def _with_choice(strip: Strip, text: bool | None) -> Strip:
    if text is None or text == strip.kept or strip.reason in NEVER_KEPT:
        return strip
    return dataclasses.replace(strip, kept=text, reason=StripReason.PUT_IN if text else StripReason.TAKEN_OUT)
