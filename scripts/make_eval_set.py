"""Write a pair of evaluation sets from a folder of labelled data: real files and questions about them.

    .venv/bin/python scripts/make_eval_set.py DATA OUT [--name general] [--questions 100] [--follow-ups 20]
        [--distractors 150] [--seed 5]

DATA contains dev/squad2.jsonl.gz, dev/nq_oracle.jsonl.gz and corpora/wikipedia.jsonl.gz (lab/evaluation_sets/texts.py).
OUT/NAME-1 and OUT/NAME-2 have the same questions, and each has one half of the documents. So every question can be
answered from the documents of one set, but not of the other. There, recorded web results answer half of those
questions, and nothing answers the other half. The same arguments give the same files. docs/lab/evaluation-sets.md
describes how questions are chosen and checked.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lab.evaluation_sets.choice import Choice, Pair, Side
from lab.evaluation_sets.files import FORMS, CannotWrite, write_document
from lab.evaluation_sets.texts import Candidate, read_texts
from lab.relevance.data import DataError

from localcrag.records.errors import EvaluationSetError
from localcrag.records.evaluation_set import DOCUMENTS, QUESTIONS, AnswerLocation, dump, read

ROOT = Path(__file__).resolve().parent.parent


SHOWN_FOLLOW_UPS = 15


def write_side(folder: Path, side: Side, forms: Mapping[str, str]) -> Counter[str]:
    """Write one set, completely or not at all; return the number of files of each form. Raises CannotWrite, OSError."""
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    documents = partial / DOCUMENTS
    documents.mkdir(parents=True)
    files = {one.name: write_document(documents, one, forms[one.name]) for one in side.documents}
    questions = [replace(one, documents=tuple(files[name] for name in one.documents)) for one in side.questions]
    with (partial / QUESTIONS).open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(dump(questions))
    partial.rename(folder)
    return Counter(Path(name).suffix.removeprefix(".") for name in files.values())


def forms_of(pair: Pair, seed: int) -> dict[str, str]:
    """Return a random file format for each document of either set."""
    names = sorted({document.name for side in pair.sides for document in side.documents})
    chance = random.Random(seed)
    return {name: chance.choice(list(FORMS)) for name in names}


def told(folder: Path, files: Mapping[str, int]) -> str:
    """Return a summary of a set, read back from its folder, as lines of text. Raises EvaluationSetError."""
    written = read(folder)
    counts = Counter((one.id.split("-")[0], one.held_by) for one in written.questions)
    by_form = ", ".join(f"{number} {form}" for form, number in sorted(files.items()))
    lines = [
        f"{folder}: {len(written.questions)} questions, {len(written.files)} documents ({by_form})",
        f"  {'':10}" + "".join(f"{held:>12}" for held in AnswerLocation),
    ]
    kinds = sorted({kind for kind, _ in counts})
    lines += [f"  {kind:10}" + "".join(f"{counts[kind, held]:>12}" for held in AnswerLocation) for kind in kinds]
    return "\n".join(lines)


def shown(candidate: Candidate) -> str:
    turn = candidate.history[0]
    return f"  {turn.question} {turn.answer}\n    {candidate.question} ({candidate.answers[0]}; {candidate.rule})"


def count(text: str) -> int:
    """Parse a number that is not negative. Raises ValueError, which argparse reports."""
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write a pair of evaluation sets from labelled data.")
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder that holds dev/ and corpora/")
    parser.add_argument("out", type=Path, metavar="OUT", help="where the folders of the two sets come")
    parser.add_argument("--name", default="general", help="of the sets: NAME-1 and NAME-2 (general)")
    for name, usual, what in (
        ("--questions", 100, "of each source that either set answers"),
        ("--follow-ups", 20, "that either set answers"),
        ("--distractors", 150, "articles that no question is about, the same in both sets"),
    ):
        parser.add_argument(name, type=count, default=usual, metavar="N", help=f"{what} ({usual})")
    parser.add_argument("--seed", type=int, default=5, help="of what is chosen by chance (5)")
    given = parser.parse_args(arguments)
    folders = [given.out / f"{given.name}-{number}" for number in (1, 2)]
    try:
        for folder in folders:
            if folder.exists():
                raise FileExistsError(f"{folder} is there already. Delete it, or give another --name.")
        wanted = {"squad": given.questions, "natural": given.questions, "followup": given.follow_ups}
        texts = read_texts(given.data)
        pair = Choice(texts, wanted=wanted, distractors=given.distractors, seed=given.seed).make()
        forms = forms_of(pair, given.seed)
        for folder, side in zip(folders, pair.sides, strict=True):
            print(told(folder, write_side(folder, side, forms)))
    except (DataError, CannotWrite, EvaluationSetError, OSError) as error:
        print(f"make_eval_set: {error}", file=sys.stderr)
        return 1
    print("Passed over:")
    for reason, times in sorted(pair.passed_over.items(), key=lambda item: -item[1]):
        print(f"  {times:5}  {reason}")
    print("Follow-ups, to look at:")
    for candidate in pair.followups[:SHOWN_FOLLOW_UPS]:
        print(shown(candidate))
    return 0


if __name__ == "__main__":
    sys.exit(main())
