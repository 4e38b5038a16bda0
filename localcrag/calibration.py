"""From a scorer's logits to probabilities: Platt scaling (Platt 1999) with a second input.

For a passage that is the bi-encoder's cosine, for a strip the logit of its passage.

The coefficients belong to one scorer model and lie beside it as data (`calibration.json`); this module knows the
formula, not the file. Both kinds of text have their own: whole passages and single-sentence strips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localcrag.datatypes import Thresholds
from localcrag.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = sigmoid(a * logit + b * second + bias), with the coefficients a (`logit`) and b (`second`).

    Raises ValueError unless all three are finite and a higher logit means a higher probability.
    """

    logit: float
    bias: float
    second: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in (self.logit, self.bias, self.second)):
            raise ValueError("logit, bias and second must be finite numbers")
        if self.logit <= 0:
            raise ValueError(f"logit ({self.logit:g}) must be above 0: a better passage has a higher logit")

    def probabilities(self, logits: Vectors, second: Vectors) -> Vectors:
        """Return probabilities from two inputs of the same shape, and of that shape."""
        z = self.logit * logits.astype(np.float64) + self.second * second.astype(np.float64) + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -60, 60))), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A scorer's calibration. `fitted` is False for the fallback of a scorer that nobody has calibrated.

    Raises ValueError for thresholds that are not in 0..1 or out of order.
    """

    passage: Logistic
    strip: Logistic
    thresholds: Thresholds
    fitted: bool = True

    def __post_init__(self) -> None:
        chosen = self.thresholds
        if not all(0.0 <= value <= 1.0 for value in (chosen.upper, chosen.lower, chosen.strip)):
            raise ValueError("the thresholds upper, lower and strip must be within 0..1")
        if chosen.lower > chosen.upper:
            raise ValueError(f"the threshold lower ({chosen.lower:g}) must not be above upper ({chosen.upper:g})")

    def passages(self, logits: Vectors, cosines: Vectors) -> Vectors:
        """Return the relevance of passages from logits and cosines, both of shape (passages,)."""
        return self.passage.probabilities(logits, cosines)

    def strips(self, logits: Vectors, passage_logits: Vectors) -> Vectors:
        """Return the relevance of strips from their logits and those of their passages, both of shape (strips,)."""
        return self.strip.probabilities(logits, passage_logits)


UNCALIBRATED = FittedCalibration(
    passage=Logistic(logit=1.0, bias=0.0),
    strip=Logistic(logit=1.0, bias=0.0),
    # The paper's, meant for probabilities: with a bare sigmoid they are a guess, and the run says so.
    thresholds=Thresholds(upper=0.7, lower=0.3, strip=0.5),
    fitted=False,
)
"""For a scorer without a calibration: the sigmoid of its logit."""
