"""Labels: what a person said of a run's answer, passages and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from localcrag.records.enums import Origin, ScorerKind
from localcrag.records.errors import LabelError
from localcrag.records.passages import GradedPassage
from localcrag.records.run import Run
from localcrag.runs import labelled_question
from localcrag.runs.evaluation_set import Question
from localcrag.steps.answer.cite import without_citations
from localcrag.text.decimals import whole_number


class LabelKind(StrEnum):
    """What is labelled: good means a good answer, a relevant passage, a right sentence."""

    ANSWER = "answer"
    PASSAGE = "passage"
    SENTENCE = "sentence"


VERDICTS = {
    LabelKind.ANSWER: ("bad", "good"),
    LabelKind.PASSAGE: ("not relevant", "relevant"),
    LabelKind.SENTENCE: ("wrong", "right"),
}
"""What `good` is called, by kind: (False, True)."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What an answer's label keeps of its run: the question that it would make, and what was found for it.

    `passages` are the ids of all passages of the run, `documents` the names of those that they came from.
    """

    case: Question
    passages: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One label, with the scores of the time.

    `target` is a passage's id within its run, a sentence's number (from 1) in its answer, or "" for the answer.
    `question` stands alone; `text` is what was labelled. `scorer` names the model that graded. `logit`, `cosine`,
    `overlap` and `relevance` are the passage's; of a sentence those of the best strip behind it, its passage's cosine
    and overlap, and the evidence's relevance; None where there was none, or where no model could score. `evidence` is
    the text behind a sentence. `id` is None until it is stored.
    """

    id: int | None = None
    run_id: str
    kind: LabelKind
    target: str
    good: bool
    labelled_at: str
    collection: str
    question: str
    text: str
    origin: Origin | None = None
    document: str | None = None
    page: int | None = None
    url: str | None = None
    evidence: str | None = None
    scorer: str
    scorer_kind: ScorerKind
    logit: float | None = None
    cosine: float | None = None
    overlap: float | None = None
    relevance: float | None = None
    circumstances: Circumstances | None = None

    @property
    def verdict(self) -> str:
        """What was said, in words."""
        return VERDICTS[self.kind][self.good]


def make(run: Run, kind: LabelKind, target: str, good: bool) -> Label:
    """Return a label of what `target` names in the run. Raises LabelError when the run has no such thing."""
    if kind is LabelKind.ANSWER:
        return _of_answer(run, good)
    return _of_passage(run, target, good) if kind is LabelKind.PASSAGE else _of_sentence(run, target, good)


def _of_answer(run: Run, good: bool) -> Label:
    if run.action is None or not run.answer:
        raise LabelError(f"The run {run.run_id} has no answer: it was stopped before. Ask the question again.")
    documents = dict.fromkeys(passage.document for passage in run.passages if passage.document)
    circumstances = Circumstances(
        case=labelled_question.proposed(run),
        passages=tuple(passage.id for passage in run.passages),
        documents=tuple(documents),
    )
    return _label(run, LabelKind.ANSWER, "", good, run.answer, relevance=run.max_relevance, circumstances=circumstances)


def _of_passage(run: Run, target: str, good: bool) -> Label:
    passage = next((passage for passage in run.passages if passage.id == target), None)
    if passage is None:
        raise LabelError(
            f"The run {run.run_id} has no passage “{target}”. `localcrag runs show {run.run_id} --json` has their ids."
        )
    return _label(run, LabelKind.PASSAGE, target, good, passage.text, passage=passage, logit=passage.logit)


def _of_sentence(run: Run, target: str, good: bool) -> Label:
    number = whole_number(target) or 0
    if not 1 <= number <= len(run.support):
        there = f"has sentences 1 to {len(run.support)}" if run.support else "has no checked sentences"
        raise LabelError(f"The answer of {run.run_id} has no sentence {target}: it {there}.")
    support = run.support[number - 1]
    piece = next((piece for piece in run.evidence if piece.n in support.citations), None)
    passage = next((passage for passage in run.passages if piece and passage.id == piece.passage), None)
    behind = labelled_question.strips_behind(run, support)
    logits = [strip.logit for strip in run.strips if behind and strip.text == behind[0]]
    return _label(
        run,
        LabelKind.SENTENCE,
        str(number),
        good,
        without_citations(support.sentence),
        passage=passage,
        logit=logits[0] if logits else None,
        relevance=support.relevance if piece else None,
        evidence=behind[0] if behind else piece.text if piece else None,
    )


def _label(
    run: Run,
    kind: LabelKind,
    target: str,
    good: bool,
    text: str,
    *,
    passage: GradedPassage | None = None,
    logit: float | None = None,
    relevance: float | None = None,
    evidence: str | None = None,
    circumstances: Circumstances | None = None,
) -> Label:
    scored = passage is None or passage.scored
    if passage is not None and relevance is None and kind is LabelKind.PASSAGE:
        relevance = passage.relevance
    return Label(
        run_id=run.run_id,
        kind=kind,
        target=target,
        good=good,
        labelled_at=datetime.now(UTC).isoformat(timespec="seconds"),
        collection=run.collection,
        question=run.standalone_question,
        text=text,
        origin=passage.origin if passage else None,
        document=passage.document if passage else None,
        page=passage.page if passage else None,
        url=passage.url if passage else None,
        evidence=evidence,
        scorer=run.models.get("llm" if run.scorer is ScorerKind.LLM else "relevance", ""),
        scorer_kind=run.scorer,
        logit=logit if scored else None,
        cosine=passage.cosine if passage else None,
        overlap=passage.overlap if passage else None,
        relevance=relevance if scored else None,
        circumstances=circumstances,
    )
