"""Print how long corrected answers take compared with plain RAG, and where the time goes.

    .venv/bin/python scripts/lab/speed/bench_answers.py [DATA] [--questions N] [--processor] [--settings KEY=VALUE …]
        [--json FILE]

The questions are those of bench.py and, if DATA has everyday/dev.jsonl.gz, everyday questions, set up as by
eval_everyday.py. Every question is asked twice in one process, corrected and of plain RAG (the same retrieval, with all
passages whole in the prompt). The two take turns in going first, so that ratios are valid on a busy machine. The first
token is the first piece of an answer, or all of it if the language model is not used. First and last tokens are
compared by the ratio of medians, and by the median of the ratios of the same question with its 95 % interval (bootstrap
over questions), for all questions and by action.

Seconds of parts are means, measured around the calls of embedding model, index, store, reranker and language model; a
step's own time is the rest. With --processor, seconds are this process's CPU time, and everything uses one thread, so
that other programs hardly affect them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from localcrag import pipeline
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.answer import generate
from localcrag.crag.context import Parts
from localcrag.crag.retrieve import hybrid_search
from localcrag.records.enums import WebMode
from localcrag.records.events import AnswerPiece
from localcrag.records.protocols import Decoding, TokenStream
from localcrag.records.run import Message, Run
from localcrag.settings import Settings, load, with_changes

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.everyday.questions import Case, halves, laid_out, read_documents, sample
from lab.speed.texts import write_documents

SEED = 20
CHUNKS = 200
"""Chunks of bench.py's texts, as many as with `bench.py --quick`."""
RESAMPLED = 2_000
Spent = defaultdict[str, float]
clock: Callable[[], float] = time.perf_counter
READ, WRITTEN = "prompt read", "answer written"
TOKENS, KNOWN, LENGTH = "prompt tokens", "of these already evaluated", "answer tokens"


class Watched:
    """A proxy for a part of the flow that adds up the seconds of its calls under one name."""

    def __init__(self, part: Any, name: str, spent: Spent) -> None:
        self._part, self._name, self._spent = part, name, spent

    def __getattr__(self, name: str) -> Any:
        """Return the part's attribute; a method is timed."""
        found = getattr(self._part, name)
        if not callable(found) or name == "calibration":
            return found

        def timed(*given: Any, **named: Any) -> Any:
            started = clock()
            try:
                return found(*given, **named)
            finally:
                self._spent[f"{self._name}.{name}"] += clock() - started

        return timed


class WatchedModel(Watched):
    """The same for a language model, with the time to the first token counted separately."""

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> WatchedStream:
        return WatchedStream(self._part.stream(messages, decoding), self._spent)


class WatchedStream:
    """An answer being written, which counts its seconds and tokens."""

    def __init__(self, stream: TokenStream, spent: Spent) -> None:
        self._stream, self._spent = stream, spent
        self.usage = stream.usage

    def __iter__(self) -> Iterator[str]:
        before, what = clock(), READ
        for piece in self._stream:
            now = clock()
            self._spent[what] += now - before
            yield piece
            before, what = clock(), WRITTEN
        self._spent[what] += clock() - before
        self._spent[TOKENS] += self.usage.prompt_tokens
        self._spent[KNOWN] += self.usage.cached_tokens
        self._spent[LENGTH] += self.usage.completion_tokens

    def close(self) -> None:
        self._stream.close()


class Nowhere:
    """A run log that discards runs; with a separate log, the app caches no scores."""

    def save(self, run: Run) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer's seconds to the first and last token, and its seconds by part; `kind` is its action."""

    first: float
    last: float
    spent: Mapping[str, float]
    kind: str = ""


def watched(parts: Parts, spent: Spent) -> Parts:
    """Return the parts as proxies that add up their times in `spent`."""
    of_flow = {"embedder": "embedder", "index": "index", "store": "store", "scorer": "relevance model"}
    held: dict[str, Any] = {field: Watched(getattr(parts, field), name, spent) for field, name in of_flow.items()}
    return replace(parts, llm=WatchedModel(parts.llm, "language model", spent), **held)


def corrected(parts: Parts, settings: Settings, question: str) -> Asked:
    """Ask a question as the app does, and return its cost."""
    spent: Spent = defaultdict(float)
    started = clock()
    first = None
    with closing(pipeline.answer(question, parts=watched(parts, spent), settings=settings)) as recording:
        for event in recording:
            if first is None and isinstance(event, AnswerPiece):
                first = clock() - started
    last = clock() - started
    run = recording.run
    for step in run.steps:
        spent[f"step {step.name}"] += step.seconds
    wrote = "" if spent[TOKENS] else ", laid out" if run.answered else ", not asked"
    return Asked(first or last, last, spent, f"{run.action.name if run.action else 'none'}{wrote}")


def plain(parts: Parts, settings: Settings, question: str) -> Asked:
    """Ask plain RAG the same question, and return its cost."""
    spent: Spent = defaultdict(float)
    parts = watched(parts, spent)
    started = clock()
    passages = hybrid_search(
        question, question, k=settings.k, candidates=settings.candidates, embedder=parts.embedder,
        index=parts.index, store=parts.store,
    )  # fmt: skip
    messages = generate.plain_prompt(question, question, passages)
    first = None
    for _ in parts.llm.stream(messages, Decoding(settings.answer_tokens)):
        first = first or clock() - started
    last = clock() - started
    return Asked(first or last, last, spent)


def ask_all(
    assembly: Assembly, cases: Sequence[tuple[str, str]], said: Callable[[str], None]
) -> list[tuple[Asked, Asked]]:
    """Ask every question, each in its collection, corrected and of plain RAG; return the costs."""
    pairs = []
    for number, (question, collection) in enumerate(cases):
        settings = with_changes(assembly.settings, collection=collection)
        ways = [corrected, plain] if number % 2 else [plain, corrected]
        found = {way: way(assembly.parts(settings, runs=Nowhere()), settings, question) for way in ways}
        pairs.append((found[corrected], found[plain]))
        if number % 20 == 0:
            said(f"{number} of {len(cases)} questions")
    return pairs


def figures(pairs: Sequence[tuple[Asked, Asked]]) -> dict[str, dict[str, float]]:
    """Return the figures of all questions, and those of each action."""
    kinds = sorted({ours.kind for ours, _ in pairs})
    groups = {"all": list(pairs)} | {kind: [pair for pair in pairs if pair[0].kind == kind] for kind in kinds}
    return {name: _figures(some) for name, some in groups.items()}


def _figures(pairs: Sequence[tuple[Asked, Asked]]) -> dict[str, float]:
    ours, theirs = zip(*pairs, strict=True)
    found: dict[str, float] = {"questions": len(pairs)}
    for token in ("first", "last"):
        one, other = (np.array([getattr(each, token) for each in some]) for some in (ours, theirs))
        low, high = interval(one / other)
        found |= {
            f"{token} token: corrected, median s": float(np.median(one)),
            f"{token} token: plain RAG, median s": float(np.median(other)),
            f"{token} token: ratio of medians": float(np.median(one) / np.median(other)),
            f"{token} token: ratio of sums": float(one.sum() / other.sum()),
            f"{token} token: median of ratios": float(np.median(one / other)),
            f"{token} token: from": low,
            f"{token} token: to": high,
        }
    for who, some in (("corrected", ours), ("plain RAG", theirs)):
        names = sorted({name for one in some for name in one.spent})
        found |= {f"{who}: {name}": statistics.mean(one.spent.get(name, 0.0) for one in some) for name in names}
    return found


def interval(ratios: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a median."""
    chance = np.random.default_rng(SEED)
    medians = np.median(chance.choice(ratios, (RESAMPLED, len(ratios))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return float(low), float(high)


def own_texts(assembly: Assembly, folder: Path, number: int) -> list[tuple[str, str]]:
    """Add bench.py's texts to a collection, and return questions that they answer, each with the collection."""
    questions = write_documents(folder, CHUNKS, random.Random(1))
    _add(assembly, [folder], "texts")
    return [(question, "texts") for question in questions[:number]]


def everyday(assembly: Assembly, data: Path, folder: Path, number: int) -> list[tuple[str, str]]:
    """Add everyday documents to two collections, and return questions, each with its collection."""
    collections = halves(read_documents(data / "everyday" / "dev.jsonl.gz"), SEED)
    for name, documents in collections.items():
        _add(assembly, [document.write(folder) for document in documents], name)
    cases: list[Case] = sample(laid_out(collections, SEED), number, SEED)
    return [(case.labelled.text, case.collection) for case in cases]


def _add(assembly: Assembly, paths: list[Path], collection: str) -> None:
    for _ in assembly.ingest(uploads_from(paths), collection):
        pass


def show(name: str, groups: Mapping[str, Mapping[str, float]]) -> None:
    """Print a set's figures as a Markdown table."""
    print(f"\n## {name}\n\n| | {' | '.join(groups)} |\n| --- |{' --: |' * len(groups)}")
    for row in dict.fromkeys(row for group in groups.values() for row in group):
        cells = [f"{group[row]:.3f}" if row in group else "–" for group in groups.values()]
        print(f"| {row} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA")
    parser.add_argument("--questions", type=int, default=60, metavar="N", help="of each set (60); the same each time")
    parser.add_argument("--settings", nargs="*", default=[], metavar="KEY=VALUE", help="of the app")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file for the figures")
    parser.add_argument("--processor", action="store_true", help="seconds on the processor, with one thread")
    given = parser.parse_args()
    chosen: dict[str, Any] = dict(one.split("=", 1) for one in given.settings)
    if given.processor:
        global clock
        clock, chosen["threads"] = time.process_time, 1
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench-answers-") as temporary:
        folder = Path(temporary)
        with closing(Assembly(load(**{"web": WebMode.NEVER, **chosen, "data_dir": folder / "data"}))) as assembly:
            sets: dict[str, Callable[[Path], list[tuple[str, str]]]] = {
                "bench.py's texts": lambda files: own_texts(assembly, files, given.questions)
            }
            if given.data:
                sets["everyday"] = lambda files: everyday(assembly, given.data, files, given.questions)
            for number, (name, laid) in enumerate(sets.items()):
                files = folder / str(number)
                files.mkdir()
                cases = laid(files)
                assembly.warm_up()
                ask_all(assembly, cases[:2], lambda _: None)
                pairs = ask_all(assembly, cases, lambda text: print(text, file=sys.stderr, flush=True))
                found[name] = figures(pairs)
                show(name, found[name])
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), "utf-8")


if __name__ == "__main__":
    main()
