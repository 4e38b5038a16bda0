"""Tags of a collection's documents and folders: given, taken away, and listed."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.app.homes import Homes
from localcrag.app.settings_in_use import SettingsInUse


class Tags:
    """The tags of all collections. Loads no model."""

    def __init__(self, settings: SettingsInUse, homes: Homes) -> None:
        self._settings, self._homes = settings, homes

    def change(
        self, names: Sequence[str], *, put: Sequence[str] = (), take: Sequence[str] = (), collection: str | None = None
    ) -> None:
        """Give and take tags of documents, or of folders, whose names end with "/"; see tag_store."""
        self._homes.of(self._settings.collection(collection)).tag(names, put, take)

    def of_folders(self, collection: str | None = None) -> dict[str, list[str]]:
        """Return the tags of a collection's folders, which all that lies in them has."""
        return self._homes.of(self._settings.collection(collection)).folder_tags()
