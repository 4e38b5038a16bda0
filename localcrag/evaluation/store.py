"""Evaluations on disk: a folder each, a line per run, so that an interrupted one can be continued."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from localcrag.evaluation.results import About, Evaluation
from localcrag.privacy.private_folder import make_lasting, to_disk
from localcrag.records.errors import EvaluationError
from localcrag.records.run import Run
from localcrag.runs import record
from localcrag.runs.evaluation_set import RUNS, Question

ABOUT, LOCK = "evaluation.json", ".lock"


@dataclass(frozen=True, slots=True)
class _Kept:
    about: About
    questions: tuple[Question, ...]


_KEPT = TypeAdapter(_Kept)


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Where runs are added, each at once, so that an interruption loses none."""

    file: IO[bytes]

    def add(self, configuration: str, question: str, run: Run) -> None:
        """Write a run down. Raises EvaluationError."""
        line = json.dumps({"configuration": configuration, "question": question}).encode()
        try:
            self.file.write(line[:-1] + b', "run": ' + record.dump(run) + b"}\n")
            self.file.flush()
        except OSError as error:
            raise EvaluationError(
                f"A run could not be written to {self.file.name}: {error.strerror}. Make room on the disk and give "
                "the same command again: what was asked so far is kept."
            ) from error


def begin(folder: Path, about: About, questions: tuple[Question, ...]) -> None:
    """Make the folder of an evaluation. Raises EvaluationError."""
    try:
        make_lasting(folder)
        temporary = folder / f"{ABOUT}.new"
        temporary.write_bytes(_KEPT.dump_json(_Kept(about, questions), indent=1))
        to_disk(temporary)
        temporary.replace(folder / ABOUT)
        (folder / RUNS).touch()
        to_disk(folder)
    except OSError as error:
        raise EvaluationError(f"{folder} could not be written: {error.strerror}. Check the data folder.") from error


def read(folder: Path) -> Evaluation:
    """Return an evaluation, finished or not. Raises EvaluationError.

    A last line that was cut off by a kill or a full disk does not count: that question is asked again.
    """
    try:
        kept = _KEPT.validate_json((folder / ABOUT).read_bytes())
        lines = (folder / RUNS).read_bytes().split(b"\n")
    except FileNotFoundError as error:
        raise EvaluationError(
            f"There is no evaluation in {folder}. `localcrag eval --list` shows all evaluations."
        ) from error
    except (OSError, ValidationError) as error:
        raise EvaluationError(
            f"The evaluation in {folder} cannot be read; it is damaged or of another version. Remove the folder and "
            "evaluate again."
        ) from error
    runs: dict[str, dict[str, Run]] = {}
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = json.loads(line)
            runs.setdefault(row["configuration"], {})[row["question"]] = record.read(json.dumps(row["run"]))
        except (ValueError, KeyError) as error:
            raise EvaluationError(
                f"Line {number} of {folder / RUNS} is damaged. Remove that line: its question is then asked again."
            ) from error
    return Evaluation(kept.about, kept.questions, runs)


@contextmanager
def appended(folder: Path) -> Iterator[RunWriter]:
    """Open an evaluation for more runs; what a kill left of a last line is cut off. Raises EvaluationError."""
    try:
        with FileLock(folder / LOCK, timeout=0), (folder / RUNS).open("r+b") as file:
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.seek(whole)
            yield RunWriter(file)
    except Timeout as error:
        raise EvaluationError(f"The evaluation in {folder} is being made by another localcrag. Wait for it.") from error


def ids(folder: Path) -> list[str]:
    """Return the ids of the evaluations in a folder, newest first."""
    made = [path.parent for path in folder.glob(f"*/{ABOUT}")]
    return [one.name for one in sorted(made, key=lambda one: (one / ABOUT).stat().st_mtime, reverse=True)]
