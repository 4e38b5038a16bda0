"""Measure one program in this process: add the documents, ask the questions, and write the times.

python -m lab.peers.child TASK RESULT
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

WARM_UP = "What are these documents about?"
"""Question that is asked before anything is timed, so that no timed question waits for a late import."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a program: `documents` and `data` are folders, `tokens` is the most tokens in an answer."""

    documents: str
    data: str
    embedder: str
    llm: str
    tokens: int
    threads: int
    questions: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, with seconds to its first and last token. `silent`: the program itself marks it as no answer."""

    text: str
    first: float
    last: float
    silent: bool | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A program's figures: seconds to load its models and to add all documents, peak MiB of memory, MiB on disk."""

    loaded: float
    added: float
    memory: float
    disk: float
    answers: tuple[Answered, ...]


class Program(Protocol):
    """A program with its own data folder; creating one loads its models."""

    def __init__(self, task: Task) -> None: ...

    def add(self) -> None:
        """Add the documents, and store them for the next start."""

    def answer(self, question: str) -> Iterator[str]:
        """Yield an answer as it is written."""

    def shown(self) -> tuple[str | None, bool | None]:
        """Return the last answer as shown, None if it was shown as written, and whether it is marked as no answer."""


def measure(kind: type[Program], task: Task) -> Measured:
    """Run the task, and return the figures and answers."""
    started = time.perf_counter()
    program = kind(task)
    loaded = time.perf_counter()
    program.add()
    added = time.perf_counter()
    for _ in program.answer(WARM_UP):
        pass
    answers = tuple(_answered(program, question) for question in task.questions)
    return Measured(
        loaded - started, added - loaded, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        on_disk(Path(task.data)), answers,
    )  # fmt: skip


def _answered(program: Program, question: str) -> Answered:
    started = time.perf_counter()
    first, pieces = None, []
    for piece in program.answer(question):
        if piece and first is None:
            first = time.perf_counter() - started
        pieces.append(piece)
    last = time.perf_counter() - started
    text, silent = program.shown()
    return Answered("".join(pieces) if text is None else text, first or last, last, silent)


def on_disk(folder: Path) -> float:
    """Return the MiB of a data folder, without copies of models."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] != "cache")
    return sum(path.stat().st_size for path in files) / 2**20


def main() -> None:
    """Read the task, write the figures."""
    given = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    program = import_module(given["module"]).Program
    measured = measure(program, Task(**given["task"]))
    Path(sys.argv[2]).write_text(json.dumps(asdict(measured)), "utf-8")


if __name__ == "__main__":
    main()
