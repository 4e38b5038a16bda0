"""The newest steps of the database schema."""

from __future__ import annotations

SCHEMA_16 = """
-- Which file a vector index was written to last, what tells it from others, of how many chunks, how things stood then
-- (chunk_changes.py), and which of its chunks are gone since.
DROP TABLE index_files;
CREATE TABLE index_files (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    rows INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    gone BLOB NOT NULL
) STRICT;
"""
SCHEMA_17 = """
-- What lists of documents show, apart from their texts: SQLite reads a text to its end to come to what is behind it.
ALTER TABLE documents ADD COLUMN characters INTEGER NOT NULL DEFAULT 0;
UPDATE documents SET characters = length(text);
CREATE TRIGGER document_added AFTER INSERT ON documents WHEN new.characters = 0 BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END;
CREATE TRIGGER document_changed AFTER UPDATE OF text ON documents BEGIN
    UPDATE documents SET characters = length(new.text) WHERE id = new.id;
END;
CREATE INDEX documents_listed ON documents (
    collection_id, name, sha256, media_type, pages, characters, added_at, dated, layout
);
"""
SCHEMA_18 = """
-- Collections that live, or are about to live, in a PostgreSQL server: `arriving` there as long as they are still here,
-- `there`, or `leaving` it when they are here again and still to be removed there. `address` without a password.
CREATE TABLE collection_homes (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT;
"""
