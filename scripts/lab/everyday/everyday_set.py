"""Measure everyday documents and handbooks: answers over two halves, or retrieval over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from lab.everyday.bench import PLAIN, Bench
from lab.everyday.lines import Text, stands_in
from lab.everyday.outcomes import Figures, Outcome, mean, outcome, shown
from lab.everyday.questions import Case, Document, Kind, answered_in, halves, laid_out, sample

ALL = "all documents"
SEED = 20
Said = Callable[[str], None]
"""Function that gets progress messages."""


def ask_everyday(
    bench: Bench, documents: Sequence[Document], folder: Path, *, questions: int | None, plain: bool, said: Said
) -> list[Outcome]:
    """Return the outcomes of the questions, or of a sample; with `plain`, answerable ones are asked twice.

    Plain RAG answers them as well, and goes first every other time. Raises DocumentError.
    """
    collections = halves(documents, SEED)
    for name, some in collections.items():
        bench.add([document.write(folder) for document in some], name)
    cases = sample(laid_out(collections, SEED), questions, SEED)
    if not bench.silent:
        bench.warm_up()
    outcomes = []
    for number, case in enumerate(cases, start=1):
        also_plain = plain and not bench.silent and case.kind is Kind.ANSWERABLE
        outcomes.append(_asked(bench, case, plain=also_plain, plain_first=number % 2 == 0))
        if number % 20 == 0 or number == len(cases):
            said(f"{number} of {len(cases)} questions")
    return outcomes


def _asked(bench: Bench, case: Case, *, plain: bool, plain_first: bool) -> Outcome:
    question, collection = case.labelled.text, case.collection
    before = bench.ask(question, collection, PLAIN) if plain and plain_first else None
    run, seconds = bench.ask(question, collection)
    after = bench.ask(question, collection, PLAIN) if plain and not plain_first else None
    other = before or after
    return outcome(
        case, run, bench.tokens,
        answer=None if bench.silent else shown(case, run, seconds),
        plain=shown(case, *other) if other else None,
    )  # fmt: skip


def found_among_all(
    bench: Bench, asked: Sequence[Document], others: Sequence[Document], folder: Path, *, questions: int | None,
    judged: bool, said: Said,
) -> tuple[Figures, int]:  # fmt: skip
    """Return the share of the needed lines of `asked` that the passages contain, in one collection with `others`.

    Also return the number of questions. Only retrieval runs, or with `judged`, all steps up to the evidence. Raises
    DocumentError.
    """
    bench.add([document.write(folder) for document in (*asked, *others)], ALL)
    said(f"{len(asked) + len(others)} documents in one collection")
    cases = sample(answered_in(asked, ALL), questions, SEED)
    found: list[tuple[bool, ...]] = []
    numbers: list[int] = []
    for case in cases:
        question = case.labelled.text
        passages = bench.ask(question, ALL)[0].passages if judged else bench.retrieved(question, ALL)
        texts = [Text.of(passage.text) for passage in passages]
        found.append(tuple(stands_in(line, texts) for line in case.labelled.lines))
        numbers.append(len(passages))
    figures: Figures = {
        "needed lines among the passages, all documents in one collection": mean(line for one in found for line in one),
        "all needed lines of a question among them": mean(all(one) for one in found),
        "passages a question": fmean(numbers) if numbers else None,
    }
    return figures, len(cases)
