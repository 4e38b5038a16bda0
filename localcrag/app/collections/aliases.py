"""What documents are called besides: the files of followed folders that have the same content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from localcrag.app.collections.locator import Home, Homes
from localcrag.app.shared_state import SettingsInUse
from localcrag.records.documents import Document
from localcrag.records.restriction import folders_of
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from localcrag.text.places import REPLACED

LOOKED_UP = 500
"""Documents whose files are looked up one by one; of more, reading all files that are known is faster."""


def other_names(database: Database, collection: str, documents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the other names of those of these documents that have any, in order. Raises StoreError.

    A document within an archive or a letter has a name in each file with the content of that.
    """
    wanted = None
    if len(documents) <= LOOKED_UP:
        wanted = {file for name in documents for file in (name, *folders_of(name))}
    also = FolderStore(database).also(collection, wanted)
    found = {}
    for name in documents if also else ():
        files = (name, *folders_of(name))
        if names := tuple(other + name.removeprefix(file) for file in files for other in also.get(file, ())):
            found[name] = names
    return found


def with_other_names(database: Database, collection: str, documents: Sequence[Document]) -> list[Document]:
    """Return documents with their other names. Raises StoreError."""
    found = other_names(database, collection, [one.name for one in documents])
    return [replace(one, also=found[one.name]) if one.name in found else one for one in documents]


@dataclass(frozen=True, slots=True)
class Meant:
    """The document that a name means, by its own name, with its other ones."""

    name: str
    also: tuple[str, ...] = ()


class DocumentNames:
    """What the names that a person gives mean, in any collection."""

    def __init__(self, settings: SettingsInUse, database: Database, homes: Homes) -> None:
        self._settings, self._database, self._homes = settings, database, homes

    def meant(self, names: Sequence[str], collection: str | None = None) -> list[Meant]:
        """Return the documents that are called so, each once; a name that none has is returned as it is.

        Where a document is called so itself, its name is not looked for among the others' other names. Raises
        StoreError.
        """
        name = self._settings.collection(collection)
        home = self._homes.of(name)
        own = home.names.there(names)
        others = self._of_files(home, [one for one in names if one not in own])
        also = other_names(self._database, name, sorted({*own, *others}))
        of_other = {other: document for document, others in also.items() for other in others}
        found = dict.fromkeys(one if one in own else of_other.get(one, one) for one in names)
        return [Meant(one, also.get(one, ())) for one in found]

    def _of_files(self, home: Home, names: Sequence[str]) -> Iterable[str]:
        """Return the documents that files of these names may have the content of, or hold what has."""
        if any(REPLACED in one for one in names):  # What stands there in a file's own name, nobody knows.
            return [one.name for one in home.documents()]
        files = {file: None for name in names for file in (name, *folders_of(name))}
        holders = FolderStore(self._database).holders(home.name, files)
        return home.names.there(
            document + name.removeprefix(file)
            for name in names
            for file in (name, *folders_of(name))
            for document in holders.get(file, ())
        )

    def own(self, names: Sequence[str], collection: str | None = None) -> list[str]:
        """Return the own names of the documents that are called so; see `meant`. Raises StoreError."""
        return [one.name for one in self.meant(names, collection)]


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
