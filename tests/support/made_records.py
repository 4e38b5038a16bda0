"""Graded passages and runs as tests need them: what is not given is filled in."""

from __future__ import annotations

from typing import Any

from localcrag.records.enums import Action, Origin
from localcrag.records.passages import GradedPassage, Thresholds, grade
from localcrag.records.run import Run
from localcrag.records.thresholds import REFERENCE


def graded(relevance: float, text: str, **fields: object) -> GradedPassage:
    values: dict[str, object] = {
        "id": f"p{relevance}", "origin": Origin.LOCAL, "document": "a.txt", "text": text, "cosine": 0.5, "logit": 0.0,
        "relevance": relevance, "grade": grade(relevance, REFERENCE),
    }  # fmt: skip
    return GradedPassage(**{**values, **fields})  # type: ignore[arg-type]


def some_run(number: int = 1, **fields: Any) -> Run:
    given: dict[str, Any] = {
        "run_id": f"run-{number}",
        "created_at": f"2026-11-{number:02}T10:00:00+00:00",
        "collection": "default",
        "question": f"question {number}?",
        "standalone_question": f"question {number}?",
        "action": Action.CORRECT,
        "thresholds": Thresholds(0.7, 0.3, 0.5),
    }
    return Run(**{**given, **fields})
