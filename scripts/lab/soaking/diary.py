"""Record the observations of a week in a file, so that a later run continues where the last one ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab.soaking.other_programs import ProgramHeld
from lab.soaking.process import Held


@dataclass(frozen=True, slots=True)
class Look:
    """Resources in use after a number of questions and changed files, in one life of the web interface's process."""

    questions: int
    files: int
    life: int
    sitting: int
    held: Held
    others: Mapping[str, ProgramHeld] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Took:
    """The cost of a question: its number, its kind, and CPU seconds."""

    question: int
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Night:
    """A night: the last question before it, and each program's MiB before and after its models were unloaded."""

    question: int
    mib: Mapping[str, Sequence[float]]


class Diary:
    """All observations, as lines of JSON. A sitting is one run of the script; its programs' processes end with it."""

    def __init__(self, path: Path) -> None:
        """Read the existing observations. A last line that a kill cut off is ignored."""
        self._path = path
        self.looks: list[Look] = []
        self.took: list[Took] = []
        self.nights: list[Night] = []
        lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
        for line in map(json.loads, lines):
            if "took" in line:
                self.took.append(Took(**line["took"]))
            elif "night" in line:
                self.nights.append(Night(**line["night"]))
            else:
                look = line["look"]
                others = {name: ProgramHeld(**held) for name, held in look["others"].items()}
                self.looks.append(Look(**look | {"held": Held(**look["held"]), "others": others}))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        self.sitting = 1 + max((look.sitting for look in self.looks), default=-1)

    def add(self, seen: Look | Took | Night) -> None:
        """Record an observation."""
        if isinstance(seen, Look):
            self.looks.append(seen)
        elif isinstance(seen, Took):
            self.took.append(seen)
        else:
            self.nights.append(seen)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({type(seen).__name__.lower(): asdict(seen)}) + "\n")
