"""Measure which questions are recognised as follow-ups: those that are, and those that are not.

    python scripts/lab/measuring/measure_readings.py FOLDER [--part dev] [--most N] [--documents] [--show]

FOLDER contains train.jsonl.gz and dev.jsonl.gz with one document a line: `id`, `text`, `questions` (`question`,
`answer`, and `also`: other wordings, often without the subject's name). Each question is asked after a short
conversation about another document, so that none is a follow-up. The first wording and the others are sampled together
and separately. True follow-ups are in tests/data/followups.jsonl, written one by one for documents of train: the rules
were written with the first part in view, but not the second.

By default, only the rules are used, without a model. With --documents, doubtful questions are read both ways, as in the
app, in a collection of the part's documents, with the embedded models. “found” is followed by the share of answered
questions whose best passage comes from their own document.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag import condense, grading
from localcrag.crag.condense import FollowUpStatus, compare_readings, follow_up_status
from localcrag.crag.context import Budget, Context
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.run import Reading, Turn
from localcrag.settings import load

Row = dict[str, Any]
FOLLOW_UPS = Path(__file__).resolve().parents[3] / "tests" / "data" / "followups.jsonl"


@dataclass(frozen=True)
class Asked:
    """A question after a turn; `document` is the one that it asks about, if that answers it."""

    question: str
    turn: Turn
    document: str | None


def read(path: Path) -> list[Row]:
    """Return the documents with their questions."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def behind_another(rows: Sequence[Row], form: str, chosen: random.Random) -> list[Asked]:
    """Return every question that has this form, after a turn about another document."""
    turns = [
        (row["id"], Turn(one["question"], one["answer"])) for row in rows for one in row["questions"] if one["evidence"]
    ]
    made = []
    for row in rows:
        for one in row["questions"]:
            if form in one:
                turn = chosen.choice([turn for about, turn in turns if about != row["id"]])
                made.append(Asked(one[form], turn, row["id"] if one["evidence"] else None))
    return made


def follow_ups(part: str) -> list[Asked]:
    """Return the follow-ups in the repository, each after the turn that it follows."""
    rows = map(json.loads, FOLLOW_UPS.read_text("utf-8").splitlines())
    return [
        Asked(row["question"], Turn(row["before"], row["answer"]), row["document"])
        for row in rows
        if row["part"] == part
    ]


class Documents:
    """The documents of a part in a collection of the app."""

    def __init__(self, assembly: Assembly, rows: Iterable[Row], folder: Path) -> None:
        folder.mkdir()
        for row in rows:
            (folder / f"{row['id']}.md").write_text(row["text"], "utf-8")
        for _event in assembly.ingest(uploads_from([folder])):
            pass
        settings = assembly.settings
        self._context = Context(assembly.parts(settings), settings, Budget(0))

    def readings(self, asked: Asked) -> tuple[Reading, ...]:
        """Return both readings of a doubtful question, as the app compares them."""
        return compare_readings(asked.question, joined(asked), (asked.turn,), self._context)

    def found(self, question: str, asked: Asked) -> bool:
        """Return whether the best passage for `question` is from the document that was asked about."""
        parts, settings = self._context.parts, self._context.settings
        passages = hybrid_search(
            question, question, k=settings.k, candidates=settings.candidates, embedder=parts.embedder,
            index=parts.index, store=parts.store,
        )  # fmt: skip
        graded = grading.evaluate(question, passages, scorer=parts.scorer, thresholds=self._context.thresholds)
        best = max(graded, key=lambda passage: passage.relevance, default=None)
        return best is not None and best.document == f"{asked.document}.md"


def joined(asked: Asked) -> str:
    """Return the question condensed with its conversation, by the rules alone."""
    ruled = condense.rewrite_by_rule(asked.question, (asked.turn,))
    return ruled or condense.accept("", asked.question, (asked.turn,))


def report(name: str, some: Sequence[Asked], documents: Documents | None, *, show: bool) -> None:
    """Print how many questions are taken for follow-ups, by the rules and in the end."""
    of = {kind: [asked for asked in some if follow_up_status(asked.question) is kind] for kind in FollowUpStatus}
    shares = ", ".join(f"{kind.name.lower().replace('_', '-')} {len(of[kind]) / len(some):.3f}" for kind in of)
    print(f"{name}: {len(some)}, by the rules {shares}")
    if show:
        for asked in of[FollowUpStatus.FOLLOW_UP]:
            print(f"    follow-up: {asked.question}")
    if documents is None:
        return
    taken = list(of[FollowUpStatus.FOLLOW_UP])
    for asked in of[FollowUpStatus.DOUBTFUL]:
        alone, behind = documents.readings(asked)
        taken += [asked] if behind.kept else []
        if show:
            print(f"    {'follow-up' if behind.kept else 'its own':<9} {alone.relevance:.2f} {behind.relevance:.2f}  "
                  f"{asked.turn.question} | {asked.question}")  # fmt: skip
    print(f"  in the end taken for follow-ups: {len(taken) / len(some):.3f}")
    pointing = [one for kind in (FollowUpStatus.FOLLOW_UP, FollowUpStatus.DOUBTFUL) for one in of[kind] if one.document]
    found = {
        "by itself": [documents.found(one.question, one) for one in pointing],
        "as a follow-up": [documents.found(joined(one), one) for one in pointing],
        "as it is read": [documents.found(joined(one) if one in taken else one.question, one) for one in pointing],
    }
    counts = ", ".join(f"{how} {sum(hits)}" for how, hits in found.items())
    print(f"  found, of the {len(pointing)} that lean or may lean and have an answer: {counts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--part", choices=["train", "dev"], default="train")
    parser.add_argument("--most", type=int, default=800, metavar="N", help="questions of each kind (800)")
    parser.add_argument("--documents", action="store_true", help="with the documents and the embedded models")
    parser.add_argument("--show", action="store_true", help="print the questions that are not left alone")
    arguments = parser.parse_args()
    rows = read(arguments.folder / f"{arguments.part}.jsonl.gz")
    chosen = random.Random(1)
    forms = {form: behind_another(rows, form, chosen) for form in ("question", "also")}
    kinds = {"first form": forms["question"]}
    if forms["also"]:
        both = forms["question"] + forms["also"]
        kinds = {"both forms": both, **kinds, "other form": forms["also"]}
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Assembly(load(data_dir=Path(folder) / "data"))) as assembly,
    ):
        documents = Documents(assembly, rows, Path(folder) / "documents") if arguments.documents else None
        for name, some in kinds.items():
            sample = chosen.sample(some, min(arguments.most, len(some)))
            report(f"none is a follow-up, {name}", sample, documents, show=arguments.show)
        if arguments.part == "train":  # The follow-ups are about documents of this part.
            for part in ("first", "second"):
                report(f"follow-ups, {part} part", follow_ups(part), documents, show=arguments.show and part == "first")


if __name__ == "__main__":
    main()
