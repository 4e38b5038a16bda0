"""Ask everyday questions through the real pipeline, and print how complete the answers are.

    .venv/bin/python scripts/lab/everyday/eval_everyday.py DATA [--set everyday] [--split dev] [--questions N]
        [--no-llm] [--no-plain] [--llm NAME] [--judged] [--types] [--failures FILE] [--settings KEY=VALUE …]

DATA contains everyday/{dev,train}.jsonl.gz, train/handbooks.jsonl.gz (one document a line: id, text, questions),
dev/clapnq.jsonl.gz and dev/finance/ (PDFs and questions.jsonl). --set can be given several times:

- everyday, handbooks: the documents are split into two collections. Half of the answerable questions are asked in the
  collection with their document, half in the other one (“taken out”). Near misses are asked where their document is.
- one-collection: all everyday documents of both splits together; only retrieval, or with --judged all steps up to the
  evidence.
- clapnq: the passages of all questions are the documents; measured is the share of the long answer's content words in
  the result.
- finance: the filings are in one collection; measured is whether a passage is from a page with the evidence.

A needed line is a line of the labelled evidence that is not a heading or a header row of a table. A passage or the
evidence contains it if it has the line word for word, apart from Markdown, citations, quotation marks, dashes, white
space, "20 %" for "20%" and the pipes of tables; or all its sentences; or a line with all cells of the row. The shown
answer (the run's `answer` as the app renders it, with quotations and nearest passages) also contains a line if one of
its paragraphs, rows or list items has at least 0.9 of the line's content words. Short facts count if all of a
question's facts are there, in upper or lower case. Plain RAG is asked only the answerable questions, and times are
compared on those.

For each set, the script prints a Markdown table, and the same figures as a line of JSON. --failures writes every
question with its results as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from localcrag.records.errors import LocalcragError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.everyday.bench import Bench, opened
from lab.everyday.everyday_set import ask_everyday, found_among_all
from lab.everyday.other_sets import ask_clapnq, ask_filings, clapnq_figures, filing_figures
from lab.everyday.outcomes import Figures, by_type, figures, table
from lab.everyday.questions import Document, Kind, UnreadableData, read_documents

EVERYDAY, HANDBOOKS, ONE_COLLECTION, CLAPNQ, FINANCE = SETS = (
    "everyday", "handbooks", "one-collection", "clapnq", "finance",
)  # fmt: skip
SPLITS = ("dev", "train")


def everyday_documents(data: Path, split: str) -> list[Document]:
    """Return the documents of a split. Raises UnreadableData."""
    return read_documents(data / "everyday" / f"{split}.jsonl.gz")


@dataclass(frozen=True, slots=True)
class Measured:
    """A set's figures in columns by type of question, the number of questions by kind, and all questions."""

    columns: dict[str, Figures]
    numbers: dict[str, int]
    asked: list[dict[str, object]]


def measure(name: str, bench: Bench, given: argparse.Namespace, folder: Path) -> Measured:
    """Ask a set's questions, and measure the outcomes. Raises the errors of asking."""
    data, number = given.data, given.questions
    if name == ONE_COLLECTION:
        asked, others = (
            everyday_documents(data, split) for split in sorted(SPLITS, key=lambda one: one != given.split)
        )
        found, number = found_among_all(
            bench, asked, others, folder, questions=number, judged=given.judged, said=progress
        )
        return Measured({"all": found}, {Kind.ANSWERABLE.value: number}, [])
    if name == CLAPNQ:
        long = ask_clapnq(bench, data / "dev" / "clapnq.jsonl.gz", folder, questions=number, said=progress)
        kinds = Counter("answerable" if one.answerable else "not answerable" for one in long)
        return Measured({"all": clapnq_figures(long)}, dict(kinds), [one.as_json() for one in long])
    if name == FINANCE:
        filings = ask_filings(bench, data / "dev" / "finance", questions=number, said=progress)
        return Measured({"all": filing_figures(filings)}, {"all": len(filings)}, [one.as_json() for one in filings])
    handbooks = data / "train" / "handbooks.jsonl.gz"
    documents = read_documents(handbooks) if name == HANDBOOKS else everyday_documents(data, given.split)
    outcomes = ask_everyday(bench, documents, folder, questions=number, plain=given.plain, said=progress)
    columns = {"all": figures(outcomes)}
    if given.types:
        columns |= {kind: figures(some) for kind, some in by_type(outcomes).items()}
    numbers = Counter(one.case.kind.value for one in outcomes)
    return Measured(columns, dict(numbers), [one.as_json() for one in outcomes])


def progress(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def setting(text: str) -> tuple[str, str]:
    """Parse a setting's name and value. Raises ValueError, which argparse reports."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name, value


def count(text: str) -> int:
    """Parse a number above zero. Raises ValueError, which argparse reports."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="what is asked (everyday)")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[0], help="of the everyday documents (dev)")
    parser.add_argument("--questions", type=count, metavar="N", help="a sample of so many; the same each time")
    parser.add_argument("--llm", metavar="NAME", help="another language model: a name of the list, or a path to a GGUF")
    parser.add_argument("--no-llm", action="store_true", help="ask no language model; figures of answers are left out")
    parser.add_argument("--no-plain", action="store_false", dest="plain", help="do not ask plain RAG")
    parser.add_argument("--judged", action="store_true", help="in one-collection, go on to the evidence")
    parser.add_argument("--types", action="store_true", help="a column for each type of question")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="write every question with what was found")
    parser.add_argument("--settings", type=setting, nargs="*", default=[], metavar="KEY=VALUE", help="of the app")
    return parser.parse_args(given)


def print_set(name: str, given: argparse.Namespace, settings: Mapping[str, str]) -> list[dict[str, object]]:
    """Measure a set, print its figures, and return all questions. Raises the errors of asking."""
    silent = given.no_llm or name == ONE_COLLECTION
    with opened(settings, silent=silent) as bench, TemporaryDirectory(prefix="eval-everyday-files-") as folder:
        measured = measure(name, bench, given, Path(folder))
        llm = bench.llm
    numbers = ", ".join(f"{number} {kind}" for kind, number in measured.numbers.items())
    print(f"\n## {name}, {llm or 'no language model'}\n\nQuestions: {numbers}\n\n{table(measured.columns)}\n")
    about = {"set": name, "split": given.split, "questions": measured.numbers, "llm": llm, "settings": dict(settings)}
    print(json.dumps({**about, "figures": measured.columns}), flush=True)
    return [{"set": name, **one} for one in measured.asked]


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    settings = dict(chosen.settings) | ({"llm": chosen.llm} if chosen.llm else {})
    asked: list[dict[str, object]] = []
    try:
        for name in chosen.sets or [EVERYDAY]:
            asked += print_set(name, chosen, settings)
    except (UnreadableData, LocalcragError, OSError) as error:
        print(f"eval_everyday: {error}", file=sys.stderr)
        return 1
    finally:
        if chosen.failures and asked:
            lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in asked)
            chosen.failures.write_text("".join(lines), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
