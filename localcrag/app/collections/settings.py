"""Settings of a collection: preset, embedding model, web mode, and the calibration of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from localcrag.app.collections.collections import existing_collection
from localcrag.app.models.library import ModelLibrary
from localcrag.app.models.lifecycle import LoadedModels
from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.crag.grading import CalibratedScorer
from localcrag.models.encoders import read_calibration
from localcrag.models.files import weights_digest
from localcrag.records.enums import Preset, WebMode
from localcrag.records.models import ModelRole, is_served
from localcrag.records.protocols import Scorer
from localcrag.records.thresholds import (
    UNCALIBRATED,
    CalibrationOrigin,
    FittedCalibration,
    ScorerIdentity,
    StoredCalibration,
)
from localcrag.settings import Settings
from localcrag.storage.collections import queries
from localcrag.storage.collections.queries import CalibrationStore
from localcrag.storage.database import Database


class CollectionSettings:
    """Presets, web modes and models of collections; without a name, methods use the collection in the settings."""

    def __init__(self, settings: CurrentSettings, database: Database, library: ModelLibrary) -> None:
        self._settings, self._database, self._library = settings, database, library

    def preset(self, collection: str | None = None) -> Preset:
        """Return the preset for a collection's questions."""
        own = queries.preset_of(self._database, self._settings.collection(collection))
        return own or self._settings.now.preset

    def set_preset(self, preset: Preset | None, collection: str | None = None) -> None:
        """Set the preset of a collection, or remove it with None. Raises UnknownCollection and StoreError."""
        queries.choose(self._database, self._existing(collection), preset=preset)

    def web_mode(self, collection: str | None = None) -> WebMode:
        """Return the web mode for a collection's questions: its own, unless one is set for all collections."""
        own = queries.web_mode_of(self._database, self._settings.collection(collection))
        return self._settings.now.for_collection(own).web

    def set_web_mode(self, mode: WebMode | None, collection: str | None = None) -> None:
        """Set the web mode of a collection, or remove it with None. Raises UnknownCollection and StoreError."""
        queries.choose(self._database, self._existing(collection), web=mode)

    def embedders(self) -> dict[str, str]:
        """Return the embedding models of collections that have their own, by collection. Raises StoreError."""
        return queries.chosen_embedders(self._database)

    def set_embedder(self, embedder: str | None, collection: str | None = None) -> None:
        """Set the embedding model of a collection; None means the current one.

        Searches use the existing vectors until the collection is re-indexed. Raises UnknownCollection, ModelError if
        the model is missing, and StoreError.
        """
        name = self._existing(collection)
        if embedder is not None:
            self._library.path(embedder, ModelRole.EMBEDDER)
        queries.choose(self._database, name, embedder=embedder)

    def applied_to(self, settings: Settings, preset: Preset | None = None) -> Settings:
        """Return `settings` with the web mode of its collection, under `preset` or else the collection's own.

        Raises UnknownCollection and StoreError.
        """
        name = self._existing(settings.collection)
        settings = settings.for_collection(queries.web_mode_of(self._database, name))
        return settings.under(preset or self.preset(name))

    def _existing(self, collection: str | None) -> str:
        return existing_collection(collection, self._settings, self._database)


class Calibrations:
    """Calibrations of the reranker; without a name, methods use the collection in the settings."""

    def __init__(
        self,
        settings: CurrentSettings,
        database: Database,
        library: ModelLibrary,
        models: LoadedModels,
        made: LazyCache,
        *,
        embedder_of: Callable[[str], str],
    ) -> None:
        """Prepare the calibrations; `embedder_of` returns the name of a collection's embedding model."""
        self._embedder_of = embedder_of
        self._settings, self._library, self._models = settings, library, models
        self._made, self._database = made, database
        self._store = CalibrationStore(database)

    @property
    def default(self) -> FittedCalibration:
        """The calibration that comes with the reranker. Raises ModelError."""
        settings = self._settings.now
        if is_served(settings.relevance):
            return UNCALIBRATED
        return read_calibration(self._library.path(settings.relevance, ModelRole.RELEVANCE), settings.embedder)

    @property
    def scorer_identity(self) -> ScorerIdentity:
        """Identity of the current scorer, stored with each new calibration. Raises ModelError."""
        settings = self._settings.now
        if is_served(settings.relevance):
            # The weights on a server cannot be read, so the model's name and score scale identify it.
            return ScorerIdentity(settings.relevance, f"server: {self._models.served_scale}", settings.embedder)
        folder = self._library.path(settings.relevance, ModelRole.RELEVANCE)
        weights = self._made.get(f"weights {folder}", lambda: weights_digest(folder))
        return ScorerIdentity(settings.relevance, weights, settings.embedder)

    def active(self, collection: str | None = None) -> FittedCalibration:
        """Return the active calibration of a collection. Loads no model. Raises ModelError and StoreError."""
        return self.special(collection) or self.default

    def special(self, collection: str | None = None) -> FittedCalibration | None:
        """Return the calibration of a collection if it differs from the reranker's own.

        It is the one that was applied, else the reranker's for the collection's embedding model; None if that is the
        current one. Raises ModelError and StoreError.
        """
        if applied := self.applied(collection):
            return applied.calibration
        settings = self._settings.now
        embedder = self._embedder_of(self._settings.collection(collection))
        if embedder == settings.embedder or is_served(settings.relevance):
            return None
        return read_calibration(self._library.path(settings.relevance, ModelRole.RELEVANCE), embedder)

    def applied(self, collection: str | None = None) -> StoredCalibration | None:
        """Return the calibration fitted for a collection and the current scorer, or None if there is none.

        Raises ModelError and StoreError.
        """
        name = self._settings.collection(collection)
        # Hashing the weights takes a while, so it is skipped if there is nothing to look up.
        if not self._store.has_calibration(self._settings.now.relevance, name):
            return None
        return self._store.active(replace(self.scorer_identity, embedder=self._embedder_of(name)), name)

    def history(self, collection: str | None = None) -> list[StoredCalibration]:
        """Return all calibrations ever applied to a collection, newest first. Raises ModelError and StoreError."""
        return self._store.history(self.scorer_identity, self._settings.collection(collection))

    def apply(
        self, calibration: FittedCalibration, how: CalibrationOrigin, collection: str | None = None
    ) -> StoredCalibration:
        """Make a calibration the active one of a collection. Raises UnknownCollection, ModelError and StoreError."""
        name = existing_collection(collection, self._settings, self._database)
        return self._store.apply(self.scorer_identity, name, calibration, how)

    def undo(self, collection: str | None = None) -> StoredCalibration | None:
        """Undo the active calibration and return it, or None if there is none to undo."""
        return self._store.undo(self.scorer_identity, self._settings.collection(collection))

    def scorer(self, collection: str | None = None) -> Scorer:
        """Return the scorer with the calibration of a collection. Raises ModelError and StoreError."""
        calibration = self.special(collection)
        return CalibratedScorer(self._models.scorer, calibration) if calibration else self._models.scorer
