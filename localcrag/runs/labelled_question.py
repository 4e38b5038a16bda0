"""The labelled question that a run would make: question, accepted answers, documents.

A proposal, made of what was checked at the time; a person accepts, changes or refuses it. Knows no store and no page.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.enums import Action, Origin
from localcrag.records.passages import Evidence
from localcrag.records.run import Run, Support
from localcrag.runs.evaluation_set import HeldBy, Question
from localcrag.steps.answer import layout
from localcrag.steps.answer.cite import cited, without_citations
from localcrag.steps.refine.refine import BEST
from localcrag.text.words import one_line


@dataclass(frozen=True, slots=True)
class Pin:
    """A question that is asked again after a change; `run_id` is the turn it was made of."""

    run_id: str
    pinned_at: str
    collection: str
    question: Question


def proposed(run: Run) -> Question:
    """Return the run's question with what was accepted as its answer; its id is the run's.

    Accepted are the best strips that the answer quotes, which it does where it says too little itself; else, or where
    the best of all is not among them or is what it says above them, its sentences that the evidence backs in full and,
    of each, the kept strip behind it; shortest first. A run that abstained is a question that nobody holds the answer
    to, unless its documents were called enough: then a model or time was lacking.
    """
    nobody = run.without_answer and run.action is not Action.CORRECT
    answers, pieces = ((), ()) if (run.uncertain and run.without_answer) or nobody else _accepted(run)
    sources = [source for source in run.sources if source.id in {piece.source for piece in pieces}]
    held_by = HeldBy.NOWHERE if nobody else HeldBy.DOCUMENTS
    if sources and all(source.origin is Origin.WEB for source in sources):
        held_by = HeldBy.WEB
    names = dict.fromkeys(source.document for source in sources if source.document)
    return Question(
        id=run.run_id,
        question=run.question,
        held_by=held_by,
        answers=answers,
        documents=tuple(names) if held_by is HeldBy.DOCUMENTS else (),
        web=run.web.results,
        history=run.history,
    )


def with_answers(case: Question, answers: Sequence[str]) -> Question:
    """Return the case with a person's own accepted answers; none: that nobody holds one."""
    accepted = tuple(dict.fromkeys(text for answer in answers if (text := one_line(answer))))
    if not accepted:
        return dataclasses.replace(case, answers=(), documents=(), held_by=HeldBy.NOWHERE)
    held_by = HeldBy.DOCUMENTS if case.held_by is HeldBy.NOWHERE else case.held_by
    return dataclasses.replace(case, answers=accepted, held_by=held_by)


def strips_behind(run: Run, support: Support) -> tuple[str, ...]:
    """Return the kept strips of the evidence that a sentence cites, most relevant first."""
    return _strips_of(run, [piece for piece in run.evidence if piece.n in support.citations])


def _accepted(run: Run) -> tuple[tuple[str, ...], tuple[Evidence, ...]]:
    """Return the accepted answers, shortest first, and the evidence that holds them."""
    shown = cited(run.answer, run.evidence)
    backed = [support for support in run.support if support.shown and support.supported]
    # Of a contradiction both sides are quoted: neither is the answer.
    strips = () if run.conflicts else _strips_of(run, shown)
    quoted = [strip for strip in strips if layout.item(strip) in run.answer][:BEST] if run.answered else []
    # Below a sentence that says the best strip, what is quoted is where that stands.
    says = " ".join(one_line(without_citations(support.sentence)) for support in backed)
    if quoted and (not backed or (strips[0] in quoted and one_line(strips[0]).rstrip(".!?") not in says)):
        found, pieces = quoted, [piece for piece in shown if any(strip in piece.text for strip in quoted)]
    elif backed:
        found = [without_citations(support.sentence) for support in backed]
        found += [behind[0] for support in backed if (behind := strips_behind(run, support))]
        pieces = [piece for piece in run.evidence if any(piece.n in support.citations for support in backed)]
    else:
        found, pieces = list(strips[:1]), [piece for piece in shown if strips[:1] and strips[0] in piece.text]
    return tuple(sorted(dict.fromkeys(map(one_line, found)), key=len)), tuple(pieces)


def _strips_of(run: Run, pieces: Sequence[Evidence]) -> tuple[str, ...]:
    strips = [
        strip
        for strip in run.strips
        if strip.kept and any(strip.passage == piece.passage and strip.text in piece.text for piece in pieces)
    ]
    return tuple(strip.text for strip in sorted(strips, key=lambda strip: -strip.relevance))
