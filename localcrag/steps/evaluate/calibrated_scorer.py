"""A scorer with the calibration of one collection; its logits stay the scorer's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.protocols import Calibration, Scorer, Vectors
from localcrag.text.span import Span


@dataclass(frozen=True, slots=True)
class CalibratedScorer:
    """Stands before a scorer and answers for its calibration alone."""

    scorer: Scorer
    calibration: Calibration

    @property
    def name(self) -> str:
        """The scorer's."""
        return self.scorer.name

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return the scorer's logits, shape (len(texts),). Raises ModelError."""
        return self.scorer.logits(question, texts)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return the scorer's logits of strips. Raises ModelError."""
        return self.scorer.strip_logits(question, texts, strips)
