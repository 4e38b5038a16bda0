"""Collection files (export and import), and hidden collections that collect an import.

A collection file is a SQLite file of its own format (APPLICATION_ID, FORMAT_VERSION). It may come from a stranger, so
the reader checks its schema, its digests and every value of every document.

An import writes one piece at a time to a hidden collection, so others can read and write in between. Its name cannot be
typed, and nothing lists it; when the import is complete, the collection is renamed. The importing process locks a file
next to the database. If the process is killed, the lock is free, and the next start removes the partial import.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from localcrag.privacy.private_folder import flush_to_disk
from localcrag.records.documents import Chunk, ScannedPage, StoredChunk, StoredDocument, StoredScan
from localcrag.records.enums import Preset, WebMode
from localcrag.records.errors import NameRefused, StoreError
from localcrag.storage.collections.admin import LONGEST_NAME
from localcrag.storage.collections.queries import checked_tag
from localcrag.storage.database import Database, now
from localcrag.storage.files import PART, is_abandoned, locked_file
from localcrag.storage.schema import HIDDEN_PREFIX, IS_VISIBLE, read_header

DOCUMENTS_PER_STEP = 50
"""Documents to remove per transaction."""


@contextmanager
def hidden_collection(database: Database, *, embedder: str, dimension: int) -> Iterator[str]:
    """Create a hidden collection for an import, and yield its name. Raises StoreError.

    Unless the block renames it (admin.rename_collection), the collection is removed afterwards, also after an error.
    """
    token = secrets.token_hex(8)
    name, file = f"{HIDDEN_PREFIX}{token}", _lock_file(database, token)
    try:
        file.touch(0o600, exist_ok=False)
    except OSError as error:
        raise StoreError(
            f"{file} could not be created: {error.strerror or error}. Check that the folder is writable and the disk "
            "not full."
        ) from error
    try:
        with locked_file(file):
            with database.transaction() as connection:
                connection.execute(
                    "INSERT INTO collections (name, embedder, dimension, created_at) VALUES (?, ?, ?, ?)",
                    (name, embedder, dimension, now()),
                )
            try:
                yield name
            finally:
                with suppress(StoreError):  # The rest stays hidden, and the next start removes it.
                    _remove(database, name)
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def refresh_import_lock(database: Database, name: str) -> None:
    """Refresh the time stamp of an import's lock file, for file systems that cannot lock files."""
    with suppress(OSError):
        _lock_file(database, name.removeprefix(HIDDEN_PREFIX)).touch()


def remove_partial_imports(database: Database) -> None:
    """Remove imports that killed processes left unfinished. Raises StoreError.

    A backup that was made during an import also contains a partial import. Imports of other running processes are not
    affected.
    """
    for row in database.rows(f"SELECT k.name FROM collections k WHERE NOT {IS_VISIBLE}"):  # noqa: S608 - our own SQL
        file = _lock_file(database, row["name"].removeprefix(HIDDEN_PREFIX))
        # The importing process locks its file before it writes to the database. If the file is missing or not locked,
        # the process has ended.
        if not file.exists() or is_abandoned(file, new_for=0.0):
            _remove(database, row["name"])
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _remove(database: Database, name: str) -> None:
    """Remove a collection, if it exists, in small transactions so that others can read and write in between."""
    some = "SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? LIMIT ?"
    while True:
        with database.transaction() as connection:
            removed = connection.execute(f"DELETE FROM documents WHERE id IN ({some})", (name, DOCUMENTS_PER_STEP))  # noqa: S608 - our own SQL
            if not removed.rowcount:
                connection.execute("DELETE FROM collections WHERE name = ?", (name,))
                return


def _lock_file(database: Database, token: str) -> Path:
    return database.path.with_name(f".arriving-{token}{PART}")


LONGEST_DOCUMENT_NAME, LONGEST_TITLE = 1_000, 2_000
"""Maximum number of characters of a name with its folders, and of a title or path of headings."""
MOST_PAGES, MOST_DIMENSIONS = 1_000_000, 8_192
LENGTH_TOLERANCE = 0.1
"""Maximum deviation of a vector's length from 1: embedding models return unit vectors, with rounding errors."""
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Control characters, marks that change the writing direction of the text after them, and noncharacters."""
_FLOAT_BYTES = 4
"""Bytes of one number of a vector (float32)."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_EMBEDDER = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]{5,15}(?:[+-]\d{2}:\d{2}|Z)?", re.ASCII)


class DamagedFile(Exception):
    """Part of the file is invalid. The message is the end of a sentence: “FILE was not imported: …”."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """The row of a document in the file."""

    document: str
    vectors: bytes
    original: bytes | None


_DOCUMENT, _SCANNED = TypeAdapter(StoredDocument), TypeAdapter(ScannedPage)


def document_row(document: StoredDocument) -> DocumentRow:
    """Return the row for a document."""
    # Vectors and the file are bytes, so they have columns of their own.
    one = _DOCUMENT.dump_json(document, exclude={"original": True, "chunks": {"__all__": {"vector"}}})
    return DocumentRow(one.decode(), b"".join(chunk.vector for chunk in document.chunks), document.original)


def checked_document(one: DocumentRow, dimension: int) -> StoredDocument:
    """Check a row and return its document, with invisible characters in names and titles replaced.

    Raises DamagedFile.
    """
    try:
        read = _DOCUMENT.validate_json(one.document, strict=True)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise DamagedFile(f"its description of a document is invalid ({where}: {error.errors()[0]['msg']})") from error
    name = _name(read.name)
    _require(_SHA256.fullmatch(read.sha256), name, "checksum")
    _require(_MEDIA_TYPE.fullmatch(read.media_type), name, "kind")
    _require(read.pages is None or 0 <= read.pages <= MOST_PAGES, name, "number of pages")
    _require(_TIME.fullmatch(read.added_at), name, "time")
    _require(read.dated is None or _DAY.fullmatch(read.dated), name, "day")
    vectors = _vectors(one.vectors, len(read.chunks), dimension, name)
    chunks = (
        StoredChunk(_chunk(chunk.chunk, read, name), _INVISIBLE.sub(" ", chunk.front), vector)
        for chunk, vector in zip(read.chunks, vectors, strict=True)
    )
    return replace(
        read, name=name, title=_line(read.title), chunks=tuple(chunks), original=one.original,
        tags=tuple(dict.fromkeys(map(_tag, read.tags))), scans=tuple(_scan(scan, name) for scan in read.scans),
    )  # fmt: skip


def checked_description(values: Mapping[str, str]) -> CollectionDescription:
    """Check the file's description of its collection, and return the description. Raises DamagedFile."""
    try:
        about = {key: json.loads(value) for key, value in values.items()}
        name, tags = _line(about["name"]), about["folder_tags"]
        embedder, dimension, documents = about["embedder"], about["dimension"], about["documents"]
        preset = about["preset"] if about["preset"] in {None, *Preset} else None
        # An unknown mode becomes NEVER, so that nothing is sent.
        web = about["web"] if about["web"] in {None, *WebMode} else WebMode.NEVER
        folder_tags = {_name(folder): [_tag(tag) for tag in words] for folder, words in tags.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"its description of the collection is invalid ({type(error).__name__})") from error
    if not (name and len(name) <= LONGEST_NAME):
        raise DamagedFile("its collection has no name, or one that is too long")
    if not (isinstance(embedder, str) and _EMBEDDER.fullmatch(embedder)):
        raise DamagedFile("it names no embedding model")
    are_numbers = type(dimension) is int and type(documents) is int
    if not (are_numbers and 1 <= dimension <= MOST_DIMENSIONS and documents >= 0):
        raise DamagedFile("it contains invalid numbers")
    return CollectionDescription(name, embedder, dimension, documents, preset, web, folder_tags)


def _name(name: str) -> str:
    """Check and return a document or folder name. Although it is not a path, its parts must be safe.

    Raises DamagedFile.
    """
    clean = _INVISIBLE.sub("\ufffd", name)
    parts = clean.split("/")
    if not clean.strip() or len(clean) > LONGEST_DOCUMENT_NAME or any(part in {"", ".", ".."} for part in parts):
        raise DamagedFile(f"a document cannot be called “{clean[:100]}”")
    return clean


def _line(text: str | None) -> str | None:
    return None if text is None else _INVISIBLE.sub("\ufffd", text)[:LONGEST_TITLE]


def _tag(tag: str) -> str:
    try:
        return checked_tag(_INVISIBLE.sub("\ufffd", tag))
    except NameRefused as error:
        raise DamagedFile(f"a tag is invalid: {error}") from error


def _chunk(chunk: Chunk, document: StoredDocument, name: str) -> Chunk:
    _require(0 <= chunk.start <= chunk.end <= len(document.text), name, "place of a chunk")
    _require(chunk.page is None or 1 <= chunk.page <= MOST_PAGES, name, "page of a chunk")
    _require(chunk.confidence is None or 0 <= chunk.confidence <= 1, name, "confidence of a chunk")
    return replace(chunk, section=_line(chunk.section))


def _scan(scan: StoredScan, name: str) -> StoredScan:
    _require(1 <= scan.page <= MOST_PAGES, name, "scanned page")
    if scan.read is not None:
        try:
            _SCANNED.validate_python(ScannedPage.of(json.loads(scan.read)))
        except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedFile(f"what was recognised on page {scan.page} of “{name}” is not right") from error
    return replace(scan, error=_line(scan.error))


def _vectors(vectors: bytes, chunks: int, dimension: int, name: str) -> list[bytes]:
    _require(len(vectors) == chunks * dimension * _FLOAT_BYTES, name, "number of vectors")
    rows = np.frombuffer(vectors, "<f4").reshape(chunks, dimension)
    lengths = np.linalg.norm(rows, axis=1)
    # A comparison with NaN is false.
    _require((np.abs(lengths - 1) < LENGTH_TOLERANCE).all(), name, "length of a vector")
    return [row.tobytes() for row in rows]


def _require(valid: object, name: str, field: str) -> None:
    if not valid:
        raise DamagedFile(f"the {field} of “{name[:100]}” is not right")


FORMAT_VERSION, APPLICATION_ID = 1, 0x6C637263
"""Version of the format (user_version), and the application_id that marks a collection file: “lcrc”."""
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE documents (
    number INTEGER PRIMARY KEY, document TEXT NOT NULL, vectors BLOB NOT NULL, original BLOB, digest TEXT NOT NULL
) STRICT""",
)
MOST_BYTES = 1 << 30
"""Maximum number of bytes of one value; SQLite's own limit is about as high."""


@dataclass(frozen=True, slots=True)
class CollectionDescription:
    """The file's description of its collection. `folder_tags` maps a folder to its tags."""

    name: str
    embedder: str
    dimension: int
    documents: int
    preset: str | None
    web: str | None
    folder_tags: dict[str, list[str]]


class CollectionWriter:
    """Writer of a collection file. It writes to a temporary file, which `finish` moves into place."""

    def __init__(self, path: Path) -> None:
        """Create the temporary file. Raises StoreError, also if `path` exists already."""
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._digests, self._number = hashlib.sha256(), 0
        if path.exists():
            raise StoreError(f"{path} already exists and was not changed. Choose another name for the file.")
        try:
            self._temporary.unlink(missing_ok=True)
            os.close(os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(self._temporary, isolation_level=None, check_same_thread=False)
            header = (f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {FORMAT_VERSION}")
            for statement in (*header, *SCHEMA, "BEGIN"):
                self._connection.execute(statement)
        except (OSError, sqlite3.Error) as error:
            raise self._unwritable(error) from error

    def add(self, document: StoredDocument) -> None:
        """Write a document. Raises StoreError."""
        one = document_row(document)
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

    def finish(self, about: CollectionDescription) -> None:
        """Write the description of the collection, and move the file into place. Raises StoreError."""
        values = {key: json.dumps(value, ensure_ascii=False) for key, value in asdict(about).items()}
        values["digest"] = json.dumps(_total_digest(self._digests, values))
        try:
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", values.items())
            self._connection.execute("COMMIT")
            self._connection.close()
            self._temporary.replace(self._path)
            flush_to_disk(self._path.parent)
        except (OSError, sqlite3.Error) as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the file, and remove it if it is not finished."""
        self._connection.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _unwritable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written: {error}. Check that the folder is there and writable, and the disk not "
            "full."
        )


class CollectionReader:
    """Reader of a collection file. The file may come from a stranger, so everything in it is checked."""

    def __init__(self, path: Path) -> None:
        """Open the file, and check its schema and digests. Raises StoreError, which gives the reason."""
        self._path = path
        self._connection = self._opened()
        try:
            self.about = self._about()
        except BaseException:
            self._connection.close()
            raise

    def documents(self) -> Iterator[StoredDocument]:
        """Check and yield the documents one by one. Raises StoreError."""
        names: set[str] = set()
        try:
            for number in range(1, self.about.documents + 1):
                document = checked_document(self._written(number)[0], self.about.dimension)
                if document.name in names:
                    raise DamagedFile(f"two documents are called “{document.name}”")
                names.add(document.name)
                yield document
        except DamagedFile as error:
            raise self._refused(str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            header = read_header(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror or error}. Choose another file.") from error
        if header is None or header.kind != APPLICATION_ID:
            raise StoreError(
                f"{self._path} is not an exported localcrag collection. Nothing was changed. Such files are made "
                "by: localcrag collection export NAME FILE"
            )
        if header.version != FORMAT_VERSION:
            raise StoreError(
                f"{self._path} has the format {header.version}; this localcrag supports {FORMAT_VERSION}. Nothing was "
                "changed. Update localcrag, then import it."
            )
        # immutable: SQLite takes no locks, and ignores any journal next to the file.
        address = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        return connection

    def _about(self) -> CollectionDescription:
        """Check the file, except for the content of its documents, and return its description. Raises StoreError."""
        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            # Compare the schema before any query, so that no view, trigger or virtual table of a stranger ever runs.
            tables = [row[0] for row in self._connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")]
            if tables != list(SCHEMA):
                raise DamagedFile("its tables are not those of such a file")
            if self._connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise DamagedFile("parts of it were changed or are missing")
            values = dict(self._connection.execute("SELECT key, value FROM about").fetchall())
            digest = values.pop("digest", "")
            about = checked_description(values)
            numbers = self._connection.execute("SELECT count(*), max(number), min(number) FROM documents").fetchone()
            if about.documents and tuple(numbers) != (about.documents, about.documents, 1):
                raise DamagedFile("documents are missing in it")
            digests = hashlib.sha256()
            for number in range(1, about.documents + 1):
                one, stored_digest = self._written(number)
                if _digest(one) != stored_digest:
                    raise DamagedFile(f"document {number} was changed")
                digests.update(stored_digest.encode())
            if digest != json.dumps(_total_digest(digests, values)):
                raise DamagedFile("it was changed")
        except DamagedFile as error:
            raise self._refused(str(error)) from error
        except sqlite3.Error as error:
            raise self._refused(f"it cannot be read ({error})") from error
        return about

    def _written(self, number: int) -> tuple[DocumentRow, str]:
        try:
            row = self._connection.execute(
                "SELECT document, vectors, original, digest FROM documents WHERE number = ?", (number,)
            ).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise DamagedFile(f"document {number} cannot be read ({error})") from error
        return DocumentRow(*row[:3]), row[3]

    def _refused(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path} was not imported: {why}. Nothing was changed. Have it exported or copied again."
        )


def _digest(one: DocumentRow) -> str:
    parts = (one.document.encode(), one.vectors, one.original or b"")
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _total_digest(digests: hashlib._Hash, values: Mapping[str, str]) -> str:
    whole = digests.copy()
    for key in sorted(values):
        whole.update(f"{key}\0{values[key]}\0".encode())
    return whole.hexdigest()
