"""Draw a sample of the labelled questions, list the pairs to score, and return scores as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.relevance.data import RANKED, SETS, Asked, LabelledSet, Question, holds, load_set, retrieve, sentences, shuffle
from lab.relevance.rows import Rows
from lab.relevance.scores import KeptScores, Pair, kept_vectors
from localcrag.evaluation.curves import Floats, Marks
from localcrag.records.protocols import Embedder
from localcrag.settings import Settings
from localcrag.text.sentences import Span
from localcrag.text.words import overlap

RETRIEVED: int = Settings.model_fields["k"].default
"""Passages that the app scores for a question by default."""
OTHERS = 2
"""Passages whose strips are measured in addition to the own one."""


@dataclass(frozen=True, slots=True)
class Strips:
    """The sentences of a passage, which of them contain the answer, and whether it is the question's own passage."""

    question: Question
    passage: int
    text: str
    spans: tuple[Span, ...]
    marks: tuple[bool, ...]

    @property
    def own(self) -> bool:
        return self.passage == self.question.own


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions and passages of one set that are measured.

    `strips` has for each question the sentences of its own passage, and of the OTHERS nearest ones without its answer.
    Questions whose answer is in no sentence of their passage (yes or no, or other wordings) are left out.
    """

    labelled: LabelledSet
    asked: tuple[Asked, ...]
    strips: tuple[Strips, ...]

    def texts(self, asked: Asked) -> list[str]:
        """Return the texts of a question's nearest passages, best first."""
        return [self.labelled.passages[number] for number in asked.nearest]

    def own(self, question: Question) -> str:
        return self.labelled.passages[question.own]

    def pairs(self) -> list[Pair]:
        """Return every pair of question and text that must be scored."""
        scored = [(asked.question.text, text) for asked in self.asked for text in self.texts(asked)]
        scored += [(one.question.text, span.text) for one in self.strips if one.own for span in one.spans]
        return scored + [(one.question.text, one.text) for one in self.strips]

    def compute(self, scores: KeptScores) -> None:
        """Score all pairs that are not cached. Raises ModelError."""
        scores.compute(self.pairs())
        scores.compute_strips([(one.question.text, one.text, one.spans) for one in self.strips])


def take(
    folder: Path, embedder: Embedder, work: Path, *, questions: int, seed: int, last: bool = False
) -> list[Sample]:
    """Return a sample of every set: `questions` of each, and 1.5 times as many for strips. Raises DataError.

    `last` takes them from the other end of the shuffled order, which gives other questions if there are enough.
    """
    samples = []
    for name in SETS:
        labelled = load_set(folder, name)
        order = shuffle(labelled.questions, seed)[:: -1 if last else 1]
        chosen = order[:questions]
        asked = retrieve(
            chosen,
            kept_vectors(work, embedder, [question.text for question in chosen]),
            kept_vectors(work, embedder, labelled.passages),
        )
        nearest = {one.question: one.nearest for one in asked}
        strips: list[Strips] = []
        for question in order[: questions * 3 // 2]:
            text = labelled.passages[question.own]
            spans, marks = sentences(text, question.answers)
            if not any(marks):
                continue
            strips.append(Strips(question, question.own, text, tuple(spans), tuple(marks)))
            others = [number for number in nearest.get(question, ()) if number != question.own]
            clear = [number for number in others if not holds(labelled.passages[number], question.answers)]
            for number in clear[:OTHERS]:
                other = labelled.passages[number]
                spans, _ = sentences(other, ())
                strips.append(Strips(question, number, other, tuple(spans), (False,) * len(spans)))
        samples.append(Sample(labelled, tuple(asked), tuple(strips)))
    return samples


@dataclass(frozen=True)
class Ranking:
    """The nearest passages of a set's questions, shape (questions, passages), best cosine first.

    `own` marks the question's own passage. `unclear` marks others that contain an accepted answer: they were not
    checked, and most do not answer the question ("French", "1901").
    """

    logits: Floats
    cosines: Floats
    overlaps: Floats
    own: Marks
    unclear: Marks

    def among(self, *, there: bool, most: int = RANKED) -> Marks:
        """Mark the `most` best passages; unless `there`, without the own ones."""
        allowed = np.ones_like(self.own) if there else ~self.own
        return np.asarray(allowed & (np.cumsum(allowed, axis=1) <= most))

    def best(self, values: Floats, *, there: bool, most: int = RANKED) -> Floats:
        """Return each question's best value among the passages of `among`, shape (questions,)."""
        return np.asarray(np.where(self.among(there=there, most=most), values, -np.inf).max(axis=1))

    def clear(self, most: int = RANKED) -> Marks:
        """Mark the questions without unclear passages among their `most` best, shape (questions,)."""
        return np.asarray(~(self.unclear & self.among(there=False, most=most)).any(axis=1))

    def as_retrieved(self, most: int = RETRIEVED) -> Marks:
        """Mark the passages that a calibration is fitted to and measured on: those that the app scores.

        They are the `most` best passages, without the own one for every second question, and without unclear ones.
        """
        odd = (np.arange(len(self.own)) % 2 == 1)[:, None]
        kept = np.where(odd, self.among(there=True, most=most), self.among(there=False, most=most))
        return np.asarray(kept & ~self.unclear)


def rank(sample: Sample, scores: KeptScores) -> Ranking:
    """Return a sample's scores and marks as arrays."""
    return Ranking(
        np.array([scores.of(asked.question.text, sample.texts(asked)) for asked in sample.asked]),
        np.array([asked.cosines for asked in sample.asked]),
        np.array([[overlap(asked.question.text, text) for text in sample.texts(asked)] for asked in sample.asked]),
        np.array([[number == asked.question.own for number in asked.nearest] for asked in sample.asked]),
        np.array(
            [
                [
                    number != asked.question.own and holds(text, asked.question.answers)
                    for number, text in zip(asked.nearest, sample.texts(asked), strict=True)
                ]
                for asked in sample.asked
            ]
        ),
    )


def passage_rows(rankings: Sequence[Ranking]) -> Rows:
    """Return the rows for fitting a calibration for passages: logit, cosine and overlap."""
    parts = []
    for number, ranking in enumerate(rankings):
        kept = ranking.as_retrieved()
        features = np.stack([ranking.logits[kept], ranking.cosines[kept], ranking.overlaps[kept]], axis=1)
        parts.append(Rows(features, ranking.own[kept], np.nonzero(kept)[0], np.full(len(features), number)))
    return _joined(parts)


def best_rows(rankings: Sequence[Ranking], relevances: Sequence[Floats], *, any_own: bool) -> Rows:
    """Return the best relevance of each question's retrieved passages, with its own passage there and removed.

    A row is marked if that best passage is the own one or, with `any_own`, if the own one is among the passages. The
    relevance is the first feature; the second is not used. Questions with unclear passages are left out.
    """
    parts = []
    for number, (ranking, values) in enumerate(zip(rankings, relevances, strict=True)):
        clear = np.flatnonzero(ranking.clear(RETRIEVED))
        for there in (True, False):
            among = ranking.among(there=there, most=RETRIEVED)[clear]
            kept = np.where(among, values[clear], -np.inf)
            own = ranking.own[clear] & among
            marks = np.any(own, axis=1) if any_own else np.asarray(own[np.arange(len(clear)), kept.argmax(axis=1)])
            features = np.stack([kept.max(axis=1), np.zeros(len(clear))], axis=1)
            parts.append(Rows(features, marks, clear, np.full(len(clear), number)))
    return _joined(parts)


def strip_rows(samples: Sequence[Sample], scores: KeptScores, *, alone: bool = False) -> Rows:
    """Return the strips of the own passages for fitting a calibration; the second feature is not used.

    With `alone`, the logits are those of strips that are scored alone, as by a cross-encoder without a place head.
    """
    parts = []
    for number, sample in enumerate(samples):
        for at, one in enumerate(one for one in sample.strips if one.own):
            asked, count = one.question.text, len(one.spans)
            if alone:
                logits = scores.of(asked, [span.text for span in one.spans])
            else:
                logits = scores.of_strips(asked, one.text, one.spans)
            features = np.stack([logits, np.zeros(count)], axis=1)
            parts.append(Rows(features, np.array(one.marks), np.full(count, at), np.full(count, number)))
    return _joined(parts)


def refined_strips(samples: Sequence[Sample], relevances: Sequence[Floats], scores: KeptScores) -> tuple[Rows, Marks]:
    """Return the strips of ranked passages as the app refines them, and which of them are from own passages.

    The features are the strip's logit and its passage's relevance. `relevances` has those of each set's ranking.
    """
    parts, own = [], []
    for number, (sample, values) in enumerate(zip(samples, relevances, strict=True)):
        places = {asked.question: at for at, asked in enumerate(sample.asked)}
        for one in sample.strips:
            at = places.get(one.question)
            if at is None or not one.spans or one.passage not in sample.asked[at].nearest:
                continue
            count = len(one.spans)
            logits = scores.of_strips(one.question.text, one.text, one.spans)
            whole = np.full(count, values[at, sample.asked[at].nearest.index(one.passage)])
            features = np.stack([logits, whole], axis=1)
            parts.append(Rows(features, np.array(one.marks), np.full(count, at), np.full(count, number)))
            own.append(np.full(count, one.own))
    return _joined(parts), np.concatenate(own)


def _joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all sets, one after the other."""
    return Rows(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.marks for part in parts]),
        np.concatenate([part.questions for part in parts]),
        np.concatenate([part.sets for part in parts]),
    )
