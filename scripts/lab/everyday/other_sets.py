"""Measure two other sets: CLAPNQ with its long answers, and questions about companies' filings."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.everyday.bench import Bench
from lab.everyday.everyday_set import SEED, Said
from lab.everyday.lines import normalised
from lab.everyday.outcomes import Figures, mean
from lab.everyday.questions import UnreadableData, rows
from localcrag.records.enums import Action, Grade
from localcrag.records.passages import GradedPassage
from localcrag.text.words import content_words

PASSAGES, FILINGS = "passages", "filings"
_NOT_IN_NAMES = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class LongAnswer:
    """The outcome of a question of CLAPNQ: the share of its long answer's content words at each stage.

    `shown` and `text`, the answer, are None without a language model; shares are None if there is no long answer.
    """

    question: str
    answerable: bool
    action: Action | None
    passages: float | None
    evidence: float | None
    shown: float | None
    text: str | None

    def as_json(self) -> dict[str, object]:
        """Return everything, to be read by a person."""
        return asdict(self)


def words_held(answers: Sequence[str], texts: Iterable[str]) -> float | None:
    """Return the largest share of content words that the texts contain of any of the answers."""
    held = content_words(normalised("\n".join(texts)))
    every = [content_words(normalised(answer)) for answer in answers]
    return max((len(words & held) / len(words) for words in every if words), default=None)


def ask_clapnq(bench: Bench, path: Path, folder: Path, *, questions: int | None, said: Said) -> list[LongAnswer]:
    """Ask the questions, or a sample, with the passages of all questions as documents; return the outcomes.

    Raises UnreadableData and DocumentError.
    """
    every = list(rows(path))
    files = []
    for number, row in enumerate(every):
        for passage in row["passages"]:
            name = _NOT_IN_NAMES.sub("-", passage["title"]).strip("-")
            files.append(folder / f"{number:03}-{name}.md")
            files[-1].write_text(f"# {passage['title']}\n\n{passage['text']}\n", "utf-8", newline="\n")
    bench.add(files, PASSAGES)
    if questions is not None:
        every = random.Random(SEED).sample(every, min(questions, len(every)))
    outcomes = []
    for number, row in enumerate(every, start=1):
        run, _ = bench.ask(row["question"], PASSAGES)
        answers = row["answers"] if row["answerable"] else ()
        outcomes.append(
            LongAnswer(
                row["question"], row["answerable"], run.action,
                words_held(answers, [passage.text for passage in run.passages]),
                words_held(answers, [piece.text for piece in run.evidence]),
                None if bench.silent else words_held(answers, [run.answer]),
                None if bench.silent else run.answer,
            )
        )  # fmt: skip
        if number % 20 == 0 or number == len(every):
            said(f"{number} of {len(every)} questions")
    return outcomes


def clapnq_figures(outcomes: Sequence[LongAnswer]) -> Figures:
    """Return the mean shares of words, and of the questions that are CORRECT."""
    figures: Figures = {
        f"words of long answers in {place}": mean(
            share for one in outcomes if (share := getattr(one, name)) is not None
        )
        for place, name in (("passages", "passages"), ("evidence", "evidence"), ("the shown answer", "shown"))
    }
    for said, wanted in (("answerable: CORRECT", True), ("not answerable: wrongly CORRECT", False)):
        figures[said] = mean(one.action is Action.CORRECT for one in outcomes if one.answerable is wanted)
    return figures


@dataclass(frozen=True, slots=True)
class Filing:
    """The outcome of a question about a filing; `passages` has document, page, grade and relevance of each passage.

    `found`: a passage is from a page with the evidence; `graded`: one of those is graded correct.
    """

    question: str
    document: str
    pages: tuple[int, ...]
    action: Action | None
    passages: tuple[tuple[str | None, int | None, Grade, float], ...]
    found: bool
    graded: bool
    first_of_another: bool
    answer: str | None

    def as_json(self) -> dict[str, object]:
        """Return everything, to be read by a person."""
        return asdict(self)


def ask_filings(bench: Bench, folder: Path, *, questions: int | None, said: Said) -> list[Filing]:
    """Ask the questions about the PDFs in a folder, all in one collection, and return the outcomes.

    Raises UnreadableData and DocumentError.
    """
    every = list(rows(folder / "questions.jsonl"))[:questions]
    files = sorted(folder.glob("*.pdf"))
    if not files:
        raise UnreadableData(f"There is no PDF in {folder}. Check the data folder that you gave.")
    bench.add(files, FILINGS)
    said(f"{len(files)} filings added")
    outcomes = []
    for row in every:
        run, _ = bench.ask(row["question"], FILINGS)
        own = [one for one in run.passages if _has_evidence(one, row["document"], row["pages"])]
        outcomes.append(
            Filing(
                row["question"], row["document"], tuple(row["pages"]), run.action,
                tuple((one.document, one.page, one.grade, one.relevance) for one in run.passages),
                bool(own),
                any(one.grade is Grade.CORRECT for one in own),
                bool(run.passages) and run.passages[0].document != row["document"],
                None if bench.silent else run.answer,
            )
        )  # fmt: skip
    return outcomes


def _has_evidence(passage: GradedPassage, document: str, pages: Sequence[int]) -> bool:
    return passage.document == document and passage.page in pages


def filing_figures(outcomes: Sequence[Filing]) -> Figures:
    """Return the shares of questions whose page is found, and is graded correct."""
    return {
        "evidence page among the passages": mean(one.found for one in outcomes),
        "evidence page graded correct": mean(one.graded for one in outcomes),
        "action CORRECT": mean(one.action is Action.CORRECT for one in outcomes),
        "first passage of another filing": mean(one.first_of_another for one in outcomes),
    }
