"""Aliases: other names of a document, from files in watched folders with the same content.

The module also resolves names typed by the user to documents, and changes tags by any of those names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from localcrag.app.collections.locator import CollectionLocator
from localcrag.app.shared_state import CurrentSettings
from localcrag.records.documents import Document
from localcrag.records.restriction import parent_folders
from localcrag.storage.collections.folder_store import FolderStore
from localcrag.storage.database import Database
from localcrag.storage.protocol import CollectionBackend
from localcrag.text.places import REPLACED

MAX_LOOKUPS = 500
"""Number of documents up to which files are looked up one by one; for more documents, reading all records is faster."""


def document_aliases(database: Database, collection: str, documents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the aliases of the documents that have any, in the given order. Raises StoreError.

    A document inside an archive or an e-mail has an alias in each file with the content of that container.
    """
    wanted = None
    if len(documents) <= MAX_LOOKUPS:
        wanted = {file for name in documents for file in (name, *parent_folders(name))}
    also = FolderStore(database).aliases(collection, wanted)
    found = {}
    for name in documents if also else ():
        files = (name, *parent_folders(name))
        if names := tuple(other + name.removeprefix(file) for file in files for other in also.get(file, ())):
            found[name] = names
    return found


def with_aliases(database: Database, collection: str, documents: Sequence[Document]) -> list[Document]:
    """Return the documents with their aliases. Raises StoreError."""
    found = document_aliases(database, collection, [one.name for one in documents])
    return [replace(one, also=found[one.name]) if one.name in found else one for one in documents]


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """The document that a name refers to: its own name and its aliases."""

    name: str
    also: tuple[str, ...] = ()


class DocumentNames:
    """Resolves names typed by the user to documents of any collection."""

    def __init__(self, settings: CurrentSettings, database: Database, homes: CollectionLocator) -> None:
        self._settings, self._database, self._locator = settings, database, homes

    def resolve(self, names: Sequence[str], collection: str | None = None) -> list[ResolvedName]:
        """Return the documents with these names, each once; unknown names are returned unchanged.

        A document's own name takes precedence over the aliases of others. Raises StoreError.
        """
        name = self._settings.collection(collection)
        home = self._locator.locate(name)
        own = home.existing(names)
        others = self._file_aliases(home, [one for one in names if one not in own])
        also = document_aliases(self._database, name, sorted({*own, *others}))
        documents_by_alias = {other: document for document, others in also.items() for other in others}
        found = dict.fromkeys(one if one in own else documents_by_alias.get(one, one) for one in names)
        return [ResolvedName(one, also.get(one, ())) for one in found]

    def _file_aliases(self, home: CollectionBackend, names: Sequence[str]) -> Iterable[str]:
        """Return documents that may have the content of files with these names, or be inside such files."""
        if any(REPLACED in one for one in names):  # REPLACED may stand for anything, so any document may match.
            return [one.name for one in home.documents()]
        files = [(name, file) for name in names for file in (name, *parent_folders(name))]
        holders = FolderStore(self._database).holders(home.name, dict.fromkeys(file for _, file in files))
        return home.existing(
            document + name.removeprefix(file) for name, file in files for document in holders.get(file, ())
        )

    def own_names(self, names: Sequence[str], collection: str | None = None) -> list[str]:
        """Return the documents' own names for these names; see `resolve`. Raises StoreError."""
        return [one.name for one in self.resolve(names, collection)]


class Tags:
    """The tags of all collections. Loads no model."""

    def __init__(self, settings: CurrentSettings, homes: CollectionLocator, named: DocumentNames) -> None:
        self._settings, self._locator, self._named = settings, homes, named

    def change(
        self, names: Sequence[str], *, put: Sequence[str] = (), take: Sequence[str] = (), collection: str | None = None
    ) -> None:
        """Add and remove tags of documents, by any of their names, or of folders, whose names end with "/".

        See localcrag.storage.collections.stored_collection.StoredCollection.tag.
        """
        own = self._named.own_names(names, collection)
        self._locator.locate(self._settings.collection(collection)).tag(own, put, take)

    def folder_tags(self, collection: str | None = None) -> dict[str, list[str]]:
        """Return the tags of a collection's folders, which apply to everything in them."""
        return self._locator.locate(self._settings.collection(collection)).folder_tags()
