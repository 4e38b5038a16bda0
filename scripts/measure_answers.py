"""Print what is made of answerable and unanswerable questions, by plain RAG and by localcrag, with the models in use.

    .venv/bin/python scripts/measure_answers.py DATA_FOLDER [--questions 60] [--llm NAME] [--work FOLDER]

DATA_FOLDER holds squad2.jsonl.gz (SQuAD 2.0: `title`, `passage`, `questions`). Each of its articles becomes a document.
An unanswerable question is one that its own paragraph does not answer, though it reads as if it did. Nothing is asked
of the web. The results are kept in the folder --work, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localcrag.quiet import silence  # noqa: E402

silence()

from localcrag import generate  # noqa: E402
from localcrag.assemble import Assembly, uploads_from  # noqa: E402
from localcrag.cite import with_citations  # noqa: E402
from localcrag.datatypes import Backing, Evidence, Run, WebMode  # noqa: E402
from localcrag.errors import LocalcragError  # noqa: E402
from localcrag.evaluation.answers import holds  # noqa: E402
from localcrag.events import RunFinished  # noqa: E402
from localcrag.settings import load  # noqa: E402
from localcrag.verify import MARKS  # noqa: E402

WORK = ROOT / ".artifacts" / "answers"
SEED = 7


@dataclass(frozen=True)
class Labelled:
    """A question with its accepted answers; none where the documents do not answer it."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a question; `unmarked` and `marked` count the shown sentences in the model's own words."""

    answerable: bool
    action: str
    abstained: bool
    right: bool
    unmarked: int
    marked: int
    unsupported_unmarked: int
    seconds: float
    llm_calls: int
    plain_answers: bool
    plain_right: bool


def read(folder: Path, number: int) -> tuple[dict[str, list[str]], list[Labelled]]:
    """Return the articles' paragraphs by title, and so many answerable and as many unanswerable questions."""
    articles: dict[str, list[str]] = {}
    answerable, unanswerable = [], []
    with gzip.open(folder / "squad2.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            articles.setdefault(row["title"], []).append(row["passage"])
            for asked in row["questions"]:
                if asked["answerable"]:
                    answerable.append(Labelled(asked["question"], tuple(asked["answers"])))
                else:
                    unanswerable.append(Labelled(asked["question"], ()))
    chance = random.Random(SEED)
    return articles, chance.sample(answerable, number) + chance.sample(unanswerable, number)


def fill(assembly: Assembly, articles: dict[str, list[str]], folder: Path) -> None:
    """Put the articles into the collection, as text files."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, paragraphs in articles.items():
        name = re.sub(r"[^\w -]", "_", title)
        (folder / f"{name}.txt").write_text("\n\n".join(paragraphs), "utf-8")
    for _ in assembly.ingest(uploads_from([folder])):
        pass


def measure(assembly: Assembly, question: Labelled) -> Outcome:
    """Return what plain RAG and localcrag make of a question."""
    run = ask(assembly, question.text)
    plain = plain_rag(assembly, run)
    shown = [support for support in run.support if support.shown and not run.abstained]
    return Outcome(
        answerable=bool(question.answers),
        action=str(run.action),
        abstained=run.abstained,
        right=not run.abstained and holds(run.answer, question.answers),
        unmarked=sum(support.backing is Backing.SUPPORTED for support in shown),
        marked=sum(support.backing is not Backing.SUPPORTED for support in shown),
        unsupported_unmarked=sum(
            with_citations(support.sentence, support.citations, MARKS[support.backing]) not in run.answer
            for support in shown
        ),
        seconds=sum(step.seconds for step in run.steps),
        llm_calls=sum(step.llm_calls for step in run.steps),
        plain_answers=not generate.says_nothing(plain),
        plain_right=holds(plain, question.answers),
    )


def ask(assembly: Assembly, question: str) -> Run:
    """Return the run of a question."""
    (run,) = (event.run for event in assembly.ask(question) if isinstance(event, RunFinished))
    return run


def plain_rag(assembly: Assembly, run: Run) -> str:
    """Return what the model writes from all retrieved passages, whole, with the same prompt."""
    evidence = [
        Evidence(number, passage.text, passage.id, "", passage.relevance)
        for number, passage in enumerate(run.passages, start=1)
    ]
    messages = generate.prompt(run.question, run.question, evidence)
    return "".join(assembly.llm.stream(messages, max_tokens=assembly.settings.answer_tokens))


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the figures as Markdown."""
    lines = ["| | answerable | unanswerable |", "| --- | --- | --- |"]
    groups = [[one for one in outcomes if one.answerable is kind] for kind in (True, False)]
    rows = {
        "questions": [str(len(group)) for group in groups],
        "plain RAG: answers": [share(group, lambda one: one.plain_answers) for group in groups],
        "plain RAG: holds an accepted answer": [share(groups[0], lambda one: one.plain_right), ""],
        "localcrag: abstains": [share(group, lambda one: one.abstained) for group in groups],
        "localcrag: quotes the sources only": [
            share(group, lambda one: not one.abstained and one.unmarked + one.marked == 0) for group in groups
        ],
        "localcrag: answers in its own words": [
            share(group, lambda one: one.unmarked + one.marked > 0) for group in groups
        ],
        "of these, marked as partly backed throughout": [
            share(group, lambda one: one.marked > 0 and one.unmarked == 0) for group in groups
        ],
        "localcrag: holds an accepted answer": [share(groups[0], lambda one: one.right), ""],
        "answers with an unsupported and unmarked sentence": [
            share(group, lambda one: one.unsupported_unmarked > 0) for group in groups
        ],
        "language model calls, mean": [f"{mean([one.llm_calls for one in group]):.2f}" for group in groups],
    }
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    for action in ("CORRECT", "AMBIGUOUS", "INCORRECT"):
        calls = [one.llm_calls for one in outcomes if one.action == action]
        if calls:
            lines.append(f"| {action}: language model calls, most | {max(calls)} | of {len(calls)} |")
    return "\n".join(lines)


def share(group: Sequence[Outcome], test: Callable[[Outcome], bool]) -> str:
    return f"{mean([float(test(one)) for one in group]):.2f}"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description="Plain RAG and localcrag on answerable and unanswerable questions.")
    parser.add_argument("data", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--questions", type=int, default=60, metavar="N", help="of each kind (60)")
    parser.add_argument("--llm", metavar="NAME", help="the language model")
    parser.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help="where results are kept")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    kept = given.work / f"outcomes-{given.llm or 'default'}.jsonl"
    done = [Outcome(**json.loads(line)) for line in kept.read_text("utf-8").splitlines()] if kept.is_file() else []
    try:
        articles, questions = read(given.data, given.questions)
        assembly = Assembly(load(data_dir=given.work / "data", llm=given.llm, web=WebMode.NEVER))
        fill(assembly, articles, given.work / "documents")
        with kept.open("a", encoding="utf-8") as file:
            for question in questions[len(done) :]:
                done.append(measure(assembly, question))
                file.write(json.dumps(asdict(done[-1])) + "\n")
                file.flush()
                print(f"{len(done)} of {len(questions)}", file=sys.stderr, flush=True)
        assembly.close()
    except (LocalcragError, OSError, KeyError, ValueError) as error:
        print(f"measure_answers: {error}", file=sys.stderr)
        return 1
    print(report(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
