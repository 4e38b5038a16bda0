"""Knowledge gaps: questions that the documents do not answer, similar ones grouped.

Whether two questions ask the same is seen by their vectors, and by names and numbers, which vectors blur ("inhabitants
of Oslo", "of Bergen"). Without vectors, by their words. Knows no model and no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localcrag.records.enums import Action
from localcrag.records.protocols import Vectors
from localcrag.runs.aggregates import RunLine
from localcrag.text.words import content_words, names, numbers

SAME = 0.83
"""Cosine (all-MiniLM-L6-v2) from which on two questions ask the same. Of 24 pairs looked at, it joined 10 of 12 that
did (0.67 to 0.99), and 1 of 12 of one topic that did not (0.39 to 0.94; "When" and "Who found penicillin?")."""


@dataclass(frozen=True, slots=True)
class KnowledgeGap:
    """A question that the documents did not answer when it was last asked, and others that ask the same.

    `question`, `run_id` and `created_at` are of the newest run. `asked` counts all runs of these questions. `others`
    are the other wordings, newest first. `answered_by` is the newest run that the web answered, None where none was.
    """

    question: str
    collection: str
    run_id: str
    created_at: str
    asked: int
    others: tuple[str, ...] = ()
    answered_by: str | None = None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One wording: its newest run, how often it was asked, and the newest run that the web answered."""

    last: RunLine
    asked: int
    answered_by: str | None


def open_questions(runs: Sequence[RunLine]) -> list[OpenQuestion]:
    """Return the questions whose last run ended INCORRECT, newest first; `runs` come oldest first, without replays."""
    of_question: dict[tuple[str, str], list[RunLine]] = {}
    for run in runs:
        if run.action is not None:
            of_question.setdefault((run.collection, run.question.casefold()), []).append(run)
    found = []
    for own in of_question.values():
        if own[-1].action is Action.INCORRECT:
            by_web = [run.run_id for run in own if run.web_used and not (run.abstained or run.uncertain)]
            found.append(OpenQuestion(own[-1], len(own), by_web[-1] if by_web else None))
    order = {run.run_id: number for number, run in enumerate(runs)}
    return sorted(found, key=lambda question: -order[question.last.run_id])


def grouped(questions: Sequence[OpenQuestion], vectors: Vectors | None = None) -> tuple[KnowledgeGap, ...]:
    """Return the gaps, newest first; `vectors` are of the questions, unit length, shape (questions, dimension).

    A question joins the first group whose newest question asks the same in the same collection.
    """
    texts = [question.last.question for question in questions]
    read = [_Words(frozenset(content_words(text)), frozenset(names(text)), frozenset(numbers(text))) for text in texts]
    cosines = None if vectors is None else vectors @ vectors.T
    groups: list[list[int]] = []
    for number, question in enumerate(questions):
        for group in groups:
            first = group[0]
            if questions[first].last.collection != question.last.collection:
                continue
            if cosines is None:
                same = read[first].content == read[number].content
            else:
                same = bool(cosines[first, number] >= SAME) and _may_be_same(read[first], read[number])
            if same:
                group.append(number)
                break
        else:
            groups.append([number])
    return tuple(_gap([questions[number] for number in group]) for group in groups)


@dataclass(frozen=True, slots=True)
class _Words:
    content: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]


def _may_be_same(one: _Words, other: _Words) -> bool:
    """Whether each has the names and numbers of the other; a name may be written without its capital."""
    return one.numbers == other.numbers and one.names <= other.content and other.names <= one.content


def _gap(members: Sequence[OpenQuestion]) -> KnowledgeGap:
    newest = members[0].last
    return KnowledgeGap(
        question=newest.question,
        collection=newest.collection,
        run_id=newest.run_id,
        created_at=newest.created_at,
        asked=sum(member.asked for member in members),
        others=tuple(member.last.question for member in members[1:]),
        answered_by=next((member.answered_by for member in members if member.answered_by), None),
    )
