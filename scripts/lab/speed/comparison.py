"""Measure two versions alternately, A B B A, on the same documents; report what is slower.

Measurements that one of the versions cannot do are left out, with the reason: an earlier version may lack the feature,
and this one may have removed it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lab.speed.ratios import ALLOWED, LEAST_PAIRS, Pair, Ratio, Verdict, ratio
from lab.speed.texts import CHUNKS_OF_A_DOCUMENT, write_documents
from lab.speed.versions import TRAILER, Unmeasured

SHOWN = {
    ("ingested", "seconds"): "ingest",
    ("corrected", "retrieve"): "retrieve",
    ("corrected", "evaluate"): "evaluate",
    ("corrected", "refine"): "refine",
    ("corrected", "first token"): "first token",
    ("corrected", "last token"): "last token",
    ("plain", "last token"): "plain RAG, last token",
    ("help", "seconds"): "localcrag --help",
    ("import", "seconds"): "import",
    ("page", "seconds"): "page answers",
}
"""Names of the steps, by measuring function and name of the figure."""


class Measurable(Protocol):
    """A version that runs a task once and returns its figures; it raises Unmeasured."""

    name: str

    def measured(self, what: str, given: str) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """How often each task is measured. After `seconds`, a task with LEAST_PAIRS pairs is not measured again.

    `chunks` are added before anything is timed; each of the `batches` added later has `batch` chunks.
    """

    chunks: int
    batches: int
    batch: int
    questions: int
    plain: int
    helps: int
    imports: int
    pages: int
    seconds: float


FULL = Plan(200, 20, 40, 40, 12, 30, 10, 6, 3600.0)
SMALL = Plan(40, 8, CHUNKS_OF_A_DOCUMENT, 12, 0, 12, 6, 0, 50.0)
"""The quick plan, without plain RAG, which uses the same language model and is slowest, and without page starts."""
WARM_UP = 2
"""Questions asked, and program starts, before anything is timed."""


@dataclass(frozen=True, slots=True)
class Round:
    """A task that both versions run once, one after the other."""

    what: str
    given: str = ""


@dataclass(frozen=True, slots=True)
class Materials:
    """The tasks that run before anything is timed, and the timed ones in order."""

    before: tuple[Round, ...]
    timed: tuple[Round, ...]


@dataclass(slots=True)
class Comparison:
    """The pairs of times of each step, and the reasons for steps without any."""

    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    chunks: list[tuple[float, float, float]] = field(default_factory=list)
    """Chunks, earlier version's seconds and this version's seconds, for each batch that both added."""

    def ratios(self) -> list[Ratio]:
        """Return the ratio of each step, in the order of SHOWN."""
        steps = [step for step in SHOWN.values() if step in self.pairs]
        return [one for step in steps if (one := ratio(step, self.pairs[step]))]


def materials(plan: Plan, folder: Path) -> Materials:
    """Write the documents, and return the tasks with them. The same plan gives the same tasks."""
    chosen = random.Random(1)
    questions = write_documents(folder / "first", plan.chunks, chosen)
    batches, first = [], plan.chunks // CHUNKS_OF_A_DOCUMENT
    for number in range(plan.batches):
        batch = folder / f"batch {number}"
        write_documents(batch, plan.batch, chosen, first=first + number * plan.batch)
        batches.append(Round("ingested", str(batch)))
    warm, asked = questions[:WARM_UP], questions[WARM_UP : WARM_UP + plan.questions]
    plainly = questions[-plan.plain :] if plan.plain else []
    kinds: list[list[Round]] = [
        batches,
        [Round("corrected", one) for one in asked],
        [Round("plain", one) for one in plainly],
        [Round("help")] * plan.helps,
        [Round("import")] * plan.imports,
        [Round("page")] * plan.pages,
    ]
    before = [Round("ingested", str(folder / "first")), *(Round("corrected", one) for one in warm)]
    before += [kind[0] for kind in kinds[2:] if kind for _ in range(WARM_UP)]
    return Materials(tuple(before), tuple(mixed(kinds)))


def mixed(kinds: Sequence[Sequence[Round]]) -> list[Round]:
    """Return all rounds, with each kind spread evenly."""
    placed = [((at + 0.5) / len(kind), one) for kind in kinds for at, one in enumerate(kind)]
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


def compare(
    earlier: Measurable, this: Measurable, given: Materials, *, seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:  # fmt: skip
    """Run each task in both versions, which take turns in going first; return the times. Raises Unmeasured.

    It is raised if this version cannot do something that the earlier one can.
    """
    found = Comparison()
    for one in given.before:
        _both(earlier, this, one, found, turned=False)
    ends, done = clock() + seconds, dict.fromkeys((one.what for one in given.timed), 0)
    for one in given.timed:
        late = clock() > ends and done[one.what] >= LEAST_PAIRS
        if one.what in found.left_out or late:
            continue
        took = _both(earlier, this, one, found, turned=done[one.what] % 2 == 1)
        if took:
            done[one.what] += 1
            _keep(one.what, *took, found)
    return found


def _both(
    earlier: Measurable, this: Measurable, one: Round, found: Comparison, *, turned: bool
) -> tuple[dict[str, float], dict[str, float]] | None:
    """Return the figures of a round in the earlier version and in this one; None if the earlier one lacks it."""
    took: dict[str, dict[str, float]] = {}
    for version in (this, earlier) if turned else (earlier, this):
        try:
            took[version.name] = version.measured(one.what, one.given)
        except Unmeasured as error:
            if version is this:
                raise Unmeasured(f"{this.name} could not be measured ({one.what}): {error}") from error
            found.left_out[one.what] = f"{earlier.name} lacks what that needs ({error})"
            return None
    return took[earlier.name], took[this.name]


def _keep(what: str, before: dict[str, float], now: dict[str, float], found: Comparison) -> None:
    for (kind, figure), step in SHOWN.items():
        if kind != what:
            continue
        if figure in before and figure in now:
            found.pairs.setdefault(step, []).append((before[figure], now[figure]))
        else:
            found.left_out[step] = f"only {'one' if figure in before or figure in now else 'neither'} has that step"
    if "chunks" in before and "chunks" in now:
        found.chunks.append((now["chunks"], before["seconds"], now["seconds"]))


def table(ratios: Iterable[Ratio], earlier: str, accepted: frozenset[str] = frozenset()) -> str:
    """Return the ratios as a Markdown table."""
    lines = [
        f"| step | {earlier}, s | now, s | now / {earlier} | 95 % interval | pairs | |",
        "| --- | --: | --: | --: | --: | --: | --- |",
    ]
    lines += [
        f"| {one.step} | {one.before:.3f} | {one.now:.3f} | {one.median:.2f} | {one.low:.2f} to {one.high:.2f} "
        f"| {one.pairs} | {one.verdict(accepted=accepted)} |"
        for one in ratios
    ]
    return "\n".join(lines)


def throughput(found: Comparison, earlier: str) -> str:
    """Return a sentence with the chunks added per second; "" if none were."""
    if not found.chunks:
        return ""
    chunks, before, now = (sum(some) for some in zip(*found.chunks, strict=True))
    return f"Ingest: {chunks / before:.1f} chunks a second in {earlier}, {chunks / now:.1f} now."


def slower(ratios: Iterable[Ratio], earlier: str, accepted: frozenset[str] = frozenset()) -> list[str]:
    """Return a sentence for each step that is slower than allowed."""
    return [
        f"{one.step} takes {one.median:.2f} times as long as in {earlier}: 95 % interval {one.low:.2f} to "
        f"{one.high:.2f} of {one.pairs} pairs, where up to {ALLOWED} is allowed. Mend it, or say that it is meant, at "
        f"the end of a commit's message, on a line of its own: “{TRAILER}: {one.step}”."
        for one in ratios
        if one.verdict(accepted=accepted) is Verdict.SLOWER
    ]


def as_json(found: Comparison, ratios: Iterable[Ratio], earlier: str, accepted: frozenset[str]) -> dict[str, Any]:
    """Return the whole comparison as JSON values."""
    return {
        "against": earlier,
        "allowed": ALLOWED,
        "steps": {
            one.step: {
                "ratio": one.median, "interval": [one.low, one.high], "pairs": one.pairs, "before": one.before,
                "now": one.now, "verdict": one.verdict(accepted=accepted).value,
            }
            for one in ratios
        },
        "left_out": found.left_out,
    }  # fmt: skip
