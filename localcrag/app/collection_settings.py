"""Settings of one collection: its preset, its embedder, and whether the web may be asked about it."""

from __future__ import annotations

from localcrag.app.collections import existing
from localcrag.app.model_library import ModelLibrary
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store import collection_settings
from localcrag.backends.store.database import Database
from localcrag.records.enums import Preset, WebMode
from localcrag.records.models import ModelRole
from localcrag.settings import Settings


class CollectionSettings:
    """Presets and web modes by collection. Where none is named, that of the settings is meant."""

    def __init__(self, settings: SettingsInUse, database: Database, library: ModelLibrary) -> None:
        self._settings, self._database, self._library = settings, database, library

    def preset(self, collection: str | None = None) -> Preset:
        """Return the preset that a collection's questions are answered under."""
        own = collection_settings.preset_of(self._database, self._settings.collection(collection))
        return own or self._settings.now.preset

    def set_preset(self, preset: Preset | None, collection: str | None = None) -> None:
        """Give a collection a preset of its own; None takes it away. Raises UnknownCollection and StoreError."""
        collection_settings.set_preset(self._database, self._there(collection), preset)

    def web_mode(self, collection: str | None = None) -> WebMode:
        """Return the web mode of a collection's questions: its own, unless one holds for all collections."""
        own = collection_settings.web_mode_of(self._database, self._settings.collection(collection))
        return self._settings.now.of_collection(own).web

    def set_web_mode(self, mode: WebMode | None, collection: str | None = None) -> None:
        """Give a collection a web mode of its own; None takes it away. Raises UnknownCollection and StoreError."""
        collection_settings.set_web_mode(self._database, self._there(collection), mode)

    def embedders(self) -> dict[str, str]:
        """Return the embedders of those collections that have one of their own, by collection. Raises StoreError."""
        return collection_settings.embedders(self._database)

    def set_embedder(self, embedder: str | None, collection: str | None = None) -> None:
        """Have a collection be embedded with an embedder of its own; None: with the one in use.

        It is searched by the vectors that it has until it is embedded anew. Raises UnknownCollection, ModelError when
        there is no such embedder, and StoreError.
        """
        name = self._there(collection)
        if embedder is not None:
            self._library.path(embedder, ModelRole.EMBEDDER)
        collection_settings.set_embedder(self._database, name, embedder)

    def applied_to(self, settings: Settings, preset: Preset | None = None) -> Settings:
        """Return settings with the web mode of the collection that they name, under `preset` or else its own.

        Raises UnknownCollection and StoreError.
        """
        name = self._there(settings.collection)
        settings = settings.of_collection(collection_settings.web_mode_of(self._database, name))
        return settings.under(preset or self.preset(name))

    def _there(self, collection: str | None) -> str:
        return existing(collection, self._settings, self._database)
