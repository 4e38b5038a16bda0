-- Schema 16 as it was first committed (3530846, 2026-11-27): what brought a database of 15 to it. Never to be edited.
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
