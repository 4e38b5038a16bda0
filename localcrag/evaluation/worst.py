"""The worst questions of a configuration, with what each answer rests on."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.evaluation.answers import holds
from localcrag.evaluation.diagnosis import best_passage, diagnose, is_right, severity
from localcrag.evaluation.figures import Shown, Worst
from localcrag.evaluation.results import Evaluation
from localcrag.records.enums import Grade, Origin
from localcrag.records.passages import GradedPassage, Source
from localcrag.records.run import Run
from localcrag.runs.evaluation_set import Question
from localcrag.text.places import place
from localcrag.text.sheet_rows import SheetRow

WORST = 20
"""As many as a person reads through."""


def worst(evaluation: Evaluation, name: str, first: str) -> tuple[Worst, ...]:
    """Return WORST questions of a configuration, the worst first; `first` is the one that it is compared with."""
    found = [
        (question, run, loss) for question, run in evaluation.pairs(name) if (loss := diagnose(question, run))
    ]  # fmt: skip
    found.sort(key=lambda one: severity(*one))
    others = evaluation.runs.get(first, {}) if name != first else {}
    return tuple(
        Worst(
            id=question.id,
            question=question.question,
            standalone=run.standalone_question,
            held_by=question.held_by.value,
            accepted=question.answers,
            answer=run.answer,
            abstained=run.abstained,
            uncertain=run.uncertain,
            action=run.action.value if run.action else None,
            rule=run.rule,
            cause=loss.cause.value,
            why=loss.why,
            passage=_passage(question, run),
            evidence=_evidence(question, run),
            first_right=is_right(question, others[question.id]) if question.id in others else None,
        )
        for question, run, loss in found[:WORST]
    )


def _passage(question: Question, run: Run) -> Shown | None:
    passage = best_passage(run, question.answers)
    if passage is None:
        return None
    graded: Grade | None = passage.grade if run.action else None
    return Shown(
        where=_where(passage, passage.rows),
        relevance=passage.relevance if run.action else None,
        grade=graded.value if graded else None,
        text=passage.text,
        holds=holds(passage.text, question.answers),
    )


def _evidence(question: Question, run: Run) -> tuple[Shown, ...]:
    sources = {source.id: source for source in run.sources}
    pieces = []
    for piece in run.evidence:
        source = sources.get(piece.source)
        where = _where(source, piece.rows) if source else ""
        pieces.append(
            Shown(
                where=f"[{piece.n}] {where}".strip(),
                relevance=piece.relevance if run.action else None,
                grade=None,
                text=piece.text,
                holds=holds(piece.text, question.answers),
            )
        )
    return tuple(pieces)


def _where(one: Source | GradedPassage, rows: Sequence[SheetRow]) -> str:
    if one.origin is Origin.WEB or one.document is None:
        return f"web: {one.title or one.url or ''}"
    return place(one.document, one.page, rows)
