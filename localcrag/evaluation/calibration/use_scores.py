"""Labelled scores from the labels that people gave to passages, on the page or the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from localcrag.records.enums import Origin, ScorerKind
from localcrag.runs.labelled_scores import LabelledScore
from localcrag.text.words import overlap


class PassageLabel(Protocol):
    """A label of a passage, with the scores of the time; `logit` is None where no model could score."""

    @property
    def question(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def good(self) -> bool: ...
    @property
    def origin(self) -> Origin | None: ...
    @property
    def scorer(self) -> str: ...
    @property
    def scorer_kind(self) -> ScorerKind: ...
    @property
    def logit(self) -> float | None: ...
    @property
    def cosine(self) -> float | None: ...
    @property
    def overlap(self) -> float | None: ...


def scores_of_labels(labels: Iterable[PassageLabel], scorer: str) -> tuple[list[LabelledScore], int]:
    """Return the scores of labels, given oldest first, and how many were left out for having those of another scorer.

    Of a passage that was labelled for the same question again, the newest label counts.
    """
    kept: dict[tuple[str, str], LabelledScore] = {}
    left_out = 0
    for label in labels:
        own = label.scorer_kind is ScorerKind.CROSS_ENCODER and label.scorer == scorer
        if not own or label.logit is None or label.cosine is None:
            left_out += 1
            continue
        question = label.question.casefold()
        local = label.origin is not Origin.WEB
        kept[(question, label.text)] = LabelledScore(
            question,
            label.logit,
            label.cosine,
            label.good,
            local=local,
            overlap=overlap(label.question, label.text) if label.overlap is None else label.overlap,
        )
    return list(kept.values()), left_out
