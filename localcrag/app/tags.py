"""Tags of a collection's documents and folders: given, taken away, and listed."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.app.homes import Homes
from localcrag.app.other_names import DocumentNames
from localcrag.app.settings_in_use import SettingsInUse


class Tags:
    """The tags of all collections. Loads no model."""

    def __init__(self, settings: SettingsInUse, homes: Homes, named: DocumentNames) -> None:
        self._settings, self._homes, self._named = settings, homes, named

    def change(
        self, names: Sequence[str], *, put: Sequence[str] = (), take: Sequence[str] = (), collection: str | None = None
    ) -> None:
        """Give and take tags of documents, by any of their names, or of folders, whose names end with "/".

        See tag_store.
        """
        own = self._named.own(names, collection)
        self._homes.of(self._settings.collection(collection)).tag(own, put, take)

    def of_folders(self, collection: str | None = None) -> dict[str, list[str]]:
        """Return the tags of a collection's folders, which all that lies in them has."""
        return self._homes.of(self._settings.collection(collection)).folder_tags()
