"""Kill the app at random moments, and compare its data folder with what it had reported as saved."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.faults.children import PATIENCE, Child, Line, Models, working
from lab.faults.world import World

MEANT = {
    "ingest": 20, "update": 8, "delete": 12, "move": 6, "rename": 4, "answer": 12, "index": 10, "scan": 3, "backup": 8,
    "restore": 6, "setting": 3, "tag": 2, "label": 2, "start": 4,
}  # fmt: skip
"""Activities to be killed in, and how many of a hundred kills are for each; "start" is the start of the app."""
OTHERS = ("index", "backup", "answer")
"""Activities that run next if the intended one is not possible."""
AT_FIRST = 0.3
"""Expected seconds of an activity before it has been measured."""
LATER = 1.15
"""Latest moment of a kill, as a multiple of the activity's usual duration."""
EVERY = 50
"""Kills between two progress messages."""
WORDS = 500
"""Words of the most recently added documents that are searched for once their documents are deleted."""
SOON = 0.5
"""Seconds within which the app is killed while it starts."""


@dataclass
class Outcome:
    """The results of the kills."""

    kills: Counter[str] = field(default_factory=Counter)
    """Number of kills by activity."""
    losses: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    reports: int = 0
    """Number of activities reported as done; each is checked at every later start."""
    looked_for: int = 0
    """Number of searches for words of deleted documents, at all starts together."""
    seconds: float = 0.0


class Killing:
    """One data folder that survives many kills."""

    def __init__(self, models: Models, place: Path, seed: int) -> None:
        self._models, self._data, self._files = models, place / "data", place / "files"
        self._log = place / "killed.log"
        self._chance, self._world = random.Random(seed), World()
        self._lasts: dict[str, list[float]] = defaultdict(lambda: [AT_FIRST])
        self.outcome = Outcome()
        self._doing, self._since, self._number, self._begun = "start", 0.0, 0, 0.0
        self._killed_in, self._starts = "start", False
        self._facts: dict[str, str] = {}
        self._words: dict[str, str] = {}

    def kill(self, number: int) -> Outcome:
        """Start and kill `number` processes, one after the other; a last one checks the folder."""
        self._begun = time.monotonic()
        self._data.mkdir(parents=True, exist_ok=True)
        for _ in range(number):
            meant = self._chance.choices([*MEANT], [*MEANT.values()])[0]
            self._once(meant)
        self._once(None)
        self.outcome.seconds = time.monotonic() - self._begun
        return self.outcome

    def _once(self, meant: str | None) -> None:
        self._number += 1
        first = meant if meant not in (None, "start") else "tag"
        words = dict([*self._words.items()][-WORDS:])
        seed = self._chance.getrandbits(24)
        run = working(self._models, self._data, self._files, seed=seed, first=str(first), words=words)
        child = Child(run, self._log)
        self._doing = "start"
        self._facts, self._starts = {}, False
        if meant == "start":
            self._follow(child, time.monotonic() + self._chance.random() * SOON, "")
        elif self._look(child) and meant:
            self._follow(child, None, meant)
        lines, _ = child.end()
        for line in lines:
            self._take(line)
        if meant:
            self.outcome.kills[self._doing] += 1
            if self._number % EVERY == 0:
                print(f"{self._number} kills, {time.monotonic() - self._begun:.0f} s …", file=sys.stderr, flush=True)

    def _look(self, child: Child) -> bool:
        """Compare what the process finds in the folder with the reports; return whether it goes on to work."""
        for line in child.lines(PATIENCE):
            self._take(line)
            if self._starts:
                return True
            if line.what == "failed":
                self._lost([f"does not start: {line.given['error']}"])
                return False
        self._lost(["does not start: it hangs or has ended"])
        return False

    def _lost(self, problems: list[str]) -> None:
        for problem in problems:
            self.outcome.losses[self._killed_in] += 1
            self.outcome.told.append(f"kill {self._number - 1}, {self._killed_in}: {problem}")
            print(self.outcome.told[-1], file=sys.stderr, flush=True)

    def _follow(self, child: Child, until: float | None, meant: str) -> None:
        """Read its reports until the moment of the kill, which is chosen when the intended activity begins."""
        while until is None or (left := until - time.monotonic()) > 0:
            told = False
            for line in child.lines(PATIENCE if until is None else left):
                told = True
                self._take(line)
                # The intended activity may be impossible (no backup to restore, say); then one of OTHERS replaces it.
                if until is None and line.what == "begin" and line.given["kind"] in (meant, *OTHERS):
                    typical = statistics.median(self._lasts[line.given["kind"]][-15:])
                    until = line.at + self._chance.random() * LATER * typical
                    break
                if until is not None and time.monotonic() >= until:
                    break
                if line.what == "failed":
                    self._killed_in = self._doing
                    self._lost([f"failed without a kill: {line.given['error']}"])
                    return
            if not told:
                if until is None:
                    self._killed_in = self._doing
                    self._lost([f"hangs: nothing for {PATIENCE:.0f} s"])
                break
        self._killed_in = self._doing

    def _take(self, line: Line) -> None:
        given: dict[str, Any] = line.given
        match line.what:
            case "facts":
                self._facts |= given["facts"]
            case "looked":
                self._lost(self._world.differences(self._facts) + given["problems"])
                self.outcome.looked_for += given["gone"]
                self._starts = True
            case "begin":
                self._doing, self._since = given["kind"], line.at
                self._world.begin(given["changes"], given["may_come"])
                self._words |= given.get("words", {})
                if "copy" in given:
                    self._world.restoring(given["copy"])
            case "report":
                self.outcome.reports += len(given["changes"])
                self._world.report(given["changes"])
            case "done":
                self._lasts[self._doing].append(line.at - self._since)
                self._world.done()
                self._doing = "between"
