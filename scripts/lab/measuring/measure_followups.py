"""Measure how follow-ups are condensed: questions harmed, follow-ups recognised, effect on retrieval.

    python scripts/lab/measuring/measure_followups.py conversations.jsonl.gz [--squad FILE] [--llm NAME] [--most N]
        [--show N]

Each line of the file is a task in the form of MTRAG-UN: `input` (turns of user and assistant, the question last) and
`contexts` (`document_id`, `text`: the passages that answer it). Questions that stand alone are first questions of
conversations, asked after another conversation. The hand-written dialogues in tests/support/dialogues.py are measured,
too. Retrieval is the app's own, over all contexts of the file: it succeeds if a context of the question is among the
first k.

With --squad (squad2.jsonl.gz: `title`, `passage`, `questions`), follow-ups are also made from two questions about a
paragraph, with a pronoun in place of their common subject (evaluation_sets/followups.py). The condensed question is
right if it has exactly the content words of the original one.

A doubtful question counts as a follow-up here. scripts/lab/measuring/measure_readings.py reads it both ways, as the app
does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.crag import condense
from localcrag.crag.context import Clock
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.protocols import LanguageModel
from localcrag.records.run import Turn
from localcrag.settings import load
from localcrag.text.words import content_words, one_line
from tests.support.dialogues import DIALOGUES

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.evaluation_sets.followups import follow_up
from lab.measuring.passage_collection import put_passages

DEPTHS = (1, 5, 10)


@dataclass(frozen=True)
class Task:
    """A question with its conversation, and the ids of the passages that answer it."""

    question: str
    history: tuple[Turn, ...]
    gold: frozenset[str]


def read(path: Path) -> tuple[list[Task], dict[str, str]]:
    """Return the tasks, and the text of every passage by its id."""
    tasks: list[Task] = []
    passages: dict[str, str] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            texts = [turn["text"].strip() for turn in row["input"]]
            history = tuple(Turn(*texts[at : at + 2]) for at in range(0, len(texts) - 1, 2))
            contexts = {context["document_id"]: context["text"].strip() for context in row["contexts"]}
            passages |= contexts
            tasks.append(Task(texts[-1], history, frozenset(contexts)))
    return tasks, passages


class Index:
    """All passages in a collection of the app."""

    def __init__(self, assembly: Assembly, passages: Mapping[str, str]) -> None:
        self._assembly = assembly
        put_passages(assembly, passages)

    def found(self, question: str, k: int) -> list[str]:
        """Return the ids of the first k passages."""
        assembly = self._assembly
        passages = hybrid_search(
            question, question, k=k, candidates=assembly.settings.candidates, embedder=assembly.models.embedder,
            index=assembly.collections.index(), store=assembly.collections.store(),
        )  # fmt: skip
        return [passage.document or "" for passage in passages]


def condensed(question: str, history: Sequence[Turn], llm: LanguageModel | None, turns: int) -> str:
    """Return the question as the flow condenses it; without a model, as if the model had returned nothing."""
    leans_on = condense.context_turns(question, history, turns=turns)
    if not leans_on:
        return question
    if ruled := condense.rewrite_by_rule(question, leans_on):
        return ruled
    written = ""
    if llm is not None:
        written = Clock("condense").complete(llm, condense.prompt(question, leans_on), condense.DECODING)
    return condense.accept(written, question, leans_on)


def standalone_after_another(tasks: Sequence[Task], chosen: random.Random) -> list[Task]:
    """Return the first question of every conversation after the turns of another one, a longer one if there is any."""
    openings = {task.history[0].question if task.history else task.question for task in tasks}
    long = [task for task in tasks if len(task.history) > 1]
    made = []
    for opening in sorted(openings):
        others = [task for task in long if task.history[0].question != opening]
        if others:
            made.append(Task(opening, chosen.choice(others).history, frozenset()))
    return made


def made_of(path: Path, chosen: random.Random) -> list[tuple[Turn, str, str]]:
    """Return (previous turn, follow-up, original question), with at most one follow-up for each question."""
    made: dict[str, tuple[Turn, str, str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            asked = [one for one in row["questions"] if one["answers"]]
            title = row["title"].replace("_", " ")
            for first, second in permutations(asked, 2):
                found = follow_up(first["question"], second["question"], title, row["passage"])
                if found and second["question"] not in made:
                    turn = Turn(first["question"], first["answers"][0])
                    made[second["question"]] = (turn, found.question, second["question"])
    every = list(made.values())
    chosen.shuffle(every)
    return every


def hits(index: Index, tasks: Sequence[Task], ask: Callable[[Task], str]) -> str:
    """Return the shares of tasks with one of their passages among the first k, for each k, as text."""
    ranked = [(index.found(ask(task), max(DEPTHS)), task.gold) for task in tasks]
    shares = (sum(bool(gold & set(found[:k])) for found, gold in ranked) / max(1, len(ranked)) for k in DEPTHS)
    return "  ".join(f"hit@{k} {share:.3f}" for k, share in zip(DEPTHS, shares, strict=True))


@dataclass(frozen=True)
class Measured:
    """Measures with these settings, and prints the results and `show` examples of each kind."""

    assembly: Assembly
    llm: LanguageModel | None
    turns: int
    most: int
    show: int

    def show_openings(self, alone: Sequence[Task]) -> None:
        """Print how many first questions are taken for follow-ups to a conversation that they do not belong to."""
        changed = [task for task in alone if condense.context_turns(task.question, task.history, turns=self.turns)]
        print(f"first questions behind another conversation: {len(alone)}, taken for follow-ups: "
              f"{len(changed) / len(alone):.3f}")  # fmt: skip
        for task in changed[: self.show]:
            print(f"    {task.question}")

    def show_hand_written(self) -> None:
        """Print how many hand-written follow-ups are recognised and resolved."""
        own = [turn for dialogue in DIALOGUES for turn in dialogue.turns]
        for kind, dependent in (("standing alone", False), ("leaning on what was said", True)):
            turns_of = [turn for turn in own if turn.dependent is dependent]
            seen = [bool(condense.context_turns(t.question, t.history, turns=self.turns)) for t in turns_of]
            print(f"hand-written turns {kind}: {len(turns_of)}, taken for follow-ups: {sum(seen) / len(seen):.3f}")
        good = [turn for turn in own if turn.dependent and turn.names]
        named = [turn.names <= content_words(self._condensed(turn.question, turn.history)) for turn in good]
        print(f"... of those with something to resolve, resolved: {sum(named) / len(named):.3f} of {len(good)}")

    def show_made_of(self, of_squad: Sequence[tuple[Turn, str, str]]) -> None:
        """Print how many follow-ups that were made from questions are condensed to those questions."""
        right: list[bool] = []
        for turn, question, origin in of_squad:
            understood_as = self._condensed(question, (turn,))
            right.append(content_words(understood_as) == content_words(origin))
            if len(right) <= self.show:
                print(f"    {turn.question} | {question} => {understood_as}  ({'right' if right[-1] else origin})")
        print(f"follow-ups made of SQuAD: {len(right)}, right: {sum(right) / max(1, len(right)):.3f}")

    def show_retrieval(self, tasks: Sequence[Task], passages: Mapping[str, str], chosen: random.Random) -> None:
        """Print the effect of condensing on retrieval."""
        follow_ups = [task for task in tasks if task.history and task.gold][: self.most]
        understood = {task: self._condensed(task.question, task.history) for task in follow_ups}
        changed = [task for task in follow_ups if understood[task] != task.question]
        rewritten = [task for task in changed if not understood[task].endswith(one_line(task.question))]
        print(f"follow-ups with passages: {len(follow_ups)}, condensed: {len(changed) / len(follow_ups):.3f}, "
              f"in the model's words or by rule: {len(rewritten)}")  # fmt: skip
        for task in changed[: self.show]:
            print(f"    {task.history[-1].question} | {task.question} => {understood[task]}")
        index = Index(self.assembly, passages)
        first_ones = [task for task in tasks if not task.history and task.gold]
        switched = [Task(task.question, chosen.choice(follow_ups).history, task.gold) for task in first_ones]
        understood |= {task: self._condensed(task.question, task.history) for task in switched}
        left = [task for task in follow_ups if understood[task] == task.question]
        for name, some in (("all", follow_ups), ("condensed", changed), ("rewritten", rewritten), ("left alone", left),
                           ("first questions behind another conversation", switched)):  # fmt: skip
            print(f"{name} ({len(some)}), {len(passages)} passages")
            print("  the bare question:     ", hits(index, some, lambda task: task.question))
            print("  as it is understood:   ", hits(index, some, lambda task: understood[task]))
            print("  behind the former one: ",
                  hits(index, some, lambda task: f"{task.history[-1].question} {task.question}"))  # fmt: skip

    def _condensed(self, question: str, history: Sequence[Turn]) -> str:
        return condensed(question, history, self.llm, self.turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="conversations as .jsonl.gz")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="follow-ups to measure")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many follow-ups, condensed")
    parser.add_argument(
        "--squad", type=Path, metavar="FILE", help="make follow-ups of its questions, and measure those"
    )
    parser.add_argument("--llm", metavar="NAME", help="the language model")
    parser.add_argument("--without-model", action="store_true", help="the rules alone")
    arguments = parser.parse_args()
    tasks, passages = read(arguments.data)
    chosen = random.Random(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Assembly(load(data_dir=Path(folder), llm=arguments.llm))) as made,
    ):
        llm = None if arguments.without_model else made.models.llm
        measured = Measured(made, llm, made.settings.history_turns, arguments.most, arguments.show)
        measured.show_openings(standalone_after_another(tasks, chosen))
        measured.show_hand_written()
        if arguments.squad:
            measured.show_made_of(made_of(arguments.squad, chosen)[: arguments.most])
        measured.show_retrieval(tasks, passages, chosen)


if __name__ == "__main__":
    main()
