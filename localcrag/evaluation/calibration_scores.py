"""Labelled scores from an evaluation set, retrieved and scored as in the app, without an LLM.

A passage of a document is relevant if it contains an accepted answer and comes from a document that the set names (if
it names any). A passage that contains the answer but comes from another document is left out, because its relevance is
unknown. The same applies to a local passage with an answer that only the web has according to the labels. A recorded
web result is relevant if it contains the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localcrag.crag import condense
from localcrag.crag import web as search
from localcrag.crag.grading import strip_logits
from localcrag.crag.refine.strips import split_into_strips
from localcrag.crag.retrieve import hybrid_search
from localcrag.crag.screen import injection
from localcrag.evaluation.metrics import contains_answer
from localcrag.records.enums import Origin, ScorerKind
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import Passage
from localcrag.records.protocols import ChunkStore, Embedder, Scorer, VectorIndex
from localcrag.runs.labels import Label, LabelledScore, LabelledStrip
from localcrag.settings import Settings
from localcrag.text.words import overlap


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The parts for retrieval and scoring, without a language model and the web."""

    embedder: Embedder
    scorer: Scorer
    index: VectorIndex
    store: ChunkStore


def score_question(
    question: Question, parts: Retrieval, settings: Settings
) -> tuple[list[LabelledScore], list[LabelledStrip]]:
    """Return the scores of the passages retrieved for a question, and of the strips of relevant local passages.

    A rule makes follow-ups standalone. Raises ModelError and StoreError.
    """
    asked = standalone(question)
    found = hybrid_search(
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
    # As in the flow, prompt injections are removed before scoring.
    passages = injection.screened(passage for passage, _ in labelled)
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
    """Return the standalone question, made by a rule because no language model is used."""
    if not question.history:
        return question.question
    by_rule = condense.rewrite_by_rule(question.question, question.history)
    return by_rule if by_rule is not None else condense.accept("", question.question, question.history)


def label(passage: Passage, question: Question) -> bool | None:
    """Return whether a passage is relevant; None if the labels do not show it."""
    if not contains_answer(passage.text, question.answers):
        return False
    if passage.origin is Origin.WEB:
        return True
    if question.held_by is not AnswerLocation.DOCUMENTS:
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
    """Return the strips of relevant passages, leaving out passages in which no single strip contains the answer."""
    cut = [
        split_into_strips(passage.text, settings.strip_mode, window_words=settings.window_words)
        for passage, _ in relevant
    ]
    logits = strip_logits(asked, [passage for passage, _ in relevant], cut, scorer=parts.scorer)
    strips = []
    for number, ((_, score), spans, values) in enumerate(zip(relevant, cut, logits, strict=True)):
        marks = [contains_answer(span.text, question.answers) for span in spans]
        if any(marks):
            strips += [
                LabelledStrip(
                    question.id, str(number), logit, score.logit, score.cosine, mark, passage_overlap=score.overlap
                )
                for logit, mark in zip(values.tolist(), marks, strict=True)
            ]
    return strips


def scores_of_labels(labels: Iterable[Label], scorer: str) -> tuple[list[LabelledScore], int]:
    """Return the scores of labels, given oldest first, and the number of labels left out.

    A label is left out if it has no score, or a score from another scorer. If a passage was labelled again for the same
    question, the newest label counts.
    """
    kept: dict[tuple[str, str], LabelledScore] = {}
    left_out = 0
    for label in labels:
        own = label.scorer_kind is ScorerKind.CROSS_ENCODER and label.scorer == scorer
        if not own or label.logit is None or label.cosine is None:
            left_out += 1
            continue
        question = label.question.casefold()
        local = label.origin is not Origin.WEB
        kept[(question, label.text)] = LabelledScore(
            question,
            label.logit,
            label.cosine,
            label.good,
            local=local,
            overlap=overlap(label.question, label.text) if label.overlap is None else label.overlap,
        )
    return list(kept.values()), left_out
