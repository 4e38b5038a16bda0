"""Compare answers of language models to the same evidence: correctness, abstentions, citations, speed.

    .venv/bin/python scripts/lab/answerer/eval_answerer.py EVALUATION MODEL... [--configuration NAME] [--questions N]
        [--show N]

EVALUATION is the folder of an evaluation by `localcrag eval SET` (DATA_DIR/evaluations/NAME). It contains the
questions, and for each the evidence that the app selected. Every MODEL (a name that `localcrag models list` shows)
answers all questions through the app's own prompts and final steps. A question is answerable if its evidence contains
an accepted answer. The last column is a baseline without a model, which quotes the best sentences. The 95 % intervals
are bootstrapped over questions.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localcrag.app.assembly import Assembly
from localcrag.crag.answer import generate
from localcrag.crag.answer.generate import GenerationTask
from localcrag.crag.answer.step import evidence_to_read, generate_and_verify
from localcrag.crag.answer.verify import claims, verify
from localcrag.crag.context import AskedQuestion, Budget, Context
from localcrag.crag.refine.refine import QUOTED_SHARE, Refinement, best_strips
from localcrag.evaluation import results
from localcrag.evaluation.metrics import contains_answer
from localcrag.evaluation.wording import estimate
from localcrag.records.enums import Backing, Strictness
from localcrag.records.evaluation_set import Question
from localcrag.records.events import Answered
from localcrag.records.passages import citations, without_citations
from localcrag.records.protocols import Decoding
from localcrag.records.run import Run
from localcrag.settings import load
from localcrag.text.words import split_words

ROOT = Path(__file__).resolve().parents[3]


QUOTED = "the best sentences, quoted"


@dataclass(frozen=True, slots=True)
class Written:
    """A model's answer to one question, and its measured properties.

    For each sentence, `cited` says whether its own citation supports it, and `copied` whether the evidence contains it
    word for word. For each citation, `known` says whether there is such evidence.
    """

    answerable: bool
    silent: bool
    right: bool
    shown_right: bool
    shown_silent: bool
    cited: tuple[bool, ...]
    copied: tuple[bool, ...]
    known: tuple[bool, ...]
    first_token: float
    tokens_per_second: float
    text: str


def ask(assembly: Assembly, run: Run, question: Question) -> Written:
    """Return the model's answer from the evidence of a run, after the app's final steps."""
    answers = question.answers
    context = Context(assembly.parts(assembly.settings), assembly.settings, Budget(0))
    refinement = Refinement(run.strips, run.evidence, run.sources)
    llm, most = assembly.models.llm, assembly.settings.answer_tokens
    messages, _ = generate.fitting_prompt(
        AskedQuestion(run.question, run.standalone_question, run.history),
        evidence_to_read(context.parts.skills, refinement),
        room=llm.context_tokens - most,
        count_tokens=llm.count_tokens,
    )
    began = time.perf_counter()
    first, text = 0.0, ""
    stream = llm.stream(messages, Decoding(max_tokens=most))
    for piece in stream:
        first = first or time.perf_counter() - began
        text += piece
    seconds = time.perf_counter() - began - first
    silent = generate.is_no_answer(text)
    (shown,) = (
        event
        for event in generate_and_verify(
            GenerationTask(
                AskedQuestion(run.question, run.standalone_question, run.history),
                refinement, conflicts=(), used=run.passages, found=run.passages, web=run.web,
            ),
            context,
        )
        if isinstance(event, Answered)
    )  # fmt: skip
    shown_answered = not (shown.abstained or shown.uncertain)
    return Written(
        answerable=any(contains_answer(piece.text, answers) for piece in run.evidence),
        silent=silent,
        right=not silent and contains_answer(text, answers),
        shown_right=shown_answered and contains_answer(shown.answer, answers),
        shown_silent=not shown_answered,
        cited=() if silent else tuple(cited(text, run)),
        copied=() if silent else tuple(copied(text, run)),
        known=tuple(number in {piece.n for piece in run.evidence} for number in citations(text)),
        first_token=first,
        tokens_per_second=(stream.usage.completion_tokens - 1) / seconds if stream.usage.completion_tokens > 8 else 0.0,
        text=text,
    )


def cited(text: str, run: Run) -> list[bool]:
    """Return for each sentence whether the evidence of one of its own citations supports it fully."""
    backed = []
    for span in claims(text):
        own = [piece for piece in run.evidence if piece.n in citations(span.text)]
        judged = verify(span.text, own, run.standalone_question, Strictness.LENIENT, run.sources) if own else ()
        backed.append(bool(judged) and all(support.backing is Backing.SUPPORTED for support in judged))
    return backed


def copied(text: str, run: Run) -> list[bool]:
    """Return for each sentence whether the evidence contains its words in this order."""
    evidence = " ".join(f" {' '.join(split_words(piece.text))} " for piece in run.evidence).lower()
    sentences = [" ".join(split_words(without_citations(span.text))).lower() for span in claims(text)]
    return [f" {sentence} " in evidence for sentence in sentences]


def quoted(run: Run, question: Question) -> Written:
    """Return the outcome of quoting the best sentences for a question, as if a model had written them."""
    text = " ".join(
        piece.text for piece in best_strips(run.strips, run.evidence, share=QUOTED_SHARE) or run.evidence[:1]
    )
    right = contains_answer(text, question.answers)
    return Written(
        answerable=any(contains_answer(piece.text, question.answers) for piece in run.evidence),
        silent=False, right=right, shown_right=right, shown_silent=False, cited=(True,), copied=(True,), known=(True,),
        first_token=0.0, tokens_per_second=0.0, text=text,
    )  # fmt: skip


def share(values: Sequence[float]) -> str:
    """Return the mean with its interval, as text."""
    found = estimate([float(value) for value in values])
    if found is None:
        return "–"
    # A single value has no interval.
    return f"{found.mean:.2f}" + ("" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})")


def report(outcomes: dict[str, list[Written]], without: int) -> str:
    """Return the figures as a Markdown table, a column for each model.

    `without` is the number of further questions without evidence; for those, the app abstains without the model.
    """
    rows: dict[str, list[str]] = {}
    for every in outcomes.values():
        there = [one for one in every if one.answerable]
        not_there = [one for one in every if not one.answerable]
        for name, cell in {
            f"evidence holds the answer ({len(there)}): match": share([one.right for one in there]),
            "… as the app shows it": share([one.shown_right for one in there]),
            f"evidence does not ({len(not_there)}): says so": share([one.silent for one in not_there]),
            "… as the app shows it (abstains)": share([one.shown_silent for one in not_there]),
            "said that it does not: rightly": share([not one.answerable for one in every if one.silent]),
            "… as the app shows it (abstained)": share([not one.answerable for one in every if one.shown_silent]),
            f"… with the {without} questions without evidence: abstains": share(
                [one.shown_silent for one in not_there] + [True] * without
            ),
            "… abstained: rightly": share([not one.answerable for one in every if one.shown_silent] + [True] * without),
            "sentences with a citation that backs them": share([one for every_ in every for one in every_.cited]),
            "sentences that stand in the evidence word for word": share(
                [one for every_ in every for one in every_.copied]
            ),
            "citations of evidence that there is": share([one for every_ in every for one in every_.known]),
            "seconds to the first token, median": f"{np.median([one.first_token for one in every]):.3f}",
            "tokens a second, median": (
                f"{np.median([one.tokens_per_second for one in every if one.tokens_per_second] or [0]):.0f}"
            ),
        }.items():
            rows.setdefault(name, []).append(cell)
    lines = [f"| | {' | '.join(outcomes)} |", f"| --- |{' --: |' * len(outcomes)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--configuration", metavar="NAME", help="whose evidence is taken; the last one")
    parser.add_argument("--questions", type=int, metavar="N", help="so many, spread over all")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many answers of each model")
    arguments = parser.parse_args()
    evaluation = results.read(arguments.evaluation)
    runs = evaluation.pairs(arguments.configuration or evaluation.configurations[-1])
    if arguments.questions:
        runs = [runs[int(at)] for at in np.linspace(0, len(runs) - 1, min(arguments.questions, len(runs)))]
    asked = [(question, run) for question, run in runs if run.evidence]
    assemblies = {name: Assembly(load(llm=name)) for name in arguments.models}
    outcomes: dict[str, list[Written]] = {name: [] for name in [*assemblies, QUOTED]}
    for number, (question, run) in enumerate(asked):
        # The models take turns, and a different one is first each time, so that their seconds can be compared.
        names = [*assemblies][number % len(assemblies) :] + [*assemblies][: number % len(assemblies)]
        for name in names:
            outcomes[name].append(ask(assemblies[name], run, question))
        outcomes[QUOTED].append(quoted(run, question))
        if number < arguments.show:
            print(f"\n{run.standalone_question}  [{' | '.join(question.answers[:3])}]")
            for piece in run.evidence:
                print(f"    [{piece.n}] {piece.text}")
            for name in outcomes:
                print(f"  {name}: {outcomes[name][-1].text}")
        if number % 50 == 49:
            print(f"{number + 1} of {len(asked)}", file=sys.stderr, flush=True)
    print(report(outcomes, len(runs) - len(asked)))
    for assembly in assemblies.values():
        assembly.close()


if __name__ == "__main__":
    main()
