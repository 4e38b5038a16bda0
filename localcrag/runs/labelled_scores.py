"""Scores with what is known about them: what a calibration is fitted to, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """A passage that is relevant for a question or not, as the scorer in use scored it.

    `question` tells questions apart. A passage that is not `local` is fitted to, and has no part in the action.
    """

    question: str
    logit: float
    cosine: float
    relevant: bool
    local: bool = True
    overlap: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelledStrip:
    """A strip of a relevant passage that holds the answer or not. `passage` tells passages of a question apart."""

    question: str
    passage: str
    logit: float
    passage_logit: float
    passage_cosine: float
    relevant: bool
    passage_overlap: float = 0.0
