"""Tags of a collection's documents and folders: given, taken away, and listed."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store import tag_store
from localcrag.backends.store.database import Database


class Tags:
    """The tags of all collections. Loads no model."""

    def __init__(self, settings: SettingsInUse, database: Database) -> None:
        self._settings, self._database = settings, database

    def change(
        self, names: Sequence[str], *, put: Sequence[str] = (), take: Sequence[str] = (), collection: str | None = None
    ) -> None:
        """Give and take tags of documents, or of folders, whose names end with "/"; see tag_store."""
        name = self._settings.collection(collection)
        tag_store.tag(self._database, name, names, put)
        tag_store.untag(self._database, name, names, take)

    def of_folders(self, collection: str | None = None) -> dict[str, list[str]]:
        """Return the tags of a collection's folders, which all that lies in them has."""
        return tag_store.folder_tags(self._database, self._settings.collection(collection))
