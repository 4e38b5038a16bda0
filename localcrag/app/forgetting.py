"""Deleting and forgetting documents, and the proof: the data folder's bytes are searched for them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from localcrag.app.collections import Collections
from localcrag.app.document_marks import Looked, look_at, marks_of
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.postgres import vacuuming
from localcrag.backends.postgres.home import PostgresHome
from localcrag.backends.store import deleted_words, table_traces
from localcrag.backends.store.database import Database
from localcrag.backends.store.quotations import are_quoted, passages_of, remove_quotations
from localcrag.backends.traces.search import search
from localcrag.records.errors import UnknownDocument
from localcrag.records.forgetting import Forgotten, Mark, Place, Searched
from localcrag.runs.evaluation_set import RUNS
from localcrag.runs.quoting import Quoting
from localcrag.text.distinctive import forms

QUOTING_FOLDERS = ("evaluations", "cache/calibrate")
"""Folders of the data folder whose folders, one an evaluation or set each, may hold what a document says."""
BACKUPS = "backups"


class Forgetting:
    """What becomes of deleted documents; `forget` has the app forget what it made of them."""

    def __init__(
        self,
        settings: SettingsInUse,
        database: Database,
        collections: Collections,
        models_dir: Path,
        forget: Callable[[], None],
    ) -> None:
        self._settings, self._database, self._collections = settings, database, collections
        self._models_dir, self._forget = models_dir, forget

    def delete(self, names: Sequence[str], collection: str | None = None) -> int:
        """Remove documents, by any of their names, with their attachments; return how many of these there were.

        What runs, chats, labels and pins quote of them stays; no table, full-text index or log of writes has them any
        more. Raises UnknownCollection, UnknownDocument and StoreError.
        """
        try:
            own = self._collections.named.own(names, collection)
            return sum(self._collections.delete_document(name, collection) for name in own)
        finally:
            deleted_words.overwrite(self._database)

    def delete_collection(self, name: str) -> None:
        """Remove a collection with its documents, as `delete` does. Raises UnknownCollection and StoreError."""
        self._collections.delete(name)
        deleted_words.overwrite(self._database)

    def forget(self, names: Sequence[str], collection: str | None = None) -> Forgotten:
        """Remove documents, with their attachments and all that quotes them, and search the data folder for the rest.

        Any of their names will do. They may be deleted already: then what quoted them is removed. Raises
        UnknownDocument where nothing of that name was there or is quoted, UnknownCollection and StoreError.
        """
        collection = self._settings.collection(collection)
        home = self._collections.homes.of(collection)
        names = self._collections.named.own(names, collection)
        there = home.names.there(names)
        gone = [name for name in names if name not in there]
        looked = look_at(self._database, home, names, self._quoted(collection, gone) if gone else ())
        marks = marks_of(looked)
        for name in looked.asked:
            self._collections.delete_document(name, collection)
        removed = remove_quotations(self._database, self._quoting(collection, names, looked))
        removed = replace(removed, folders=tuple(self._remove_folders(self._quoting(collection, names, looked), marks)))
        self._forget()
        self.overwrite(collection)
        found = self._searched(marks)
        left = vacuuming.tables_with(home.database, marks) if isinstance(home, PostgresHome) else []
        return Forgotten(
            documents=looked.names,
            removed=removed,
            searched=replace(found, places=(*found.places, *left)),
            copies=looked.copies,
            backups=tuple(sorted({one.file for one in found.places if one.file.startswith(f"{BACKUPS}/")})),
        )

    def is_quoted(self, names: Sequence[str], collection: str | None = None) -> bool:
        """Return whether a run found something in one of these documents, which may be gone. Raises StoreError."""
        return are_quoted(self._database, self._settings.collection(collection), names)

    def overwrite(self, collection: str | None = None) -> None:
        """Have nothing of what was deleted be in the files of the database and of a collection's vector index.

        The files are written anew, which takes a while and as much room again. Of a collection in a PostgreSQL server,
        its tables are. Raises UnknownCollection and StoreError.
        """
        name = self._settings.collection(collection)
        self._collections.index(name).make_anew()
        deleted_words.overwrite(self._database, whole=True)
        home = self._collections.homes.of(name)
        if isinstance(home, PostgresHome):
            home.vacuum()

    def overwrite_all(self) -> None:
        """Do so for all collections. Raises StoreError."""
        to_embed = self._collections.embedders.to_embed()
        for name in self._collections.names():
            if name not in to_embed:
                self._collections.index(name).make_anew()
        deleted_words.overwrite(self._database, whole=True)

    def verify(self, wanted: str, collection: str | None = None) -> Searched:
        """Search the data folder for what a document says that no other does; for these words, where it is no document.

        Changes nothing. Raises UnknownCollection and StoreError.
        """
        home = self._collections.homes.of(self._settings.collection(collection))
        (document,) = self._collections.named.own([wanted], collection)
        if home.names.there([document]):
            return self._searched(marks_of(look_at(self._database, home, [document])))
        return self._searched([Mark(f"“{wanted}”", forms(wanted))])

    def _quoted(self, collection: str, names: Sequence[str]) -> list[str]:
        """Return what is quoted of documents that are gone. Raises UnknownDocument."""
        texts = passages_of(self._database, collection, names)
        if not texts:
            raise UnknownDocument(
                f"The collection “{collection}” has no document “{names[0]}”, and no run found anything in one. "
                f"localcrag documents --collection {collection} lists what it has; to search for words that it had: "
                "localcrag forget --verify WORDS"
            )
        return texts

    def _quoting(self, collection: str, names: Sequence[str], looked: Looked) -> Quoting:
        there = self._database.rows(
            "SELECT k.name AS collection, d.name FROM documents d JOIN collections k ON k.id = d.collection_id"
        )
        gone = frozenset((*names, *looked.names))
        others = {(row["collection"], row["name"]) for row in there} - {(collection, name) for name in gone}
        return Quoting(collection, gone, looked.texts, looked.phrases, frozenset(others))

    def _remove_folders(self, quoting: Quoting, marks: Sequence[Mark]) -> Iterator[str]:
        """Remove the folders that have something of the documents, and yield their names."""
        for parent in (self._settings.now.data_dir / name for name in QUOTING_FOLDERS):
            if not parent.is_dir():
                continue
            held = {place.file.split("/", maxsplit=1)[0] for place in search(parent, marks).places}
            for folder in sorted(parent.iterdir()):
                if folder.name in held or _quotes(folder / RUNS, quoting):
                    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
                    yield folder.relative_to(self._settings.now.data_dir).as_posix()

    def _searched(self, marks: Sequence[Mark]) -> Searched:
        """Search all files of the data folder but models, and all tables."""
        found = search(self._settings.now.data_dir, marks, [self._models_dir])
        tables: list[Place] = table_traces.tables_with(self._database, marks)
        return replace(found, places=(*tables, *found.places))


def _quotes(runs: Path, quoting: Quoting) -> bool:
    """Return whether an evaluation has a run that quotes the documents; a torn last line counts as well."""
    if not runs.is_file():
        return False
    for line in runs.read_bytes().split(b"\n"):
        try:
            run = json.loads(line)["run"]
        except (ValueError, KeyError, TypeError):
            if quoting.in_text(line.decode("utf-8", "replace")):
                return True
            continue
        if quoting.in_run(run, by_name=False):
            return True
    return False
