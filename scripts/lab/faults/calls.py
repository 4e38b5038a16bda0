"""Run a small session in which one call that changes a file fails, then check the next start."""

from __future__ import annotations

import copy
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.faults import session
from lab.faults.children import PATIENCE, Child, Line
from lab.faults.shim import Fault, Shim
from lab.faults.work import Tell
from lab.faults.world import World
from localcrag.app.assembly import Assembly

LONG_AGO = 7200.0
"""Seconds by which files are made older before the next start, which does not remove recent temporary files."""
ENDS = ("error said", "went on", "killed")


@dataclass
class Outcome:
    """The results of the faults."""

    calls: int = 0
    """Number of calls that change files, in a session without a fault."""
    allocations: int = 0
    """Number of SQLite's memory allocations in such a session, from opening to closing the app."""
    ways: list[int] = field(default_factory=list)
    """Numbers of the call paths that these allocations come by."""
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Ends of sessions (one of ENDS), by the call that failed."""
    losses: Counter[str] = field(default_factory=Counter)
    """Losses by the call that failed."""
    told: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def table(self) -> str:
        """Return the table, in Markdown."""
        calls = sorted({call for call, _ in self.ends} | set(self.losses))
        head = f"| call | faults | {' | '.join(ENDS)} | losses |\n| --- | ---: | ---: | ---: | ---: | ---: |"
        rows = [self._row(call, [call]) for call in calls]
        return "\n".join([head, *rows, self._row("all", calls)])

    def _row(self, name: str, calls: Sequence[str]) -> str:
        numbers = [sum(self.ends[call, end] for call in calls) for end in ENDS]
        losses = sum(self.losses[call] for call in calls)
        return f"| {name} | {sum(numbers)} | {' | '.join(map(str, numbers))} | {losses} |"


class EveryCall:
    """Repeats one session; each time, another call fails."""

    def __init__(self, place: Path) -> None:
        self._shim, self._place, self._data = Shim(), place, place / "data"
        self._uploads = session.write_files(place / "files")
        self.outcome = Outcome()
        self._import_all()

    def _import_all(self) -> None:
        """Run a session in this process, so that no fork has to import modules."""
        self._data.mkdir()
        assembly = session.Session(self._data, self._uploads, lambda *_what, **_given: None).run()
        if assembly:
            session.tell_what_is_there(assembly, self._data, lambda *_what, **_given: None)
            assembly.close()

    def fail(self, faults: Sequence[Fault], every: int = 1) -> Outcome:
        """Make each call, or each call path of an allocation, fail in this way, or every n-th; return the results."""
        begun = time.monotonic()
        counted = self._once(0, Fault.NONE)
        self.outcome.calls, self.outcome.allocations = int(counted["counted"]), int(counted["allocations"])
        self.outcome.ways = list(counted["ways"])
        for fault in faults:
            numbers = self.outcome.ways if fault is Fault.NO_MEMORY else range(self.outcome.calls)
            for number in numbers[int(fault) % every :: every]:
                self._once(number, fault)
        self.outcome.seconds = time.monotonic() - begun
        return self.outcome

    def _once(self, number: int, fault: Fault) -> dict[str, Any]:
        """Run one session and the next start; return the counts if the session ended normally."""
        shutil.rmtree(self._data, ignore_errors=True)
        self._data.mkdir()
        world = self._prepared()
        lines = self._to_its_end(lambda tell: self._session(number, fault, tell))
        ended: dict[str, Any] = next((line.given for line in lines if line.what == "ended"), {})
        call = str(ended.get("hit") or "").split(" ")[0] or ("none" if fault is Fault.NONE else "unknown")
        problems = follow(lines, world)
        if fault is Fault.KILLED and not ended:
            call, end = "killed at a call", "killed"
        else:
            end = "error said" if any(line.what == "refused" for line in lines) else "went on"
        if fault is not Fault.KILLED and not ended:
            problems.append("the session did not end by itself")
        made_old(self._data)
        lines = self._to_its_end(lambda tell: session.look(self._data, tell))
        problems += [f"next start: {one}" for one in compare(lines, world)]
        if fault is not Fault.NONE:
            self.outcome.ends[call, end] += 1
        what = f"{fault.name} at call {number} ({ended.get('hit') or call})"
        self._lost(call, what, problems)
        return ended

    def _prepared(self) -> World:
        """Fill the empty folder with the initial documents; return the facts about it."""
        return World()

    def _work(self, tell: Tell) -> Assembly | None:
        """Run the part of the session in which a call fails."""
        return session.Session(self._data, self._uploads, tell).run()

    def _session(self, number: int, fault: Fault, tell: Tell) -> None:
        self._shim.arm(self._data, number, fault)
        assembly = self._work(tell)
        self._shim.pause(True)
        if assembly:
            session.tell_what_is_there(assembly, self._data, tell)
            self._shim.pause(False)
            assembly.close()
            self._shim.pause(True)
        shim = self._shim
        ways = shim.ways if fault is Fault.NONE else []
        tell("ended", hit=shim.hit, counted=shim.counted, allocations=shim.allocations, ways=ways)

    def _to_its_end(self, run: Callable[[Tell], None]) -> list[Line]:
        return to_its_end(run, self._place / "session.log")

    def _lost(self, call: str, what: str, problems: Sequence[str]) -> None:
        for problem in problems:
            self.outcome.losses[call] += 1
            self.outcome.told.append(f"{what}: {problem}")
            print(self.outcome.told[-1], file=sys.stderr, flush=True)


def to_its_end(run: Callable[[Tell], None], log: Path) -> list[Line]:
    """Run it in a separate process up to its last line; its child processes may keep the pipe open for longer."""
    child, lines = Child(run, log), []
    for line in child.lines(PATIENCE):
        lines.append(line)
        if line.what in ("ended", "failed"):
            break
    return lines + child.end()[0]


def made_old(folder: Path) -> None:
    """Set the times of all files to long ago."""
    then = time.time() - LONG_AGO
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def follow(lines: Sequence[Line], world: World) -> list[str]:
    """Apply the session's reports to the world; return the problems with its messages."""
    problems = []
    for line in lines:
        given = line.given
        match line.what:
            case "begin":
                world.begin(given["changes"], given["may_come"])
                if "copy" in given:
                    world.restoring(given["copy"])
            case "report":
                world.report(given["changes"])
            case "done":
                world.done()
            case "refused":
                # A step that was refused changes nothing.
                world.doubts.clear()
                world.may_come.clear()
                world.instead = None
                if not given["names_it"]:
                    problems.append(f"{given['step']}: the message names no file: {given['error']}")
                if not given["helps"]:
                    problems.append(f"{given['step']}: the message does not say what to do: {given['error']}")
            case "unsaid":
                problems.append(f"{given['step']}: {given['error']}")
            case "failed":
                problems.append(f"ended by {given['error']}")
            case "looked":
                now = copy.deepcopy(world)
                problems += [f"in the same process: {one}" for one in now.differences(given["facts"])]
                problems += [f"in the same process: {one}" for one in given["problems"]]
    return problems


def compare(lines: Sequence[Line], world: World) -> list[str]:
    """Return the differences between what the next start found and what was reported."""
    problems = []
    for line in lines:
        if line.what == "looked":
            problems += world.differences(line.given["facts"]) + line.given["problems"]
        elif line.what == "failed":
            problems.append(f"does not start: {line.given['error']}")
    if not any(line.what in ("looked", "failed") for line in lines):
        problems.append("does not start: it hangs or has ended")
    return problems
