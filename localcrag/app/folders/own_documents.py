"""Documents of files that are no more, or of a folder that is followed no more: removed or kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from localcrag.app.collections import Collections
from localcrag.app.homes import Home
from localcrag.backends.store.database import Database
from localcrag.backends.store.folder_store import FolderStore
from localcrag.records.folders import BoundFolder, FolderChange, FolderStatus, KnownFile, WhenGone


@contextmanager
def together(database: Database, collections: Collections, folder: BoundFolder) -> Iterator[Home]:
    """Write documents and what is remembered of files together, where both are in one database."""
    home = collections.homes.of(folder.collection)
    with home.together(), database.transaction():
        yield home


def whole(home: Home, document: str, known: Mapping[str, KnownFile]) -> list[str]:
    """Return a document and those that came within it; not those of a folder that has its name by now."""
    others = {one.document for one in known.values()} - {document}
    return [name for name in home.names.within(document) if name not in others]


def decide(
    database: Database,
    collections: Collections,
    folder: BoundFolder,
    what: WhenGone,
    names: Sequence[str] | None = None,
) -> list[FolderChange]:
    """Remove or keep the documents whose files are gone, those of these names or all. Raises StoreError.

    A file that is there again is left to the next look at the folder.
    """
    store = FolderStore(database)
    known = store.files(folder.id)
    asked = [one for one in store.gone(folder.id) if names is None or folder.name_of(one.path) in names]
    asked = [one for one in asked if not (folder.path / one.path).exists()]
    remove = {one.document for one in asked if one.document} if what is WhenGone.REMOVE else set()
    remove = {document for document in remove if not store.others(folder, document)}
    with together(database, collections, folder) as home:
        home.remove([name for document in sorted(remove) for name in whole(home, document, known)])
        store.put(folder.id, (), [one.path for one in asked])
    changes = []
    for one in asked:
        status = FolderStatus.REMOVED if one.document in remove else FolderStatus.KEPT
        changes.append(FolderChange(folder.name_of(one.path), status))
    return changes


def unbind(database: Database, collections: Collections, folder: BoundFolder, *, documents: bool) -> int:
    """Follow a folder no more; with `documents`, remove those that its files have alone, and return how many.

    Raises StoreError.
    """
    store = FolderStore(database)
    if not documents:
        store.unbind(folder.id)
        return 0
    known = store.files(folder.id)
    names = {folder.name_of(path) for path in known}
    own = sorted({one.document for one in known.values() if one.document in names})
    own = [document for document in own if not store.others(folder, document)]
    with together(database, collections, folder) as home:
        gone = [name for document in own for name in whole(home, document, known)]
        home.remove(gone)
        store.unbind(folder.id)
    return len(gone)
