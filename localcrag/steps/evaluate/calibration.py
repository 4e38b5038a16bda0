"""Calibration: a scorer's logits become probabilities (Platt 1999, with two more inputs).

They are the bi-encoder's cosine, and the overlap: the share of the question's content words that the passage holds. On
880 questions, half of them without their document, the three together tell passages that answer from others with an AUC
of 0.952, logit and cosine 0.940, the logit alone 0.913 (docs/evaluation.md).

The coefficients belong to one scorer model and lie beside it as data (`calibration.json`); this module knows the
formula, not the file. Both kinds of text have their own: whole passages, and single-sentence strips of passages that
help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localcrag.records.passages import Thresholds
from localcrag.records.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = sigmoid(logit * a + cosine * b + overlap * c + bias).

    Raises ValueError unless all four are finite and a higher logit means a higher probability.
    """

    logit: float
    bias: float
    cosine: float = 0.0
    overlap: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in (self.logit, self.bias, self.cosine, self.overlap)):
            raise ValueError("logit, bias, cosine and overlap must be finite numbers")
        if self.logit <= 0:
            raise ValueError(f"logit ({self.logit:g}) must be above 0: a better passage has a higher logit")

    def probabilities(
        self, logits: Vectors, cosines: Vectors | float = 0.0, overlaps: Vectors | float = 0.0
    ) -> Vectors:
        """Return probabilities of the shape of `logits`."""
        z = self.logit * logits.astype(np.float64) + self.cosine * np.asarray(cosines, dtype=np.float64)
        z += self.overlap * np.asarray(overlaps, dtype=np.float64) + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -60, 60))), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A scorer's calibration. `fitted` is False for the fallback of a scorer that nobody has calibrated.

    `cosines_of` names the embedder whose cosines it was fitted to, None where it holds beside any.

    Raises ValueError for thresholds that are not in 0..1 or out of order.
    """

    passage: Logistic
    strip: Logistic
    thresholds: Thresholds
    fitted: bool = True
    cosines_of: str | None = None

    def __post_init__(self) -> None:
        chosen = self.thresholds
        if not all(0.0 <= value <= 1.0 for value in (chosen.upper, chosen.lower, chosen.strip)):
            raise ValueError("the thresholds upper, lower and strip must be within 0..1")
        if chosen.lower > chosen.upper:
            raise ValueError(f"the threshold lower ({chosen.lower:g}) must not be above upper ({chosen.upper:g})")

    def passages(self, logits: Vectors, cosines: Vectors, overlaps: Vectors) -> Vectors:
        """Return the relevance of passages from logits, cosines and overlaps, each of shape (passages,)."""
        return self.passage.probabilities(logits, cosines, overlaps)

    def strips(self, logits: Vectors, passage_relevances: Vectors) -> Vectors:
        """Return the relevance of strips from their logits and their passages' relevances, both of shape (strips,).

        That the passage helps, times that, if it does, this strip of it does: never more than the passage's.
        """
        return self.strip.probabilities(logits) * passage_relevances


UNCALIBRATED = FittedCalibration(
    passage=Logistic(logit=1.0, bias=0.0),
    strip=Logistic(logit=1.0, bias=0.0),
    # The paper's, meant for probabilities: with a bare sigmoid they are a guess, and the run says so.
    thresholds=Thresholds(upper=0.7, lower=0.3, strip=0.5),
    fitted=False,
)
"""For a scorer without a calibration: the sigmoid of its logit."""
