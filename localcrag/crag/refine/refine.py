"""Refinement: passages become strips, strips become evidence (CRAG, section 4.4).

A passage is cut by strips.py; what is kept is decided by relevance, then by what else is kept: the limits on number and
tokens, that nothing is said twice, and what completeness.py adds for the sense of it. Every strip says its fate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from localcrag.crag.grading import nearest_of_doubtful, strip_logits
from localcrag.crag.refine.completeness import CountTokens, Wording, complete, say_the_same
from localcrag.crag.refine.strips import joined, path_of, rows_of, split_into_strips, together
from localcrag.records.enums import StripMode, StripReason
from localcrag.records.passages import Evidence, GradedPassage, Source, Strip
from localcrag.records.protocols import Scorer, Vectors

KEPT = frozenset({StripReason.KEPT, StripReason.BEST, StripReason.RETENTION, StripReason.KEY_POINT})
BEST, BEST_SHARE, QUOTED_SHARE = 2, 0.95, 0.3
"""How many strips speak for all evidence, and the share of the best one's relevance that a second one must have: to be
nearly as relevant, and to be quoted beside it (docs/evaluation.md says how often that holds the answer)."""
WEAKEST_SHARE = 0.05
"""Of the most relevant strip's relevance, below which one is beside the point however low the threshold is: what a sure
passage says of other things. With the place head of relevance-v2, 0.94 of the needed lines are above it, and 0.62 of
the words (70 questions on everyday/dev, before what completeness.py adds)."""
SHORTEST_MEAN = 1e-6
"""Of unit vectors; what is shorter is rounding, and points nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is kept of passages.

    `threshold` and `lowest` (what minimum retention may lower it to) are relevances; `most` strips and `tokens` limit
    what is kept of all passages together, `retention` is the share of its strips that a passage keeps if it can.
    `window_words` is for the mode window.
    """

    threshold: float
    lowest: float
    most: int
    tokens: int
    retention: float
    mode: StripMode = StripMode.SENTENCE
    window_words: int = 40


@dataclass(frozen=True, slots=True)
class Refinement:
    """Every strip that was looked at, and the evidence that the kept ones make, with where it comes from."""

    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]


def refine(
    question: str, passages: Sequence[GradedPassage], *, scorer: Scorer, rules: Rules, count_tokens: CountTokens,
    known: Sequence[Strip] = (),
) -> Refinement:  # fmt: skip
    """Return strips and evidence of passages (see decide.usable); strips that are `known` are not scored again."""
    of_known = {strip.passage for strip in known}
    new = [passage for passage in passages if passage.id not in of_known]
    strips = (*known, *decompose(question, new, scorer=scorer, rules=rules))
    return chosen(question, passages, strips, by_relevance(strips, rules), rules=rules, count_tokens=count_tokens)


def chosen(
    question: str,
    passages: Sequence[GradedPassage],
    strips: Sequence[Strip],
    fates: Sequence[StripReason],
    *,
    rules: Rules,
    count_tokens: CountTokens,
) -> Refinement:
    """Return strips with these fates within the limits, with what belongs to those that are kept, and the evidence.

    Where no passage is graded correct, the nearest are kept whole: which of their lines answers is as doubtful.
    """
    limited = limit(strips, fates, rules, count_tokens)
    completed = complete(
        question, passages, limited, tokens=rules.tokens, count_tokens=count_tokens, whole=nearest_of_doubtful(passages)
    )
    return Refinement(completed, *recompose(passages, completed))


def decompose(question: str, passages: Sequence[GradedPassage], *, scorer: Scorer, rules: Rules) -> tuple[Strip, ...]:
    """Return the strips of passages with their relevance, none kept yet; all are scored in one batch."""
    cut = [split_into_strips(passage.text, rules.mode, window_words=rules.window_words) for passage in passages]
    spans = [(passage, span) for passage, own in zip(passages, cut, strict=True) for span in own]
    logits = np.concatenate([np.zeros(0, dtype=np.float32), *strip_logits(question, passages, cut, scorer=scorer)])
    of_passages = np.array([passage.relevance for passage, _ in spans], dtype=np.float32)
    relevances = scorer.calibration.strips(logits, of_passages)
    return tuple(
        Strip(passage.id, span.start, span.end, span.text, float(logit), float(relevance), kept=False)
        for (passage, span), logit, relevance in zip(spans, logits, relevances, strict=True)
    )


def by_relevance(strips: Sequence[Strip], rules: Rules) -> list[StripReason]:
    """Return each strip's fate by its relevance alone: KEPT, RETENTION, BEST or BELOW.

    The best strip of a passage is always kept. Where fewer than the share `retention` of a passage's strips reach the
    threshold, it is lowered for that passage until they do, or to `lowest`. Neither is below WEAKEST_SHARE of the most
    relevant strip's relevance, unless the threshold is 0: then all are kept.
    """
    weakest = WEAKEST_SHARE * max((strip.relevance for strip in strips), default=0.0) if rules.threshold else 0.0
    rules = dataclasses.replace(rules, threshold=max(rules.threshold, weakest), lowest=max(rules.lowest, weakest))
    of_passage: dict[str, list[float]] = {}
    for strip in strips:
        of_passage.setdefault(strip.passage, []).append(strip.relevance)
    lowered = {passage: _lowered(relevances, rules) for passage, relevances in of_passage.items()}
    fates = []
    with_best: set[str] = set()
    for strip in strips:
        best = strip.passage not in with_best and strip.relevance == max(of_passage[strip.passage])
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


def _lowered(relevances: Sequence[float], rules: Rules) -> float:
    """Return the threshold for a passage whose strips have these relevances."""
    # What a float adds to a product (0.1 * 30 is a little more than 3) must not call for one strip more.
    needed = math.ceil(rules.retention * len(relevances) - 1e-9)
    if needed == 0:
        return rules.threshold
    return min(rules.threshold, max(rules.lowest, sorted(relevances, reverse=True)[needed - 1]))


def limit(
    strips: Sequence[Strip], fates: Sequence[StripReason], rules: Rules, count_tokens: CountTokens
) -> tuple[Strip, ...]:
    """Return the strips with their fates, after what is said twice and what is too much has been dropped.

    The most relevant ones go first. Of each passage the first one stays beyond the limits, unless another passage has
    said the same.
    """
    final = list(fates)
    candidates = sorted(
        (place for place, fate in enumerate(fates) if fate in KEPT), key=lambda place: -strips[place].relevance
    )
    wordings = {place: Wording.of(strips[place].text) for place in candidates}
    lengths = dict(zip(candidates, count_tokens([strips[place].text for place in candidates]), strict=True))
    kept: list[int] = []
    heard: set[str] = set()
    room = rules.tokens
    for place in candidates:
        strip = strips[place]
        first = strip.passage not in heard
        heard.add(strip.passage)
        if any(
            strips[other].passage != strip.passage and say_the_same(wordings[other], wordings[place]) for other in kept
        ):
            final[place] = StripReason.DUPLICATE
            continue
        over = _over(len(kept), room - lengths[place], rules)
        if over and not first:
            final[place] = over
            continue
        if over and final[place] is not StripReason.KEY_POINT:
            final[place] = StripReason.BEST
        kept.append(place)
        room -= lengths[place]
    return tuple(
        dataclasses.replace(strip, kept=fate in KEPT, reason=fate) for strip, fate in zip(strips, final, strict=True)
    )


def _over(kept: int, room_left: int, rules: Rules) -> StripReason | None:
    """Return which limit one strip more would break."""
    if kept >= rules.most:
        return StripReason.OVER_CAP
    return StripReason.OVER_TOKENS if room_left < 0 else None


def mean_embedding(vectors: Vectors, relevances: Sequence[float]) -> Vectors:
    """Return the relevance-weighted mean of kept strips' vectors, sum r·h / sum r, scaled to unit length.

    It stands for a piece of evidence where sets are compared. `vectors` has a row per strip, shape (strips,
    dimension); the result has shape (dimension,). Where the mean is no direction (no relevance, or vectors that cancel
    out) it is the most relevant strip's vector. Raises ValueError when there is no strip.
    """
    if len(vectors) == 0:
        raise ValueError("no strips: a mean needs at least one")
    weights = np.asarray(relevances, dtype=np.float32)
    total = float(weights.sum())
    mean = weights @ vectors / total if total > 0 else np.zeros_like(vectors[0])
    length = float(np.linalg.norm(mean))
    if length < SHORTEST_MEAN:
        mean, length = vectors[int(weights.argmax())], 1.0
    return np.asarray(mean / length, dtype=np.float32)


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
            reason=StripReason.WHOLE if passage in best else StripReason.OVER_CAP,
        )
        for passage in passages
    )
    return Refinement(strips, *recompose(passages, strips))


def recompose(
    passages: Sequence[GradedPassage], strips: Sequence[Strip]
) -> tuple[tuple[Evidence, ...], tuple[Source, ...]]:
    """Return the kept strips as numbered evidence, what belongs together joined, and the sources they come from.

    In reading order: documents by their best passage, and within a document from front to back.
    """
    evidence: list[Evidence] = []
    sources: dict[tuple[str | None, ...], Source] = {}
    for passage in reading_order(passages):
        for run in together(passage, [strip for strip in strips if strip.passage == passage.id]):
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
                    dated=passage.dated,
                ),
            )
            evidence.append(
                Evidence(
                    n=len(evidence) + 1,
                    text=joined(passage, run),
                    passage=passage.id,
                    source=source.id,
                    relevance=max(strip.relevance for strip in run),
                    section=path_of(passage, run),
                    confidence=passage.confidence,
                    rows=rows_of(passage, run),
                )
            )
    return tuple(evidence), tuple(sources.values())


def best_strips(
    strips: Sequence[Strip], evidence: Sequence[Evidence], *, share: float = BEST_SHARE
) -> tuple[Evidence, ...]:
    """Return the most relevant kept strip, and a second one that has a `share` of its relevance, each by itself."""
    best = single_strips(strips, evidence)[:BEST]
    return tuple(piece for piece in best if piece.relevance >= share * best[0].relevance)


def single_strips(strips: Sequence[Strip], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return every kept strip by itself, as evidence under the number that it already has, the most relevant first."""
    singles = []
    for strip in sorted((strip for strip in strips if strip.kept), key=lambda strip: -strip.relevance):
        piece = next((piece for piece in evidence if piece.passage == strip.passage and strip.text in piece.text), None)
        if piece is not None:
            singles.append(dataclasses.replace(piece, text=strip.text, relevance=strip.relevance))
    return singles


def reading_order(passages: Sequence[GradedPassage]) -> list[GradedPassage]:
    """Return the passages by their document's best relevance, and within a document by place.

    Documents that are equally relevant stay in the order given.
    """
    best: dict[str, float] = {}
    for passage in passages:
        where = _where(passage)
        best[where] = max(passage.relevance, best.get(where, 0.0))
    first = {where: place for place, where in enumerate(best)}
    return sorted(passages, key=lambda passage: (-best[_where(passage)], first[_where(passage)], passage.start or 0))


def _where(passage: GradedPassage) -> str:
    return passage.document or passage.url or passage.id


NEVER = frozenset({StripReason.INSTRUCTION, StripReason.HIDDEN})
"""What is no sentence of the document to its readers is not put in by anybody."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person said: sentences by passage and start, and whole passages by their id; True is in, False is out.

    A sentence that is named itself goes by that, and not by its passage.
    """

    sentences: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    passages: Mapping[str, bool] = field(default_factory=dict)

    @property
    def puts_in(self) -> bool:
        """Whether anything is put in."""
        return any([*self.sentences.values(), *self.passages.values()])

    def of(self, strip: Strip) -> bool | None:
        """Return what was said of a strip; None: nothing."""
        own = self.sentences.get((strip.passage, strip.start))
        return self.passages.get(strip.passage) if own is None else own

    def and_then(self, other: Choice) -> Choice:
        """Return both; where they differ, the other."""
        # A passage said of later is meant as a whole.
        kept = {key: said for key, said in self.sentences.items() if key[0] not in other.passages}
        return Choice({**kept, **other.sentences}, {**self.passages, **other.passages})


def apply(strips: Sequence[Strip], passages: Sequence[GradedPassage], choice: Choice) -> Refinement:
    """Return the strips as the choice has them, and the evidence that they make of the passages."""
    chosen = tuple(_as_chosen(strip, choice.of(strip)) for strip in strips)
    named = {strip.passage for strip in chosen}
    return Refinement(chosen, *recompose([passage for passage in passages if passage.id in named], chosen))


def _as_chosen(strip: Strip, said: bool | None) -> Strip:
    if said is None or said == strip.kept or strip.reason in NEVER:
        return strip
    return dataclasses.replace(strip, kept=said, reason=StripReason.PUT_IN if said else StripReason.TAKEN_OUT)
