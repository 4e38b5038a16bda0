"""Labelled scores from an evaluation set: retrieved and scored as the app does; no language model.

A passage of a document is relevant when it holds an accepted answer and comes from a document that the set names (where
it names any). One that holds the answer and comes from elsewhere is left out: nobody knows. So is a local one that
holds what only the web is said to hold. A recorded web result is relevant when it holds the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.evaluation.answers import holds
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import ChunkStore, Embedder, Scorer, VectorIndex
from localcrag.runs.evaluation_set import HeldBy, Question
from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip
from localcrag.settings import Settings
from localcrag.steps.condense import condense
from localcrag.steps.evaluate.evaluate import strip_logits
from localcrag.steps.refine.strips import split_into_strips
from localcrag.steps.retrieve.retrieve import retrieve
from localcrag.steps.screen import prompt_injection
from localcrag.steps.web import search


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The parts that retrieve and score: no language model, no web."""

    embedder: Embedder
    scorer: Scorer
    index: VectorIndex
    store: ChunkStore


def score_question(
    question: Question, parts: Retrieval, settings: Settings
) -> tuple[list[LabelledScore], list[LabelledStrip]]:
    """Return the scores of what is retrieved for a question, and of the strips of the relevant local passages.

    A follow-up is understood by rule. Raises ModelError and StoreError.
    """
    asked = standalone(question)
    found = retrieve(
        asked,
        asked,
        k=settings.k,
        candidates=settings.candidates,
        embedder=parts.embedder,
        index=parts.index,
        store=parts.store,
    )
    web = search.to_passages(asked, question.web, embedder=parts.embedder)
    labelled = [(passage, relevant) for passage in (*found, *web) if (relevant := label(passage, question)) is not None]
    # What speaks to the model is not scored in the flow either.
    passages = prompt_injection.screened(passage for passage, _ in labelled)
    logits = parts.scorer.logits(asked, [passage.in_context for passage in passages]).tolist()
    scores = [
        LabelledScore(
            question.id,
            logit,
            passage.cosine,
            relevant,
            local=passage.origin is Origin.LOCAL,
            overlap=passage.overlap or 0.0,
        )
        for (passage, relevant), logit in zip(labelled, logits, strict=True)
    ]
    answering = [
        (passage, score) for passage, score in zip(passages, scores, strict=True) if score.relevant and score.local
    ]
    return scores, _strips(asked, question, answering, parts, settings)


def standalone(question: Question) -> str:
    """Return the question as it stands alone: by rule, since no language model is asked."""
    if not question.history:
        return question.question
    by_rule = condense.by_rule(question.question, question.history)
    return by_rule if by_rule is not None else condense.accept("", question.question, question.history)


def label(passage: Passage, question: Question) -> bool | None:
    """Return whether a passage is relevant; None where the labels do not say."""
    if not holds(passage.text, question.answers):
        return False
    if passage.origin is Origin.WEB:
        return True
    if question.held_by is not HeldBy.DOCUMENTS:
        return None
    named = not question.documents or passage.document in question.documents
    return True if named else None


def _strips(
    asked: str,
    question: Question,
    relevant: Sequence[tuple[Passage, LabelledScore]],
    parts: Retrieval,
    settings: Settings,
) -> list[LabelledStrip]:
    """Return the strips of relevant passages; a passage without a strip that alone holds the answer is left out."""
    cut = [
        split_into_strips(passage.text, settings.strip_mode, window_words=settings.window_words)
        for passage, _ in relevant
    ]
    logits = strip_logits(asked, [passage for passage, _ in relevant], cut, scorer=parts.scorer)
    strips = []
    for number, ((_, score), spans, values) in enumerate(zip(relevant, cut, logits, strict=True)):
        marks = [holds(span.text, question.answers) for span in spans]
        if any(marks):
            strips += [
                LabelledStrip(
                    question.id, str(number), logit, score.logit, score.cosine, mark, passage_overlap=score.overlap
                )
                for logit, mark in zip(values.tolist(), marks, strict=True)
            ]
    return strips
