"""Outcomes of questions with labelled whole answers: right, partly right, wrong and refused, as a reader counts them.

A string somewhere in a long answer is not an answer: of 48 answers with every string, a reader found 37 right. So an
answer is right if it contains all strings near its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from localcrag.evaluation.metrics import answer_text, contains_answer, normalised
from localcrag.evaluation.results import Evaluation
from localcrag.records.evaluation_set import Question
from localcrag.records.run import Run

FIRST_WORDS = 60
"""Words at the beginning of an answer that a reader takes as the answer, if it rests on a line or two."""
WORDS_PER_NEEDED_WORD = 1.5
"""The same for an answer that rests on many lines, such as a list, per word of these lines."""
NEEDED_SHARE = 0.9
"""Share of a needed line's words that a passage with the line contains; the others may be markup or hyphenated."""
_WORD = re.compile(r"\S+")


class Outcome(StrEnum):
    """What became of a question."""

    RIGHT = "right"
    PARTLY = "partly right"
    WRONG = "wrong as sure"
    REFUSED = "refused"
    UNANSWERED = "rightly unanswered"
    INVENTED = "answered though nothing answers"


def outcome_of(question: Question, run: Run) -> Outcome:
    """Return what became of a question: one with `all_of`, or one that nothing answers."""
    if not question.answers:
        return Outcome.INVENTED if run.answered else Outcome.UNANSWERED
    if not run.answered:
        return Outcome.REFUSED
    text = answer_text(run)
    if all(contains_answer(beginning(text, question), item) for item in question.all_of):
        return Outcome.RIGHT
    return Outcome.PARTLY if any(contains_answer(text, item) for item in question.all_of) else Outcome.WRONG


def beginning(text: str, question: Question) -> str:
    """Return the part of an answer that a reader takes as the answer to the question."""
    needed = sum(len(line.split()) for line in question.needed)
    words = max(FIRST_WORDS, round(WORDS_PER_NEEDED_WORD * needed))
    found = list(_WORD.finditer(text))
    return text if len(found) <= words else text[: found[words - 1].end()]


def is_whole(question: Question, run: Run) -> bool:
    """Return whether a sure answer contains all strings of a whole answer, wherever they stand."""
    return run.answered and all(contains_answer(answer_text(run), item) for item in question.all_of)


def needed_found(question: Question, run: Run) -> bool | None:
    """Return whether all lines that the answer rests on are in the passages; None if none are labelled."""
    if not question.needed:
        return None
    passages = [set(normalised(f"{passage.title} {passage.text}").split()) for passage in run.passages]
    lines = [normalised(line).split() for line in question.needed]
    return all(
        any(sum(word in words for word in line) >= NEEDED_SHARE * len(line) for words in passages) for line in lines
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Counts of a group of questions under a configuration. `words` is the median number in a right answer."""

    group: str
    answerable: int = 0
    right: int = 0
    whole: int = 0
    partly: int = 0
    wrong: int = 0
    sure_without: int = 0
    refused: int = 0
    labelled_needed: int = 0
    needed_found: int = 0
    unanswerable: int = 0
    invented: int = 0
    words: int | None = None

    @property
    def sure(self) -> int:
        """Number of answerable questions that were answered as if sure."""
        return self.answerable - self.refused


def count_outcomes(pairs: Sequence[tuple[Question, Run]], group: str) -> OutcomeCounts:
    """Return the outcomes of questions that have `all_of`, and of those that nothing answers."""
    labelled = [(question, run) for question, run in pairs if question.all_of]
    outcomes = [outcome_of(question, run) for question, run in labelled]
    whole = [is_whole(question, run) for question, run in labelled]
    nothing = [run for question, run in pairs if not question.answers]
    lengths = sorted(len(answer_text(run).split()) for (_, run), right in zip(labelled, whole, strict=True) if right)
    found = [one for question, run in labelled if (one := needed_found(question, run)) is not None]
    return OutcomeCounts(
        group=group,
        answerable=len(labelled),
        right=outcomes.count(Outcome.RIGHT),
        whole=sum(whole),
        partly=outcomes.count(Outcome.PARTLY),
        wrong=outcomes.count(Outcome.WRONG),
        sure_without=sum(run.answered and not all_of for (_, run), all_of in zip(labelled, whole, strict=True)),
        refused=outcomes.count(Outcome.REFUSED),
        labelled_needed=len(found),
        needed_found=sum(found),
        unanswerable=len(nothing),
        invented=sum(run.answered for run in nothing),
        words=lengths[len(lengths) // 2] if lengths else None,
    )


def outcome_groups(evaluation: Evaluation, configuration: str) -> list[OutcomeCounts]:
    """Return the outcomes of all questions, of each set, and of each tag; empty if no question has `all_of`."""
    pairs = evaluation.pairs(configuration)
    if not any(question.all_of for question, _ in pairs):
        return []
    groups = {"all": pairs}
    if len(evaluation.about.sets) > 1:
        for used in evaluation.about.sets:
            groups[used.name] = [pair for pair in pairs if pair[0].id.startswith(f"{used.name}/")]
    for tag in sorted({tag for question, _ in pairs for tag in question.tags}):
        groups[tag] = [pair for pair in pairs if tag in pair[0].tags]
    return [count_outcomes(of, group) for group, of in groups.items()]


OUTCOME_HEADINGS = (
    "group", "answerable", "right", "all strings", "sure without", "refused", "lines found", "unanswerable", "invented",
    "words",
)  # fmt: skip
"""Headings of a table of outcomes."""


def outcome_row(counts: OutcomeCounts) -> list[str]:
    """Return the cells of a group: shares with their number, under OUTCOME_HEADINGS."""
    return [
        counts.group,
        str(counts.answerable),
        _share(counts.right, counts.answerable),
        _share(counts.whole, counts.answerable),
        _share(counts.sure_without, counts.sure),
        _share(counts.refused, counts.answerable),
        _share(counts.needed_found, counts.labelled_needed),
        str(counts.unanswerable),
        _share(counts.invented, counts.unanswerable),
        "–" if counts.words is None else str(counts.words),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part})" if whole else "–"
