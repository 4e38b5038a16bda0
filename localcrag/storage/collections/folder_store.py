"""Watched folders, and the last seen state of their files, in SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping

from pydantic import TypeAdapter

from localcrag.records.errors import StoreError
from localcrag.records.ingest import FolderCounts, KnownFile, Stamp, WatchedFolder
from localcrag.storage.collections.admin import collection_row
from localcrag.storage.database import Database, now

_FOLDER = TypeAdapter(WatchedFolder)
_FOLDERS = "SELECT b.*, k.name AS collection FROM bound_folders b JOIN collections k ON k.id = b.collection_id"
_COLLECTION_FILTER = "folder_id IN (SELECT id FROM bound_folders WHERE collection_id = ?)"
_ALIASES = (
    "SELECT f.document, f.path FROM folder_files f WHERE f.folder_id = ? AND f.document != ? || CAST(f.path AS TEXT) "
    "AND f.gone_at IS NULL AND f.stored = f.sha256"
)
_ALIASES_OF_DOCUMENTS = _ALIASES.replace(
    "folder_files f", "json_each(?) j CROSS JOIN folder_files f ON f.document = j.value"
)
"""The same query for given documents. CROSS JOIN makes SQLite look up only these; otherwise it would read all files of
a folder."""
_DOCUMENT_OF_FILE = (
    "SELECT document FROM folder_files WHERE folder_id = ? AND path = ? AND gone_at IS NULL AND stored = sha256 "
    "AND document IS NOT NULL"
)
_PUT = "INSERT OR REPLACE INTO folder_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class FolderStore:
    """The watched folders of a data folder."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def folders(self, collection: str | None = None) -> list[WatchedFolder]:
        """Return the folders of a collection, or of all, sorted by collection and path. Raises StoreError."""
        sql = f"{_FOLDERS} WHERE k.name = coalesce(?, k.name) ORDER BY k.name, b.path"
        return [_folder(row) for row in self._database.rows(sql, collection)]

    def find(self, folder: int) -> WatchedFolder | None:
        """Return the folder with this id, or None if it is no longer watched. Raises StoreError."""
        return next((_folder(row) for row in self._database.rows(f"{_FOLDERS} WHERE b.id = ?", folder)), None)

    def bind(self, wanted: WatchedFolder) -> WatchedFolder:
        """Watch a folder, or change the rules of a watched one; return it as stored. Raises StoreError."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO bound_folders (collection_id, path, prefix, include, exclude, gone, added_at) VALUES "
                "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET include = excluded.include, "
                "exclude = excluded.exclude, gone = excluded.gone, paused = 0, in_step_at = NULL",
                (
                    collection_row(self._database, wanted.collection)["id"], str(wanted.path), wanted.prefix,
                    json.dumps(wanted.include), json.dumps(wanted.exclude), wanted.gone, now(),
                ),
            )  # fmt: skip
            row = connection.execute(f"{_FOLDERS} WHERE b.path = ?", (str(wanted.path),)).fetchone()
        return _folder(row)

    def unbind(self, folder: int) -> None:
        """Stop watching a folder, and forget the state of its files. Raises StoreError."""
        self._database.run("DELETE FROM bound_folders WHERE id = ?", folder)

    def pause(self, folder: int, *, paused: bool) -> None:
        """Pause or resume the watching of a folder. Raises StoreError."""
        self._change(folder, "paused = ?", int(paused))

    def record_sync(self, folder: int) -> None:
        """Record that a folder exists and that the collection is up to date with its files. Raises StoreError."""
        self._change(folder, "in_step_at = ?, away_since = NULL, away_why = NULL", now())

    def record_present(self, folder: int) -> None:
        """Record that a folder exists. Raises StoreError."""
        self._change(folder, "away_since = NULL, away_why = NULL")

    def record_missing(self, folder: int, why: str) -> None:
        """Record that a folder is missing: since now, unless it was missing before. Raises StoreError."""
        self._change(folder, "away_since = coalesce(away_since, ?), away_why = ?", now(), why)

    def files(self, folder: int) -> dict[str, KnownFile]:
        """Return the last seen state of a folder's files, by their paths within it. Raises StoreError."""
        rows = self._database.rows("SELECT * FROM folder_files WHERE folder_id = ?", folder)
        return {one.path: one for one in map(_file, rows)}

    def put(self, folder: int, files: Iterable[KnownFile], forget: Iterable[str] = ()) -> None:
        """Record the state of these files, and forget the paths in `forget`, in one transaction. Raises StoreError."""
        with self._database.transaction() as connection:
            gone = [(folder, os.fsencode(path)) for path in forget]
            connection.executemany("DELETE FROM folder_files WHERE folder_id = ? AND path = ?", gone)
            connection.executemany(_PUT, [(folder, *_row(one)) for one in files])

    def rename_documents(self, collection: str, names: Mapping[str, str]) -> None:
        """Update the names of a collection's renamed documents, which may have swapped names. Raises StoreError."""
        with self._database.transaction() as connection:
            number = collection_row(self._database, collection)["id"]
            rename = f"UPDATE folder_files SET document = ? WHERE document = ? AND {_COLLECTION_FILTER}"  # noqa: S608 - our own SQL
            # The prefix \0, which no document's name has, keeps swapped names apart until all are renamed.
            connection.executemany(rename, [(f"\0{new}", old, number) for old, new in names.items()])
            connection.executemany(rename, [(new, f"\0{new}", number) for new in names.values()])

    def other_files(self, folder: WatchedFolder, document: str) -> list[str]:
        """Return the names of the files in the collection's other folders that belong to a document."""
        sql = "SELECT path FROM folder_files WHERE folder_id = ? AND document = ? AND gone_at IS NULL ORDER BY path"
        return [
            other.name_of(os.fsdecode(path))
            for other in self.folders(folder.collection)
            if other.id != folder.id
            for path in self._database.column(sql, other.id, document)
        ]

    def aliases(self, collection: str, documents: Collection[str] | None = None) -> dict[str, list[str]]:
        """Return the other names of these documents (default: all): the names of further files with the same content.

        If a document has a single file with another name, a person has renamed the document; the file's name does not
        count. Documents without other names are left out. Raises StoreError.
        """
        found: dict[str, list[str]] = {}
        sql, given = (_ALIASES, []) if documents is None else (_ALIASES_OF_DOCUMENTS, [json.dumps([*documents])])
        folders = self.folders(collection)
        for folder in folders:
            for row in self._database.rows(sql, *given, folder.id, folder.prefix):
                if (name := folder.name_of(os.fsdecode(row["path"]))) != row["document"]:
                    found.setdefault(row["document"], []).append(name)
        return {
            document: sorted(names)
            for document, names in found.items()
            if len(names) > 1 or any(self._has_file(folder, document) for folder in folders)
        }

    def holders(self, collection: str, files: Iterable[str]) -> dict[str, list[str]]:
        """Return the documents that files with these names belong to, by file name. Raises StoreError."""
        found: dict[str, list[str]] = {}
        wanted = [*files]
        for folder in self.folders(collection):
            for name in wanted:
                path = os.fsencode(name.removeprefix(folder.prefix))
                if name.startswith(folder.prefix) and (rows := self._database.rows(_DOCUMENT_OF_FILE, folder.id, path)):
                    found.setdefault(name, []).append(rows[0]["document"])
        return found

    def counts(self, folder: int) -> FolderCounts:
        """Return the numbers of imported, failed and missing files of a folder. Raises StoreError."""
        every = "SELECT count(*) FROM folder_files WHERE folder_id = ?"
        failed, gone = (self._database.value(f"{every} AND {what}", folder) for what in (_FAILED, _GONE))
        return FolderCounts(self._database.value(every, folder) - failed - gone, failed, gone)

    def failed(self, folder: int, most: int) -> list[KnownFile]:
        """Return up to `most` failed files of a folder, sorted by path. Raises StoreError."""
        return self._some(folder, _FAILED, most)

    def gone(self, folder: int, most: int = -1) -> list[KnownFile]:
        """Return up to `most` missing files that await a decision, or all, sorted by path. Raises StoreError."""
        return self._some(folder, _GONE, most)

    def _some(self, folder: int, condition: str, most: int) -> list[KnownFile]:
        sql = f"SELECT * FROM folder_files WHERE folder_id = ? AND {condition} ORDER BY path LIMIT ?"  # noqa: S608 - our own SQL
        return [_file(row) for row in self._database.rows(sql, folder, most)]

    def _has_file(self, folder: WatchedFolder, document: str) -> bool:
        """Return whether a folder has or had a file with a document's name."""
        path = os.fsencode(document.removeprefix(folder.prefix))
        sql = "SELECT 1 FROM folder_files WHERE folder_id = ? AND path = ? AND document = ?"
        return document.startswith(folder.prefix) and bool(self._database.rows(sql, folder.id, path, document))

    def _change(self, folder: int, assignments: str, *values: object) -> None:
        self._database.run(f"UPDATE bound_folders SET {assignments} WHERE id = ?", *values, folder)  # noqa: S608 - our own SQL


_FAILED = "error IS NOT NULL AND gone_at IS NULL"
_GONE = "gone_at IS NOT NULL"


def _folder(row: sqlite3.Row | None) -> WatchedFolder:
    if row is None:
        raise StoreError("The folder is no longer being watched. Watch it again: localcrag folder add PATH")
    patterns = {column: json.loads(row[column]) for column in ("include", "exclude")}
    return _FOLDER.validate_python({**row, **patterns})


def _file(row: sqlite3.Row) -> KnownFile:
    stamp = Stamp(row["size"], row["mtime_ns"], row["ctime_ns"], int(row["inode"]))
    own = (row["sha256"], row["document"], row["stored"], row["error"], row["gone_at"])
    return KnownFile(os.fsdecode(row["path"]), stamp, int(row["device"]), *own)


def _row(one: KnownFile) -> tuple[object, ...]:
    # Inode and device numbers may be unsigned 64-bit integers, which do not fit into SQLite's signed ones.
    stamp = (one.stamp.size, one.stamp.mtime_ns, one.stamp.ctime_ns, str(one.stamp.inode), str(one.device))
    return (os.fsencode(one.path), *stamp, one.sha256, one.document, one.stored, one.error, one.gone_at)
