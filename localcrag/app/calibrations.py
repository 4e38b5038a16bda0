"""Calibrations by collection: the one in force, those before it, and the scorer that uses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from localcrag.app.collections import existing
from localcrag.app.lazy_cache import LazyCache
from localcrag.app.loaded_models import LoadedModels
from localcrag.app.model_library import ModelLibrary
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.downloads.model_checksums import weights_digest
from localcrag.backends.store.calibration_file import read_calibration
from localcrag.backends.store.calibration_store import CalibrationStore
from localcrag.backends.store.database import Database
from localcrag.records.models import ModelRole, behind_server
from localcrag.records.protocols import Scorer
from localcrag.steps.evaluate.applied_calibration import HowFitted, ScorerIdentity, StoredCalibration
from localcrag.steps.evaluate.calibrated_scorer import CalibratedScorer
from localcrag.steps.evaluate.calibration import UNCALIBRATED, FittedCalibration


class Calibrations:
    """What relevances are calibrated by. Where no collection is named, that of the settings is meant."""

    def __init__(
        self,
        settings: SettingsInUse,
        database: Database,
        library: ModelLibrary,
        models: LoadedModels,
        made: LazyCache,
        *,
        embedder_of: Callable[[str], str],
    ) -> None:
        """`embedder_of` says which embedder a collection is searched with."""
        self._embedder_of = embedder_of
        self._settings, self._library, self._models = settings, library, models
        self._made, self._database = made, database
        self._store = CalibrationStore(database)

    @property
    def own(self) -> FittedCalibration:
        """The calibration that lies beside the relevance model. Raises ModelError."""
        settings = self._settings.now
        if behind_server(settings.relevance):
            return UNCALIBRATED
        return read_calibration(self._library.path(settings.relevance, ModelRole.RELEVANCE), settings.embedder)

    @property
    def scorer_identity(self) -> ScorerIdentity:
        """What a calibration belongs to that is fitted now. Raises ModelError."""
        settings = self._settings.now
        if behind_server(settings.relevance):
            # What it computes with is not ours to see; its name and scale are what it is known by.
            return ScorerIdentity(settings.relevance, f"server: {self._models.served_scale}", settings.embedder)
        folder = self._library.path(settings.relevance, ModelRole.RELEVANCE)
        weights = self._made.get(f"weights {folder}", lambda: weights_digest(folder))
        return ScorerIdentity(settings.relevance, weights, settings.embedder)

    def in_force(self, collection: str | None = None) -> FittedCalibration:
        """Return the calibration in force for a collection. Loads no model. Raises ModelError and StoreError."""
        applied = self.applied(collection)
        return applied.calibration if applied else self.beside_its_embedder(collection) or self.own

    def beside_its_embedder(self, collection: str | None = None) -> FittedCalibration | None:
        """Return the scorer's calibration beside the embedder of a collection, None where that is the one in use.

        Raises ModelError and StoreError.
        """
        settings = self._settings.now
        embedder = self._embedder_of(self._settings.collection(collection))
        if embedder == settings.embedder or behind_server(settings.relevance):
            return None
        return read_calibration(self._library.path(settings.relevance, ModelRole.RELEVANCE), embedder)

    def applied(self, collection: str | None = None) -> StoredCalibration | None:
        """Return what was fitted for a collection and the scorer in use, None where the scorer's own calibration holds.

        Raises ModelError and StoreError.
        """
        name = self._settings.collection(collection)
        # The weights are read only where it matters.
        if not self._store.any_for(self._settings.now.relevance, name):
            return None
        return self._store.in_force(replace(self.scorer_identity, embedder=self._embedder_of(name)), name)

    def history(self, collection: str | None = None) -> list[StoredCalibration]:
        """Return all that were ever applied to a collection, newest first. Raises ModelError and StoreError."""
        return self._store.history(self.scorer_identity, self._settings.collection(collection))

    def apply(self, calibration: FittedCalibration, how: HowFitted, collection: str | None = None) -> StoredCalibration:
        """Put a calibration in force for a collection. Raises UnknownCollection, ModelError and StoreError."""
        name = existing(collection, self._settings, self._database)
        return self._store.apply(self.scorer_identity, name, calibration, how)

    def undo(self, collection: str | None = None) -> StoredCalibration | None:
        """Return to the calibration before the one in force, which is returned; None where there is none to undo."""
        return self._store.undo(self.scorer_identity, self._settings.collection(collection))

    def scorer(self, collection: str | None = None) -> Scorer:
        """Return the scorer with the calibration of a collection. Raises ModelError and StoreError."""
        applied = self.applied(collection)
        calibration = applied.calibration if applied else self.beside_its_embedder(collection)
        return CalibratedScorer(self._models.scorer, calibration) if calibration else self._models.scorer
