"""Evaluation runs and calibration: a set's questions go through the real pipeline or the reranker.

A set's documents are added to a separate data folder; the user's collections and stored runs are not touched. Web
results are those recorded in the sets; the user's SearXNG is never asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from localcrag import pipeline
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.grading import CalibratedScorer
from localcrag.evaluation.calibration import Criterion, Fitted, fit_calibration
from localcrag.evaluation.calibration_scores import Retrieval, score_question, scores_of_labels
from localcrag.evaluation.metrics import contains_answer
from localcrag.evaluation.plan import Configuration
from localcrag.evaluation.recorded_search import ADDRESS
from localcrag.evaluation.results import Evaluation, RunWriter
from localcrag.records.enums import IngestStatus, WebMode
from localcrag.records.errors import EvaluationError
from localcrag.records.evaluation_set import DOCUMENTS, AnswerLocation, EvaluationSet, Question, documents_key
from localcrag.records.ingest import IngestEvent, IngestResult
from localcrag.records.run import Run, Turn
from localcrag.records.thresholds import CalibrationOrigin, FittedCalibration, StoredCalibration
from localcrag.runs.labels import LabelKind, LabelledScore, LabelledStrip
from localcrag.settings import DEFAULT_COLLECTION, Settings, with_changes
from localcrag.storage.label_store import SCORE_FIELDS, ScoreFile


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A question that was just asked under a configuration, with the progress: `done` of `total`."""

    configuration: str
    question: Question
    run: Run
    done: int
    total: int


class _NullRunLog:
    """A run log that stores nothing: the evaluation writes the runs itself."""

    def save(self, run: Run) -> None:
        """Do nothing."""


def settings_for(base: Settings, data_dir: Path) -> Settings:
    """Return the user's settings with another data folder and the recorded web. Raises SettingsError."""
    return with_changes(
        base,
        data_dir=data_dir,
        web=WebMode.ALWAYS,
        searxng_url=ADDRESS,
        # Use no cache and no rate limit, so that the same query gets the same answer and takes its real time.
        web_cache_hours=0,
        web_per_minute=600,
    )


def add_documents(assembly: Assembly, folder: Path, collection: str) -> Iterator[IngestEvent]:
    """Add the missing documents of a set. Raises EvaluationError if one cannot be read."""
    failed = []
    for event in assembly.ingest(uploads_from([folder / DOCUMENTS]), collection):
        if isinstance(event, IngestResult) and event.status is IngestStatus.FAILED:
            failed.append(event)
        yield event
    if failed:
        reasons = "\n".join(f"{event.document}: {event.error}" for event in failed)
        raise EvaluationError(
            f"{len(failed)} documents of the set could not be added, and its questions would be judged without "
            f"them. Fix or remove them in {folder / DOCUMENTS}, with their questions:\n{reasons}"
        )


def resolve_holder(question: Question, texts: dict[str, str]) -> Question:
    """Return the question, marked as answered by the web if only its recorded web results contain the answer.

    A question that names documents stays unchanged. `texts` are the texts of the documents, by name.
    """
    if question.held_by is not AnswerLocation.DOCUMENTS or question.documents:
        return question
    if any(contains_answer(text, question.answers) for text in texts.values()):
        return question
    on_web = any(contains_answer(f"{result.title} {result.content}", question.answers) for result in question.web)
    return replace(question, held_by=AnswerLocation.WEB) if on_web else question


def ask_all(
    evaluation: Evaluation,
    configurations: Sequence[Configuration],
    writer: RunWriter,
    *,
    assembly: Assembly,
    collections: Mapping[str, str],
    calibration: FittedCalibration,
) -> Iterator[QuestionAsked]:
    """Ask all missing questions, store each run, and yield it; `collections` maps question ids to collections.

    The scorer uses the given calibration of the user's collection, because the set's documents have none.

    Each question is asked under all configurations before the next question, starting with a different configuration
    each time. So an interrupted evaluation compares equal numbers of runs, and no configuration is always the first and
    slowest.
    """
    total = len(evaluation.questions) * len(configurations)
    done = total - evaluation.missing
    finished = {one.name: dict(evaluation.runs.get(one.name, {})) for one in configurations}
    for place, question in enumerate(evaluation.questions):
        at = place % len(configurations)
        for configuration in (*configurations[at:], *configurations[:at]):
            runs = finished[configuration.name]
            if question.id in runs:
                continue
            asked = question
            if before := runs.get(question.follows):
                asked = replace(question, history=(*before.history, Turn(before.question, before.answer)))
            runs[question.id] = run = ask(assembly, asked, configuration, collections[question.id], calibration)
            writer.add(configuration.name, question.id, run)
            done += 1
            yield QuestionAsked(configuration.name, question, run, done, total)


def ask(
    assembly: Assembly,
    question: Question,
    configuration: Configuration,
    collection: str,
    calibration: FittedCalibration,
) -> Run:
    """Return the run of a question under a configuration. Raises the errors of the pipeline."""
    settings = with_changes(configuration.settings(assembly.settings), collection=collection)
    settings = settings.under(assembly.collection_settings.preset(settings.collection))
    parts = assembly.parts(settings, runs=_NullRunLog())
    parts = replace(parts, scorer=CalibratedScorer(parts.scorer, calibration))
    recording = pipeline.answer(
        question.question, parts=parts, settings=settings, history=question.history, steps=configuration.steps
    )
    for _ in recording:
        pass
    return recording.run


_SCORE_SETTINGS = ("k", "candidates", "strip_mode", "window_words", "relevance_format")
"""Settings that affect the scores of a set's questions."""


@dataclass(slots=True)
class LabelledData:
    """The labelled scores to fit to. `left_out` counts users' labels with scores from another reranker."""

    scores: list[LabelledScore] = field(default_factory=list)
    strips: list[LabelledStrip] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    from_use: int = 0
    left_out: int = 0

    def add_use(self, assembly: Assembly) -> None:
        """Add the users' labels of passages in the collection."""
        name, scorer = assembly.settings.collection, assembly.settings.relevance
        labels = assembly.learning.labels.find(collection=name, kind=LabelKind.PASSAGE)
        scores, self.left_out = scores_of_labels(labels, scorer)
        self.scores += scores
        self.from_use = len(scores)

    def add_set(
        self, assembly: Assembly, own: Assembly, folder: Path, evaluation_set: EvaluationSet
    ) -> Iterator[tuple[int, int]]:
        """Add the labelled scores of a set; yield (done, total) questions. `own` contains its documents.

        Scores from an earlier call are reused.
        """
        settings = assembly.settings.under(assembly.collection_settings.preset())
        assembly.library.check_allowed(settings.relevance, settings)
        parts = Retrieval(own.models.embedder, own.models.scorer, own.collections.index(), own.collections.store())
        kept = _kept_scores(own, settings)
        self.sets.append(folder.resolve().name)
        for number, question in enumerate(evaluation_set.questions, start=1):
            scored = kept.find(question.id)
            if scored is None:
                scored = score_question(question, parts, settings)
                kept.keep(question.id, scored)
            # Two sets may ask the same question about different documents.
            self.scores += [replace(one, question=f"{folder}/{one.question}") for one in scored[0]]
            self.strips += [replace(one, question=f"{folder}/{one.question}") for one in scored[1]]
            yield number, len(evaluation_set.questions)


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """The result of fitting. `applied` is None if that was not requested, or was `refused` because it is worse."""

    before: FittedCalibration
    fitted: Fitted
    applied: StoredCalibration | None
    refused: bool


def fit(
    assembly: Assembly, labelled: LabelledData, criterion: Criterion, *, apply: bool, force: bool
) -> EvaluationOutcome:
    """Fit a calibration for the current collection; `force` applies it even if it is worse.

    Raises EvaluationError for too few labels, ModelError and StoreError.
    """
    before = assembly.calibrations.active()
    fitted = fit_calibration(labelled.scores, labelled.strips, active=before, criterion=criterion)
    how = CalibrationOrigin(
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
    return EvaluationOutcome(before, fitted, applied, refused)


@contextmanager
def set_assembly(assembly: Assembly, evaluation_set: EvaluationSet) -> Iterator[Assembly]:
    """Yield an assembly with the same models and a separate data folder for a set's documents.

    The folder is a cache entry, named by the set's digest and the settings for chunking and embedding; it may be
    deleted at any time. Raises SettingsError, ModelError and StoreError.
    """
    chosen = assembly.settings
    name = documents_key(evaluation_set.digest, embedder=chosen.embedder, chunk_tokens=chosen.chunk_tokens)
    data_dir = chosen.data_dir / "cache" / "calibrate" / name
    with closing(Assembly(with_changes(chosen, data_dir=data_dir, collection=DEFAULT_COLLECTION))) as own:
        own.models.share(embedder=assembly.models.embedder, scorer=assembly.models.scorer)
        yield own


def _kept_scores(own: Assembly, settings: Settings) -> ScoreFile:
    """Return the cached scores of a set's documents for the current scorer and `settings`. Raises ModelError."""
    shaped_by = (f"{name}={getattr(settings, name)}" for name in _SCORE_SETTINGS)
    key = "\n".join([str(own.calibrations.scorer_identity), *shaped_by, SCORE_FIELDS])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return ScoreFile(own.settings.data_dir / f"scores-{digest}.jsonl")
