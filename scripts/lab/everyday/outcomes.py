"""Outcomes of everyday questions, and figures of many outcomes: pure functions of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from lab.everyday.lines import Text, is_said_in, says_fact, stands_in
from lab.everyday.questions import Case, Kind
from localcrag.evaluation.curves import auc
from localcrag.records.enums import Action
from localcrag.records.run import Run

Figures = dict[str, float | None]
"""Figures by name, in the order of the table; None if no question counts for it."""
CountTokens = Callable[[Iterable[str]], int]


@dataclass(frozen=True, slots=True)
class Shown:
    """A shown answer: which needed lines and short facts it contains, and the question's `seconds`."""

    text: str
    abstained: bool
    answered: bool
    lines: tuple[bool, ...]
    short: tuple[bool, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a question; `found` and `kept`: whether passages and evidence contain each needed line.

    `relevance` is that of the best passage, None if there was none. `shown` is None without a language model; `plain`
    is plain RAG's answer to the same question.
    """

    case: Case
    action: Action | None
    relevance: float | None
    found: tuple[bool, ...]
    kept: tuple[bool, ...]
    passages: tuple[str, ...]
    evidence: tuple[str, ...]
    passage_tokens: int
    evidence_tokens: int
    shown: Shown | None = None
    plain: Shown | None = None

    def as_json(self) -> dict[str, object]:
        """Return everything, to be read by a person."""
        return asdict(self)


def shown(case: Case, run: Run, seconds: float) -> Shown:
    """Return which needed lines and facts a run's answer contains."""
    answer = Text.of(run.answer)
    return Shown(
        run.answer,
        run.abstained,
        run.answered,
        tuple(is_said_in(line, answer) for line in case.labelled.lines),
        tuple(says_fact(fact, answer) for fact in case.labelled.short),
        seconds,
    )


def outcome(
    case: Case, run: Run, count_tokens: CountTokens, *, answer: Shown | None = None, plain: Shown | None = None
) -> Outcome:
    """Return which needed lines a run's passages and evidence contain."""
    passages, evidence = ([one.text for one in every] for every in (run.passages, run.evidence))
    among, kept = ([Text.of(text) for text in texts] for texts in (passages, evidence))
    return Outcome(
        case,
        run.action,
        max((passage.relevance for passage in run.passages), default=None),
        tuple(stands_in(line, among) for line in case.labelled.lines),
        tuple(stands_in(line, kept) for line in case.labelled.lines),
        tuple(passages),
        tuple(evidence),
        count_tokens(passages),
        count_tokens(evidence),
        answer,
        plain,
    )


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Return the figures of everyday questions; in shares of lines, each line counts the same."""
    of_kind = {kind: [one for one in outcomes if one.case.kind is kind] for kind in Kind}
    answerable = of_kind[Kind.ANSWERABLE]
    correct = {kind: mean(one.action is Action.CORRECT for one in of_kind[kind]) for kind in Kind}
    return {
        "needed lines among the passages": mean(line for one in answerable for line in one.found),
        "all needed lines of a question among them": mean(all(one.found) for one in answerable),
        "passages a question": mean(len(one.passages) for one in answerable),
        "answerable: CORRECT": correct[Kind.ANSWERABLE],
        **_not_abstained(answerable),
        "near misses wrongly CORRECT": correct[Kind.NEAR_MISS],
        "document taken out: wrongly CORRECT": correct[Kind.REMOVED],
        "AUC, answerable against near misses, best passage": separation(answerable, of_kind[Kind.NEAR_MISS]),
        **_evidence(answerable),
        **_answers(answerable),
        **_plain(answerable),
    }


def mean(values: Iterable[float]) -> float | None:
    """Return the mean; None if there are no values."""
    every = [float(value) for value in values]
    return sum(every) / len(every) if every else None


def separation(answerable: Sequence[Outcome], others: Sequence[Outcome]) -> float | None:
    """Return the AUC of the best passage's relevance; None if there is only one kind of question."""
    if not answerable or not others:
        return None
    scores = [0.0 if one.relevance is None else one.relevance for one in (*answerable, *others)]
    return auc(np.arange(len(scores)) < len(answerable), np.array(scores))


def _not_abstained(outcomes: Sequence[Outcome]) -> Figures:
    answers = [one.shown for one in outcomes if one.shown]
    return {"answerable: not abstained": mean(not one.abstained for one in answers)} if answers else {}


def _evidence(outcomes: Sequence[Outcome]) -> Figures:
    """Return the shares of the passages' lines and tokens in the evidence, over all questions and those with any."""
    figures: Figures = {}
    for said, some in (("", outcomes), (" (questions with evidence)", [one for one in outcomes if one.evidence])):
        kept = (kept for one in some for found, kept in zip(one.found, one.kept, strict=True) if found)
        figures[f"needed lines kept in the evidence, of those in passages{said}"] = mean(kept)
        figures[f"tokens of evidence / of passages{said}"] = ratio(
            (one.evidence_tokens for one in some), (one.passage_tokens for one in some)
        )
    return figures


def ratio(above: Iterable[float], below: Iterable[float]) -> float | None:
    """Return the ratio of two sums; None if the second is 0."""
    divisor = sum(below)
    return sum(above) / divisor if divisor else None


def _answers(outcomes: Sequence[Outcome]) -> Figures:
    answers = [one.shown for one in outcomes if one.shown]
    if not answers:
        return {}
    return {
        **_whole("in the shown answer", answers),
        "share of needed lines in the shown answer": mean(line for one in answers for line in one.lines),
        "all needed lines in it, uncertain answers not counted": mean(
            one.answered and all(one.lines) for one in answers
        ),
        "short facts in it, uncertain answers not counted": mean(
            one.answered and all(one.short) for one in answers if one.short
        ),
    }


def _plain(outcomes: Sequence[Outcome]) -> Figures:
    pairs = [(one.shown, one.plain) for one in outcomes if one.shown and one.plain]
    if not pairs:
        return {}
    plain, corrected = [two for _, two in pairs], [one for one, _ in pairs]
    return {
        "plain RAG: not abstained": mean(not one.abstained for one in plain),
        **_whole("in plain RAG's answer", plain),
        "seconds a question, plain RAG": mean(one.seconds for one in plain),
        "seconds a question, corrected": mean(one.seconds for one in corrected),
        "corrected / plain RAG, seconds": ratio((one.seconds for one in corrected), (one.seconds for one in plain)),
    }


def _whole(where: str, answers: Sequence[Shown]) -> Figures:
    return {
        f"all needed lines {where}": mean(all(one.lines) for one in answers),
        f"short facts {where}": mean(all(one.short) for one in answers if one.short),
    }


def by_type(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Return the outcomes by type of question."""
    types = sorted({one.case.labelled.type for one in outcomes})
    return {name: [one for one in outcomes if one.case.labelled.type == name] for name in types}


def table(columns: Mapping[str, Figures]) -> str:
    """Return figures as a Markdown table, a column for each of `columns`, a row for each figure of the first."""
    first = next(iter(columns.values()))
    lines = [f"| | {' | '.join(columns)} |", f"| --- |{' --: |' * len(columns)}"]
    lines += [f"| {name} | {' | '.join(_cell(each.get(name)) for each in columns.values())} |" for name in first]
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
