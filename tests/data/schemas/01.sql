-- Schema 1 as it was first committed (d9a60d5, 2026-11-21): what brought a database of 0 to it. Never to be edited.
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
