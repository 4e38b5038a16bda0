"""Evaluation runs: every question of a set through the real pipeline, under each configuration.

The sets' documents are added to a data folder of their own; the user's collections and stored runs are not touched.
What the sets recorded of the web is served on this computer; nothing is asked of a SearXNG that the user configured.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from localcrag import pipeline
from localcrag import settings as settings_module
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.grading import CalibratedScorer
from localcrag.evaluation.calibration import Criterion, Fitted, fit_calibration
from localcrag.evaluation.calibration_scores import Retrieval, score_question, scores_of_labels
from localcrag.evaluation.metrics import holds
from localcrag.evaluation.plan import Configuration
from localcrag.evaluation.recorded_search import recorded_search
from localcrag.evaluation.results import Evaluation, RunWriter
from localcrag.records.enums import IngestStatus, WebMode
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import DOCUMENTS, EvaluationSet, HeldBy, Question, documents_key
from localcrag.records.events import RunFinished
from localcrag.records.ingest import IngestEvent
from localcrag.records.run import Run
from localcrag.records.thresholds import FittedCalibration, HowFitted, StoredCalibration
from localcrag.runs.labels import LabelKind, LabelledScore, LabelledStrip
from localcrag.settings import DEFAULT_COLLECTION, Settings, changed
from localcrag.storage.label_store import KEPT_FIELDS, KeptScores


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


_SHAPED_BY = ("k", "candidates", "strip_mode", "window_words", "relevance_format")
"""Settings that shape which scores a set's questions get."""


@dataclass(slots=True)
class Labelled:
    """What is fitted to. `left_out`: labels from use whose scores are of another relevance model."""

    scores: list[LabelledScore] = field(default_factory=list)
    strips: list[LabelledStrip] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    from_use: int = 0
    left_out: int = 0

    def add_use(self, assembly: Assembly) -> None:
        """Add the labels that passages of the collection got in use."""
        name, scorer = assembly.settings.collection, assembly.settings.relevance
        labels = assembly.learning.labels.find(collection=name, kind=LabelKind.PASSAGE)
        scores, self.left_out = scores_of_labels(labels, scorer)
        self.scores += scores
        self.from_use = len(scores)

    def add_set(
        self, assembly: Assembly, own: Assembly, folder: Path, evaluation_set: EvaluationSet
    ) -> Iterator[tuple[int, int]]:
        """Add a set's labelled scores; yields (done, total) questions. `own` has the set's documents.

        What was scored before is not scored again.
        """
        settings = assembly.settings.under(assembly.collection_settings.preset())
        assembly.library.check_allowed(settings.relevance, settings)
        parts = Retrieval(own.models.embedder, own.models.scorer, own.collections.index(), own.collections.store())
        kept = _kept_scores(own, settings)
        self.sets.append(folder.resolve().name)
        for number, question in enumerate(evaluation_set.questions, start=1):
            scored = kept.of(question.id)
            if scored is None:
                scored = score_question(question, parts, settings)
                kept.keep(question.id, scored)
            # Two sets may ask the same question of other documents.
            self.scores += [dataclasses.replace(one, question=f"{folder}/{one.question}") for one in scored[0]]
            self.strips += [dataclasses.replace(one, question=f"{folder}/{one.question}") for one in scored[1]]
            yield number, len(evaluation_set.questions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of fitting. `applied` is None where it was not asked for, or refused since it is worse."""

    before: FittedCalibration
    fitted: Fitted
    applied: StoredCalibration | None
    refused: bool


def fit(assembly: Assembly, labelled: Labelled, criterion: Criterion, *, apply: bool, force: bool) -> Outcome:
    """Fit a calibration for the collection of the settings; `force` applies it even where it is worse.

    Raises EvaluationError for too few labels, ModelError and StoreError.
    """
    before = assembly.calibrations.in_force()
    fitted = fit_calibration(labelled.scores, labelled.strips, in_force=before, criterion=criterion)
    how = HowFitted(
        criterion=str(criterion),
        passages=fitted.passages,
        relevant=fitted.relevant,
        questions=fitted.questions,
        strips=fitted.strips,
        from_set=", ".join(labelled.sets) or None,
        from_use=labelled.from_use,
        figures={change.name: (change.before, change.after) for change in fitted.changes},
    )
    refused = apply and fitted.worse and not force
    applied = assembly.calibrations.apply(fitted.calibration, how) if apply and not refused else None
    return Outcome(before, fitted, applied, refused)


@contextmanager
def folder_of_set(assembly: Assembly, evaluation_set: EvaluationSet) -> Iterator[Assembly]:
    """Give an assembly with the same models over a data folder for one evaluation set's documents.

    The folder is in the data folder's cache, and is found again by the set's digest and by what documents are cut
    and embedded with; it may be deleted at any time. Raises SettingsError, ModelError and StoreError.
    """
    chosen = assembly.settings
    name = documents_key(evaluation_set.digest, embedder=chosen.embedder, chunk_tokens=chosen.chunk_tokens)
    data_dir = chosen.data_dir / "cache" / "calibrate" / name
    own = Assembly(settings_module.changed(chosen, data_dir=data_dir, collection=DEFAULT_COLLECTION))
    own.models.share(embedder=assembly.models.embedder, scorer=assembly.models.scorer)
    try:
        yield own
    finally:
        own.close()


def _kept_scores(own: Assembly, settings: Settings) -> KeptScores:
    """Return the scores kept beside a set's documents, of the scorer in use under `settings`. Raises ModelError."""
    shaped_by = [str(own.calibrations.scorer_identity), *(f"{name}={getattr(settings, name)}" for name in _SHAPED_BY)]
    digest = hashlib.sha256("\n".join([*shaped_by, KEPT_FIELDS]).encode()).hexdigest()[:16]
    return KeptScores(own.settings.data_dir / f"scores-{digest}.jsonl")
