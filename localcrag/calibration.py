"""From a scorer's logits to probabilities: Platt scaling (Platt 1999), with the bi-encoder's cosine as a second input.

The coefficients belong to one scorer model and lie beside it as data (`calibration.json`); this module knows the
formula, not the file. Both kinds of text have their own: whole passages and single-sentence strips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localcrag.datatypes import Thresholds
from localcrag.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = sigmoid(logit * a + cosine * b + bias)."""

    logit: float
    bias: float
    cosine: float = 0.0

    def probabilities(self, logits: Vectors, cosines: Vectors | float = 0.0) -> Vectors:
        """Return probabilities of the shape of `logits`."""
        z = self.logit * logits.astype(np.float64) + self.cosine * np.asarray(cosines, dtype=np.float64) + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -60, 60))), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A scorer's calibration. `fitted` is False for the fallback of a scorer that nobody has calibrated."""

    passage: Logistic
    strip: Logistic
    thresholds: Thresholds
    fitted: bool = True

    def passages(self, logits: Vectors, cosines: Vectors) -> Vectors:
        """Return the relevance of passages from logits and cosines, both of shape (passages,)."""
        return self.passage.probabilities(logits, cosines)

    def strips(self, logits: Vectors) -> Vectors:
        """Return the relevance of strips from logits of shape (strips,)."""
        return self.strip.probabilities(logits)


UNCALIBRATED = FittedCalibration(
    passage=Logistic(logit=1.0, bias=0.0),
    strip=Logistic(logit=1.0, bias=0.0),
    # The paper's, meant for probabilities: with a bare sigmoid they are a guess, and the run says so.
    thresholds=Thresholds(upper=0.7, lower=0.3, strip=0.5),
    fitted=False,
)
"""For a scorer without a calibration: the sigmoid of its logit."""
