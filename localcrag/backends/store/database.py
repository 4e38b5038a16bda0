"""The SQLite file that is the source of truth: connection, schema, transactions. Knows nothing of what is stored.

One connection per process, used by one thread at a time; WAL lets other processes read while one writes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from localcrag.records.errors import StoreError

BUSY_TIMEOUT = 30.0
"""Seconds to wait for another process that is writing."""

SCHEMA_1 = """
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    embedder TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    media_type TEXT NOT NULL,
    pages INTEGER,
    text TEXT NOT NULL,
    added_at TEXT NOT NULL,
    UNIQUE (collection_id, name)
) STRICT;
-- AUTOINCREMENT: an id is never used twice, so that a stale vector index cannot mistake a new chunk for an old one.
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_of_document ON chunks (document_id);
CREATE TABLE vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    text, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', old.id, old.text);
END;
-- The vector index file that was written last, so that a torn or foreign one is not trusted.
CREATE TABLE index_files (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    sha256 TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL,
    action TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_time ON runs (created_at);
"""
SCHEMA_2 = """
-- By name: the collection "default" can be set up before anything is in it.
CREATE TABLE collection_settings (
    collection TEXT PRIMARY KEY,
    preset TEXT
) STRICT;
"""
SCHEMA_3 = """
ALTER TABLE collection_settings ADD COLUMN web TEXT;
-- What SearXNG answered; `endpoint` without credentials, `parameters` and `answer` as JSON.
CREATE TABLE web_cache (
    endpoint TEXT NOT NULL,
    query TEXT NOT NULL,
    parameters TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (endpoint, query, parameters)
) STRICT;
CREATE INDEX web_cache_by_time ON web_cache (asked_at);
"""
SCHEMA_4 = """
-- The day that a document bears, or that its file was changed on: YYYY-MM-DD, NULL when nobody knows.
ALTER TABLE documents ADD COLUMN dated TEXT;
"""
SCHEMA_5 = """
-- What a person said of a run's answer, passages and sentences, with what is needed when the run is gone. No foreign
-- keys: a label outlives run, document and collection, until it is removed itself. `circumstances` is JSON.
CREATE TABLE labels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    good INTEGER NOT NULL,
    labelled_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL,
    text TEXT NOT NULL,
    origin TEXT,
    document TEXT,
    page INTEGER,
    url TEXT,
    evidence TEXT,
    scorer TEXT NOT NULL,
    scorer_kind TEXT NOT NULL,
    logit REAL,
    cosine REAL,
    relevance REAL,
    circumstances TEXT,
    UNIQUE (run_id, kind, target)
) STRICT;
CREATE INDEX labels_of_collection ON labels (collection);
-- Questions with their accepted answers, asked again by `localcrag eval --pinned`; `question` is JSON.
CREATE TABLE pins (
    run_id TEXT PRIMARY KEY,
    pinned_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL
) STRICT;
"""
SCHEMA_6 = """
-- What was fitted for a collection, for a scorer (by name and weights) and an embedder; the newest that was not undone
-- is in force. `record` as JSON.
CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    scorer TEXT NOT NULL,
    weights TEXT NOT NULL,
    embedder TEXT NOT NULL,
    made_at TEXT NOT NULL,
    undone_at TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX calibrations_of_collection ON calibrations (collection, scorer);
"""
SCHEMA_7 = """
ALTER TABLE labels ADD COLUMN overlap REAL;
"""
SCHEMA_8 = """
-- Conversations. `state` is what became of a turn; `run_id` has no foreign key: a turn outlives its run.
CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    collection TEXT NOT NULL,
    preset TEXT,
    llm TEXT,
    created_at TEXT NOT NULL,
    changed_at TEXT NOT NULL
) STRICT;
CREATE INDEX chats_by_time ON chats (changed_at);
CREATE TABLE chat_turns (
    chat_id INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL,
    PRIMARY KEY (chat_id, number)
) STRICT, WITHOUT ROWID;
-- The files of documents whose pages are shown as pictures (PDF).
CREATE TABLE originals (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;
"""
SCHEMA_9 = """
-- What left this computer or was refused (egress_log.py); `query_bytes` of a search alone, and never the query.
CREATE TABLE egress (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    destination TEXT NOT NULL,
    purpose TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    query_bytes INTEGER
) STRICT;
CREATE INDEX egress_by_time ON egress (at);
"""
SCHEMAS = (SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4, SCHEMA_5, SCHEMA_6, SCHEMA_7, SCHEMA_8, SCHEMA_9)
"""Each brings a database of the version before to its own; a new one goes through all of them."""
SCHEMA_VERSION = len(SCHEMAS)


class Database:
    """An open database file."""

    def __init__(self, path: Path) -> None:
        """Open `path`, making it and its folder if need be. Raises StoreError."""
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._migrate()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The database {path} cannot be opened: {error}. Check that the folder is writable and the disk not "
                "full; if the file is damaged, restore it from a backup or move it away to begin anew."
            ) from error

    def _migrate(self) -> None:
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise StoreError(
                    f"The database {self.path} was written by a newer localcrag (schema {version}, this one knows "
                    f"{SCHEMA_VERSION}). Update localcrag, or use another --data-dir."
                )
            for schema in SCHEMAS[version:]:
                for statement in _statements(schema):
                    connection.execute(statement)
            if version < SCHEMA_VERSION:
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything done inside is written together, or not at all. Raises StoreError."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._translated(error) from error

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Return what a query finds. Raises StoreError."""
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise self._translated(error) from error

    def copy_to(self, path: Path) -> None:
        """Write everything into a new file, which only this user may read. Raises StoreError."""
        with self._lock:
            try:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.touch(0o600, exist_ok=False)
            except OSError as error:
                raise _unwritable(path, error) from error
            try:
                self._connection.execute("VACUUM INTO ?", (str(path),))
            except sqlite3.Error as error:
                path.unlink()
                raise _unwritable(path, error) from error

    def replace_by(self, path: Path) -> None:
        """Put a copy's content in the place of this one's, all or nothing. Raises StoreError."""
        with self._lock:
            try:
                with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as copy:
                    version = copy.execute("PRAGMA user_version").fetchone()[0]
                    sound = copy.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
                    ours = copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunks_fts'").fetchone()
                    if not (sound and ours and 0 < version <= SCHEMA_VERSION):
                        raise StoreError(
                            f"{path} is no sound copy that this localcrag knows (schema {version}, this one knows "
                            f"{SCHEMA_VERSION}). Nothing was changed. Choose another file, or update localcrag."
                        )
                    copy.backup(self._connection)
            except sqlite3.Error as error:
                raise StoreError(f"{path} cannot be read: {error}. Nothing was changed. Take another file.") from error
            self._migrate()

    def erase(self) -> None:
        """Remove all that is in it, also from the file itself. Raises StoreError."""
        with self.transaction() as connection:
            tables = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' "
                "AND name NOT LIKE 'chunks@_fts%' ESCAPE '@'"
            ).fetchall()
            for (name,) in tables:
                connection.execute(f"DELETE FROM {name}")  # noqa: S608 - a table of ours
            connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise self._translated(error) from error

    def close(self) -> None:
        """Close the file; using the object afterwards raises StoreError."""
        with self._lock:
            self._connection.close()

    def _translated(self, error: sqlite3.Error) -> StoreError:
        if "locked" in str(error):
            remedy = "Another localcrag is writing to it for very long: wait, or stop that one."
        else:
            remedy = "Check that the disk is not full and the file not damaged."
        return StoreError(f"The database {self.path} refused: {str(error).rstrip('.')}. {remedy}")


def _unwritable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"The copy {path} cannot be written: {error}. Check that the folder is writable and the disk not full."
    )


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements: executescript would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
