"""Results of an evaluation: each question's run under each configuration, their metrics, and files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from localcrag.evaluation.metrics import METRICS
from localcrag.privacy.private_folder import flush_to_disk, make_private_folder
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import RUNS, AnswerLocation, Question
from localcrag.records.run import Run
from localcrag.runs import recording


@dataclass(frozen=True, slots=True)
class SetUsed:
    """An evaluation set that supplied questions; `digest` identifies its exact content."""

    name: str
    digest: str
    questions: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The inputs of an evaluation. `code` is the digest of localcrag's source files at its start.

    `configurations` maps each name to its differences from `settings`: changed settings, and steps left out.
    """

    id: str
    created_at: str
    version: str
    code: str
    sets: tuple[SetUsed, ...]
    configurations: dict[str, dict[str, Any]]
    models: dict[str, str]
    settings: dict[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation; `runs` maps a configuration's name, then a question's id, to the run.

    An unfinished evaluation lacks some of the runs.
    """

    about: About
    questions: tuple[Question, ...]
    runs: Mapping[str, Mapping[str, Run]] = field(default_factory=dict)

    @property
    def configurations(self) -> tuple[str, ...]:
        """Names of the configurations in the order given: plain RAG first, if it is one of them."""
        return tuple(self.about.configurations)

    @property
    def missing(self) -> int:
        """Number of runs that are still missing."""
        asked = sum(len(self.runs.get(name, {})) for name in self.configurations)
        return len(self.questions) * len(self.configurations) - asked

    def pairs(self, configuration: str) -> list[tuple[Question, Run]]:
        """Return the questions that were asked under a configuration, with their runs. Raises EvaluationError."""
        if configuration not in self.about.configurations:
            there = ", ".join(f"“{name}”" for name in self.configurations)
            raise EvaluationError(f"The evaluation {self.about.id} has no “{configuration}”; it has {there}.")
        runs = self.runs.get(configuration, {})
        return [(question, runs[question.id]) for question in self.questions if question.id in runs]


GROUPS = {
    "all questions": None,
    "documents hold the answer": AnswerLocation.DOCUMENTS,
    "only the web holds it": AnswerLocation.WEB,
    "neither holds it": AnswerLocation.NOWHERE,
}
"""Groups of questions that every table tells apart, by who holds the answer."""


def measure_all(evaluation: Evaluation, configuration: str) -> dict[str, dict[str, float]]:
    """Return every metric's values by question, for the questions that it applies to."""
    pairs = evaluation.pairs(configuration)
    return {
        metric.name: {
            question.id: value for question, run in pairs if (value := metric.measure(question, run)) is not None
        }
        for metric in METRICS
    }


def step_costs(evaluation: Evaluation, configuration: str) -> dict[str, dict[str, float]]:
    """Return for each step the mean seconds, calls and tokens per question, over all questions.

    A question that did not need the step counts as 0.
    """
    pairs = evaluation.pairs(configuration)
    sums: dict[str, dict[str, float]] = {}
    for _, run in pairs:
        for step in run.steps:
            costs = sums.setdefault(step.name, dict.fromkeys(_COSTS, 0.0))
            for cost in _COSTS:
                costs[cost] += getattr(step, cost)
    return {step: {cost: total / len(pairs) for cost, total in costs.items()} for step, costs in sums.items()}


_COSTS = ("seconds", "llm_calls", "prompt_tokens", "completion_tokens")


ABOUT, LOCK = "evaluation.json", ".lock"


_EVALUATION = TypeAdapter(Evaluation)


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Appends runs to an evaluation's file one by one, so that an interruption loses none."""

    file: IO[bytes]

    def add(self, configuration: str, question: str, run: Run) -> None:
        """Append a run. Raises EvaluationError."""
        line = json.dumps({"configuration": configuration, "question": question}).encode()
        try:
            # The run is already JSON, so it is inserted before the closing brace of the line.
            self.file.write(line[:-1] + b', "run": ' + recording.dump(run) + b"}\n")
            self.file.flush()
        except OSError as error:
            raise EvaluationError(
                f"A run could not be written to {self.file.name}: {error.strerror}. Free space on the disk and run "
                "the same command again: the runs so far are kept."
            ) from error


def begin(folder: Path, evaluation: Evaluation) -> None:
    """Create the folder of an evaluation without runs. Raises EvaluationError."""
    try:
        make_private_folder(folder)
        # Write to another name first, so that a crash leaves no incomplete description.
        temporary = folder / f"{ABOUT}.new"
        temporary.write_bytes(_EVALUATION.dump_json(evaluation, indent=1, exclude={"runs"}))
        flush_to_disk(temporary)
        temporary.replace(folder / ABOUT)
        (folder / RUNS).touch()
        flush_to_disk(folder)
    except OSError as error:
        raise EvaluationError(f"{folder} could not be written: {error.strerror}. Check the data folder.") from error


def read(folder: Path) -> Evaluation:
    """Return an evaluation, finished or not. Raises EvaluationError.

    If a kill or a full disk cut off the last line, it is ignored, and that question is asked again.
    """
    try:
        kept = _EVALUATION.validate_json((folder / ABOUT).read_bytes())
        # Only lines that end with a line break are complete.
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
            runs.setdefault(row["configuration"], {})[row["question"]] = recording.read(json.dumps(row["run"]))
        except (ValueError, KeyError) as error:
            raise EvaluationError(
                f"Line {number} of {folder / RUNS} is damaged. Remove that line: its question is then asked again."
            ) from error
    return Evaluation(kept.about, kept.questions, runs)


@contextmanager
def open_for_runs(folder: Path) -> Iterator[RunWriter]:
    """Open an evaluation to append runs, and remove an incomplete last line. Raises EvaluationError."""
    try:
        with FileLock(folder / LOCK, timeout=0), (folder / RUNS).open("r+b") as file:
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.seek(whole)
            yield RunWriter(file)
    except Timeout as error:
        raise EvaluationError(
            f"The evaluation in {folder} is still in progress in another localcrag. Wait until it ends."
        ) from error


def ids(folder: Path) -> list[str]:
    """Return the ids of the evaluations in a folder, newest first."""
    made = [path.parent for path in folder.glob(f"*/{ABOUT}")]
    return [one.name for one in sorted(made, key=lambda one: (one / ABOUT).stat().st_mtime, reverse=True)]
