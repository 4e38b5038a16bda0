"""Past questions: how they went, and what other thresholds would have made of them."""

from __future__ import annotations

import threading

from localcrag.app.calibrations import Calibrations
from localcrag.app.collection_settings import CollectionSettings
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store.run_store import RunStore
from localcrag.records.enums import Policy, Preset, ScorerKind
from localcrag.records.errors import SettingsError
from localcrag.records.presets import of_uncalibrated_grades
from localcrag.runs.aggregates import Aggregates, aggregate
from localcrag.runs.threshold_explorer import Exploration, Explorer, Rules, past_questions


class PastQuestions:
    """Looks at stored runs; loads no model. Where no collection is named, that of the settings is meant."""

    def __init__(
        self,
        settings: SettingsInUse,
        runs: RunStore,
        calibrations: Calibrations,
        collection_settings: CollectionSettings,
    ) -> None:
        self._settings, self._runs = settings, runs
        self._calibrations, self._collection_settings = calibrations, collection_settings
        # Not a lock that is held while models are loaded: they are not needed here.
        self._lock = threading.Lock()
        self._explored: tuple[object, Explorer] | None = None

    def aggregates(self, collection: str | None = None) -> Aggregates:
        """Return how the questions went so far, of one collection or of all."""
        return aggregate(self._runs.lines(collection))

    def explore(
        self,
        collection: str | None = None,
        *,
        upper: float | None = None,
        lower: float | None = None,
        policy: Policy | None = None,
    ) -> Exploration:
        """Return what other thresholds or another policy would make of a collection's questions so far.

        What is None stays as it is in force. Raises SettingsError when lower would be above upper, ModelError and
        StoreError.
        """
        name = self._settings.collection(collection)
        now = self.rules(name)
        then = Rules(
            policy=policy or now.policy,
            upper=now.upper if upper is None else upper,
            lower=now.lower if lower is None else lower,
            enough_relevant=now.enough_relevant,
        )
        if not 0 <= then.lower <= then.upper <= 1:
            raise SettingsError(
                f"The thresholds lower ({then.lower:g}) and upper ({then.upper:g}) must be within 0..1, and lower not "
                "above upper."
            )
        return self._explorer(name).explore(now, then)

    def explore_preset(self, before: Preset, after: Preset, collection: str | None = None) -> Exploration:
        """Return what preset `after` makes of a collection's questions so far, next to `before`; see `explore`."""
        name = self._settings.collection(collection)
        return self._explorer(name).explore(self.rules(name, before), self.rules(name, after))

    def rules(self, collection: str | None = None, preset: Preset | None = None) -> Rules:
        """Return what decides about a collection's questions, under its own preset or another one.

        Raises SettingsError, ModelError and StoreError.
        """
        settings = self._settings.now.under(preset or self._collection_settings.preset(collection))
        own = self._calibrations.in_force(collection).thresholds
        limits = settings.thresholds(of_uncalibrated_grades(own) if settings.scorer is ScorerKind.LLM else own)
        return Rules(settings.policy, limits.upper, limits.lower, settings.relevance_threshold)

    def _explorer(self, collection: str) -> Explorer:
        """Return what is known of a collection's questions; read anew only when something has changed."""
        settings, calibration = self._settings.now, self._calibrations.in_force(collection)
        model = settings.llm if settings.scorer is ScorerKind.LLM else settings.relevance
        key = (self._runs.stamp(), collection, settings.scorer, model, calibration)
        with self._lock:
            if self._explored is None or self._explored[0] != key:
                runs = self._runs.scored(collection)
                found = past_questions(runs, scorer=settings.scorer, model=model, calibration=calibration)
                self._explored = (key, Explorer(*found))
            return self._explored[1]
