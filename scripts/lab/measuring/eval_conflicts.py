"""Print precision and recall of the search for contradictions, by facts or by the language model.

    python scripts/lab/measuring/eval_conflicts.py [--judge facts|llm] [--show]

It reads tests/data/conflict_pairs.jsonl: pairs of statements with their relation. The rules were written with its first
part in view, but not its second.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from localcrag.app.assembly import Assembly
from localcrag.crag.context import Clock
from localcrag.crag.contradiction import difference
from localcrag.crag.reconcile import MIN_COSINE, contradicts
from localcrag.settings import load

ROOT = Path(__file__).resolve().parents[3]


PAIRS = ROOT / "tests" / "data" / "conflict_pairs.jsonl"


@dataclass(frozen=True)
class Pair:
    part: str
    kind: str
    documents: str
    web: str


def read_pairs() -> list[Pair]:
    return [Pair(**json.loads(line)) for line in PAIRS.read_text("utf-8").splitlines()]


def report(name: str, pairs: list[Pair], found: Callable[[Pair], bool], *, show: bool) -> None:
    judged = [(pair, found(pair)) for pair in pairs]
    for part in ("first", "second"):
        own = [(pair.kind == "contradicting", hit, pair) for pair, hit in judged if pair.part == part]
        right = sum(is_one and hit for is_one, hit, _ in own)
        alarms, there = sum(hit for _, hit, _ in own), sum(is_one for is_one, _, _ in own)
        precision = f"{right / alarms:.2f}" if alarms else "–"
        print(f"{name} {part:<7} pairs {len(own):>3}  contradicting {there:>3}  found {right:>3}  "
              f"false alarms {alarms - right:>3}  precision {precision}  recall {right / there:.2f}")  # fmt: skip
        for is_one, hit, pair in own if show else []:
            if is_one != hit:
                print(f"    {'false alarm' if hit else 'missed'} ({pair.kind}): {pair.documents} / {pair.web}")


def nearness(pairs: list[Pair], assembly: Assembly) -> None:
    vectors = assembly.models.embedder.embed([text for pair in pairs for text in (pair.documents, pair.web)])
    cosines = (vectors[0::2] * vectors[1::2]).sum(axis=1)
    for kind in ("contradicting", "agreeing", "scope", "unrelated"):
        own = [float(cosine) for cosine, pair in zip(cosines, pairs, strict=True) if pair.kind == kind]
        near = sum(cosine >= MIN_COSINE for cosine in own)
        print(f"{kind:<13} cosine at least {MIN_COSINE}: {near} of {len(own)}; lowest {min(own):.2f}, "
              f"median {median(own):.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", choices=["facts", "llm"], default="facts")
    parser.add_argument("--show", action="store_true", help="list what was judged wrongly")
    arguments = parser.parse_args()
    pairs = read_pairs()
    with tempfile.TemporaryDirectory() as folder:
        assembly = Assembly(load(data_dir=folder))
        nearness(pairs, assembly)
        if arguments.judge == "facts":
            report("facts", pairs, lambda pair: difference(pair.documents, pair.web) is not None, show=arguments.show)
        else:
            clock = Clock("reconcile")
            llm = assembly.models.llm
            report(
                llm.name,
                pairs,
                lambda pair: contradicts(pair.documents, pair.web, llm=llm, clock=clock),
                show=arguments.show,
            )
            cost = clock.cost()
            print(f"{cost.seconds / len(pairs):.2f} s, {cost.prompt_tokens / len(pairs):.0f} prompt and "
                  f"{cost.completion_tokens / len(pairs):.0f} written tokens a pair")  # fmt: skip
        assembly.close()


if __name__ == "__main__":
    main()
