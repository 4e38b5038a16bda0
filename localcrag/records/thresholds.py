"""Presets of thresholds, and the calibration from a scorer's logits to probabilities (Platt 1999).

Presets give thresholds on the scale of CRAG's usual 0.7 / 0.3 / 0.5. A real threshold depends on the scorer and its
calibration. So a preset shifts the scorer's own thresholds by the difference, in log-odds, between its numbers and 0.7
/ 0.3 / 0.5. For a scorer whose own thresholds are 0.7 / 0.3 / 0.5, the preset's numbers apply unchanged.

The calibration is a logistic function of the scorer's logit, the bi-encoder's cosine, and the overlap: the share of the
question's content words that the passage contains. On 880 questions, half of them without their document, the three
together separate passages that answer from others with an AUC of 0.952; logit and cosine reach 0.940, the logit alone
0.913 (docs/lab/evaluation.md).

The coefficients belong to one scorer model and are stored next to it (`calibration.json`); this module contains the
formula and does not read the file. Whole passages have one set of coefficients, single-sentence strips of helpful
passages another.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localcrag.records.enums import Policy, Preset, WebMode
from localcrag.records.passages import Thresholds

Vectors = NDArray[np.float32]
REFERENCE = Thresholds(upper=0.7, lower=0.3, strip=0.5)
"""Thresholds that define the scale of the presets."""
LOWEST_STRIP = 0.1
"""Lowest strip threshold that minimum retention may use, on the presets' scale."""


@dataclass(frozen=True, slots=True)
class PresetRules:
    """The settings of a preset; None leaves a setting unchanged. `purpose` says in one sentence whom it is for."""

    purpose: str
    thresholds: Thresholds = REFERENCE
    policy: Policy = Policy.MAX
    k: int | None = None
    retry: bool | None = None
    web_results: int | None = None
    web: WebMode | None = None


PRESETS = {
    Preset.GENERAL: PresetRules("For everyday questions about documents of any kind."),
    Preset.MEDICAL: PresetRules(
        "For questions where a wrong answer does harm: passages must be more certain before the documents alone "
        "are used.",
        Thresholds(upper=0.8, lower=0.4, strip=0.6),
        k=8,
    ),
    Preset.LEGAL: PresetRules(
        "For contracts, rules and policies, where the exact clause matters.",
        Thresholds(upper=0.75, lower=0.35, strip=0.55),
        k=8,
    ),
    Preset.NEWS: PresetRules(
        "For topics that change: weaker matches count, and more web results are read.",
        Thresholds(upper=0.5, lower=0.2, strip=0.4),
        web_results=8,
    ),
    Preset.FAST: PresetRules(
        "For slow computers and quick answers: fewer passages, no second search, fewer web results.",
        Thresholds(upper=0.5, lower=0.2, strip=0.3),
        k=4,
        retry=False,
        web_results=3,
    ),
    Preset.STRICT: PresetRules(
        "For those who prefer “not found” to a doubtful answer: two passages must support it.",
        Thresholds(upper=0.8, lower=0.4, strip=0.6),
        policy=Policy.COUNT,
        k=8,
    ),
    Preset.BALANCED: PresetRules(
        "For broad questions that need several passages: the web is searched, too, if too few are relevant.",
        policy=Policy.RATIO,
        k=8,
    ),
    Preset.LENIENT: PresetRules(
        "For exploring: weak matches are shown rather than left out.",
        Thresholds(upper=0.5, lower=0.15, strip=0.3),
        k=8,
    ),
    Preset.DOCUMENTS_ONLY: PresetRules(
        "For confidential collections: the web is never searched, even if the documents do not answer.",
        web=WebMode.NEVER,
    ),
}


def shift_thresholds(thresholds: Thresholds, own: Thresholds) -> Thresholds:
    """Return a preset's thresholds on the scale of a scorer whose own thresholds are `own`."""
    upper = _shifted(own.upper, thresholds.upper, REFERENCE.upper)
    lower = _shifted(own.lower, thresholds.lower, REFERENCE.lower)
    return Thresholds(upper, min(lower, upper), _shifted(own.strip, thresholds.strip, REFERENCE.strip))


def uncalibrated_grade_thresholds(strips_by: Thresholds) -> Thresholds:
    """Return the thresholds for a language model that grades passages: CRAG's, because it has no calibration.

    With these thresholds, a grade counts if the model's confidence is at least 0.4; otherwise it is ambiguous. Strips
    are scored by the cross-encoder, whose thresholds are `strips_by`.
    """
    return dataclasses.replace(REFERENCE, strip=strips_by.strip)


def lowest_strip(own: Thresholds) -> float:
    """Return the lowest strip threshold that minimum retention may use, on a scorer's scale."""
    return _shifted(own.strip, LOWEST_STRIP, REFERENCE.strip)


def _shifted(own: float, wanted: float, reference: float) -> float:
    if own in (0.0, 1.0):
        return own  # 0 and 1 have no finite log-odds; such a threshold passes everything or nothing under any preset.
    odds = own / (1 - own) * (wanted / (1 - wanted)) / (reference / (1 - reference))
    return round(odds / (1 + odds), 4)


@dataclass(frozen=True, slots=True)
class Logistic:
    """The function p = sigmoid(logit * a + cosine * b + overlap * c + bias); the fields are its coefficients.

    Raises ValueError unless all four are finite and the coefficient of the logit is positive.
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
        """Return the probabilities, in the same shape as `logits`."""
        z = self.logit * logits.astype(np.float64) + self.cosine * np.asarray(cosines, dtype=np.float64)
        z += self.overlap * np.asarray(overlaps, dtype=np.float64) + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -60, 60))), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A scorer's calibration. `fitted` is False for the fallback of a scorer without a calibration.

    `cosines_of` names the embedding model whose cosines it was fitted to; None if it is valid with any.

    Raises ValueError for thresholds outside 0..1 or out of order.
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

        It is the probability that the passage helps, times the probability that the strip helps if the passage does,
        so it never exceeds the passage's relevance.
        """
        return self.strip.probabilities(logits) * passage_relevances


UNCALIBRATED = FittedCalibration(
    passage=Logistic(logit=1.0, bias=0.0),
    strip=Logistic(logit=1.0, bias=0.0),
    # CRAG's thresholds are meant for probabilities. With an uncalibrated sigmoid they are a guess; the run warns so.
    thresholds=Thresholds(upper=0.7, lower=0.3, strip=0.5),
    fitted=False,
)
"""Fallback for a scorer without a calibration: the sigmoid of its logit."""


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """The models that a calibration belongs to: scorer name, SHA-256 of its weights, embedding model name."""

    scorer: str
    weights: str
    embedder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOrigin:
    """How a calibration was fitted: counts of labels, the criterion for thresholds, and figures before and after."""

    criterion: str
    passages: int
    relevant: int
    questions: int
    strips: int
    from_set: str | None = None
    from_use: int = 0
    figures: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration that was applied; times are ISO 8601. `undone_at` is None if it is active or was replaced."""

    id: int
    collection: str
    identity: ScorerIdentity
    made_at: str
    undone_at: str | None
    calibration: FittedCalibration
    how: CalibrationOrigin
