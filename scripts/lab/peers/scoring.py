"""Score programs' answers by the same rules for all: pure functions of questions and answers."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lab.everyday.lines import Text, is_said_in, normalised, says_fact
from lab.everyday.questions import HALVES, Case, Document, Kind, Labelled, halves, laid_out
from lab.peers.child import Answered, Measured
from localcrag.crag.answer.generate import is_no_answer
from localcrag.evaluation.wording import Estimate, estimate

V = TypeVar("V")

FIRST = 150
"""Characters at the start of an answer in which a refusal is searched: its first sentence or two."""
_REFUSAL = re.compile(
    r"\b(?:I|we) (?:do not|dont|don't|cannot|cant|can't|could not|couldnt|am not able to|am unable to) "
    r"(?:know|answer|find|provide|determine|have)|\b(?:is|are|was) not (?:mentioned|specified|provided|stated|given)\b"
    r"|\bdoes not (?:mention|specify|provide|state|contain|say)\b|\bno (?:information|mention)\b|^Empty Response",
    re.IGNORECASE,
)
"""Pattern of a model's refusal, without quotation marks; written before any of the answers was seen."""
SEED = 20
COLLECTION = HALVES[0]
"""Name of the half of the documents that all programs get; it does not answer questions about the other half."""


def documents_of(every: Sequence[Document]) -> list[Document]:
    """Return the documents that the programs get."""
    return halves(every, SEED)[COLLECTION]


def questions_of(every: Sequence[Document], answerable: int, unanswerable: int) -> list[Case]:
    """Return shuffled questions, some that the documents answer and some that they do not; always the same ones."""
    chance = random.Random(SEED)
    cases = [one for one in laid_out(halves(every, SEED), SEED) if one.collection == COLLECTION]
    answered = [one for one in cases if one.kind is Kind.ANSWERABLE]
    others = [one for one in cases if one.kind is not Kind.ANSWERABLE]
    chosen = chance.sample(answered, min(answerable, len(answered)))
    chosen += chance.sample(others, min(unanswerable, len(others)))
    chance.shuffle(chosen)
    return chosen


def refuses(text: str) -> bool:
    """Return whether an answer is a refusal, or begins with one."""
    return is_no_answer(text) or bool(_REFUSAL.search(normalised(text)[:FIRST]))


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored answer: whether it answers at all, and which needed lines and short facts it contains."""

    kind: Kind
    answers: bool
    lines: tuple[bool, ...]
    short: tuple[bool, ...]


def scored(case: Case, answered: Answered) -> Scored:
    """Score an answer.

    It counts as no answer if the program marks it so, or if its text refuses.
    """
    labelled: Labelled = case.labelled
    text = Text.of(answered.text)
    return Scored(
        case.kind,
        not (answered.silent or refuses(answered.text)),
        tuple(is_said_in(line, text) for line in labelled.lines),
        tuple(says_fact(fact, text) for fact in labelled.short),
    )


def shares(every: Sequence[Scored]) -> dict[str, Estimate | None]:
    """Return the shares of questions with their intervals. The content of a refusal does not count."""
    answerable = [one for one in every if one.kind is Kind.ANSWERABLE]
    others = [one for one in every if one.kind is not Kind.ANSWERABLE]
    return {
        "answers with all gold evidence": _share(one.answers and all(one.lines) for one in answerable),
        "answers with all short facts": _share(one.answers and all(one.short) for one in answerable if one.short),
        "answerable, and no answer": _share(not one.answers for one in answerable),
        "inventions": _share(one.answers for one in others),
    }


def _share(true: Iterable[bool]) -> Estimate | None:
    return estimate([float(one) for one in true])


def taken(measured: Measured) -> dict[str, float]:
    """Return a program's costs; seconds are medians over all questions, except for loading and adding."""
    return {
        "models loaded, s": measured.loaded,
        "documents added, s": measured.added,
        "first token, s": statistics.median(one.first for one in measured.answers),
        "last token, s": statistics.median(one.last for one in measured.answers),
        "peak memory, MiB": measured.memory,
        "disk, MiB": measured.disk,
    }


def table(columns: Mapping[str, tuple[Mapping[str, float], Mapping[str, Estimate | None]]]) -> str:
    """Return the figures of the programs as a Markdown table with a column for each."""
    lines = [f"| | {' | '.join(columns)} |", f"| --- |{' --: |' * len(columns)}"]
    first_taken, first_shares = next(iter(columns.values()))
    lines += _rows(first_taken, [one for one, _ in columns.values()], _number)
    lines += _rows(first_shares, [one for _, one in columns.values()], _estimate)
    return "\n".join(lines)


def _rows(names: Iterable[str], columns: Sequence[Mapping[str, V]], cell: Callable[[V], str]) -> list[str]:
    return [f"| {name} | {' | '.join(cell(one[name]) for one in columns)} |" for name in names]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _estimate(value: Estimate | None) -> str:
    if value is None:
        return "–"
    interval = "" if value.low is None or value.high is None else f" ({value.low:.2f} to {value.high:.2f})"
    return f"{value.mean:.2f}{interval}"
