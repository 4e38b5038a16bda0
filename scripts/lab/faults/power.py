"""Simulate power cuts: record one session, then start the app from what each random cut leaves."""

from __future__ import annotations

import copy
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.faults import session
from lab.faults.calls import compare, follow, made_old, to_its_end
from lab.faults.children import Line
from lab.faults.disk import Disk, Done, emptied, read_record
from lab.faults.shim import Fault, Shim
from lab.faults.work import Tell
from lab.faults.world import World

AGAIN = 0.2
"""Share of the next starts that also end in a power cut at a random moment."""


@dataclass
class Outcome:
    """The results of the power cuts."""

    done: int = 0
    """Number of file operations in the session."""
    syncs: int = 0
    cuts: Counter[str] = field(default_factory=Counter)
    """Number of cuts by the step in which they happened."""
    losses: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def table(self) -> str:
        """Return the table, in Markdown."""
        rows = [f"| {step} | {number} | {self.losses[step]} |" for step, number in sorted(self.cuts.items())]
        head = "| power cut in | cuts | losses |\n| --- | ---: | ---: |"
        return "\n".join([head, *rows, f"| all | {self.cuts.total()} | {self.losses.total()} |"])


class PowerCuts:
    """One recorded session, and the files that remain after power cuts."""

    def __init__(self, place: Path, seed: int) -> None:
        self._shim, self._place, self._data = Shim(), place, place / "data"
        self._record, self._chance = place / "record", random.Random(seed)
        self._uploads = session.write_files(place / "files")
        self.outcome = Outcome()

    def cut(self, number: int) -> Outcome:
        """Cut the power `number` times, and return the results. Raises RuntimeError if the record is incomplete."""
        begun = time.monotonic()
        lines, done = self._recorded(emptied(self._data), self._session)
        self.outcome.done, self.outcome.syncs = len(done), sum(one.kind == "s" for one in done)
        self._checked(done)
        for _ in range(number):
            # Half of the moments are uniform. The other half are after the last sync, where most is lost.
            self._once(lines, done, self._chance.randint(0, len(done)))
        self.outcome.seconds = time.monotonic() - begun
        return self.outcome

    def _checked(self, done: Sequence[Done]) -> None:
        """Compare the record with the session's files: an operation that was not recorded could not be lost."""
        there = {path.relative_to(self._data): path.read_bytes() for path in _files(self._data)}
        disk = Disk(emptied(self._place / "empty"))
        disk._folder = self._data
        for one in done:
            disk.do(one)
        made = emptied(self._place / "whole")
        disk.write_whole(made)
        again = {path.relative_to(made): path.read_bytes() for path in _files(made)}
        if wrong := sorted(str(name) for name in there.keys() | again.keys() if there.get(name) != again.get(name)):
            raise RuntimeError(f"What was done to these was not all written down: {', '.join(wrong)}")

    def _once(self, lines: Sequence[Line], done: Sequence[Done], at: int) -> None:
        disk = Disk(emptied(self._data))
        for one in done[:at]:
            disk.do(one)
        disk.cut(self._data, self._chance)
        told = [line for line in lines if line.given.get("recorded", 0) <= at]
        world = World()
        problems = follow(told, world)
        step = next((line.given["kind"] for line in reversed(told) if line.what == "begin"), "start")
        self.outcome.cuts[step] += 1
        made_old(self._data)
        if self._chance.random() < AGAIN:
            problems += self._cut_again(copy.deepcopy(world))
        looked = to_its_end(lambda tell: session.look(self._data, tell), self._place / "session.log")
        problems += [f"next start: {one}" for one in compare(looked, world)]
        for problem in problems:
            self.outcome.losses[step] += 1
            self.outcome.told.append(f"cut after {at} of {len(done)}, in {step}: {problem}")
            print(self.outcome.told[-1], file=sys.stderr, flush=True)

    def _cut_again(self, world: World) -> list[str]:
        """Cut the power again during the next start; the folder's content must stay the same."""
        disk = Disk(self._data)
        looked, done = self._recorded(self._data, lambda tell: session.look(self._data, tell))
        problems = [f"a start that was cut off: {one}" for one in compare(looked, world)]
        for one in done[: self._chance.randint(0, len(done))]:
            disk.do(one)
        disk.cut(emptied(self._data), self._chance)
        made_old(self._data)
        return problems

    def _recorded(self, folder: Path, run: Any) -> tuple[list[Line], list[Done]]:
        """Run a function in a separate process; return its reports and its operations on the folder's files."""

        def recorded(tell: Tell) -> None:
            self._shim.arm(folder, -1, Fault.NONE)
            self._shim.record(self._record)
            run(lambda what, **given: tell(what, recorded=self._shim.recorded, **given))

        lines = to_its_end(recorded, self._place / "session.log")
        return lines, read_record(self._record)

    def _session(self, tell: Tell) -> None:
        """Run a session and close the app; then run another with other documents of the same names."""
        for version in (1, 2):
            assembly = session.Session(self._data, session.write_files(self._place / "files", version), tell).run()
            if assembly:
                assembly.close()
        tell("ended")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not os.fspath(path).endswith("-shm")]
