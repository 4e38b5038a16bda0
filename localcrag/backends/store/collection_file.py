"""A collection as one file, which another data folder takes in: a SQLite file of a format of its own.

Format 1: the table `about` says of the collection, by key, what AboutCollection has; `documents` has a row each: all
that is kept of a document as JSON (StoredDocument), the vectors of its chunks behind each other as little-endian
float32, its file where that was kept, and a SHA-256 of these. `digest` in `about` is one over all of them. The file may
come from anybody: nothing in it is believed before it was looked at (imported_document.py), and no name in it is used
as a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from localcrag.backends.store.database_header import read_header
from localcrag.backends.store.imported_document import Damaged, Written, checked, checked_about, written
from localcrag.privacy.private_folder import to_disk
from localcrag.records.errors import StoreError
from localcrag.records.stored_document import StoredDocument

FORMAT, KIND = 1, 0x6C637263
"""The format's number (user_version), and what tells it from other SQLite files (application_id): “lcrc”."""
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE documents (
    number INTEGER PRIMARY KEY, document TEXT NOT NULL, vectors BLOB NOT NULL, original BLOB, digest TEXT NOT NULL
) STRICT""",
)
LONGEST = 1 << 30
"""Bytes of one value; SQLite's own limit is about as high."""


@dataclass(frozen=True, slots=True)
class AboutCollection:
    """What a file says of its collection; `folder_tags` by folder."""

    name: str
    embedder: str
    dimension: int
    documents: int
    preset: str | None
    web: str | None
    folder_tags: dict[str, list[str]]


class CollectionWriter:
    """A file that is being written, beside its place; `finish` puts it there."""

    def __init__(self, path: Path) -> None:
        """Begin. Raises StoreError, also when there is a file already."""
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._digests, self._number = hashlib.sha256(), 0
        if path.exists():
            raise StoreError(f"{path} is there already, and was left as it is. Choose another name for the file.")
        try:
            self._temporary.unlink(missing_ok=True)
            os.close(os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(self._temporary, isolation_level=None, check_same_thread=False)
            for statement in (f"PRAGMA application_id = {KIND}", f"PRAGMA user_version = {FORMAT}", *SCHEMA, "BEGIN"):
                self._connection.execute(statement)
        except (OSError, sqlite3.Error) as error:
            raise self._unwritable(error) from error

    def add(self, document: StoredDocument) -> None:
        """Write a document. Raises StoreError."""
        one = written(document)
        self._number += 1
        digest = _digest(one)
        self._digests.update(digest.encode())
        try:
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                (self._number, one.document, one.vectors, one.original, digest),
            )
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def finish(self, about: AboutCollection) -> None:
        """Write what is said of the collection, and put the file in its place. Raises StoreError."""
        said = {key: json.dumps(value, ensure_ascii=False) for key, value in asdict(about).items()}
        said["digest"] = json.dumps(_whole(self._digests, said))
        try:
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", said.items())
            self._connection.execute("COMMIT")
            self._connection.close()
            self._temporary.replace(self._path)
            to_disk(self._path.parent)
        except (OSError, sqlite3.Error) as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Remove what is not finished."""
        self._connection.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _unwritable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written: {error}. Check that the folder is there and writable, and the disk not "
            "full."
        )


class CollectionReader:
    """A file that somebody gave, which has been looked at."""

    def __init__(self, path: Path) -> None:
        """Open it, and check that it is whole. Raises StoreError, with what is wrong with it."""
        self._path = path
        self._connection = self._opened()
        try:
            self.about = self._about()
        except BaseException:
            self._connection.close()
            raise

    def documents(self) -> Iterator[StoredDocument]:
        """Yield the documents, each checked. Raises StoreError."""
        names: set[str] = set()
        try:
            for number in range(1, self.about.documents + 1):
                document = checked(self._written(number)[0], self.about.dimension)
                if document.name in names:
                    raise Damaged(f"two documents are called “{document.name}”")
                names.add(document.name)
                yield document
        except Damaged as error:
            raise self._refused(str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            header = read_header(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror or error}. Name another file.") from error
        if header is None or header.kind != KIND:
            raise StoreError(
                f"{self._path} is no collection that localcrag has exported. Nothing was changed. Such files are made "
                "by: localcrag collection export NAME FILE"
            )
        if header.version != FORMAT:
            raise StoreError(
                f"{self._path} has the format {header.version}; this localcrag knows {FORMAT}. Nothing was changed. "
                "Update localcrag, then import it."
            )
        # Nobody writes to it, and no journal beside it is looked for.
        address = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        return connection

    def _about(self) -> AboutCollection:
        """Check all of the file but what the documents say. Raises StoreError."""
        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            # Before anything is read: no view, trigger or virtual table of a stranger's is ever run.
            tables = [row[0] for row in self._connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")]
            if tables != list(SCHEMA):
                raise Damaged("it has other tables than such a file has")
            if self._connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged("parts of it were changed or are missing")
            said = dict(self._connection.execute("SELECT key, value FROM about").fetchall())
            digest = said.pop("digest", "")
            about = AboutCollection(**checked_about(said))
            numbers = self._connection.execute("SELECT count(*), max(number), min(number) FROM documents").fetchone()
            if about.documents and tuple(numbers) != (about.documents, about.documents, 1):
                raise Damaged("documents are missing in it")
            digests = hashlib.sha256()
            for number in range(1, about.documents + 1):
                one, kept = self._written(number)
                if _digest(one) != kept:
                    raise Damaged(f"document {number} was changed")
                digests.update(kept.encode())
            if digest != json.dumps(_whole(digests, said)):
                raise Damaged("it was changed")
        except Damaged as error:
            raise self._refused(str(error)) from error
        except sqlite3.Error as error:
            raise self._refused(f"it cannot be read ({error})") from error
        return about

    def _written(self, number: int) -> tuple[Written, str]:
        try:
            row = self._connection.execute(
                "SELECT document, vectors, original, digest FROM documents WHERE number = ?", (number,)
            ).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise Damaged(f"document {number} cannot be read ({error})") from error
        return Written(*row[:3]), row[3]

    def _refused(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path} was not imported: {why}. Nothing was changed. Have it exported or copied again."
        )


def _digest(one: Written) -> str:
    parts = (one.document.encode(), one.vectors, one.original or b"")
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _whole(digests: hashlib._Hash, said: Mapping[str, str]) -> str:
    whole = digests.copy()
    for key in sorted(said):
        whole.update(f"{key}\0{said[key]}\0".encode())
    return whole.hexdigest()
