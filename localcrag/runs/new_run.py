"""New runs: of a question, and of a person's selection among what an earlier run found."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from localcrag.records.errors import QuestionError
from localcrag.records.run import Run, Turn
from localcrag.steps.condense.condense import leans_on
from localcrag.steps.context import Context
from localcrag.text.words import valid

LONGEST_QUESTION = 4000
"""Characters; beyond it a text is not a question, and the scorer would not see its end."""
FOUND = (
    "standalone_question", "action", "rule", "attempts", "scorer", "thresholds", "passages", "max_relevance",
    "relevance_ratio", "web", "history", "readings", "scope",
)  # fmt: skip
"""What the run of a selection takes over from the run that found it."""


def checked(question: str) -> str:
    """Return a question as it is asked. Raises QuestionError when it is none."""
    question = valid(question).strip()
    if not question:
        raise QuestionError("The question is empty. Write one.")
    if len(question) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are the most. Put long texts into "
            "the collection as a document, and ask about them."
        )
    return question


def new_run(question: str, context: Context, history: Sequence[Turn] = (), replays: str | None = None) -> Run:
    """Return the run of a question before its first step. Raises QuestionError when it is none."""
    question = checked(question)
    now = datetime.now(UTC)
    parts, settings = context.parts, context.settings
    return Run(
        # Sorts by time; the random part keeps two questions of one second apart.
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created_at=now.isoformat(timespec="seconds"),
        collection=settings.collection,
        question=question,
        standalone_question=question,
        preset=settings.preset,
        policy=settings.policy,
        scorer=settings.scorer,
        thresholds=context.thresholds,
        models={"embedder": parts.embedder.name, "relevance": parts.scorer.name, "llm": parts.llm.name},
        settings=settings.of_a_run(),
        history=leans_on(question, history, turns=settings.history_turns),
        replays=replays,
    )


def run_of_selection(before: Run, context: Context) -> Run:
    """Return a new run of the question of `before`, with what that one found."""
    found = {name: getattr(before, name) for name in FOUND}
    return dataclasses.replace(new_run(before.question, context), forced_from=before.run_id, **found)
