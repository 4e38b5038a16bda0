"""A doubtful question, read by itself and as a follow-up: the documents tell which is meant."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.records.errors import ModelError, StoreError
from localcrag.records.run import Reading, Turn
from localcrag.steps.condense.condense import topic
from localcrag.steps.context import Context
from localcrag.steps.evaluate.evaluate import evaluate
from localcrag.steps.retrieve.retrieve import retrieve
from localcrag.steps.screen import prompt_injection

FEW = 2
"""Passages of each reading that are scored under a time budget."""


def both_readings(question: str, joined: str, history: Sequence[Turn], context: Context) -> tuple[Reading, ...]:
    """Return the question by itself and `joined` with its conversation, one of them kept.

    Each has the relevance that its best passage has to the question as it was asked. With the conversation, the best
    passage is often no more than the answer to the question before, which says nothing of this one. The follow-up is
    kept where its passage is the more relevant of the two, and not INCORRECT.

    Empty where the two cannot be compared: what fails here fails in the steps that follow as well, and is said there.
    """
    if not context.steps.evaluate:
        return ()
    try:
        by_itself, as_follow_up = (_best(read, question, context) for read in (question, joined))
    except (ModelError, StoreError):
        return ()
    follows = as_follow_up > by_itself and as_follow_up >= context.parts.scorer.calibration.thresholds.lower
    return (
        Reading(question, "", by_itself, kept=not follows),
        Reading(joined, topic(history), as_follow_up, kept=follows),
    )


def _best(read: str, question: str, context: Context) -> float:
    """Return the relevance to `question` of the best passage for what it is `read` as; 0 without passages.

    By the relevance model, whatever grades passages otherwise: a language model would be asked for all of them.
    """
    parts, settings = context.parts, context.settings
    found = retrieve(
        read, read, k=FEW if context.budget.limited else settings.k, candidates=settings.candidates,
        embedder=parts.embedder, index=parts.index, store=parts.store, within=context.within,
    )  # fmt: skip
    passages = prompt_injection.screened(found, parts.rules)
    graded = evaluate(read, passages, scorer=parts.scorer, thresholds=context.thresholds)
    if read != question and graded:
        best, _ = max(zip(passages, graded, strict=True), key=lambda pair: pair[1].relevance)
        # Near to what was read, which says what “it” is, and scored by the words that were asked.
        graded = evaluate(question, [best], scorer=parts.scorer, thresholds=context.thresholds)
    return max((passage.relevance for passage in graded), default=0.0)
