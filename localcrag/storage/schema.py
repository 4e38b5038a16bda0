"""The SQLite schema, the version check of a data folder, and error messages for SQLite failures.

If SQLite runs out of memory (SQLITE_NOMEM), Python raises MemoryError, which is not a sqlite3.Error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localcrag.records.errors import StoreError

SQLITE_ERRORS = (sqlite3.Error, MemoryError)
"""Exceptions that a correct SQLite call may raise."""


def error_reason(error: BaseException) -> str:
    """Return a short description of an error from SQLite or the operating system."""
    if isinstance(error, MemoryError):
        return "the computer has no memory left"
    return getattr(error, "strerror", None) or str(error)


def refused_error(path: Path, error: BaseException) -> StoreError:
    """Return the error for a failed operation on an open database, with advice on what to do."""
    if is_full(error):
        return StoreError(
            f"The disk with the database {path} is full: what was to be written is not in it, all that was there "
            "before is. Free some space there, then try again; or move the folder to another disk and name it with "
            "--data-dir."
        )
    if isinstance(error, MemoryError):
        return StoreError(
            f"The computer had no memory left for the database {path}: what was to be written is not in it, all that "
            "was there before is. Close other programs, then try again."
        )
    if "locked" in str(error):
        remedy = "Another localcrag is writing to it for very long: wait, or stop that one."
    elif "readonly" in str(error):
        remedy = "Its folder or disk can only be read: make it writable, or name another folder with --data-dir."
    else:
        remedy = "Check that the disk is not full and the file not damaged."
    return StoreError(f"The database {path} refused: {str(error).rstrip('.')}. {remedy}")


def is_full(error: BaseException) -> bool:
    """Return whether the error means that the disk is full."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


HIDDEN_PREFIX = "\nimport "
"""Prefix of the names of hidden collections (imports in progress). A typed name never contains a line break."""
IS_VISIBLE = f"substr(k.name, 1, {len(HIDDEN_PREFIX)}) != char(10) || '{HIDDEN_PREFIX[1:]}'"
"""SQL condition that is true for a collection `k` that is not hidden."""


APPLICATION_ID = 0x6C637264
"""The application_id that marks a SQLite file as a localcrag database: “lcrd”. Databases from before 0.1.0 have no
application_id, and their user_version refers to other schemas."""
SCHEMA: tuple[str, ...] = (
    # Collections of documents, each indexed by one embedding model.
    """CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    embedder TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT""",
    # What was chosen for a collection; NULL: as the settings have it. By name, since the default collection can be set
    # up before it exists.
    """CREATE TABLE collection_settings (
    collection TEXT PRIMARY KEY,
    preset TEXT,
    web TEXT,
    embedder TEXT
) STRICT""",
    # Collections that are kept in a PostgreSQL server, or are being moved. `state` is `arriving` while their documents
    # are still here, `there`, or `leaving` when they are back here and have yet to be removed from the server.
    # `address` has no password.
    """CREATE TABLE collection_homes (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT""",
    # Documents with their text. `dated`: the day that the document states or its file was changed, as YYYY-MM-DD; NULL
    # if unknown. `title`: NULL if it is made from the name. `characters`: the length of `text`.
    """CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    media_type TEXT NOT NULL,
    pages INTEGER,
    text TEXT NOT NULL,
    added_at TEXT NOT NULL,
    dated TEXT,
    title TEXT,
    characters INTEGER NOT NULL DEFAULT 0,
    UNIQUE (collection_id, name)
) STRICT""",
    # All columns that lists of documents show: SQLite has to read a whole text to reach the columns behind it.
    """CREATE INDEX documents_listed ON documents (
    collection_id, name, sha256, media_type, pages, characters, added_at, dated
)""",
    "CREATE INDEX documents_by_content ON documents (collection_id, sha256, name)",
    """CREATE TRIGGER document_added AFTER INSERT ON documents WHEN new.characters = 0 BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END""",
    """CREATE TRIGGER document_changed AFTER UPDATE OF text ON documents BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END""",
    # The files of documents whose pages are shown as pictures.
    """CREATE TABLE originals (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT""",
    # Pages that show text but contain none. `read` is the result of text recognition (ScannedPage as JSON): NULL while
    # the page waits, or if recognition failed with `error`. `in_text`: the document's text and chunks include it.
    """CREATE TABLE scans (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER NOT NULL,
    read TEXT,
    confidence REAL,
    seconds REAL,
    error TEXT,
    in_text INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (document_id, page)
) STRICT""",
    # Tags of single documents.
    """CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID""",
    # Tags of all documents in a folder, present and future.
    """CREATE TABLE folder_tags (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (collection_id, folder, tag)
) STRICT, WITHOUT ROWID""",
    # The language of each document, found from its text: ISO 639-1, 'other', or empty if the text does not tell it.
    # `stemmed`: the document is searched by `chunks_fts_stems`.
    """CREATE TABLE document_languages (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    language TEXT NOT NULL,
    stemmed INTEGER NOT NULL
) STRICT""",
    "CREATE INDEX stemmed_documents ON document_languages (language) WHERE stemmed",
    # The pieces of documents that are searched. `section`: the headings above a chunk. `lead`: what introduces it.
    # `front`: what is searched in front of its text. `confidence`: that of text recognition. `rows`: the spreadsheet
    # rows that the chunk shows (SheetRow's fields as JSON).
    # AUTOINCREMENT: an id is never used twice, so that a stale vector index cannot mistake a new chunk for an old one.
    """CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    section TEXT,
    lead TEXT,
    front TEXT NOT NULL DEFAULT '',
    confidence REAL,
    rows TEXT
) STRICT""",
    "CREATE INDEX chunks_of_document ON chunks (document_id)",
    # The full text of chunks, with English stems.
    """CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    text, front, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
)""",
    """CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, text, front) VALUES (new.id, new.text, new.front);
END""",
    """CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, text, front) VALUES ('delete', old.id, old.text, old.front);
END""",
    # The full text of chunks in other languages, as stems that localcrag makes (text/lexicon.py).
    "CREATE VIRTUAL TABLE chunks_fts_stems USING fts5 (stems, tokenize = 'unicode61 remove_diacritics 2')",
    """CREATE TRIGGER chunk_stems_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM chunks_fts_stems WHERE rowid = old.id;
END""",
    # The embeddings of chunks, as little-endian float32.
    """CREATE TABLE vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT""",
    # Embeddings of the model that a collection is being re-indexed with. Once all chunks have one, they replace those
    # in `vectors` (chunks.py).
    """CREATE TABLE new_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL
) STRICT""",
    # The vector index file that was written last for a collection: what identifies it, how many chunks it has, up to
    # which change it is current (full_text.py), and which of its chunks are gone since.
    """CREATE TABLE index_files (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    rows INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    gone BLOB NOT NULL
) STRICT""",
    # Chunks that left a collection, or came to it with a document that was moved: a vector index follows them without
    # reading all ids. New chunks need no row, since their ids are above all others. Old rows are removed; an index that
    # lacks them reads all ids.
    """CREATE TABLE chunk_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL
) STRICT""",
    """CREATE TRIGGER document_leaves BEFORE DELETE ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = old.id;
END""",
    """CREATE TRIGGER chunk_leaves BEFORE DELETE ON chunks BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT collection_id, old.id FROM documents WHERE id = old.document_id;
END""",
    """CREATE TRIGGER document_moves AFTER UPDATE OF collection_id ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = new.id;
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT new.collection_id, id FROM chunks WHERE document_id = new.id;
END""",
    # Folders that a collection follows. `prefix` stands in front of the names of their documents; `include` and
    # `exclude` are patterns (JSON). `away_since` and `away_why`: when the folder was found to be missing, and in which
    # way.
    """CREATE TABLE bound_folders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    path TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    include TEXT NOT NULL,
    exclude TEXT NOT NULL,
    gone TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    added_at TEXT NOT NULL,
    in_step_at TEXT,
    away_since TEXT,
    away_why TEXT
) STRICT""",
    # The files of these folders as localcrag last saw them, so that unchanged files need not be read. `path` is
    # relative to the folder, as the system has it; `device` is that of the folder around the file. `sha256` is the
    # checksum of the file, `stored` that of the content that `document` has. `gone_at`: when a file was found to be
    # missing, until it is decided what happens to its document.
    """CREATE TABLE folder_files (
    folder_id INTEGER NOT NULL REFERENCES bound_folders (id) ON DELETE CASCADE,
    path BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode TEXT NOT NULL,
    device TEXT NOT NULL,
    sha256 TEXT,
    document TEXT,
    stored TEXT,
    error TEXT,
    gone_at TEXT,
    PRIMARY KEY (folder_id, path)
) STRICT, WITHOUT ROWID""",
    "CREATE INDEX folder_files_by_document ON folder_files (document)",
    "CREATE INDEX folder_files_to_tell ON folder_files (folder_id) WHERE error IS NOT NULL OR gone_at IS NOT NULL",
    # Answered questions, each with everything that happened (Run as JSON), in the order in which they were stored.
    """CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL,
    action TEXT,
    record TEXT NOT NULL
) STRICT""",
    # Conversations. `restriction`: the documents that their questions are asked of (Restriction as JSON); NULL: all.
    """CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    collection TEXT NOT NULL,
    preset TEXT,
    llm TEXT,
    created_at TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    restriction TEXT
) STRICT""",
    "CREATE INDEX chats_by_time ON chats (changed_at)",
    # The turns of a chat, which are a tree. `parent` is the number of the turn that a turn follows, NULL for a first
    # turn. Turns with the same parent are versions of one turn; the version with the highest `chosen` is shown.
    # `run_id` is no foreign key: a turn outlives its run.
    """CREATE TABLE chat_turns (
    chat_id INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL,
    parent INTEGER,
    chosen INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (chat_id, number)
) STRICT, WITHOUT ROWID""",
    # The shape of the trees, without the texts.
    "CREATE INDEX chat_turns_by_parent ON chat_turns (chat_id, parent, chosen)",
    # A person's verdicts on a run's answer, passages and sentences, with what is needed once the run is gone. No
    # foreign keys: a label outlives run, document and collection. `circumstances` is JSON.
    """CREATE TABLE labels (
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
    overlap REAL,
    UNIQUE (run_id, kind, target)
) STRICT""",
    "CREATE INDEX labels_of_collection ON labels (collection)",
    # Questions with their accepted answers, asked again by `localcrag eval --pinned`. `question` is JSON.
    """CREATE TABLE pins (
    run_id TEXT PRIMARY KEY,
    pinned_at TEXT NOT NULL,
    collection TEXT NOT NULL,
    question TEXT NOT NULL
) STRICT""",
    # Calibrations of collections, each for a scorer (by name and weights) and an embedding model. The newest that was
    # not undone is active. `record` is JSON.
    """CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    scorer TEXT NOT NULL,
    weights TEXT NOT NULL,
    embedder TEXT NOT NULL,
    made_at TEXT NOT NULL,
    undone_at TEXT,
    record TEXT NOT NULL
) STRICT""",
    "CREATE INDEX calibrations_of_collection ON calibrations (collection, scorer)",
    # Answers of SearXNG. `endpoint` has no credentials; `parameters` and `answer` are JSON.
    """CREATE TABLE web_cache (
    endpoint TEXT NOT NULL,
    query TEXT NOT NULL,
    parameters TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (endpoint, query, parameters)
) STRICT""",
    "CREATE INDEX web_cache_by_time ON web_cache (asked_at)",
    # Connections that were made or refused (egress_log.py). `query_bytes`: the length of a web query; the query itself
    # is never kept.
    """CREATE TABLE egress (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    destination TEXT NOT NULL,
    purpose TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    query_bytes INTEGER
) STRICT""",
    "CREATE INDEX egress_by_time ON egress (at)",
    # How many rows with words of documents or questions were ever deleted or changed, and up to which of them the words
    # are overwritten. The full-text indexes and the write-ahead log keep such words until full_text.py removes
    # them.
    """CREATE TABLE words_to_overwrite (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    deleted INTEGER NOT NULL,
    overwritten INTEGER NOT NULL
) STRICT""",
    "INSERT INTO words_to_overwrite VALUES (1, 0, 0)",
)
_LOST_WORDS = (
    ("chunk_left", "DELETE ON chunks"),
    ("document_left", "DELETE ON documents"),
    ("name_left", "UPDATE OF name ON documents"),
    ("run_left", "DELETE ON runs"),
    ("run_changed", "UPDATE OF question, record ON runs"),
    ("chat_left", "DELETE ON chats"),
    # A chat that is named after its first question, and a turn that gets its answer, lose no words.
    ("title_left", "UPDATE OF title ON chats\nWHEN new.title != old.title AND old.title != 'New chat'"),
    ("turn_left", "DELETE ON chat_turns"),
    ("label_left", "DELETE ON labels"),
    ("label_changed", "UPDATE OF question, text, evidence, circumstances ON labels"),
    ("pin_left", "DELETE ON pins"),
    ("web_answer_left", "DELETE ON web_cache"),
)
"""Triggers that count rows whose words are deleted: the end of the name, and the event."""
SCHEMA += tuple(
    f"CREATE TRIGGER words_of_{name} AFTER {event} BEGIN\n"  # noqa: S608 - our own names
    "    UPDATE words_to_overwrite SET deleted = deleted + 1;\nEND"
    for name, event in _LOST_WORDS
)
"""The statements that create the schema of 0.1.0."""
MIGRATIONS: tuple[Sequence[str], ...] = ()
"""Migrations, one per schema version after the first: statements that upgrade a database from the previous version."""
SCHEMA_VERSION = 1 + len(MIGRATIONS)
"""The newest schema version, stored as user_version."""


DATABASE_NAME = "localcrag.sqlite3"
"""File name of the database in a data folder."""
# Layout of a SQLite file's header (https://www.sqlite.org/fileformat2.html#the_database_header): its first bytes, its
# length, and the offsets of user_version and application_id.
_MAGIC, _HEADER_LENGTH = b"SQLite format 3\x00", 100
_USER_VERSION_OFFSET, _APPLICATION_ID_OFFSET = 60, 68


@dataclass(frozen=True, slots=True)
class Header:
    """The application_id (`kind`) and the user_version of a SQLite file; both are 0 unless a program sets them."""

    kind: int
    version: int

    @property
    def is_before_first_release(self) -> bool:
        """Return whether a localcrag older than 0.1.0 made this file: it set user_version, but no application_id."""
        return self.kind == 0 and self.version > 0


def read_header(path: Path) -> Header | None:
    """Return the header of a SQLite file, or None if the file is something else. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(_HEADER_LENGTH)
    if len(data) < _HEADER_LENGTH or not data.startswith(_MAGIC):
        return None
    return Header(*(int.from_bytes(data[at : at + 4], "big") for at in (_APPLICATION_ID_OFFSET, _USER_VERSION_OFFSET)))


def check_data_folder(path: Path) -> None:
    """Raise StoreError if the database `path` is from before 0.1.0 or from another program. Writes nothing."""
    # An unreadable file, or one that is not a database, causes an error later, when it is opened.
    with suppress(OSError):
        header = read_header(path)
        if header is not None:
            check_header(header, path, empty=header.version == 0)


def check_header(header: Header, path: Path, *, empty: bool) -> None:
    """Raise StoreError unless the header is that of a localcrag database of this format, or the file is `empty`."""
    if header.is_before_first_release:
        raise StoreError(
            f"The data folder {path.parent} was made by a localcrag older than 0.1.0, which this version cannot open. "
            "Nothing was changed. Choose another folder with --data-dir, or move this one away or delete it; then add "
            "your documents again."
        )
    if header.kind != APPLICATION_ID and not (header.kind == 0 and empty):
        raise StoreError(
            f"{path} is not a database of localcrag. Nothing was changed. Choose another folder with --data-dir, or "
            "move the file away."
        )
