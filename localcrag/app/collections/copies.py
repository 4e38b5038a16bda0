"""Copy, merge, export and import collections, keeping their vectors: nothing is re-indexed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.locator import TransferProgress, existing_documents, save_and_compare
from localcrag.app.shared_state import LazyCache
from localcrag.records.documents import StoredChunk, StoredDocument
from localcrag.records.errors import NameRefused
from localcrag.storage.collections import admin, full_text, queries
from localcrag.storage.collections.collection_file import (
    CollectionDescription,
    CollectionReader,
    CollectionWriter,
    hidden_collection,
    refresh_import_lock,
)
from localcrag.storage.database import Database
from localcrag.storage.protocol import CollectionBackend
from localcrag.text.titles import passage_context, title_from_name

LONGEST_TRANSACTION = 0.1
"""Maximum seconds of an import's transaction, because a question may have to wait that long."""
PAUSE_SECONDS = 0.02
"""Seconds between two transactions.

A waiting process checks at most every 100 ms whether it can write (sqlite3_busy_timeout).
"""

COPIED_ROWS = {
    "collection_settings": "preset, web, embedder",
    "calibrations": "scorer, weights, embedder, made_at, undone_at, record",
}
"""Tables whose rows are copied along with a collection, and their columns."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of merging a collection into another; `documents` counts the moved documents.

    `renamed` has pairs of old and new names, for documents whose name was taken. `same` were already in the target,
    with the same content.
    """

    documents: int
    renamed: tuple[tuple[str, str], ...]
    same: tuple[str, ...]


class CollectionCopies:
    """Copies, merges, exports and imports the collections of a data folder."""

    def __init__(self, collections: Collections, database: Database, made: LazyCache) -> None:
        self._collections, self._database, self._made = collections, database, made

    def copy(self, name: str, new: str) -> Generator[TransferProgress, None, None]:
        """Copy a collection with its settings and calibrations to a new local collection; yield the progress.

        The collection stays readable and writable, and the copy appears once it is complete. A document that is removed
        before its turn is not copied. Raises UnknownCollection, NameRefused and StoreError.
        """
        queries.require_collection(self._database, name)
        source = self._collections.homes.locate(name)
        embedder, dimension = source.embedder()
        names = [one.name for one in source.documents()]
        new = self._free(new)
        yield TransferProgress(0, len(names))
        with hidden_collection(self._database, embedder=embedder, dimension=dimension) as hidden:
            for done in self._put(existing_documents(source, names), hidden):
                yield TransferProgress(done, len(names))
            with self._database.transaction() as connection:
                admin.rename_collection(self._database, hidden, new)
                self._collections.homes.local(new).put_folder_tags(source.folder_tags())
                for table, columns in COPIED_ROWS.items():
                    sql = (
                        f"INSERT INTO {table} (collection, {columns}) SELECT ?, {columns} FROM {table} "  # noqa: S608 - names of ours
                        "WHERE collection = ?"
                    )
                    connection.execute(sql, (new, name))

    def merge(self, origin: str, target: str) -> Merged:
        """Move all documents of a collection, and its past questions, into another one, then remove it.

        Within the data folder this is one transaction. If one of the two is on a server, the same call resumes an
        interrupted merge. Raises UnknownCollection, EmbedderMismatch, NameRefused if both are the same, and StoreError.
        """
        for name in (origin, target):
            queries.require_collection(self._database, name)
        if origin == target:
            raise NameRefused(f"“{origin}” cannot be merged into itself. Choose two different collections.")
        source, into = self._collections.homes.locate(origin), self._collections.homes.locate(target)
        if source.embedder() != into.embedder():
            raise admin.embedders_differ(origin, source.embedder()[0], target, into.embedder()[0])
        if source.server or into.server:
            merged = _merge_by_copies(source, into)
            admin.reassign_history(self._database, origin, target)
            self._collections.delete(origin)
        else:
            with self._database.transaction():
                merged = self._merge_here(source, into)
                admin.reassign_history(self._database, origin, target)
                admin.delete_collection(self._database, origin)
        self._made.drop("store", "index")
        full_text.overwrite_deleted_words(self._database)
        return merged

    def _merge_here(self, source: CollectionBackend, into: CollectionBackend) -> Merged:
        renamed, same = _plan(source, into)
        for name in same:
            into.tag([name], source.stored(name).tags, ())
        source.remove(same)
        for old, new in renamed.items():
            source.rename_document(old, new)
        names = [one.name for one in source.documents()]
        admin.move_documents(self._database, names, source.name, into.name)
        into.put_folder_tags(_merged_tags(source.folder_tags(), into.folder_tags()))
        return Merged(len(names), tuple(renamed.items()), tuple(same))

    def export(self, name: str, file: Path) -> Generator[TransferProgress, None, None]:
        """Write a collection to a new file, private to this user, and verify it; yield the progress.

        Raises UnknownCollection and StoreError, also if the file exists.
        """
        queries.require_collection(self._database, name)
        home = self._collections.homes.locate(name)
        names = [one.name for one in home.documents()]
        yield TransferProgress(0, len(names))
        with closing(CollectionWriter(file)) as writer:
            for done, document in enumerate(names, start=1):
                writer.add(home.stored(document))
                yield TransferProgress(done, len(names))
            embedder, dimension = home.embedder()
            preset = queries.preset_of(self._database, name)
            web = queries.web_mode_of(self._database, name)
            about = CollectionDescription(name, embedder, dimension, len(names), preset, web, home.folder_tags())
            writer.finish(about)
        CollectionReader(file).close()

    def import_file(
        self, file: Path, name: str | None = None, *, extra: bool = False
    ) -> Generator[tuple[str, TransferProgress], None, None]:
        """Create a collection from a file, completely or not at all; yield its name and the progress.

        The name comes from the file unless `name` is given; with `extra`, a number is appended if it is taken. Other
        processes can read and write in between: the documents arrive in small transactions, and the collection appears
        once it is complete. If its vectors are not from the current embedding model, it waits for re-indexing like any
        such collection. Raises NameRefused and StoreError.
        """
        with closing(CollectionReader(file)) as reader:
            about = reader.about
            wanted = self._import_name(about, name, extra=extra)
            yield wanted, TransferProgress(0, about.documents)
            with hidden_collection(self._database, embedder=about.embedder, dimension=about.dimension) as hidden:
                for done in self._put(reader.documents(), hidden):
                    yield wanted, TransferProgress(done, about.documents)
                # The name is checked again at the end: others may have taken it during the import.
                new = self._show(hidden, about, name, extra=extra)
        yield new, TransferProgress(about.documents, about.documents)

    def _put(self, documents: Iterator[StoredDocument], hidden: str) -> Iterator[int]:
        """Add documents in short transactions; after each, yield the number added so far and let others write."""
        home, done = self._collections.homes.local(hidden), 0
        while True:
            before, begun = done, time.perf_counter()
            with self._database.transaction():
                # `documents` is an iterator, so each transaction continues where the last one stopped.
                for document in documents:
                    home.save_document(document)
                    done += 1
                    if time.perf_counter() - begun > LONGEST_TRANSACTION:
                        break
            if done == before:
                return
            refresh_import_lock(self._database, hidden)
            yield done
            time.sleep(PAUSE_SECONDS)

    def _import_name(self, about: CollectionDescription, name: str | None, *, extra: bool) -> str:
        """Return the name for the imported collection. Raises NameRefused if it is taken."""
        return self._free_name(about.name) if extra else self._free(name or about.name)

    def _free(self, name: str) -> str:
        """Return the name for a new collection, normalised. Raises NameRefused if it is taken."""
        wanted = admin.normalised_name(name, "collection")
        admin.require_unused_name(self._database, wanted)
        return wanted

    def _show(self, hidden: str, about: CollectionDescription, name: str | None, *, extra: bool) -> str:
        """Publish a complete collection with the settings from its file; return its name. Raises NameRefused."""
        with self._database.transaction():
            new = self._import_name(about, name, extra=extra)
            admin.rename_collection(self._database, hidden, new)
            self._collections.homes.local(new).put_folder_tags(about.folder_tags)
            queries.choose(self._database, new, preset=about.preset, web=about.web)
        return new

    def _free_name(self, name: str) -> str:
        """Return the name, with a number appended if it is taken."""
        there = {*self._collections.names()}
        numbered = (name if number == 1 else f"{name} ({number})" for number in range(1, len(there) + 2))
        return next(one for one in numbered if one not in there)


def _merge_by_copies(source: CollectionBackend, into: CollectionBackend) -> Merged:
    renamed, same = _plan(source, into)
    names = [one.name for one in source.documents()]
    for name in names:
        if name in same:
            into.tag([name], source.stored(name).tags, ())
            continue
        save_and_compare(_renamed(source.stored(name), renamed.get(name, name)), into)
    into.put_folder_tags(_merged_tags(source.folder_tags(), into.folder_tags()))
    return Merged(len(names) - len(same), tuple(renamed.items()), tuple(same))


def _plan(source: CollectionBackend, into: CollectionBackend) -> tuple[dict[str, str], list[str]]:
    """Return the new names for documents whose name is taken, and the documents that the target already has.

    The attachments of an e-mail follow its name.
    """
    there = {one.name: one.sha256 for one in into.documents()}
    taken = {*there, *(one.name for one in source.documents())}
    renamed: dict[str, str] = {}
    same = []
    for one in sorted(source.documents(), key=lambda document: document.name):
        letter = next((old for old in renamed if one.name.startswith(f"{old}/")), None)
        if letter:
            renamed[one.name] = renamed[letter] + one.name[len(letter) :]
        elif one.name not in there:
            continue
        elif there[one.name] == one.sha256:
            same.append(one.name)
        else:
            renamed[one.name] = _free_document_name(one.name, source.name, taken)
            taken.add(renamed[one.name])
    return renamed, same


def _free_document_name(name: str, origin: str, taken: set[str]) -> str:
    """Return a free name: with the origin collection appended and, if needed, a number."""
    path, label = PurePosixPath(name), origin.replace("/", "-")
    labels = itertools.chain([label], (f"{label} {number}" for number in itertools.count(2)))
    return next(new for one in labels if (new := str(path.with_stem(f"{path.stem} ({one})"))) not in taken)


def _renamed(document: StoredDocument, name: str) -> StoredDocument:
    """Return the document under another name; without its own title, searches find its chunks by that name."""
    if name == document.name:
        return document
    if document.title is not None:
        return replace(document, name=name)
    title = title_from_name(name)

    def renamed(one: StoredChunk) -> StoredChunk:
        front = passage_context(title, one.chunk.text, section=one.chunk.section, lead=one.chunk.lead)
        return replace(one, front=front)

    return replace(document, name=name, chunks=tuple(map(renamed, document.chunks)))


def _merged_tags(first: dict[str, list[str]], second: dict[str, list[str]]) -> dict[str, list[str]]:
    return {folder: sorted({*first.get(folder, ()), *second.get(folder, ())}) for folder in sorted({*first, *second})}
