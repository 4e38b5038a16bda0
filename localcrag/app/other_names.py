"""What documents are called besides: the files of followed folders that have the same content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localcrag.backends.store.database import Database
from localcrag.backends.store.folder_store import FolderStore
from localcrag.records.documents import Document
from localcrag.records.restriction import folders_of

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
