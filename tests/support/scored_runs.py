"""Stored runs with chosen relevances, as if so many questions had been asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from localcrag.records.enums import Action, Grade, Origin, ScorerKind
from localcrag.records.passages import GradedPassage, Thresholds, grade
from localcrag.records.run import Run, StepCost
from localcrag.records.thresholds import Logistic

THRESHOLDS = Thresholds(upper=0.33, lower=0.05, strip=0.06)
COSINE = OVERLAP = 0.5


def logit_of(relevance: float, calibration: Logistic) -> float:
    """Return the logit that the calibration makes this relevance of, at COSINE and OVERLAP."""
    odds = math.log(relevance / (1 - relevance))
    return (odds - calibration.bias - calibration.cosine * COSINE - calibration.overlap * OVERLAP) / calibration.logit


def scored_run(
    number: int,
    relevances: Sequence[float],
    calibration: Logistic,
    *,
    question: str | None = None,
    web: Sequence[float] = (),
    action: Action | None = Action.CORRECT,
    model: str = "relevance-v3",
    scorer: ScorerKind = ScorerKind.CROSS_ENCODER,
    scored: bool = True,
    replays: str | None = None,
    collection: str = "default",
) -> Run:
    """Return a run whose local passages have these relevances by `calibration`, and those of the web likewise."""
    origins = [Origin.LOCAL] * len(relevances) + [Origin.WEB] * len(web)
    passages = tuple(
        GradedPassage(
            id=f"{origin}-{at}",
            origin=origin,
            text="The ferry leaves from the north pier.",
            document="ferry.md" if origin is Origin.LOCAL else None,
            url=None if origin is Origin.LOCAL else "https://ferry.example/",
            cosine=COSINE,
            overlap=OVERLAP,
            logit=logit_of(relevance, calibration),
            relevance=relevance,
            grade=grade(relevance, THRESHOLDS) if scored else Grade.AMBIGUOUS,
            scored=scored,
        )
        for at, (origin, relevance) in enumerate(zip(origins, (*relevances, *web), strict=True))
    )
    asked = question or f"When does ferry {number} leave?"
    return Run(
        run_id=f"20260101-{number:06}-abcdef",
        created_at=f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}+00:00",
        collection=collection,
        question=asked,
        standalone_question=asked,
        action=action,
        scorer=scorer,
        thresholds=THRESHOLDS,
        passages=passages,
        models={"relevance": model, "llm": "some-llm"},
        replays=replays,
        steps=(StepCost("evaluate", 0.5),),
    )
