"""A calibration that was put in force for a collection: what it belongs to and how it was fitted."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.steps.evaluate.calibration import FittedCalibration


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """What a calibration belongs to: the scorer's name, the SHA-256 of its weights, the embedder's name."""

    scorer: str
    weights: str
    embedder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HowFitted:
    """Where a calibration comes from: labels by kind, the criterion of its thresholds, and figures before and after."""

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
    """A calibration that was applied; times in ISO 8601. `undone_at` is None while it is in force, or was replaced."""

    id: int
    collection: str
    identity: ScorerIdentity
    made_at: str
    undone_at: str | None
    calibration: FittedCalibration
    how: HowFitted
