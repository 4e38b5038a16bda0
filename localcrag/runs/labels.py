"""Labels: people's verdicts on a run's answer, passages and sentences, and the evaluation question.

An evaluation question is a proposal, made from the sentences that were verified during the run; a person accepts,
changes or rejects it. A label keeps the scores of its run, so that a calibration can be fitted to labels
(LabelledScore, LabelledStrip). This module does not depend on a store or the app.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from localcrag.crag.answer import layout
from localcrag.crag.refine.refine import MAX_BEST_STRIPS
from localcrag.records.enums import Action, Origin, ScorerKind
from localcrag.records.errors import LabelError
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import Evidence, cited, without_citations
from localcrag.records.run import Run, Support
from localcrag.text.translation import whole_number
from localcrag.text.words import one_line


@dataclass(frozen=True, slots=True)
class Pin:
    """A question to ask again after a change; `run_id` is the run that it was made from."""

    run_id: str
    pinned_at: str
    collection: str
    question: Question


def propose_question(run: Run) -> Question:
    """Return the evaluation question for a run, with its accepted answers; its id is the run's.

    The accepted answers are the strips that the answer quotes, if none of its sentences is backed, or if it quotes the
    best strip without stating it. Otherwise they are its fully backed sentences, and the best kept strip behind each;
    if there are neither, the best strip of its citations. The shortest come first. A run without an answer makes a
    question that nothing answers, unless the action was CORRECT: then a model or time was lacking.
    """
    without_person = run.without_answer and run.action is not Action.CORRECT
    answers, pieces = ((), ()) if (run.uncertain and run.without_answer) or without_person else _accepted(run)
    sources = [source for source in run.sources if source.id in {piece.source for piece in pieces}]
    held_by = AnswerLocation.NOWHERE if without_person else AnswerLocation.DOCUMENTS
    if sources and all(source.origin is Origin.WEB for source in sources):
        held_by = AnswerLocation.WEB
    names = dict.fromkeys(source.document for source in sources if source.document)
    return Question(
        id=run.run_id,
        question=run.question,
        held_by=held_by,
        answers=answers,
        documents=tuple(names) if held_by is AnswerLocation.DOCUMENTS else (),
        web=run.web.results,
        history=run.history,
    )


def with_answers(case: Question, answers: Sequence[str]) -> Question:
    """Return a question with a person's own accepted answers; if there are none, nothing answers the question."""
    accepted = tuple(dict.fromkeys(text for answer in answers if (text := one_line(answer))))
    if not accepted:
        return dataclasses.replace(case, answers=(), documents=(), held_by=AnswerLocation.NOWHERE)
    held_by = AnswerLocation.DOCUMENTS if case.held_by is AnswerLocation.NOWHERE else case.held_by
    return dataclasses.replace(case, answers=accepted, held_by=held_by)


def supporting_strips(run: Run, support: Support) -> tuple[str, ...]:
    """Return the kept strips of the evidence that a sentence cites, most relevant first."""
    return _strips_in_evidence(run, [piece for piece in run.evidence if piece.n in support.citations])


def _accepted(run: Run) -> tuple[tuple[str, ...], tuple[Evidence, ...]]:
    """Return the accepted answers, shortest first, and the evidence that contains them."""
    shown = cited(run.answer, run.evidence)
    backed = [support for support in run.support if support.shown and support.supported]
    # In a contradiction both sides are quoted, so neither is the answer.
    strips = () if run.conflicts else _strips_in_evidence(run, shown)
    quoted = [strip for strip in strips if run.answered and layout.strip_markdown(strip) in run.answer]
    quoted = quoted[:MAX_BEST_STRIPS]
    # If a sentence already says the best strip, the quotation below it only shows where that is from.
    says = " ".join(one_line(without_citations(support.sentence)) for support in backed)
    if quoted and (not backed or (strips[0] in quoted and one_line(strips[0]).rstrip(".!?") not in says)):
        found, pieces = quoted, [piece for piece in shown if any(strip in piece.text for strip in quoted)]
    elif backed:
        found = [without_citations(support.sentence) for support in backed]
        found += [behind[0] for support in backed if (behind := supporting_strips(run, support))]
        pieces = [piece for piece in run.evidence if any(piece.n in support.citations for support in backed)]
    else:
        found, pieces = list(strips[:1]), [piece for piece in shown if strips[:1] and strips[0] in piece.text]
    return tuple(sorted(dict.fromkeys(map(one_line, found)), key=len)), tuple(pieces)


def _strips_in_evidence(run: Run, pieces: Sequence[Evidence]) -> tuple[str, ...]:
    strips = [
        strip
        for strip in run.strips
        if strip.kept and any(strip.passage == piece.passage and strip.text in piece.text for piece in pieces)
    ]
    return tuple(strip.text for strip in sorted(strips, key=lambda strip: -strip.relevance))


class LabelKind(StrEnum):
    """The thing that is labelled. Good means a good answer, a relevant passage, or a right sentence."""

    ANSWER = "answer"
    PASSAGE = "passage"
    SENTENCE = "sentence"


VERDICTS = {
    LabelKind.ANSWER: ("bad", "good"),
    LabelKind.PASSAGE: ("not relevant", "relevant"),
    LabelKind.SENTENCE: ("wrong", "right"),
}
"""Words for `good`, by kind of label: (False, True)."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Part of its run that an answer's label keeps: the question that it would make, and what was found for it.

    `passages` are the ids of all passages of the run, `documents` the names of their documents.
    """

    case: Question
    passages: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One label, with the scores of its run.

    `target` is a passage's id within its run, a sentence's number (from 1) in its answer, or "" for the answer.
    `question` is the standalone question; `text` is what was labelled. `scorer` names the model that graded. `logit`,
    `cosine`, `overlap` and `relevance` belong to a passage. A sentence has the logit of the best strip behind it, the
    cosine and overlap of that strip's passage, and the relevance of the evidence. They are None if no such text exists,
    or if no model could score it. `evidence` is the text behind a sentence. `id` is None until the label is stored.
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
        """The verdict in words."""
        return VERDICTS[self.kind][self.good]


def make_label(run: Run, kind: LabelKind, target: str, good: bool) -> Label:
    """Return a label for the part of the run that `target` names. Raises LabelError if the run has no such part."""
    describe = {LabelKind.ANSWER: _answer, LabelKind.PASSAGE: _passage, LabelKind.SENTENCE: _sentence}[kind]
    return Label(
        run_id=run.run_id,
        kind=kind,
        good=good,
        labelled_at=datetime.now(UTC).isoformat(timespec="seconds"),
        collection=run.collection,
        question=run.standalone_question,
        scorer=run.models.get("llm" if run.scorer is ScorerKind.LLM else "relevance", ""),
        scorer_kind=run.scorer,
        **describe(run, target),
    )


_PASSAGE_FIELDS = ("origin", "document", "page", "url", "cosine", "overlap")
"""Fields that a label copies from the passage that it is about."""


def _answer(run: Run, _target: str) -> dict[str, Any]:
    if run.action is None or not run.answer:
        raise LabelError(f"The run {run.run_id} has no answer: it was stopped too early. Ask the question again.")
    documents = dict.fromkeys(passage.document for passage in run.passages if passage.document)
    passages = tuple(passage.id for passage in run.passages)
    circumstances = Circumstances(propose_question(run), passages, tuple(documents))
    return {"target": "", "text": run.answer, "relevance": run.max_relevance, "circumstances": circumstances}


def _passage(run: Run, target: str) -> dict[str, Any]:
    passage = next((passage for passage in run.passages if passage.id == target), None)
    if passage is None:
        raise LabelError(
            f"The run {run.run_id} has no passage “{target}”. `localcrag runs show {run.run_id} --json` has their ids."
        )
    copied = (*_PASSAGE_FIELDS, "text", *(("logit", "relevance") if passage.scored else ()))
    return {"target": target, **{name: getattr(passage, name) for name in copied}}


def _sentence(run: Run, target: str) -> dict[str, Any]:
    number = whole_number(target) or 0
    if not 1 <= number <= len(run.support):
        there = f"has sentences 1 to {len(run.support)}" if run.support else "has no checked sentences"
        raise LabelError(f"The answer of {run.run_id} has no sentence {target}: it {there}.")
    support = run.support[number - 1]
    piece = next((piece for piece in run.evidence if piece.n in support.citations), None)
    passage = next((passage for passage in run.passages if piece and passage.id == piece.passage), None)
    behind = supporting_strips(run, support)
    fields: dict[str, Any] = {name: getattr(passage, name) for name in _PASSAGE_FIELDS} if passage else {}
    fields |= {"target": str(number), "text": without_citations(support.sentence)}
    fields["evidence"] = behind[0] if behind else piece.text if piece else None
    if passage is None or passage.scored:
        fields["logit"] = next((strip.logit for strip in run.strips if behind and strip.text == behind[0]), None)
        fields["relevance"] = support.relevance if piece else None
    return fields


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """A passage that is relevant to a question or not, with the scores of the scorer in use.

    `question` identifies the question. A passage that is not `local` is used for fitting, but does not count for the
    action.
    """

    question: str
    logit: float
    cosine: float
    relevant: bool
    local: bool = True
    overlap: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelledStrip:
    """A strip of a relevant passage that contains the answer or does not.

    `passage` identifies the passage among those of its question.
    """

    question: str
    passage: str
    logit: float
    passage_logit: float
    passage_cosine: float
    relevant: bool
    passage_overlap: float = 0.0
