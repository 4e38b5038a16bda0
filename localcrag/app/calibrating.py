"""Fits a collection's calibration to labels: from evaluation sets, from use, or both."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from localcrag import settings as settings_module
from localcrag.app.assemble import Assembly
from localcrag.backends.store.kept_scores import KEPT_FIELDS, KeptScores
from localcrag.evaluation.calibration.calibrate import Fitted, fit_calibration
from localcrag.evaluation.calibration.criteria import Criterion
from localcrag.evaluation.calibration.set_scores import Retrieval, score_question
from localcrag.evaluation.calibration.use_scores import scores_of_labels
from localcrag.runs.evaluation_set import EvaluationSet, documents_key
from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip
from localcrag.runs.labels import LabelKind
from localcrag.settings import DEFAULT_COLLECTION, Settings
from localcrag.steps.evaluate.applied_calibration import HowFitted, StoredCalibration
from localcrag.steps.evaluate.calibration import FittedCalibration

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
