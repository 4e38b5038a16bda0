"""The database schema, as the steps from each version to the next."""

from __future__ import annotations

from localcrag.backends.store.newer_schemas import (
    SCHEMA_16,
    SCHEMA_17,
    SCHEMA_18,
    SCHEMA_19,
    SCHEMA_20,
    SCHEMA_21,
    SCHEMA_22,
    SCHEMA_23,
)

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
SCHEMA_10 = """
-- `title`: NULL where it is made of the file's name. `layout`: by which rules it was cut into chunks (LAYOUT).
ALTER TABLE documents ADD COLUMN title TEXT;
ALTER TABLE documents ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
-- The path of headings that a chunk stands under, what leads into it, and what is searched in front of its text.
ALTER TABLE chunks ADD COLUMN section TEXT;
ALTER TABLE chunks ADD COLUMN lead TEXT;
ALTER TABLE chunks ADD COLUMN front TEXT NOT NULL DEFAULT '';
DROP TRIGGER chunk_added;
DROP TRIGGER chunk_deleted;
DROP TABLE chunks_fts;
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    text, front, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, text, front) VALUES (new.id, new.text, new.front);
END;
CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, text, front) VALUES ('delete', old.id, old.text, old.front);
END;
INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild');
"""
SCHEMA_11 = """
-- The confidence of text recognition, of chunks that it read.
ALTER TABLE chunks ADD COLUMN confidence REAL;
-- Pages that show text and have none: `read` is what text recognition says of one (ScannedPage as JSON), NULL as long
-- as it waits or where it failed, as `error` says; `in_text` when the document's text and chunks have it.
CREATE TABLE scans (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER NOT NULL,
    read TEXT,
    confidence REAL,
    seconds REAL,
    error TEXT,
    in_text INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (document_id, page)
) STRICT;
"""
SCHEMA_12 = """
-- Words by which documents are chosen: a document's own, and those of all that lie in a folder, now or later.
CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE folder_tags (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (collection_id, folder, tag)
) STRICT, WITHOUT ROWID;
-- Which documents a chat's questions are put to (Restriction as JSON); NULL: to all.
ALTER TABLE chats ADD COLUMN restriction TEXT;
"""
SCHEMA_13 = """
-- Of chunks that show rows of a sheet, those (SheetRow's fields as JSON).
ALTER TABLE chunks ADD COLUMN rows TEXT;
"""
SCHEMA_14 = """
-- Found from the text when a document is put, or its collection opened: ISO 639-1, 'other', or nothing where it does
-- not tell. `stemmed`: it is searched by `chunks_fts_stems`, whose tokens we make (text/lexicon/stems.py).
CREATE TABLE document_languages (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    language TEXT NOT NULL,
    stemmed INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE chunks_fts_stems USING fts5 (stems, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER chunk_stems_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM chunks_fts_stems WHERE rowid = old.id;
END;
"""
SCHEMA_15 = """
-- Chunks that left a collection or came there with their document, so that its vector index need not read all ids to
-- follow; those that were put are above all others. Old rows are removed: who lacks them reads all ids.
CREATE TABLE chunk_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL
) STRICT;
CREATE TRIGGER document_leaves BEFORE DELETE ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = old.id;
END;
CREATE TRIGGER chunk_leaves BEFORE DELETE ON chunks BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT collection_id, old.id FROM documents WHERE id = old.document_id;
END;
CREATE TRIGGER document_moves AFTER UPDATE OF collection_id ON documents BEGIN
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT old.collection_id, id FROM chunks WHERE document_id = new.id;
    INSERT INTO chunk_changes (collection_id, chunk_id)
    SELECT new.collection_id, id FROM chunks WHERE document_id = new.id;
END;
CREATE INDEX stemmed_documents ON document_languages (language) WHERE stemmed;
"""
SCHEMAS = (
    SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4, SCHEMA_5, SCHEMA_6, SCHEMA_7, SCHEMA_8, SCHEMA_9, SCHEMA_10, SCHEMA_11,
    SCHEMA_12, SCHEMA_13, SCHEMA_14, SCHEMA_15, SCHEMA_16, SCHEMA_17,
    SCHEMA_18, SCHEMA_19, SCHEMA_20, SCHEMA_21, SCHEMA_22, SCHEMA_23,
)  # fmt: skip
"""Each brings a database of the version before to its own; a new one goes through all of them."""
SCHEMA_VERSION = len(SCHEMAS)
