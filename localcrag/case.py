"""A run -> the labelled question that it would make: what was asked, what answers it, and who held that.

A proposal, made of what was checked at the time; a person accepts, changes or refuses it. Knows no store and no page.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from localcrag import replay
from localcrag.cite import without_citations
from localcrag.datatypes import Action, Evidence, Origin, Run, Source, Support
from localcrag.evaluation.evaluation_set import HeldBy, Question
from localcrag.neutralise import quotable
from localcrag.words import one_line


@dataclass(frozen=True, slots=True)
class Pin:
    """A question that is asked again after a change; `run_id` is the turn it was made of."""

    run_id: str
    pinned_at: str
    collection: str
    question: Question


def proposed(run: Run) -> Question:
    """Return the run's question with what was accepted as its answer; its id is the run's.

    Accepted are the sentences of the answer that the evidence backs in full and, of each, the kept strip behind it,
    shortest first; where the sources were quoted instead, what was quoted. A run that abstained is a question that
    nobody holds the answer to, unless its documents were called enough: then a model or time was lacking.
    """
    question, history = replay.question_of(run)
    nobody = run.abstained and run.action is not Action.CORRECT
    cited = _backing(run)
    sources = _sources(run, cited)
    held_by = HeldBy.DOCUMENTS
    if nobody:
        held_by = HeldBy.NOWHERE
    elif sources and all(source.origin is Origin.WEB for source in sources):
        held_by = HeldBy.WEB
    return Question(
        id=run.run_id,
        question=question,
        held_by=held_by,
        answers=() if nobody else _accepted(run, cited),
        documents=() if held_by is not HeldBy.DOCUMENTS else _names(sources),
        web=run.web.results,
        history=history,
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


def _strips_of(run: Run, pieces: Sequence[Evidence]) -> tuple[str, ...]:
    strips = [
        strip
        for strip in run.strips
        if strip.kept and any(strip.passage == piece.passage and strip.text in piece.text for piece in pieces)
    ]
    return tuple(strip.text for strip in sorted(strips, key=lambda strip: -strip.relevance))


def _backing(run: Run) -> tuple[Evidence, ...]:
    """Return the evidence that the answer rests on: what its backed sentences cite, else what it quotes."""
    backed = {n for support in run.support if support.shown and support.supported for n in support.citations}
    return tuple(piece for piece in run.evidence if (piece.n in backed if backed else f"[{piece.n}]" in run.answer))


def _sources(run: Run, cited: Sequence[Evidence]) -> list[Source]:
    wanted = {piece.source for piece in cited}
    return [source for source in run.sources if source.id in wanted]


def _names(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.document for source in sources if source.document))


def _accepted(run: Run, cited: Sequence[Evidence]) -> tuple[str, ...]:
    backed = [support for support in run.support if support.shown and support.supported]
    found = [without_citations(support.sentence) for support in backed]
    found += [strips[0] for support in backed if (strips := strips_behind(run, support))]
    if not backed:
        found += _quoted(run, cited)
    return tuple(sorted(dict.fromkeys(map(one_line, found)), key=len))


def _quoted(run: Run, cited: Sequence[Evidence]) -> list[str]:
    """Return the strips that an answer quotes instead of saying something, else the most relevant one behind it."""
    strips = _strips_of(run, cited)
    return [strip for strip in strips if quotable(strip) in run.answer] or list(strips[:1])
