"""Presets: named sets of policy, thresholds, k and web use, fitted to any scorer.

The thresholds are written on the scale of CRAG's 0.7 / 0.3 / 0.5, as such systems name them. A threshold belongs to one
scorer and its calibration, so a preset is applied as what it asks for beyond those: the same distance, in log-odds,
from the scorer's own thresholds. For a scorer whose own are 0.7 / 0.3 / 0.5 they are the numbers themselves.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from localcrag.records.enums import Policy, Preset, WebMode
from localcrag.records.passages import Thresholds

REFERENCE = Thresholds(upper=0.7, lower=0.3, strip=0.5)
"""Of the scale that the presets are written on."""
LOWEST_STRIP = 0.1
"""On that scale: what is less relevant is not kept to fill a share."""


@dataclass(frozen=True, slots=True)
class PresetRules:
    """What a preset chooses; None leaves a setting as it is. `purpose` says in one sentence whom it is for."""

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
        "For questions where a wrong answer harms: more certainty before the documents alone are believed.",
        Thresholds(upper=0.8, lower=0.4, strip=0.6),
        k=8,
    ),
    Preset.LEGAL: PresetRules(
        "For contracts, rules and policies, where the exact clause matters.",
        Thresholds(upper=0.75, lower=0.35, strip=0.55),
        k=8,
    ),
    Preset.NEWS: PresetRules(
        "For matters that change: weaker matches count, and more of the web is read.",
        Thresholds(upper=0.5, lower=0.2, strip=0.4),
        web_results=8,
    ),
    Preset.FAST: PresetRules(
        "For slow machines and quick looks: fewer passages, no second look, fewer web results.",
        Thresholds(upper=0.5, lower=0.2, strip=0.3),
        k=4,
        retry=False,
        web_results=3,
    ),
    Preset.STRICT: PresetRules(
        "For those who would rather read “not found” than a doubtful answer: two passages must carry it.",
        Thresholds(upper=0.8, lower=0.4, strip=0.6),
        policy=Policy.COUNT,
        k=8,
    ),
    Preset.BALANCED: PresetRules(
        "For broad questions that several passages answer together: the web joins in when too few are relevant.",
        policy=Policy.RATIO,
        k=8,
    ),
    Preset.LENIENT: PresetRules(
        "For exploring: weak matches are shown rather than left out.",
        Thresholds(upper=0.5, lower=0.15, strip=0.3),
        k=8,
    ),
    Preset.DOCUMENTS_ONLY: PresetRules(
        "For confidential collections: the web is never asked, whatever the documents lack.", web=WebMode.NEVER
    ),
}


def fit(thresholds: Thresholds, own: Thresholds) -> Thresholds:
    """Return a preset's thresholds on the scale of a scorer whose own ones are `own`."""
    upper = _moved(own.upper, thresholds.upper, REFERENCE.upper)
    lower = _moved(own.lower, thresholds.lower, REFERENCE.lower)
    return Thresholds(upper, min(lower, upper), _moved(own.strip, thresholds.strip, REFERENCE.strip))


def of_uncalibrated_grades(strips_by: Thresholds) -> Thresholds:
    """Return the thresholds of a language model that grades passages: CRAG's, for want of a calibration.

    A grade counts when the model is sure of it to 0.4, else it is ambiguous. Strips are the cross-encoder's, whose
    thresholds are `strips_by`.
    """
    return dataclasses.replace(REFERENCE, strip=strips_by.strip)


def lowest_strip(own: Thresholds) -> float:
    """Return the lowest that minimum retention may bring the threshold strip to, on a scorer's scale."""
    return _moved(own.strip, LOWEST_STRIP, REFERENCE.strip)


def _moved(own: float, wanted: float, reference: float) -> float:
    if own in (0.0, 1.0):
        return own  # No log-odds: such a threshold lets everything through, or nothing, and goes on doing so.
    odds = own / (1 - own) * (wanted / (1 - wanted)) / (reference / (1 - reference))
    return round(odds / (1 + odds), 4)
