"""Evaluation runs: every question of a set through the real pipeline, under each configuration.

The sets' documents are added to a data folder of their own; the user's collections and stored runs are not touched.
What the sets recorded of the web is served on this computer; nothing is asked of a SearXNG that the user configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from localcrag import pipeline
from localcrag.app.assemble import Assembly
from localcrag.app.files_to_add import uploads_from
from localcrag.app.recorded_search import recorded_search
from localcrag.evaluation.answers import holds
from localcrag.evaluation.configurations import Configuration
from localcrag.evaluation.results import Evaluation
from localcrag.evaluation.store import RunWriter
from localcrag.records.enums import IngestStatus, WebMode
from localcrag.records.errors import EvaluationError
from localcrag.records.events import RunFinished
from localcrag.records.ingest import IngestEvent
from localcrag.records.run import Run
from localcrag.runs.evaluation_set import DOCUMENTS, HeldBy, Question
from localcrag.settings import Settings, changed
from localcrag.steps.evaluate.calibrated_scorer import CalibratedScorer
from localcrag.steps.evaluate.calibration import FittedCalibration


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was just asked under a configuration; `done` of `total` are there now."""

    configuration: str
    question: Question
    run: Run
    done: int
    total: int


class _Nowhere:
    """Takes runs that are kept elsewhere."""

    def save(self, run: Run) -> None:
        """Do nothing."""


def settings_for(base: Settings, data_dir: Path, searxng_url: str) -> Settings:
    """Return the user's settings with another data folder and a recorded web. Raises SettingsError."""
    return changed(
        base,
        data_dir=data_dir,
        web=WebMode.ALWAYS,
        searxng_url=searxng_url,
        # The same query is to be answered the same way and to take its time each time.
        web_cache_hours=0,
        web_per_minute=600,
    )


def add_documents(assembly: Assembly, folder: Path, collection: str) -> Iterator[IngestEvent]:
    """Add a set's documents, those that are not there yet. Raises EvaluationError when one cannot be read."""
    failed = []
    for event in assembly.ingest(uploads_from([folder / DOCUMENTS]), collection):
        if getattr(event, "status", None) is IngestStatus.FAILED:
            failed.append(event)
        yield event
    if failed:
        reasons = "\n".join(f"{event.document}: {getattr(event, 'error', '')}" for event in failed)
        raise EvaluationError(
            f"{len(failed)} documents of the set could not be added, and its questions would be judged without "
            f"them. Mend or remove them in {folder / DOCUMENTS}, with their questions:\n{reasons}"
        )


def settled(question: Question, texts: dict[str, str]) -> Question:
    """Return the question, held by the web alone where no document is named and only web results hold the answer.

    `texts` are the documents', by name.
    """
    if question.held_by is not HeldBy.DOCUMENTS or question.documents:
        return question
    if any(holds(text, question.answers) for text in texts.values()):
        return question
    on_web = any(holds(f"{result.title} {result.content}", question.answers) for result in question.web)
    return replace(question, held_by=HeldBy.WEB) if on_web else question


def ask_all(
    evaluation: Evaluation,
    configurations: Sequence[Configuration],
    writer: RunWriter,
    *,
    assembly: Assembly,
    collections: Mapping[str, str],
    calibration: FittedCalibration,
) -> Iterator[Asked]:
    """Ask what is missing, write each run down, and yield it; `collections` maps a question's id to its collection.

    The scorer has the calibration given: that of the user's collection, which a set's own documents have none of.

    Each question is asked under all configurations before the next one, beginning with another one each time: so an
    interrupted evaluation compares equals, and none is always the first to be slow.
    """
    total = len(evaluation.questions) * len(configurations)
    done = total - evaluation.missing
    for place, question in enumerate(evaluation.questions):
        at = place % len(configurations)
        for configuration in (*configurations[at:], *configurations[:at]):
            if question.id in evaluation.runs.get(configuration.name, {}):
                continue
            run = ask(assembly, question, configuration, collections[question.id], calibration)
            writer.add(configuration.name, question.id, run)
            done += 1
            yield Asked(configuration.name, question, run, done, total)


def ask(
    assembly: Assembly,
    question: Question,
    configuration: Configuration,
    collection: str,
    calibration: FittedCalibration,
) -> Run:
    """Return the run of a question under a configuration. Raises what the pipeline raises."""
    settings = changed(configuration.settings(assembly.settings), collection=collection)
    settings = settings.under(assembly.collection_settings.preset(settings.collection))
    parts = assembly.parts(settings, runs=_Nowhere())
    events = pipeline.answer(
        question.question,
        parts=replace(parts, scorer=CalibratedScorer(parts.scorer, calibration)),
        settings=settings,
        history=question.history,
        steps=configuration.steps,
    )
    (run,) = (event.run for event in events if isinstance(event, RunFinished))
    return run


@contextmanager
def recorded_web(questions: Sequence[Question]) -> Iterator[str]:
    """Serve what the questions recorded of the web, all of it to each, and give the address."""
    with recorded_search([result for question in questions for result in question.web]) as server:
        yield server.url
